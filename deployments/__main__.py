"""`python -m deployments`, which is `make serve`: the server and what serves the deployments, until Ctrl-C.

A stand-in for systemd on a machine that has none of our units: whichever of the two ends is started again.
"""

import contextlib
import signal
import subprocess
import sys
import time
from typing import Final

from deployments.catalogue import Operation
from deployments.commands import end_by_sigterm, told
from tasks.kernel.leash import leashed

_PARTS: Final = ("deployments.server", "deployments.serve")
_LOOK_EVERY_S: Final = 0.5
_RESTART_AFTER_S: Final = 2.0
_STOP_WITHIN_S: Final = 60.0
_BAD_INPUT: Final = 2


def main() -> None:
    """Start both, keep both, stop both."""
    end_by_sigterm()
    with told():
        operation = Operation()
    print(f"Prefect UI: http://127.0.0.1:{operation.port} (in half a minute); Ctrl-C stops it", flush=True)
    running: dict[str, subprocess.Popen[bytes]] = {}
    status = 0
    try:
        while status != _BAD_INPUT:
            for part in _PARTS:
                process = running.get(part)
                if process is None:
                    running[part] = _start(part)
                elif (ended := process.poll()) is not None:
                    status = ended
                    del running[part]
                    print(f"{part} ended with status {ended}", flush=True)
                    time.sleep(_RESTART_AFTER_S)
            time.sleep(_LOOK_EVERY_S)
    except KeyboardInterrupt:
        status = 0
    finally:
        for part in reversed(_PARTS):  # a run that is stopped still tells the server
            _stop(running.get(part))
    sys.exit(status)


def _start(part: str) -> "subprocess.Popen[bytes]":
    command = leashed([sys.executable, "-m", part])
    return subprocess.Popen(command, start_new_session=True)  # Ctrl-C is for this command alone


def _stop(process: "subprocess.Popen[bytes] | None") -> None:
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(_STOP_WITHIN_S)
    process.kill()
    process.wait()


if __name__ == "__main__":
    main()
