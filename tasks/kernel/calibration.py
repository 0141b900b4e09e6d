"""What measuring itself costs: the clock's step, and an empty operation timed by the same loop."""

import time
from collections.abc import Callable

from tasks.kernel.loop import Clock, measure
from tasks.kernel.samples import Failure, SampleColumns


class Nothing:
    """An operation that does nothing."""

    name = "read"

    @property
    def timed(self) -> Callable[[None], None]:
        """Nothing."""
        return _nothing

    def prepare(self, seq: int) -> None:
        """Nothing to prepare for `seq`."""

    def check(self, samples: SampleColumns, row: int, argument: None, result: None) -> None:
        """Nothing to verify."""

    def explain(self, samples: SampleColumns, row: int, argument: None, error: Exception) -> Failure:
        """Nothing fails here, so an error is passed on."""
        raise error


def _nothing(_argument: None) -> None:
    return None


def timer_resolution_ns(clock: Clock = time.perf_counter_ns, steps: int = 200) -> int:
    """The smallest step seen between two unlike readings of the clock."""
    smallest = 2**63 - 1
    for _ in range(steps):
        before = after = clock()
        while after == before:
            after = clock()
        smallest = min(smallest, after - before)
    return smallest


def timed_nothing_ns(clock: Clock = time.perf_counter_ns, count: int = 1001) -> int:
    """The p50 of an empty operation: this much of every sample is the harness."""
    samples = SampleColumns()
    measure(Nothing(), samples, count, warmup=0, clock=clock)
    return sorted(samples.integers["total_ns"])[count // 2]
