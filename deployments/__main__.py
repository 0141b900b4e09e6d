"""`python -m deployments`, which is `make serve`: the server and what serves the deployments, until Ctrl-C.

A stand-in for systemd on a machine that has none of our units: whichever of the two ends is started again.
"""

import contextlib
import subprocess
import sys
import time
from typing import Final

from deployments.checks import refuse_wrong_settings
from deployments.commands import EXIT_BAD_INPUT, alone, end_by_signals, say, settings, told
from deployments.environment import api_url, refuse_shared_server, serves_own
from tasks.kernel.leash import leashed
from tasks.lab.prefect_server import refuse_taken

_LOOK_EVERY_S: Final = 0.5
_RESTART_AFTER_S: Final = 2.0
_RESTART_AFTER_AT_MOST_S: Final = 60.0
_RUNS_WELL_AFTER_S: Final = 120.0
_STOP_WITHIN_S: Final = 60.0


class _Part:
    """One of the two, and when it is to be started again."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._start_at = 0.0
        self._pause_s = 0.0

    def tend(self) -> int | None:
        """Start it where it does not run; the status with which it has just ended, or none."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                # Ctrl-C is for this command alone, which stops the parts in their order.
                self._process = subprocess.Popen(
                    leashed([sys.executable, "-m", self._module]), start_new_session=True
                )
                self._began = now
            return None
        status = self._process.poll()
        if status is not None:
            self._process = None
            well = now - self._began > _RUNS_WELL_AFTER_S
            again_s = 0.0 if well else 2 * self._pause_s
            self._pause_s = min(max(again_s, _RESTART_AFTER_S), _RESTART_AFTER_AT_MOST_S)
            self._start_at = now + self._pause_s
            if status != EXIT_BAD_INPUT:
                how = f"signal {-status}" if status < 0 else f"status {status}"
                say(f"{self._module} ended with {how}; it is started again in {self._pause_s:g} s")
        return status

    def stop(self) -> None:
        """Ask it to end, and wait; another Ctrl-C ends the waiting."""
        process = self._process
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired, SystemExit):
            process.wait(_STOP_WITHIN_S)
        process.kill()
        process.wait()


def main() -> None:
    """Start both, keep both, stop both."""
    end_by_signals()
    with told():
        operation = settings()
        refuse_wrong_settings(operation)
        refuse_shared_server(operation)
        with alone(operation, "make-serve"):
            parts = [_Part("deployments.serve")]
            if serves_own(operation):
                with alone(operation, "serve"):
                    refuse_taken(operation.port)
                parts.insert(0, _Part("deployments.server"))
                ui = f"http://127.0.0.1:{operation.port}"
                say(f"starting: in half a minute the UI is at {ui}; Ctrl-C stops it")
            else:
                say(f"serving {api_url(operation)}, as PREFECT_API_URL says: no server is started")
            sys.exit(_run(parts))


def _run(parts: list[_Part]) -> int:
    try:
        while True:
            if EXIT_BAD_INPUT in [part.tend() for part in parts]:
                return EXIT_BAD_INPUT
            time.sleep(_LOOK_EVERY_S)
    finally:
        for part in reversed(parts):  # a run that is stopped still tells the server
            part.stop()


if __name__ == "__main__":
    main()
