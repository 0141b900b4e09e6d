"""`python -m deployments.serve`: registers the deployments and runs what is due, until it is stopped.

Before that it brings the server's view of this host into line: a run that the server believes alive although
nothing on this host runs it is set Crashed, and what it left is tidied.
"""

import signal
import time
from types import FrameType
from typing import Final

from deployments.checks import refuse_wrong_settings, say_troubles_of_suites
from deployments.commands import alone, end_by_signals, say, settings, told
from deployments.environment import api_url, become, client_environment, refuse_shared_server
from deployments.tidy import tidied
from flows.server_access import refuse_dead_server
from tasks.lab.prefect_server import ServerNotReadyError

_SERVER_WITHIN_S: Final = 180.0
_ASK_AGAIN_S: Final = 0.5


def wait_for_server(address: str) -> None:
    """A server takes half a minute for its first start, and both are started at once.

    Raises:
        ServerNotReadyError: it does not answer.
        UserError: it takes another password.
    """
    deadline = time.monotonic() + _SERVER_WITHIN_S
    while True:
        try:
            refuse_dead_server(address)
        except ServerNotReadyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_ASK_AGAIN_S)
        else:
            return


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGTERM)  # which Prefect answers by cancelling what runs


def main() -> None:
    """Serve; bad settings end with status 2 and one message."""
    end_by_signals()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    with told():
        operation = settings()
        refuse_wrong_settings(operation)
        refuse_shared_server(operation)
        with alone(operation, "serve"):
            say_troubles_of_suites()
            become(client_environment(operation))
            wait_for_server(api_url(operation))
            for line in tidied(operation):
                say(line)
            # Prefect reads its settings when it is imported, so only now.
            from deployments.serving import serve_deployments  # noqa: PLC0415

            serve_deployments(operation)


if __name__ == "__main__":
    main()
