"""Threads measure at the same time, record apart, and lose nothing."""

import gc
import itertools
import threading
import time
from collections.abc import Callable

import pytest

from tasks.kernel.samples import Failure, SampleColumns
from tasks.kernel.threads import measure_in_threads


class Waiting:
    """Waits as a network would, remembering in which thread it did and whether the collector was on."""

    name = "read"

    def __init__(self, number: int, part: SampleColumns, seen: "list[tuple[int, int, bool]]") -> None:
        self.number = number
        self.index = part.key_index(f"key of {number}")
        self.seen = seen

    @property
    def timed(self) -> Callable[[int], int]:
        return self._run

    def _run(self, seq: int) -> int:
        self.seen.append((self.number, threading.get_ident(), gc.isenabled()))
        time.sleep(0.01)
        if seq == 2:
            message = "third"
            raise OSError(message)
        return seq

    def prepare(self, seq: int) -> int:
        return seq

    def check(self, samples: SampleColumns, row: int, argument: int, result: int) -> None:
        samples.object_key[row] = self.index

    def explain(self, samples: SampleColumns, row: int, argument: int, error: Exception) -> Failure:
        return Failure("OSError", str(error))


@pytest.fixture(scope="module")
def measured() -> "tuple[SampleColumns, list[tuple[int, int, bool]], float]":
    seen: list[tuple[int, int, bool]] = []
    samples = SampleColumns()
    started = time.perf_counter()
    measure_in_threads(lambda number, part: Waiting(number, part, seen), samples, 42, 4, threads=4)
    return samples, seen, time.perf_counter() - started


Measured = tuple[SampleColumns, "list[tuple[int, int, bool]]", float]


def test_all_operations_are_recorded_with_the_number_of_their_thread(measured: Measured) -> None:
    samples, _, _ = measured
    workers = list(samples.integers["worker"])
    assert [workers.count(number) for number in range(4)] == [11, 11, 10, 10]
    assert sum(samples.warmup) == 4
    assert [samples.keys[index] for index in samples.object_key if index >= 0].count("key of 3") == 9


def test_threads_really_run_at_the_same_time(measured: Measured) -> None:
    _, seen, elapsed_s = measured
    assert len({ident for _, ident, _ in seen}) == 4
    assert elapsed_s < 0.7 * 42 * 0.01


def test_failures_stay_with_their_rows(measured: Measured) -> None:
    samples, _, _ = measured
    assert len(samples.failures) == 4
    assert {samples.integers["seq"][row] for row in samples.failures} == {2}
    assert {samples.integers["worker"][row] for row in samples.failures} == {0, 1, 2, 3}


def test_the_collector_is_off_for_all_until_the_last_has_ended(measured: Measured) -> None:
    _, seen, _ = measured
    assert not any(on for _, _, on in seen)
    assert gc.isenabled()


def test_the_starts_of_all_threads_lie_on_one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that looks at the time itself, and waits between two clocks, would be a second away."""
    looked = itertools.count()
    monkeypatch.setattr(time, "time_ns", lambda: next(looked) * 10**15)
    samples = SampleColumns()
    measure_in_threads(lambda number, part: Waiting(number, part, []), samples, 8, 0, threads=4)
    assert next(looked) == 1
    started_us = samples.integers["started_us"]
    assert max(started_us) - min(started_us) < 10**9


def test_no_thread_begins_anything_once_the_time_is_up() -> None:
    samples = SampleColumns()
    cost = measure_in_threads(
        lambda number, part: Waiting(number, part, []),
        samples,
        42,
        4,
        threads=4,
        deadline_ns=time.perf_counter_ns(),
    )
    assert cost.not_begun == len(samples) == 42
    samples.drop_unmeasured()
    assert len(samples) == 0


def test_a_thread_of_one_operation_does_not_lower_the_gap_between_operations() -> None:
    class Slow(Waiting):
        def prepare(self, seq: int) -> int:
            time.sleep(0.02)
            return seq

    # One of four threads has a second operation, and with it a gap, of 20 ms at least.
    cost = measure_in_threads(lambda number, part: Slow(number, part, []), SampleColumns(), 5, 0, threads=4)
    assert cost.gap_ns >= 20_000_000
