"""`python -m deployments.worker`: becomes Prefect's worker of a process pool on this host, with our settings.

It runs one flow run at a time: what runs beside a measurement disturbs it.
"""

import os
import signal
import sys

from deployments.catalogue import FLOW_RUNS_AT_ONCE
from deployments.checks import refuse_wrong_settings, say_troubles_of_suites
from deployments.commands import say, settings, told
from deployments.environment import api_url, become, client_environment
from deployments.serve import wait_for_server
from deployments.set_alarms import set_alarms
from deployments.tidy import tidied


def main() -> None:
    """Tidy after what was killed, set the alarms, and become the worker."""
    # Prefect turns SIGTERM into SIGINT, which a command in the background of a script inherits as ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with told():
        operation = settings()
        refuse_wrong_settings(operation, is_night_ours=False)
        say_troubles_of_suites()
        become(client_environment(operation))
        wait_for_server(api_url(operation))
        for line in tidied(operation):
            say(line)
        set_alarms(operation)
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process"]
    command += ["--pool", operation.pool, "--limit", str(FLOW_RUNS_AT_ONCE)]
    os.execv(command[0], command)  # noqa: S606 - becoming the worker is the purpose, and no shell is wanted


if __name__ == "__main__":
    main()
