import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tasks.kernel.samples import STAGES
from tasks.results.schema import SAMPLES
from tasks.stats.summaries import summarise
from tasks.stats.summary_types import Distribution, Quantile, Summary

Table = Callable[[list[dict[str, object]]], pa.Table]


def test_known_times_give_exactly_the_known_figures(table: Table) -> None:
    rows = [{"total_ns": value, "size_bytes": 65_536} for value in (10, 7, 8, 9, 1, 2, 3, 4, 5, 6)]
    assert summarise(table(rows)) == [
        Summary(
            config_id="a",
            workload_id="w",
            operation="read",
            stage="total_ns",
            warmups=0,
            errors=0,
            distribution=Distribution(
                n=10,
                min_ns=1,
                avg_ns=6,  # 5.5, halves up
                p50=Quantile(5, 2, 9),
                p90=Quantile(9, 7, None),
                p99=Quantile(10, 9, None),
                max_ns=10,
            ),
            files=None,
            records=None,
            size_bytes=65_536,
        )
    ]


def test_warmups_and_errors_are_counted_and_are_in_no_time(table: Table) -> None:
    rows: list[dict[str, object]] = [
        {"total_ns": 10},
        {"total_ns": 999, "warmup": True},
        {"total_ns": 999, "outcome": "error", "error": "SlowDown"},
        {"total_ns": 999, "outcome": "error", "error": "SlowDown", "warmup": True},
    ]
    (summary,) = summarise(table(rows))
    assert (summary.warmups, summary.errors) == (2, 1)
    assert summary.distribution is not None
    assert (summary.distribution.n, summary.distribution.max_ns) == (1, 10)


def test_a_cell_where_everything_failed_has_a_summary_without_figures(table: Table) -> None:
    (summary,) = summarise(table([{"total_ns": 5, "outcome": "error"}] * 3))
    assert (summary.stage, summary.errors, summary.distribution) == ("total_ns", 3, None)


def test_a_skipped_cell_and_one_that_failed_as_a_whole_have_no_summary(table: Table) -> None:
    whole: dict[str, object] = {"operation": None, "block": None, "worker": None}
    assert summarise(table([whole | {"outcome": "skipped"}, whole | {"outcome": "error"}])) == []


def test_no_samples_give_no_summaries(table: Table) -> None:
    assert summarise(table([])) == []


def test_a_stage_that_did_not_happen_has_no_summary_and_a_null_is_no_zero(table: Table) -> None:
    rows: list[dict[str, object]] = [
        {"operation": "scan", "read_ns": 4, "total_ns": 10},
        {"operation": "scan", "read_ns": None, "total_ns": 20},
    ]
    found = {summary.stage: summary.distribution for summary in summarise(table(rows))}
    assert list(found) == ["read_ns", "total_ns"]
    assert found["read_ns"] is not None
    assert (found["read_ns"].n, found["read_ns"].min_ns) == (1, 4)


def test_operations_of_unlike_sizes_have_no_common_size(table: Table) -> None:
    (summary,) = summarise(table([{"total_ns": 1, "size_bytes": 1}, {"total_ns": 1, "size_bytes": 2}]))
    assert summary.size_bytes is None


def test_the_order_does_not_depend_on_the_order_of_the_rows(table: Table) -> None:
    rows: list[dict[str, object]] = [
        {"workload_id": workload, "config_id": config, "operation": operation, "read_ns": 1, "total_ns": 2}
        for workload in ("v", "u")
        for config in ("b", "a")
        for operation in ("scan_file", "scan")
    ]
    forward, backward = summarise(table(rows)), summarise(table(rows[::-1]))
    assert forward == backward
    names = [(one.workload_id, one.config_id, one.operation, one.stage) for one in forward[:4]]
    assert names == [
        ("u", "a", "scan", "read_ns"),
        ("u", "a", "scan", "total_ns"),
        ("u", "a", "scan_file", "read_ns"),
        ("u", "a", "scan_file", "total_ns"),
    ]


def test_rows_of_cells_in_any_order_keep_to_their_cells(table: Table) -> None:
    rows: list[dict[str, object]] = [
        {"config_id": f"c{i % 3}", "workload_id": f"w{i % 2}", "total_ns": i, "block": i % 5}
        for i in range(60)
    ]
    found = {(one.workload_id, one.config_id): one.distribution for one in summarise(table(rows))}
    assert len(found) == 6
    for (workload_id, config_id), figures in found.items():
        mine = [i for i in range(60) if (f"w{i % 2}", f"c{i % 3}") == (workload_id, config_id)]
        assert figures is not None
        assert (figures.n, figures.min_ns, figures.max_ns) == (len(mine), mine[0], mine[-1])


def test_a_million_samples_are_summarised_within_three_seconds() -> None:
    n = 1_000_000
    noise = np.random.default_rng(1)
    times = (1e6 * noise.lognormal(0, 0.3, n)).astype(np.int64)
    columns: dict[str, pa.Array] = {stage: pa.array(times) for stage in STAGES}
    columns |= {
        "config_id": pa.array([f"config_{i}" for i in range(40)]).take(pa.array(np.arange(n) % 40)),
        "workload_id": pa.array(np.full(n, "w")),
        "operation": pa.array(np.full(n, "scan")),
        "outcome": pa.array(np.full(n, "ok")),
        "warmup": pa.array(np.arange(n) < n // 21),
        "block": pa.array((np.arange(n) // (n // 5)).astype(np.int32)),
    }
    nothing = {field.name: pa.nulls(n, field.type) for field in SAMPLES}
    samples = pa.table({name: columns.get(name, nothing[name]) for name in SAMPLES.names}, schema=SAMPLES)
    start = time.process_time()  # of this process: others may use the machine as well
    found = summarise(samples)
    assert time.process_time() - start < 3
    assert len(found) == 40 * len(STAGES)
