"""Where the wall time of a run goes: preparing, waiting for the host, measuring, and all the rest."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from configs.run_record import Timing

_NS_PER_MS = 1_000_000


class Stopwatch:
    """Adds up the time of a run's kinds of work, from when it is made; Prefect's own time is the rest."""

    def __init__(self) -> None:
        self._started_ns = time.monotonic_ns()
        self._spent_ns: Counter[str] = Counter()
        self.server_start_ms = 0
        """What a private Prefect server took to start."""

    @contextmanager
    def of(self, work: Literal["prepare", "wait", "measure"]) -> Iterator[None]:
        """Counts what happens inside as this kind of work."""
        before_ns = time.monotonic_ns()
        yield
        self._spent_ns[work] += time.monotonic_ns() - before_ns

    def timing(self) -> Timing:
        """The sums until now."""
        return Timing(
            server_start_ms=self.server_start_ms,
            prepare_ms=self._spent_ns["prepare"] // _NS_PER_MS,
            wait_ms=self._spent_ns["wait"] // _NS_PER_MS,
            measure_ms=self._spent_ns["measure"] // _NS_PER_MS,
            wall_ms=(time.monotonic_ns() - self._started_ns) // _NS_PER_MS,
        )
