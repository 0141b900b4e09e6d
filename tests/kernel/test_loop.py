"""The loop times the operation and nothing else, and keeps every operation as a sample."""

import gc
import itertools
from collections.abc import Callable

import pytest

from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, Failure, SampleColumns


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now_ns = 1_000

    def __call__(self) -> int:
        return self.now_ns


class Sleeper:
    """Takes known times on a fake clock; preparing and checking take long ones that must not count."""

    name = "read"

    def __init__(self, clock: FakeClock, latencies_ns: list[int]) -> None:
        self.clock = clock
        self.latencies_ns = latencies_ns
        self.calls: list[str] = []
        self.gc_was_on: list[bool] = []

    @property
    def timed(self) -> Callable[[int], int]:
        return self._run

    def _run(self, seq: int) -> int:
        self.calls.append(f"run {seq}")
        self.gc_was_on.append(gc.isenabled())
        self.clock.now_ns += self.latencies_ns[seq]
        if self.latencies_ns[seq] % 2:
            message = f"odd {seq}"
            raise OSError(message)
        return seq

    def prepare(self, seq: int) -> int:
        self.calls.append(f"prepare {seq}")
        self.clock.now_ns += 7_000
        return seq

    def check(self, samples: SampleColumns, row: int, argument: int, result: int) -> None:
        self.calls.append(f"check {result}")
        self.clock.now_ns += 11_000
        samples.integers["size_bytes"][row] = 10 * argument

    def explain(self, samples: SampleColumns, row: int, argument: int, error: Exception) -> Failure:
        return Failure("OSError", str(error), http_status=503, retries=2)


@pytest.fixture
def measured() -> tuple[Sleeper, SampleColumns]:
    clock = FakeClock()
    sleeper = Sleeper(clock, [100, 2_000, 301, 40, 50_000])
    samples = SampleColumns()
    measure(sleeper, samples, count=5, warmup=2, clock=clock)
    return sleeper, samples


def test_a_sample_is_exactly_what_the_operation_took(measured: tuple[Sleeper, SampleColumns]) -> None:
    _, samples = measured
    assert list(samples.integers["total_ns"]) == [100, 2_000, 301, 40, 50_000]


def test_each_operation_is_prepared_before_its_clock_and_checked_after_it(
    measured: tuple[Sleeper, SampleColumns],
) -> None:
    sleeper, _ = measured
    assert sleeper.calls[:6] == ["prepare 0", "run 0", "check 0", "prepare 1", "run 1", "check 1"]


def test_warmups_come_first_and_are_kept_and_marked(measured: tuple[Sleeper, SampleColumns]) -> None:
    _, samples = measured
    assert list(samples.warmup) == [1, 1, 0, 0, 0]
    assert list(samples.integers["seq"]) == [0, 1, 2, 3, 4]


def test_a_failed_operation_is_a_sample_with_its_time_and_reason(
    measured: tuple[Sleeper, SampleColumns],
) -> None:
    sleeper, samples = measured
    assert samples.failures == {2: Failure("OSError", "odd 2", http_status=503, retries=2)}
    assert samples.integers["http_status"][2] == 503
    assert samples.integers["retries"][2] == 2
    assert samples.integers["size_bytes"][2] == NULL
    assert sleeper.calls.count("run 2") == 1  # and it is not tried again


def test_the_garbage_collector_is_off_only_while_the_clock_runs(
    measured: tuple[Sleeper, SampleColumns],
) -> None:
    sleeper, _ = measured
    assert sleeper.gc_was_on == [False] * 5
    assert gc.isenabled()


def test_starts_are_as_far_apart_as_the_clock_says(measured: tuple[Sleeper, SampleColumns]) -> None:
    _, samples = measured
    started_us = samples.integers["started_us"]
    # From start to start: the operation, its check (11 µs) and the next preparation (7 µs).
    assert [b - a for a, b in itertools.pairwise(started_us)] == [18, 20, 7, 18]


def test_the_gap_is_the_mean_time_between_operations() -> None:
    clock = FakeClock()
    cost = measure(Sleeper(clock, [100, 100]), SampleColumns(), count=2, warmup=0, clock=clock)
    assert cost.wall_ns == 2 * (7_000 + 100 + 11_000)
    assert cost.gap_ns == 7_000 + 11_000


def test_a_single_operation_has_no_gap() -> None:
    clock = FakeClock()
    assert measure(Sleeper(clock, [100]), SampleColumns(), count=1, warmup=0, clock=clock).gap_ns == 0


class Body:
    """What a read gives; to free it takes a millisecond."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    def __del__(self) -> None:
        self.clock.now_ns += 1_000_000


class Reader(Sleeper):
    def _run(self, seq: int) -> Body:  # type: ignore[override]
        self.clock.now_ns += self.latencies_ns[seq]
        return Body(self.clock)

    def check(self, samples: SampleColumns, row: int, argument: int, result: object) -> None:
        """Keep nothing."""


def test_what_was_read_is_not_freed_while_the_clock_runs_for_the_next() -> None:
    clock = FakeClock()
    samples = SampleColumns()
    measure(Reader(clock, [100, 200, 300]), samples, count=3, warmup=0, clock=clock)
    assert list(samples.integers["total_ns"]) == [100, 200, 300]


def test_an_operation_whose_check_breaks_off_is_a_sample_with_its_time_that_is_no_success() -> None:
    clock = FakeClock()
    sleeper = Sleeper(clock, [100, 200, 300])
    checked = sleeper.check

    def check(samples: SampleColumns, row: int, argument: int, result: int) -> None:
        checked(samples, row, argument, result)
        if argument == 1:
            raise ConnectionError("gone")

    sleeper.check = check  # type: ignore[method-assign]
    samples = SampleColumns()
    with pytest.raises(ConnectionError):
        measure(sleeper, samples, count=3, warmup=0, clock=clock)
    assert list(samples.integers["total_ns"]) == [100, 200, NULL]
    assert list(samples.integers["seq"])[:2] == [0, 1]
    assert samples.failures == {1: Failure("NotVerified", "ConnectionError: gone")}


def test_no_operation_begins_once_the_time_is_up_and_what_was_measured_stays() -> None:
    clock, samples = FakeClock(), SampleColumns()
    # Each takes 100 ns, and 18 µs around it: the third begins 36.2 µs after the first.
    deadline_ns = clock() + 36_200
    cost = measure(
        Sleeper(clock, [100] * 5), samples, count=5, warmup=0, clock=clock, deadline_ns=deadline_ns
    )
    assert cost.not_begun == 3
    assert cost.gap_ns == 18_000
    assert cost.wall_ns == 36_200
    assert list(samples.integers["total_ns"]) == [100, 100, NULL, NULL, NULL]


def test_an_interrupt_is_not_taken_for_a_failed_operation() -> None:
    clock = FakeClock()
    sleeper = Sleeper(clock, [0])

    def interrupted(_: int) -> int:
        raise KeyboardInterrupt

    sleeper._run = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        measure(sleeper, SampleColumns(), count=1, warmup=0, clock=clock)


class Unexplained(Sleeper):
    """Cannot even say why it failed."""

    def explain(self, samples: SampleColumns, row: int, argument: int, error: Exception) -> Failure:
        message = "the folder is gone too"
        raise FileNotFoundError(message)


def test_a_failed_operation_that_nobody_can_explain_is_no_success() -> None:
    clock, samples = FakeClock(), SampleColumns()
    with pytest.raises(FileNotFoundError):
        measure(Unexplained(clock, [100, 301]), samples, count=2, warmup=0, clock=clock)
    samples.drop_unmeasured()
    assert samples.failures == {1: Failure("OSError", "odd 1")}
    assert list(samples.integers["total_ns"]) == [100, 301]
