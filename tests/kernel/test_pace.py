"""In an open loop operations begin when they are due, and one that had to wait for others shows it."""

import itertools
from collections.abc import Callable

import pytest

from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.pace import Pace, Paced
from tasks.kernel.samples import Failure, SampleColumns
from tasks.kernel.start import CommonStart
from tasks.kernel.threads import measure_in_threads

MS = 1_000_000


class FakeTime:
    """A clock that moves when somebody sleeps, or works."""

    def __init__(self) -> None:
        self.now_ns = 5_000 * MS

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


class Working:
    """Takes known times on a fake clock; every fourth fails."""

    name = "read"

    def __init__(self, time: FakeTime, takes_ms: list[int]) -> None:
        self.time = time
        self.takes_ms = takes_ms

    @property
    def timed(self) -> Callable[[int], int]:
        return self._run

    def _run(self, seq: int) -> int:
        self.time.now_ns += self.takes_ms[seq] * MS
        if seq % 4 == 3:
            message = "fourth"
            raise OSError(message)
        return seq

    def prepare(self, seq: int) -> int:
        return seq

    def check(self, samples: SampleColumns, row: int, argument: int, result: int) -> None:
        samples.integers["size_bytes"][row] = result

    def explain(self, samples: SampleColumns, row: int, argument: int, error: Exception) -> Failure:
        return Failure("OSError", str(error))


def paced(takes_ms: list[int], rate_per_s: float) -> tuple[SampleColumns, LoopCost]:
    time, samples = FakeTime(), SampleColumns()
    operation = Paced(Working(time, takes_ms), Pace(rate_per_s), 0, clock=time, sleep=time.sleep)
    cost = measure(operation, samples, len(takes_ms), 0, clock=time, epoch_us=0)
    return samples, operation.cost(cost, len(takes_ms))


def test_operations_begin_at_the_rate_whatever_they_take() -> None:
    samples, cost = paced([1, 3, 2, 4], rate_per_s=100)
    assert [us - 5_000_000 for us in samples.integers["started_us"]] == [0, 10_000, 20_000, 30_000]
    assert samples.integers["intended_us"] == samples.integers["started_us"]
    assert samples.integers["response_ns"] == samples.integers["total_ns"]
    assert cost.gap_ns == 0, "waiting for the moment is no cost of the loop"


def test_one_that_is_slow_makes_those_behind_it_late_and_their_response_says_so() -> None:
    samples, _ = paced([1, 35, 1, 1, 1, 1], rate_per_s=100)
    assert [ns // MS for ns in samples.integers["total_ns"]] == [1, 35, 1, 1, 1, 1]
    intended = [us // 1000 - 5000 for us in samples.integers["intended_us"]]
    assert intended == [0, 10, 20, 30, 40, 50]
    assert [ns // MS for ns in samples.integers["response_ns"]] == [1, 35, 26, 17, 8, 1]
    assert set(samples.failures) == {3}, "one that failed has a response time too"


def test_threads_share_one_schedule() -> None:
    paces = [Pace(100, threads=3, thread=number) for number in range(3)]
    for pace in paces:
        pace.begin(1_000)
        pace.begin(9_999_999)
    due = [[(pace.intended_ns(seq) - 1_000) // MS for seq in range(3)] for pace in paces]
    assert due == [[0, 30, 60], [10, 40, 70], [20, 50, 80]]


def test_a_rate_that_is_no_whole_number_of_nanoseconds_does_not_drift() -> None:
    pace = Pace(3)
    pace.begin(0)
    assert pace.intended_ns(3_000_000) == 10**15


def test_after_a_common_start_nothing_of_the_warm_ups_is_late() -> None:
    time, samples = FakeTime(), SampleColumns()

    def others() -> str:
        time.now_ns += 70 * MS
        return ""

    operation = Paced(Working(time, [50, 1, 1]), Pace(100), 0, 1, clock=time, sleep=time.sleep)
    measure(operation, samples, 3, 1, clock=time, epoch_us=0, start=CommonStart(others))
    assert [ns // MS for ns in samples.integers["response_ns"]] == [50, 1, 1]
    assert [us // 1000 - 5000 for us in samples.integers["intended_us"]] == [0, 120, 130]


def test_nothing_begins_that_is_due_after_the_deadline() -> None:
    time, samples = FakeTime(), SampleColumns()
    pace = Pace(100)
    operation = Paced(Working(time, [1] * 10), pace, 0, clock=time, sleep=time.sleep)
    deadline_ns = pace.last_begin_ns(time.now_ns + 55 * MS)
    cost = measure(operation, samples, 10, 0, clock=time, epoch_us=0, deadline_ns=deadline_ns)
    assert cost.not_begun == 4
    assert max(us for us in samples.integers["started_us"][:6]) <= 5_055_000


def test_a_pace_that_has_not_begun_is_a_mistake_of_ours() -> None:
    with pytest.raises(RuntimeError, match="has not begun"):
        Pace(1).intended_ns(0)


def test_several_threads_keep_the_rate_together_and_every_operation_has_its_moment() -> None:
    class Quick(Working):
        def _run(self, seq: int) -> int:
            return seq

    samples = SampleColumns()
    measure_in_threads(lambda *_: Quick(FakeTime(), []), samples, 100, 0, threads=4, rate_per_s=500)
    intended = sorted(samples.integers["intended_us"])
    steps = [after - before for before, after in itertools.pairwise(intended)]
    assert set(steps) <= {1999, 2000, 2001}
    started = samples.integers["started_us"]
    assert all(started[row] >= samples.integers["intended_us"][row] for row in range(100))
    assert all(
        samples.integers["response_ns"][row] >= samples.integers["total_ns"][row] for row in range(100)
    )
