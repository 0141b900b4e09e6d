"""`python -m deployments.server`: the Prefect server of this host, until it is stopped."""

import time
from pathlib import Path
from typing import Final

from deployments.checks import refuse_full_disk
from deployments.commands import end_by_signals, say, settings, told
from deployments.environment import server_environment
from tasks.lab.prefect_server import PrefectServer, ServerNotReadyError, keep_log_small, running_server
from tasks.lab.processes import ProcessRef

_LOOK_EVERY_S: Final = 1.0


def main() -> None:
    """Run it; its end is this command's end, which systemd and `make serve` follow with a restart."""
    end_by_signals()
    with told():
        operation = settings()
        refuse_full_disk(operation.data)
        home = operation.data.resolve() / "prefect"
        with running_server(home, operation.port, server_environment(operation)) as server:
            url = f"http://127.0.0.1:{operation.port}"
            say(f"the Prefect server answers at {url} (its log: {home}/server.log)")
            _wait_for_its_end(server, home)
            raise ServerNotReadyError(f"the Prefect server ended: {home}/server.log may say why")


def _wait_for_its_end(server: PrefectServer, home: Path) -> None:
    process = ProcessRef.of(server.pid)
    while process.find() is not None:
        keep_log_small(home)
        time.sleep(_LOOK_EVERY_S)


if __name__ == "__main__":
    main()
