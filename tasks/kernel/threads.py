"""The same loop in several threads at once: a closed loop of N clients in one process.

Each thread has an operation and samples of its own, so that no two ever write to one place; what they
share is the client. The garbage collector is off for all of them from the start to the end: a thread that
switched it on between its own operations would switch it on in the middle of another's.

Threads of one Python process take turns at everything but waiting. That is part of what is measured: it
is what a script with a pool of threads gets.
"""

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tasks.kernel.loop import LoopCost, Operation, epoch_of, measure
from tasks.kernel.samples import SampleColumns
from tasks.kernel.schedule import share
from tasks.kernel.start import CommonStart


def measure_in_threads(  # noqa: PLR0913 - what, where to, how often, by how many, how long
    make: Callable[[int, SampleColumns], Operation[Any, Any]],
    samples: SampleColumns,
    count: int,
    warmup: int,
    threads: int,
    *,
    deadline_ns: int | None = None,
    start: CommonStart | None = None,
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
    """
    if threads == 1:
        return measure(make(0, samples), samples, count, warmup, deadline_ns=deadline_ns, start=start)
    parts = samples.parts = [SampleColumns() for _ in range(threads)]
    operations = [make(number, part) for number, part in enumerate(parts)]
    together = threading.Barrier(threads)
    # Once: a thread that had to wait between its two readings would place its starts beside the others'.
    epoch_us = epoch_of(time.perf_counter_ns)
    if start is not None:
        start.expect(threads)

    def run(number: int) -> LoopCost:
        together.wait()
        shares = share(count, threads, number), share(warmup, threads, number)
        try:
            return measure(
                operations[number],
                parts[number],
                *shares,
                thread=number,
                epoch_us=epoch_us,
                deadline_ns=deadline_ns,
                start=start,
            )
        finally:
            if start is not None:
                start.leave()

    cpu_before_ns, started_ns = time.process_time_ns(), time.perf_counter_ns()
    gc.disable()
    try:
        with ThreadPoolExecutor(threads) as pool:
            costs = list(pool.map(run, range(threads)))
    finally:
        gc.enable()
        samples.parts = []
        for part in parts:
            samples.extend(part)
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
