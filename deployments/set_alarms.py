"""`python -m deployments.set_alarms`: lets a server tell of what goes wrong, where nothing of ours serves it.

`deployments.serve` and `deployments.worker` do it before they begin.
"""

from deployments.catalogue import Operation
from deployments.commands import say, server_faults, settings, told
from deployments.environment import api_url, become, client_environment
from flows.server_access import refuse_dead_server


def set_alarms(operation: Operation) -> None:
    """Do it, with a line for each thing that was done.

    Raises:
        ServerNotReadyError: the server is away, or not well.
        UserError: it refuses them, or has no such notification block.
    """
    # Prefect reads its settings when it is imported, so only now.
    from deployments.alarms import register  # noqa: PLC0415

    with server_faults(api_url(operation)):
        for line in register(operation):
            say(line)


def main() -> None:
    """Do it once."""
    with told():
        operation = settings()
        become(client_environment(operation))
        refuse_dead_server(api_url(operation))
        set_alarms(operation)


if __name__ == "__main__":
    main()
