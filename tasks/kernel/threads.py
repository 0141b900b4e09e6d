"""The same loop in several threads at once: a closed loop of N clients in one process, or an open one of N.

Each thread has an operation and samples of its own, so that no two ever write to one place; what they
share is the client. The garbage collector is off for all of them from the start to the end: a thread that
switched it on between its own operations would switch it on in the middle of another's.

Threads of one Python process take turns at everything but waiting. That is part of what is measured: it
is what a script with a pool of threads gets.
"""

import gc
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from tasks.kernel.loop import LoopCost, Operation, epoch_of, measure
from tasks.kernel.pace import Pace, Paced
from tasks.kernel.samples import SampleColumns
from tasks.kernel.schedule import share
from tasks.kernel.start import CommonStart


def measure_in_threads(  # noqa: PLR0913 - what, where to, how often, by how many, how long, how fast
    make: Callable[[int, SampleColumns], Operation[Any, Any]],
    samples: SampleColumns,
    count: int,
    warmup: int,
    threads: int,
    *,
    deadline_ns: int | None = None,
    start: CommonStart | None = None,
    rate_per_s: float | None = None,
) -> LoopCost:
    """Spread `count` operations over threads that start together, and record every one.

    Args:
        make: gives the operation of a thread by its number, which records into the samples it is given.
        samples: where the threads' samples end up, thread after thread, with their numbers.
        count: operations of all threads, warm-ups included.
        warmup: warm-ups of all threads; every thread starts with its share.
        threads: how many; 1 is the plain loop.
        deadline_ns: the reading of `perf_counter_ns` from which on no thread begins an operation.
        start: where all threads wait after their warm-ups, and the client after their last operation; None
            where no other client measures with them.
        rate_per_s: how many operations of all threads should begin in a second; None for a closed loop.
    """
    # Once: a thread that had to wait between its two readings would place its starts beside the others'.
    epoch_us = epoch_of(time.perf_counter_ns)
    paces = [Pace(rate_per_s, threads, number) if rate_per_s else None for number in range(threads)]

    def loop(number: int, operation: Operation[Any, Any], part: SampleColumns) -> LoopCost:
        shares = share(count, threads, number), share(warmup, threads, number)
        thread = None if threads == 1 else number
        return _measure_one(
            operation, part, shares, thread, _Times(epoch_us, deadline_ns, start), paces[number]
        )

    if threads == 1:
        return loop(0, make(0, samples), samples)

    def begin() -> None:
        now_ns = time.perf_counter_ns()
        for pace in filter(None, paces):
            pace.begin(now_ns)

    parts = samples.parts = [SampleColumns() for _ in range(threads)]
    operations = [make(number, part) for number, part in enumerate(parts)]
    loops = [partial(loop, number, operation, parts[number]) for number, operation in enumerate(operations)]
    try:
        return _at_once(loops, threading.Barrier(threads, begin), start)
    finally:
        del loops, operations
        while parts:  # one after the other, so that a million samples never exist twice
            samples.extend(parts[0])
            del parts[0]


def _at_once(
    loops: Sequence[Callable[[], LoopCost]], together: threading.Barrier, start: CommonStart | None
) -> LoopCost:
    """What loops cost that begin together, each in a thread of its own."""
    if start is not None:
        start.expect(len(loops))

    def run(loop: Callable[[], LoopCost]) -> LoopCost:
        together.wait()
        try:
            return loop()
        finally:
            if start is not None:
                start.leave()

    cpu_before_ns, started_ns = time.process_time_ns(), time.perf_counter_ns()
    gc.disable()
    try:
        with ThreadPoolExecutor(len(loops)) as pool:
            costs = list(pool.map(run, loops))
    finally:
        gc.enable()
    gaps_ns = [cost.gap_ns for cost in costs if cost.gap_ns]  # a thread of one operation has none
    cost = LoopCost(
        wall_ns=time.perf_counter_ns() - started_ns - (start.waited_ns if start is not None else 0),
        cpu_ns=time.process_time_ns() - cpu_before_ns,
        gap_ns=sum(gaps_ns) // max(1, len(gaps_ns)),
        not_begun=sum(cost.not_begun for cost in costs),
    )
    if start is not None:
        start.end()
    return cost


class _Times(NamedTuple):
    """What the loops of all threads share."""

    epoch_us: int
    deadline_ns: int | None
    start: CommonStart | None


def _measure_one(  # noqa: PLR0913, PLR0917 - what, where to, how often, who, when
    operation: Operation[Any, Any],
    samples: SampleColumns,
    shares: tuple[int, int],
    thread: int | None,
    times: _Times,
    pace: Pace | None,
) -> LoopCost:
    """The loop of one thread; `shares` are its operations and its warm-ups among them."""
    epoch_us, deadline_ns, start = times
    if pace is None:
        return measure(
            operation,
            samples,
            *shares,
            thread=thread,
            epoch_us=epoch_us,
            deadline_ns=deadline_ns,
            start=start,
        )
    paced = Paced(operation, pace, epoch_us, None if start is None else shares[1])
    cost = measure(
        paced,
        samples,
        *shares,
        thread=thread,
        epoch_us=epoch_us,
        deadline_ns=pace.last_begin_ns(deadline_ns),
        start=start,
    )
    return paced.cost(cost, shares[0])
