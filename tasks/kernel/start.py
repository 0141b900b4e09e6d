"""Where a client that has warmed up waits for others, so that all of them begin to count at the same moment.

Waiting is outside every clock. The last thread of a process to arrive tells that the process is ready, waits
for the moment that all were given, and lets its threads go together. A client that is not to begin, because
another one failed, ends with what it has. One that has begun waits once more after its operations, so that it
cleans up nothing while others measure.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

_AWAKE_NS: Final = 1_000_000
"""Of the wait for a moment: the rest that is not slept, since sleeping ends late by some of it."""


def _nobody() -> None:
    """Wait for nobody."""


class CommonStart:
    """The common start of the threads of one process with other processes."""

    def __init__(
        self, wait_for_others: Callable[[], str], wait_for_their_end: Callable[[], None] = _nobody
    ) -> None:
        """Make one.

        Args:
            wait_for_others: tells that this process is ready, returns when the common start has come, and
                why it is not to come where that is so; empty for a start.
            wait_for_their_end: tells that its operations have ended, and returns when those of all have.
        """
        self._wait_for_others = wait_for_others
        self._wait_for_their_end = wait_for_their_end
        self._lock = threading.Lock()
        self._missing = 1
        self._decided = threading.Event()
        self.why_not = ""
        """Why nothing was begun; empty after a start."""
        self.waited_ns = 0
        """From the arrival of the last thread to the start."""

    def expect(self, threads: int) -> None:
        """Say how many threads are going to wait; without it one is."""
        self._missing = threads

    def wait(self) -> bool:
        """Wait for all threads and for the other processes, and tell whether to go on."""
        with self._lock:
            self._missing -= 1
            is_last = self._missing == 0
        if is_last:
            arrived_ns = time.perf_counter_ns()
            self._decide(self._wait_for_others())
            self.waited_ns = time.perf_counter_ns() - arrived_ns
        self._decided.wait()
        return not self.why_not

    def leave(self) -> None:
        """For every thread at its end: one that never arrived must not keep the others waiting."""
        if not self._decided.is_set():
            self._decide("a thread of this client ended before the common start")

    def end(self) -> None:
        """Once, when all threads have ended: wait until the others have; at once where nothing was begun."""
        if self._decided.is_set() and not self.why_not:
            self._wait_for_their_end()

    def _decide(self, why_not: str) -> None:
        with self._lock:
            if not self._decided.is_set():
                self.why_not = why_not
                self._decided.set()


def sleep_until(moment_us: int) -> None:
    """Return at a moment of the wall clock, in microseconds since 1970, or at once where it has passed."""
    while (left_ns := moment_us * 1000 - time.time_ns()) > 0:
        if left_ns > _AWAKE_NS:
            time.sleep((left_ns - _AWAKE_NS) / 1e9)
