"""`python -m deployments.server`: the Prefect server of this host, until it is stopped."""

import time

from deployments.catalogue import Operation
from deployments.commands import end_by_sigterm, told
from deployments.environment import server_environment
from tasks.lab.prefect_server import PrefectServer, running_server
from tasks.lab.processes import ProcessRef

_LOOK_EVERY_S = 1.0


def main() -> None:
    """Run it; its end is this command's end, which systemd follows with a restart."""
    end_by_sigterm()
    with told():
        operation = Operation()
        home = operation.data.resolve() / "prefect"
        with running_server(home, operation.port, server_environment(operation)) as server:
            print(f"Prefect server: http://127.0.0.1:{operation.port} (log: {home}/server.log)", flush=True)
            _wait_for_its_end(server)


def _wait_for_its_end(server: PrefectServer) -> None:
    process = ProcessRef.of(server.pid)
    while process.find() is not None:
        time.sleep(_LOOK_EVERY_S)


if __name__ == "__main__":
    main()
