"""The timing loop: only the operation stands between the two readings of the clock.

    prepare(seq) → [clock → timed(argument) → clock] → check(row, argument, result)

The garbage collector is off between the readings and on around them, so that a collection never falls
into a sample and memory stays flat over a million operations. An exception is recorded at one place,
here; nothing is retried. A row has its number and its time before it is checked, so that a check that
breaks off loses no sample. Between operations the loop looks whether its time is up, and then begins no
further one: what was measured is kept. One that was begun just before and does not end is given up by
another thread (`SampleColumns.give_up`). Where several clients measure at the same time, each waits for the
others between its warm-ups and what counts. Rejected: `timeit` (keeps no single samples) and switching the
collector off for a whole block (clients leave cycles behind, so that memory grows).
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tasks.kernel.samples import Failure, SampleColumns
from tasks.kernel.start import CommonStart

Clock = Callable[[], int]
"""Gives nanoseconds that never go back."""

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Operation(Protocol[Argument, Result]):
    """What a workload gives to the loop; only `timed` is measured."""

    name: str
    """One of `OPERATIONS`."""

    @property
    def timed(self) -> Callable[[Argument], Result]:
        """The operation itself."""

    def prepare(self, seq: int) -> Argument:
        """Make what operation number `seq` works on."""

    def check(self, samples: SampleColumns, row: int, argument: Argument, result: Result) -> None:
        """Verify the result, fill in the row's columns, and mark it as failed where it is wrong."""

    def explain(self, samples: SampleColumns, row: int, argument: Argument, error: Exception) -> Failure:
        """Say what an exception of `timed` means; what else is known of the row may be filled in."""


@dataclass(frozen=True, slots=True)
class LoopCost:
    """What the loop itself cost over a block."""

    wall_ns: int
    """From the first preparation to the last check, without waiting for other clients."""
    cpu_ns: int
    """Processor time of the process in that time, client included."""
    gap_ns: int
    """Mean time from the end of one operation to the start of the next; 0 with a single one."""
    not_begun: int = 0
    """Operations for which no time was left, or which were not to be begun; their rows are empty."""


def measure(  # noqa: PLR0913 - what, where to, how often; a test chooses the clock, a pool the thread
    operation: Operation[Argument, Result],
    samples: SampleColumns,
    count: int,
    warmup: int,
    *,
    clock: Clock = time.perf_counter_ns,
    thread: int | None = None,
    epoch_us: int | None = None,
    deadline_ns: int | None = None,
    start: CommonStart | None = None,
) -> LoopCost:
    """Run an operation `count` times, of which the first `warmup` are marked, and record every one.

    Args:
        operation: what is measured.
        samples: where every operation is recorded.
        count: how often, warm-ups included.
        warmup: how many of them are marked as warm-ups.
        clock: what is read before and after each operation.
        thread: the number of this thread among several, which leave the garbage collector alone; None
            where this is the only one.
        epoch_us: what `epoch_of` gave, once for all threads, so that their starts lie on one clock; None
            where this is the only one.
        deadline_ns: the reading of the clock from which on no operation is begun; None where time is not
            bounded.
        start: where to wait after the warm-ups, and after the last operation, unless this is one of several
            threads; None where nobody else measures at the same time.
    """
    first_row = samples.grow(count, operation.name, worker=thread or 0)
    samples.warmup[first_row : first_row + warmup] = type(samples.warmup)("b", [1]) * warmup
    total_ns, started_us = samples.integers["total_ns"], samples.integers["started_us"]
    seq_column = samples.integers["seq"]
    prepare, timed = operation.prepare, operation.timed
    disable_gc, enable_gc = (gc.disable, gc.enable) if thread is None else (_leave_gc, _leave_gc)
    done = gaps_ns = waited_ns = previous_ended_ns = 0
    epoch_us = epoch_of(clock) if epoch_us is None else epoch_us
    cpu_before_ns = time.process_time_ns()
    origin_ns = clock()
    for seq in range(count):
        if deadline_ns is not None and clock() >= deadline_ns:
            break
        if seq == warmup and start is not None:
            arrived_ns = clock()
            if not start.wait():
                break
            waited_ns = clock() - arrived_ns
            previous_ended_ns += waited_ns
        row = first_row + seq
        argument = prepare(seq)
        seq_column[row] = seq
        # Of an operation that never ends this is all that whoever stops the block will know.
        samples.under_way = row, clock()
        disable_gc()
        started_ns = clock()
        try:
            result = timed(argument)
        except Exception as error:  # noqa: BLE001 - the one place where a failed operation becomes a sample
            ended_ns = clock()
            enable_gc()
            started_us[row], total_ns[row] = epoch_us + started_ns // 1000, ended_ns - started_ns
            # An explanation may fail too, as of a folder that a killed program still changes.
            samples.fail(row, Failure(type(error).__name__, str(error)))
            samples.fail(row, operation.explain(samples, row, argument, error))
        else:
            ended_ns = clock()
            enable_gc()
            started_us[row], total_ns[row] = epoch_us + started_ns // 1000, ended_ns - started_ns
            _check(operation, samples, row, argument, result)
            # Else the next assignment would free it, a large body perhaps, while the clock runs.
            del result
        samples.under_way = None
        done += 1
        if seq:
            gaps_ns += started_ns - previous_ended_ns
        previous_ended_ns = ended_ns
    wall_ns = clock() - origin_ns - waited_ns
    cpu_ns = time.process_time_ns() - cpu_before_ns
    if start is not None and thread is None:
        start.end()
    return LoopCost(wall_ns, cpu_ns, gaps_ns // max(1, done - 1), count - done)


def epoch_of(clock: Clock) -> int:
    """What makes microseconds of the clock those since 1970."""
    return time.time_ns() // 1000 - clock() // 1000


def _check(
    operation: Operation[Argument, Result],
    samples: SampleColumns,
    row: int,
    argument: Argument,
    result: Result,
) -> None:
    """Verify; a result of which nobody can say whether it is right is an error, and the block breaks off."""
    try:
        operation.check(samples, row, argument, result)
    except Exception as error:
        samples.fail(row, Failure("NotVerified", f"{type(error).__name__}: {error}"))
        raise


def _leave_gc() -> None:
    """What several threads do to the collector, which whoever started them has switched off."""
