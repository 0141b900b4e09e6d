"""Clients wait for one another between their warm-ups and what counts, outside of every clock."""

import threading
import time
from collections.abc import Callable

import pytest

from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, Failure, SampleColumns
from tasks.kernel.start import CommonStart, sleep_until
from tasks.kernel.threads import measure_in_threads


class Remembered:
    """Does nothing, and remembers it."""

    name = "read"

    def __init__(self, happened: list[str], fails_at: int = -1) -> None:
        self.happened = happened
        self.fails_at = fails_at

    @property
    def timed(self) -> Callable[[int], int]:
        return self._run

    def _run(self, seq: int) -> int:
        self.happened.append(f"operation {seq}")
        return seq

    def prepare(self, seq: int) -> int:
        return seq

    def check(self, samples: SampleColumns, row: int, argument: int, result: int) -> None:
        if result == self.fails_at:
            raise RuntimeError("nobody can say whether it is right")

    def explain(self, samples: SampleColumns, row: int, argument: int, error: Exception) -> Failure:
        raise error


def start_after(happened: list[str], waits_s: float = 0.0, why_not: str = "") -> CommonStart:
    def wait_for_others() -> str:
        happened.append("ready")
        time.sleep(waits_s)
        return why_not

    return CommonStart(wait_for_others)


def test_a_client_waits_once_between_its_warm_ups_and_what_counts() -> None:
    happened: list[str] = []
    measure(Remembered(happened), SampleColumns(), 4, 2, start=start_after(happened))
    assert happened == ["operation 0", "operation 1", "ready", "operation 2", "operation 3"]


def test_a_client_without_warm_ups_waits_before_its_first_operation() -> None:
    happened: list[str] = []
    measure(Remembered(happened), SampleColumns(), 2, 0, start=start_after(happened))
    assert happened == ["ready", "operation 0", "operation 1"]


@pytest.mark.parametrize("threads", [1, 4])
def test_waiting_is_no_time_of_the_loop_and_no_gap_between_operations(threads: int) -> None:
    start = start_after([], waits_s=0.7)
    samples = SampleColumns()
    cost = measure_in_threads(lambda *_: Remembered([]), samples, 40, 8, threads, start=start)
    assert cost.wall_ns < 0.6e9
    assert cost.gap_ns < 50e6
    assert max(samples.integers["total_ns"]) < 0.6e9
    counted = [row for row in range(len(samples)) if not samples.warmup[row]]
    begun_us = [samples.integers["started_us"][row] for row in counted]
    warmed_up_us = max(samples.integers["started_us"][row] for row in range(40) if samples.warmup[row])
    assert min(begun_us) - warmed_up_us > 600_000, "all threads waited for the last, and for the others"


def test_a_client_that_is_not_to_begin_ends_with_its_warm_ups() -> None:
    for threads in (1, 4):
        samples = SampleColumns()
        start = start_after([], why_not="another one failed")
        cost = measure_in_threads(lambda *_: Remembered([]), samples, 40, 8, threads, start=start)
        assert start.why_not == "another one failed"
        assert cost.not_begun == 32
        assert [total_ns != NULL for total_ns in samples.integers["total_ns"]].count(True) == 8


def test_a_thread_that_breaks_off_while_it_warms_up_keeps_no_other_waiting() -> None:
    ready: list[str] = []
    start = start_after(ready)
    measured = threading.Event()

    def measure_all() -> None:
        with pytest.raises(RuntimeError, match="nobody can say"):
            measure_in_threads(
                lambda number, _: Remembered([], fails_at=0 if number == 2 else -1),
                SampleColumns(),
                40,
                8,
                4,
                start=start,
            )
        measured.set()

    threading.Thread(target=measure_all, daemon=True).start()
    assert measured.wait(10)
    assert ready == [], "the client never told the others that it was ready"
    assert start.why_not == "a thread of this client ended before the common start"


def test_nobody_begins_before_the_moment_of_the_start() -> None:
    moment_us = time.time_ns() // 1000 + 50_000
    sleep_until(moment_us)
    late_us = time.time_ns() // 1000 - moment_us
    assert 0 <= late_us < 1_000_000
    sleep_until(moment_us)  # passed: at once
