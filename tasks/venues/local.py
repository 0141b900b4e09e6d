"""The local venue: every block in a fresh process on this host, ended when it outlives its time.

A block that is merely slow ends by itself before that, with the samples that it has. One that hangs, or whose
last operation takes more than the rest of its time, is killed, and what it had measured is lost with it. So
is one in a lab that broke, in which a mount's reads can each take a minute to fail.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from configs.block import BlockSpec
from configs.workloads import BEGIN_WITHIN
from tasks.kernel.leash import leashed
from tasks.kernel.samples import SampleColumns
from tasks.venues.wire import BlockOutcome, WireError, receive

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
_LAST_LINES = 5
_LOOK_EVERY_S: Final = 10.0
"""How often it is asked within a block what is broken: seldom, since asking takes some of the machine."""


class LocalVenue:
    """Starts `tasks.venues.worker` with the environment that its clients need."""

    def __init__(
        self, environment: Mapping[str, str], timeout_s: float, what_is_broken: Callable[[], str] = str
    ) -> None:
        """Make one.

        Args:
            environment: of the measuring processes.
            timeout_s: how long a block may take.
            what_is_broken: is asked before each block and now and then within; an answer that is not empty
                ends the block, or keeps it from being measured.
        """
        self._environment = {
            name: value for name, value in environment.items() if not name.startswith("PREFECT_")
        }
        self._timeout_s = timeout_s
        self._what_is_broken = what_is_broken

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block; the death or a time-out of its process is an outcome, never an exception."""
        if problem := self._what_is_broken():
            return _failed(problem)
        worker = subprocess.Popen(
            leashed([sys.executable, "-m", "tasks.venues.worker"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            cwd=_PROJECT_ROOT,
        )
        deadline_ns = time.perf_counter_ns() + int(self._timeout_s * BEGIN_WITHIN * 1e9)
        told = spec.model_copy(update={"deadline_ns": deadline_ns})
        try:
            payload, printed = self._wait(worker, told.model_dump_json().encode())
        except _BrokenError as error:
            return _failed(f"{error}; the block was stopped")
        except subprocess.TimeoutExpired:
            return _failed(f"the block did not end within {self._timeout_s:g} s and was stopped")
        finally:
            worker.kill()
            worker.wait()
        if worker.returncode != 0:
            return _failed(f"the measuring process ended with {_how(worker.returncode)}: {_tail(printed)}")
        try:
            return receive(payload)
        except WireError as error:
            return _failed(f"the measuring process answered wrongly: {error}; {_tail(printed)}")

    def _wait(self, worker: "subprocess.Popen[bytes]", told: bytes) -> tuple[bytes, bytes]:
        """What a worker writes until it ends."""
        deadline = time.monotonic() + self._timeout_s
        given: bytes | None = told
        while True:
            left_s = deadline - time.monotonic()
            try:
                return worker.communicate(given, timeout=min(left_s, _LOOK_EVERY_S))
            except subprocess.TimeoutExpired:
                if left_s <= _LOOK_EVERY_S:
                    raise
            given = None  # it has been sent, or goes on being sent
            if problem := self._what_is_broken():
                raise _BrokenError(problem)


class _BrokenError(Exception):
    """What a block needs has ended."""


def _failed(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)


def _how(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit status {returncode}"


def _tail(printed: bytes) -> str:
    lines = printed.decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return os.linesep.join(lines) or "it printed nothing"
