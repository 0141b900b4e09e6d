"""What threads move together, from samples whose starts and ends are known."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from tasks.stats.series import split
from tasks.stats.throughput import Crew, Together

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


def test_workers_of_whom_nobody_knows_what_they_were_have_no_throughput(table: Table) -> None:
    rows = [operation(0, worker, 0, 10) for worker in range(2)]
    (series,) = split(table(rows), crews_known=False)
    assert series.together == Together(2, ())
    (alone,) = split(table(rows[:1]), crews_known=False)
    assert alone.together is None


def by_clients(rows: list[dict[str, object]], table: Table, clients: int, threads: int = 1) -> Together:
    samples = table(rows)
    (key,) = {(row["workload_id"], row["config_id"]) for row in samples.to_pylist()}
    (series,) = split(samples, {key: Crew(clients, threads)})
    assert series.together is not None
    return series.together


def test_bytes_of_clients_count_within_the_window_in_which_all_are_active(table: Table) -> None:
    """From 5 ms, when the second begins, to 30 ms, when the first has ended; edges count by their share."""
    rows = [
        *(operation(0, 0, started_ms, 10) for started_ms in (0, 10, 20)),
        operation(0, 1, 5, 10),
        operation(0, 1, 15, 10),
        operation(0, 1, 25, 20),
    ]
    together = by_clients(rows, table, 2)
    moved = (500 + 1000 + 1000) + (1000 + 1000 + 250)
    assert together.bytes_per_s == pytest.approx((moved / 0.025,))
    assert together.active_shares == pytest.approx((25 / 45,))
    assert (together.clients, together.threads) == (2, 2)


def test_warm_ups_of_clients_lie_before_their_common_start_and_count_nowhere(table: Table) -> None:
    counted = [operation(0, client, 1000, 10) for client in range(2)]
    warmups = [operation(0, client, 100 * client, 10, warmup=True) for client in range(2)]
    assert by_clients(warmups + counted, table, 2) == by_clients(counted, table, 2)
    assert by_clients(warmups + counted, table, 2).bytes_per_s == pytest.approx((2000 / 0.01,))


def test_a_client_is_active_while_its_operations_fail_and_moves_nothing(table: Table) -> None:
    failed = {"outcome": "error", "size_bytes": None}
    rows = [operation(0, 0, 0, 10), operation(0, 0, 10, 10), operation(0, 1, 0, 20, **failed)]
    assert by_clients(rows, table, 2).bytes_per_s == pytest.approx((2000 / 0.02,))


def test_a_client_is_active_from_the_first_to_the_last_of_its_threads(table: Table) -> None:
    """Workers 0 and 1 are threads of the first client, 2 and 3 of the second: from 10 to 40 ms."""
    rows = [operation(0, 0, 0, 20), operation(0, 1, 20, 20), operation(0, 2, 10, 40), operation(0, 3, 20, 20)]
    together = by_clients(rows, table, clients=2, threads=2)
    assert together.bytes_per_s == pytest.approx(((500 + 1000 + 750 + 1000) / 0.03,))
    assert (together.clients, together.threads) == (2, 4)


def test_a_block_without_one_of_its_clients_has_no_throughput_of_all(table: Table) -> None:
    whole = [operation(1, client, 0, 10) for client in range(3)]
    together = by_clients([operation(0, 0, 0, 10), operation(0, 2, 0, 10), *whole], table, 3)
    assert together.bytes_per_s == pytest.approx((3000 / 0.01,))


def test_clients_that_were_never_active_at_the_same_time_have_no_throughput_of_all(table: Table) -> None:
    together = by_clients([operation(0, 0, 0, 10), operation(0, 1, 10, 10)], table, 2)
    assert together.bytes_per_s == ()
    assert together.median_active_share is None


def test_one_client_beside_several_is_held_to_the_same_rule(table: Table) -> None:
    rows = [operation(0, 0, 0, 30, warmup=True), operation(0, 0, 100, 10), operation(0, 0, 120, 10)]
    together = by_clients(rows, table, 1)
    assert together.bytes_per_s == pytest.approx((2000 / 0.03,))
    assert together.active_shares == (1.0,)
