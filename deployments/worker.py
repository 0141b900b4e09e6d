"""`python -m deployments.worker`: becomes Prefect's worker of a process pool on this host, with our settings.

It runs one flow run at a time: what runs beside a measurement disturbs it.
"""

import os
import signal
import sys

from deployments.catalogue import FLOW_RUNS_AT_ONCE, Operation
from deployments.commands import say, told
from deployments.environment import api_url, become, client_environment
from deployments.serve import wait_for_server
from deployments.tidy import tidied


def main() -> None:
    """Tidy after what was killed, and become the worker."""
    # Prefect turns SIGTERM into SIGINT, which a command in the background of a script inherits as ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with told():
        operation = Operation()
        become(client_environment(operation))
        wait_for_server(api_url(operation))
        for line in tidied(operation):
            say(line)
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process"]
    command += ["--pool", operation.pool, "--limit", str(FLOW_RUNS_AT_ONCE)]
    os.execv(command[0], command)  # noqa: S606 - becoming the worker is the purpose, and no shell is wanted


if __name__ == "__main__":
    main()
