"""An open loop: operations begin at a fixed rate, however long those before them took.

A closed loop asks for the next thing when it has the last one. While a service stalls it asks for nothing, so
that the stall is one slow sample in place of all those that others would have met with in that time
(coordinated omission: Gil Tene, "How NOT to Measure Latency"; wrk2 paces so as well). Here every operation
has a moment at which it should begin, and its response time counts from there, whether the service kept it
waiting or the operations before it did.

An operation that cannot begin in time, because all threads wait for answers, begins as soon as one is free.
Sleeping ends late by some 0.1 ms, which is part of the response time: no thread spins in between, since that
would take the processor from the others.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Generic, TypeVar

from tasks.kernel.loop import Clock, LoopCost, Operation
from tasks.kernel.samples import Failure, SampleColumns

_SECOND_NS: Final = 1_000_000_000

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Pace:
    """When the operations of one of several threads should begin; together they keep the rate."""

    def __init__(self, rate_per_s: float, threads: int = 1, thread: int = 0) -> None:
        """Make one that has not begun.

        Args:
            rate_per_s: operations of all threads together in a second.
            threads: how many there are.
            thread: the number of this one.
        """
        self._interval_ns = _SECOND_NS / rate_per_s
        self._threads = threads
        self._thread = thread
        self._origin_ns: int | None = None

    def begin(self, now_ns: int) -> None:
        """Let the first operation of the first thread be due now; only the first call counts."""
        if self._origin_ns is None:
            self._origin_ns = now_ns

    def begin_again(self, now_ns: int, seq: int) -> None:
        """Let the first thread's operation `seq` be due now, whatever was due before."""
        self._origin_ns = now_ns - round(seq * self._threads * self._interval_ns)

    def intended_ns(self, seq: int) -> int:
        """When this thread's operation `seq` should begin, as the clock reads."""
        if self._origin_ns is None:
            raise RuntimeError("this pace has not begun")
        return self._origin_ns + round((seq * self._threads + self._thread) * self._interval_ns)

    def last_begin_ns(self, deadline_ns: int | None) -> int | None:
        """From when on nothing is prepared any more, since it would begin after the deadline."""
        return None if deadline_ns is None else deadline_ns - round(self._threads * self._interval_ns)


class Paced(Generic[Argument, Result]):
    """An operation whose every start is waited for; what is timed is the operation's own."""

    def __init__(  # noqa: PLR0913 - what, when, whose columns, and the clock and sleep that a test chooses
        self,
        operation: Operation[Argument, Result],
        pace: Pace,
        epoch_us: int,
        begins_again_at: int | None = None,
        *,
        clock: Clock = time.perf_counter_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Wrap one.

        Args:
            operation: what is measured.
            pace: when each should begin.
            epoch_us: what `epoch_of` gave to the loop.
            begins_again_at: the first operation after a common start with others; None without one.
            clock: the one of the loop.
            sleep: waits for so many seconds.
        """
        self.name = operation.name
        self.waited_ns = 0
        """For moments that had not come."""
        self._operation = operation
        self._pace = pace
        self._epoch_us = epoch_us
        self._begins_again_at = begins_again_at
        self._clock = clock
        self._sleep = sleep
        self._intended_ns = 0

    @property
    def timed(self) -> Callable[[Argument], Result]:
        """The operation itself."""
        return self._operation.timed

    def prepare(self, seq: int) -> Argument:
        """Prepare it, and wait until it is due."""
        argument = self._operation.prepare(seq)
        now_ns = self._clock()
        self._pace.begin(now_ns)
        if seq == self._begins_again_at:
            self._pace.begin_again(now_ns, seq)
        self._intended_ns = self._pace.intended_ns(seq)
        if self._intended_ns > now_ns:
            self._sleep((self._intended_ns - now_ns) / _SECOND_NS)
            self.waited_ns += self._clock() - now_ns if seq else 0  # before the first there is no gap
        return argument

    def check(self, samples: SampleColumns, row: int, argument: Argument, result: Result) -> None:
        """Note when it should have begun, then as the operation does."""
        self._note(samples, row)
        self._operation.check(samples, row, argument, result)

    def explain(self, samples: SampleColumns, row: int, argument: Argument, error: Exception) -> Failure:
        """Note when it should have begun, then as the operation does."""
        self._note(samples, row)
        return self._operation.explain(samples, row, argument, error)

    def cost(self, cost: LoopCost, count: int) -> LoopCost:
        """What the loop cost, without the waiting: `count` operations were asked for."""
        gaps = max(1, count - cost.not_begun - 1)
        return replace(cost, gap_ns=max(0, cost.gap_ns - self.waited_ns // gaps))

    def _note(self, samples: SampleColumns, row: int) -> None:
        intended_us = self._epoch_us + self._intended_ns // 1000
        late_ns = (samples.integers["started_us"][row] - intended_us) * 1000
        samples.put(row, "intended_us", intended_us)
        samples.put(row, "response_ns", samples.integers["total_ns"][row] + max(0, late_ns))
