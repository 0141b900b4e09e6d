"""`python -m deployments.tidy`: stores or removes what killed runs left on this host, and tells the server.

`deployments.serve` does it before it begins. Units of systemd do it before a worker of a work pool starts,
and after serve or a worker has ended, since the guards of their runs end with them there.
"""

from collections.abc import Iterator
from typing import Final

import httpx

from configs.errors import UserError
from deployments.catalogue import Operation
from deployments.commands import say, settings, told
from deployments.environment import api_url, become, client_environment
from flows.server_access import refuse_dead_server
from tasks.venues.guard import tidy_host

_WAIT_FOR_HOST_S: Final = 30.0
"""A run whose worker was stopped just now has its lab to stop, and what it measured to store."""


def tidied(operation: Operation, wait_s: float = 0.0) -> Iterator[str]:
    """Do it, with a line for each thing that was done.

    Args:
        operation: of this host.
        wait_s: how long to wait for a run that has the host for itself.
    """
    yield from tidy_host(wait_s=wait_s, labs=(operation.lab,))
    become(client_environment(operation))
    later = "what it believes of the runs of this host is put right when serving begins"
    try:
        refuse_dead_server(api_url(operation))
        # Prefect reads its settings when it is imported, so only now.
        from deployments.reaper import reap  # noqa: PLC0415

        yield from reap(operation)
    except UserError as error:
        yield f"{error}; {later}"
    except httpx.HTTPError as error:
        yield f"the Prefect server at {api_url(operation)} was lost ({error}); {later}"


def main() -> None:
    """Do it once."""
    with told():
        for line in tidied(settings(), _WAIT_FOR_HOST_S):
            say(line)


if __name__ == "__main__":
    main()
