"""Queries that ship give our own figures: translated from Athena's dialect for DuckDB, and as it stands."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import sqlglot
from scipy.stats import t
from sqlglot import exp

from configs.errors import UserError
from tasks.results.athena import VIEWS, ddl
from tasks.results.compaction import compact_month, finished_months
from tasks.results.duckdb_views import duckdb_views
from tasks.results.history import read_history
from tasks.results.names import monthly_name, run_name
from tasks.results.sql_queries import Asked, queries, query
from tasks.results.store import Store, open_store
from tasks.stats.likeness import Likeness
from tasks.stats.night_pairs import compare_by_night
from tasks.stats.nights import coverage, nights_due
from tasks.stats.summaries import summarise
from tasks.stats.summary_types import Quantile, Summary
from tests.results.sql_store import (
    COMPACTED_ON,
    LATE,
    SCHEDULE,
    SINCE,
    UNFINISHED,
    UNTIL,
    SqlStore,
    Written,
)

Row = dict[str, object]
Ask = Callable[..., list[Row]]
ASKED = Asked(SCHEDULE, SINCE, UNTIL)
OF_TWO = replace(ASKED, config_a="rust", config_b="boto3")
WAYS = ("translated", "as it stands")


def translated(sql: str) -> str:
    (statement,) = sqlglot.transpile(
        sql, read="athena", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return statement


def opened(store: Store, way: str = "as it stands") -> duckdb.DuckDBPyConnection:
    """DuckDB with the tables, and the views for DuckDB or those for Athena translated."""
    duck = duckdb.connect()
    duck.execute(duckdb_views(store))
    if way == "translated":
        for statement in ddl("s3://amzn-s3-demo-bucket/s3bench", ["boto3"]):
            if statement.name in VIEWS:
                duck.execute(translated(statement.sql))
    return duck


def rows_of(duck: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    found = duck.execute(sql)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture(scope="module", params=WAYS)
def ask(request: pytest.FixtureRequest, sql_store: SqlStore) -> Ask:
    duck = opened(sql_store.store, request.param)

    def answer(name: str, asked: Asked = ASKED) -> list[Row]:
        sql = query(name).filled(asked)
        return rows_of(duck, translated(sql) if request.param == "translated" else sql)

    return answer


def night_of(written: Written) -> Row:
    record = written.record
    return {
        "dt": record.dt,
        "scheduled_at": record.scheduled_at,
        "lab": record.lab,
        "synthetic": record.synthetic,
    }


def summaries_of(store: SqlStore, *, failed_too: bool = False) -> list[tuple[Row, Summary]]:
    """The figures of the nights, of cells that were measured to their end, in the order of the queries."""
    found = []
    for written in store.counted:
        status = {(cell.config_id, cell.workload_id): cell.status for cell in written.record.cells}
        for summary in summarise(written.samples):
            cell = (summary.config_id, summary.workload_id)
            if failed_too or status[cell] == "measured":
                ids = dict(zip(("config_id", "workload_id"), cell, strict=True))
                found.append(({**night_of(written), **ids, "operation": summary.operation}, summary))
    return sorted(found, key=lambda one: [str(one[0][name]) for name in ("scheduled_at", "workload_id")])


def in_order(rows: list[Row]) -> list[Row]:
    keys = ("scheduled_at", "workload_id", "config_id", "operation", "stage")
    return sorted(rows, key=lambda row: [str(row.get(key)) for key in keys])


def shown_ms(quantile: Quantile) -> float | None:
    return None if quantile.high_ns is None else quantile.value_ns / 1e6


def bounds_ms(name: str, quantile: Quantile) -> Row:
    bounds = {"low": quantile.low_ns, "high": quantile.high_ns}
    return {
        f"{name}_ms": shown_ms(quantile),
        **{f"{name}_{end}_ms": None if ns is None else ns / 1e6 for end, ns in bounds.items()},
    }


@pytest.mark.parametrize("one", queries(), ids=lambda one: one.name)
def test_a_query_is_one_statement_in_athenas_dialect_and_says_what_it_answers(one: query) -> None:
    asked = OF_TWO if "config_a" in one.parameters else ASKED
    sql = one.filled(asked, "another_database")
    (parsed,) = sqlglot.parse(sql, read="athena")
    assert isinstance(parsed, exp.Select)
    assert {table.db for table in parsed.find_all(exp.Table) if table.db} == {"another_database"}
    assert sql.startswith("-- ")
    assert re.search(r"^-- Parameters: .*since = '2026-01-01', until = '2026-02-28'", sql, re.MULTILINE)
    assert one.answers[0].isupper() or one.answers.startswith("p50")
    assert one.answers.endswith(".")
    assert "{" not in sql


def test_quantiles_are_ours_from_the_samples_and_from_the_summaries(ask: Ask, sql_store: SqlStore) -> None:
    common, whole = [], []
    for row, summary in summaries_of(sql_store):
        if summary.stage != "total_ns":
            continue
        times = summary.distribution
        assert times is not None
        of_three = {"p50": times.p50, "p90": times.p90, "p99": times.p99}
        counted = {**row, "n": times.n, "errors": summary.errors}
        common.append({**counted, **{f"{name}_ms": shown_ms(one) for name, one in of_three.items()}})
        whole.append(
            counted | {k: v for name, one in of_three.items() for k, v in bounds_ms(name, one).items()}
        )
    assert ask("quantiles_from_samples") == in_order(common)
    assert ask("quantiles") == in_order(whole)
    p99 = {row["n"]: row["p99_ms"] for row in common if not row["errors"]}
    assert p99[400] is not None
    assert (p99[360], p99[20]) == (None, None), "below 368 there is no p99"
    assert [row["p99_ms"] for row in common if row["errors"] == 40] == [None], "too many failed"


def test_the_history_that_python_reads_has_the_same_rows(ask: Ask, sql_store: SqlStore) -> None:
    nightly = read_history(sql_store.store, SCHEDULE, SINCE).nightly
    whole = [row for row in nightly.to_pylist() if row["stage"] == "total_ns"]
    names = ("dt", "config_id", "workload_id", "operation", "n", "errors")
    wanted = Counter(tuple(row[name] for name in names) for row in whole)
    assert Counter(tuple(row[name] for name in names) for row in ask("quantiles")) == wanted


def test_stages_add_up_as_in_the_report(ask: Ask, sql_store: SqlStore) -> None:
    found = summaries_of(sql_store)
    totals = {tuple(row.values()): one.distribution for row, one in found if one.stage == "total_ns"}
    wanted = []
    for row, summary in found:
        times, total = summary.distribution, totals[tuple(row.values())]
        assert times is not None
        assert total is not None
        wanted.append(
            {
                **row,
                "stage": summary.stage,
                "n": times.n,
                "p50_ms": shown_ms(times.p50),
                "mean_ms": times.avg_ns / 1e6,
                "percent_of_mean": pytest.approx(100 * times.avg_ns * times.n / (total.avg_ns * total.n)),
            }
        )
    answer = ask("stages")
    assert answer == in_order(wanted)
    assert {row["stage"] for row in answer} == {"total_ns", "list_ns", "read_ns"}


def test_error_rates_are_ours_and_have_the_cells_that_failed_too(ask: Ask, sql_store: SqlStore) -> None:
    wanted = []
    for row, summary in summaries_of(sql_store, failed_too=True):
        if summary.stage == "total_ns" and summary.distribution:
            operations = summary.distribution.n + summary.errors
            counts = {"operations": operations, "errors": summary.errors}
            wanted.append({**row, **counts, "error_percent": 100 * summary.errors / operations})
    answer = ask("error_rates")
    statuses = [row.pop("cell_status") for row in answer]
    assert answer == in_order(wanted)
    assert Counter(statuses) == {"measured": 62, "failed": 1}
    assert {row["error_percent"] for row in answer} == {0.0, 0.75, 5.0, 10.0}


def test_kinds_of_errors_are_counted_from_the_samples_without_warm_ups(ask: Ask) -> None:
    throttled, failed = ask("error_kinds")
    assert (throttled["config_id"], throttled["error"], throttled["http_status"]) == ("rust", "SlowDown", 503)
    assert (throttled["errors"], throttled["nights"]) == (3 + 40 + 20, 3)
    assert (throttled["first_dt"], throttled["last_dt"]) == ("2026-01-06", "2026-02-01")
    assert (failed["config_id"], failed["operation"], failed["error"], failed["errors"]) == (
        "mount",
        None,
        "CellFailed",
        1,
    )
    assert failed["a_message"] == "the mount is gone"


def test_cells_that_were_not_measured_are_told_with_the_reason(ask: Ask, sql_store: SqlStore) -> None:
    rows = ask("cells_not_measured")
    assert Counter(row["status"] for row in rows) == {"skipped": len(sql_store.counted), "failed": 1}
    (failed,) = (row for row in rows if row["status"] == "failed")
    assert (failed["dt"], failed["workload_id"], failed["reason"]) == (
        "2026-01-08",
        "read-1k",
        "the mount is gone",
    )
    assert {row["reason"] for row in rows if row["status"] == "skipped"} == {"no 'fuse'"}


def test_coverage_is_that_of_the_schedule(ask: Ask, sql_store: SqlStore) -> None:
    first, last = (datetime.fromisoformat(one).replace(tzinfo=UTC) for one in (SINCE, UNTIL))
    due = nights_due("30 2 * * *", "UTC", first, last + timedelta(hours=23))
    runs = read_history(sql_store.store, SCHEDULE, SINCE).runs
    nights = coverage(due, runs, last + timedelta(days=1))
    assert [(row["dt"], row["state"], row["run_id"]) for row in ask("coverage")] == [
        (night.dt, str(night.state), night.run_id) for night in nights
    ]
    states = Counter(row["state"] for row in ask("coverage"))
    assert states == {"complete": 6, "failed cells": 1, "incomplete": 1, "missing": 47}


def test_runs_that_did_not_end_are_told_and_are_in_nothing_else(ask: Ask) -> None:
    (row,) = ask("unfinished_runs")
    assert (row["dt"], row["run_id"], row["cells"]) == ("2026-02-02", UNFINISHED, 2)
    assert "2026-02-02" not in {row["dt"] for row in ask("quantiles_from_samples")}


def ratios_of(store: SqlStore, config_ids: tuple[str, str], nights: tuple[str, str]) -> Row:
    """The ratios of the command, with nights, operations and interval, by workload and statistic."""
    nightly = read_history(store.store, SCHEDULE, nights[0]).nightly
    nightly = nightly.filter(pc.less_equal(nightly["dt"].cast("string"), nights[1]))
    return {
        (workload_id, row.statistic): (
            one.pairs,
            tuple(figure.n for figure in row.figures),
            tuple(each and pytest.approx(each, rel=1e-9) for each in (one.value, one.low, one.high)),
        )
        for workload_id in ("read-1k", "scan")
        for row in compare_by_night(nightly, workload_id, config_ids, Likeness()).rows
        if (one := row.ratio)
    }


@pytest.mark.parametrize("config_ids", [("rust", "boto3"), ("boto3", "rust"), ("boto3", "mount")])
@pytest.mark.parametrize("nights", [(SINCE, UNTIL), ("2026-02-01", "2026-02-01"), (SINCE, "2026-01-31")])
def test_a_ratio_over_the_nights_is_that_of_the_command(
    ask: Ask, sql_store: SqlStore, config_ids: tuple[str, str], nights: tuple[str, str]
) -> None:
    found = {
        (row["workload_id"], row["statistic"]): (
            row["nights"],
            (row["n_a"], row["n_b"]),
            (row["ratio"], row["ratio_low"], row["ratio_high"]),
        )
        for row in ask("ratio", Asked(SCHEDULE, *nights, *config_ids))
    }
    assert found == ratios_of(sql_store, config_ids, nights)


def test_a_ratio_leaves_out_nights_and_tails_that_would_mislead(ask: Ask) -> None:
    rows = {(row["workload_id"], row["statistic"]): row for row in ask("ratio", OF_TWO)}
    reads, scans = rows["read-1k", "p50"], rows["scan", "p50"]
    assert reads["nights"] == 4, "not in the lab, not asked otherwise, not of survivors alone"
    assert scans["nights"] == 5
    assert ("scan", "p99") not in rows, "20 scans a night have none"
    assert ("read-1k", "p99") not in rows, "more than 1 % failed"
    assert ("read-1k", "p90") in rows
    of_january = ask("ratio", replace(OF_TWO, until="2026-01-31"))
    assert ("read-1k", "p99") in {(row["workload_id"], row["statistic"]) for row in of_january}
    of_mount = ask("ratio", replace(OF_TWO, config_a="mount"))
    assert {row["nights"] for row in of_mount if row["workload_id"] == "read-1k"} == {5}, (
        "not the failed cell"
    )
    one_night = ask("ratio", replace(OF_TWO, config_a="mount", since="2026-02-03"))
    reads_of_it = {row["statistic"] for row in one_night if row["workload_id"] == "read-1k"}
    assert reads_of_it == {"p50", "p90", "mean"}, "360 reads have no p99"
    assert all(row["ratio_low"] < row["ratio"] < row["ratio_high"] for row in rows.values())


def test_the_ratios_by_night_are_those_that_it_is_the_mean_of(ask: Ask, sql_store: SqlStore) -> None:
    answer = ask("ratio_by_night", OF_TWO)
    assert {row["p99_ratio"] is None for row in answer if row["workload_id"] == "scan"} == {True}
    rows = [row for row in answer if row["workload_id"] == "read-1k"]
    assert [row["dt"][-5:] for row in rows] == ["01-08", "01-10", "02-01", "02-03"]
    p50 = {
        (row["dt"], row["config_id"]): summary.distribution.p50.value_ns
        for row, summary in summaries_of(sql_store)
        if summary.distribution and (summary.operation, summary.stage) == ("read", "total_ns")
    }
    assert [row["p50_ratio"] for row in rows] == [
        p50[row["dt"], "rust"] / p50[row["dt"], "boto3"] for row in rows
    ]


def test_one_night_has_a_ratio_and_no_interval(ask: Ask) -> None:
    rows = ask("ratio", replace(OF_TWO, since="2026-02-03", until="2026-02-03"))
    assert [row["nights"] for row in rows] == [1] * len(rows)
    assert {(row["ratio_low"], row["ratio_high"]) for row in rows} == {(None, None)}


def test_changes_and_costs_are_those_that_were_stored(ask: Ask, sql_store: SqlStore) -> None:
    changes = ask("changes")
    assert [(row["since_dt"], row["config_id"], row["after_ms"]) for row in changes] == [
        ("2026-02-01", None, 11.7),
        ("2026-01-08", "rust", 11.7),
    ]
    assert {(row["lab"], row["synthetic"]) for row in changes} == {(False, False)}
    nights = ask("cost_by_night")
    assert [row["dt"] for row in nights] == [written.record.dt for written in sql_store.counted]
    assert {(row["cells"], row["cells_of_unknown_price"], row["usd"]) for row in nights} == {
        (6, 2, 1.0),
        (5, 1, 1.0),
    }
    costs = ask("costs")
    assert len(costs) == sum(row["cells"] for row in nights)
    assert {row["unknown"] for row in costs if row["usd"] is None} == {"requests of a mount are not known"}


def test_another_schedule_is_not_mixed_in_and_what_is_synthetic_says_so(ask: Ask) -> None:
    rows = ask("quantiles", replace(ASKED, schedule="demo"))
    assert {(row["dt"], row["synthetic"], row["lab"]) for row in rows} == {("2026-02-03", True, False)}
    assert {row["dt"] for row in ask("quantiles") if row["lab"]} == {"2026-01-05"}
    assert not [row for row in ask("quantiles") if row["synthetic"]]


def test_students_t_is_right_to_nine_digits(sql_store: SqlStore) -> None:
    found = opened(sql_store.store).execute("SELECT df, t95 FROM s3bench.student_t ORDER BY df").fetchall()
    assert [df for df, _ in found] == list(range(1, 10_000))
    assert [t95 for _, t95 in found] == pytest.approx(t.ppf(0.975, range(1, 10_000)).tolist(), rel=1e-9)


def samples_of(store: Store, way: str) -> Counter[tuple[str, str]]:
    """How many samples there are by night and run."""
    duck = opened(store, way)
    rows = duck.execute("SELECT dt, run_id, count(*) FROM s3bench.samples_all GROUP BY ALL").fetchall()
    return Counter({(dt, run_id): n for dt, run_id, n in rows})


@pytest.mark.parametrize("way", WAYS)
def test_every_sample_of_a_run_that_ended_is_there_once(sql_store: SqlStore, way: str) -> None:
    duck = opened(sql_store.store, way)
    tables = [
        one.samples.add_column(0, "dt", pa.array([one.record.dt] * len(one.samples)))
        for one in sql_store.runs.values()
    ]
    duck.register("wanted", pa.concat_tables(tables))
    for one, other in (("wanted", "s3bench.samples_all"), ("s3bench.samples_all", "wanted")):
        unlike = duck.execute(f"SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}").fetchall()  # noqa: S608 - our own names
        assert unlike == []


@pytest.mark.parametrize("way", WAYS)
def test_no_sample_is_lost_or_doubled_wherever_it_is_read_from(
    sql_store: SqlStore, tmp_path: Path, way: str
) -> None:
    root = tmp_path / "store"
    shutil.copytree(sql_store.root, root)
    store = open_store(root)
    wanted = samples_of(store, way)
    assert wanted.total() == sum(len(one.samples) for one in sql_store.runs.values())
    month = root / monthly_name("2026-01")
    in_month = {(row["dt"], row["run_id"]) for row in pq.read_table(month, partitioning=None).to_pylist()}
    late = ("2026-01-10", LATE)
    assert late in in_month, "one of its cells landed before the month was compacted"
    assert len(in_month) == 7
    # What is whole in the month's file is read from there, so that its landing files are not needed ...
    kept = {path: path.read_bytes() for path in root.glob("v1/samples/dt=2026-01-0*/*/*.parquet")}
    for path in kept:
        path.unlink()
    assert samples_of(store, way) == wanted
    for path, content in kept.items():
        path.write_bytes(content)
    # ... what is not is read from its own, which the month has none of after it was compacted anew ...
    landing = finished_months(store, COMPACTED_ON, 7).landing["2026-01"]
    assert compact_month(store, "2026-01", landing).action == "compacted anew"
    assert samples_of(store, way) == wanted
    # ... and nothing differs where no month was compacted. A run without a record is in neither case.
    month.unlink()
    assert samples_of(store, way) == wanted
    (root / run_name(sql_store.runs[LATE].record)).unlink()
    assert samples_of(store, way) == Counter({run: n for run, n in wanted.items() if run != late})


def test_files_from_before_a_column_was_added_have_nulls_there(sql_store: SqlStore, tmp_path: Path) -> None:
    record = sql_store.counted[0].record
    older = pq.read_table(sql_store.root / run_name(record), partitioning=None).drop_columns(["synthetic"])
    path = tmp_path / run_name(record)
    path.parent.mkdir(parents=True)
    pq.write_table(older, path, store_schema=False)
    duck = opened(open_store(tmp_path))
    assert duck.execute("SELECT run_id, synthetic FROM s3bench.nights").fetchall() == [(record.run_id, False)]


def test_a_store_without_any_file_has_all_tables_and_no_row(tmp_path: Path) -> None:
    duck = opened(open_store(tmp_path / "none"))
    for one in queries():
        assert rows_of(duck, one.filled(OF_TWO if "config_a" in one.parameters else ASKED)) == []


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("ratio", ASKED, "the query ratio needs --config-a and --config-b"),
        ("coverage", OF_TWO, "the query coverage has no config_a"),
        ("coverage", replace(ASKED, since="2026-03-01"), "2026-03-01 is after the last one 2026-02-28"),
        ("coverage", replace(ASKED, until="yesterday"), "the last night 'yesterday'"),
        ("coverage", replace(ASKED, since="0001-01-01"), "give a later date"),
        ("coverage", replace(ASKED, schedule="a' OR 'b"), "schedule"),
        ("ratio", replace(OF_TWO, config_b="a'b"), "configuration"),
    ],
)
def test_what_a_query_cannot_be_asked_is_refused(name: str, asked: Asked, told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        query(name).filled(asked)


def test_an_unknown_query_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no query 'speed': there are cells_not_measured, changes, .*stages"):
        query("speed")
