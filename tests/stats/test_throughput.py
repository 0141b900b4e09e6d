"""What threads move together, from samples whose starts and ends are known."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from tasks.stats.series import split

Table = Callable[[list[dict[str, object]]], pa.Table]

START_US = 1_767_232_800_000_000


def operation(block: int, worker: int, started_ms: int, total_ms: int, **values: object) -> dict[str, object]:
    return {
        "block": block,
        "worker": worker,
        "started_us": START_US + 3_600_000_000 * block + 1000 * started_ms,
        "total_ns": total_ms * 1_000_000,
        "size_bytes": 1000,
        **values,
    }


def test_bytes_of_a_block_are_divided_by_the_time_from_its_first_start_to_its_last_end(table: Table) -> None:
    """The first to start is the last to end; failed operations take time and move nothing."""
    rows = [
        operation(0, 0, 100, 100),
        operation(0, 1, 110, 20),
        operation(0, 1, 140, 50),
        operation(0, 1, 150, 50, outcome="error"),
        operation(1, 0, 0, 10),
        operation(1, 1, 0, 10),
    ]
    (series,) = split(table(rows))
    assert series.together is not None
    assert series.together.threads == 2
    assert series.together.bytes_per_s == pytest.approx((3000 / 0.1, 2000 / 0.01))
    assert series.together.median_bytes_per_s == pytest.approx(30_000)


def test_warm_ups_count_with_their_bytes_and_their_time(table: Table) -> None:
    """One thread still warms up while the other one measures, and takes its share of what there is."""
    rows = [
        operation(0, 0, 0, 100, warmup=True),
        operation(0, 0, 100, 100),
        operation(0, 1, 0, 20, warmup=True),
        operation(0, 1, 20, 180),
    ]
    (series,) = split(table(rows))
    assert series.together is not None
    assert series.together.bytes_per_s == pytest.approx((4000 / 0.2,))


def test_failed_operations_without_a_size_take_time_and_move_nothing(table: Table) -> None:
    failed = {"outcome": "error", "size_bytes": None}
    rows = [operation(0, 0, 0, 10), operation(0, 1, 0, 100, **failed), operation(1, 0, 0, 100, **failed)]
    (series,) = split(table(rows))
    assert series.together is not None
    assert series.together.threads == 2
    assert series.together.bytes_per_s == pytest.approx((1000 / 0.1,))


def test_one_thread_has_no_throughput_of_several(table: Table) -> None:
    (series,) = split(table([operation(0, 0, 0, 10), operation(0, 0, 20, 10)]))
    assert series.together is None


@pytest.mark.parametrize("missing", ["started_us", "size_bytes"])
def test_threads_whose_starts_or_sizes_nobody_knows_have_no_throughput(table: Table, missing: str) -> None:
    (series,) = split(table([operation(0, worker, 0, 10) | {missing: None} for worker in range(2)]))
    assert series.together is not None
    assert series.together.median_bytes_per_s is None
