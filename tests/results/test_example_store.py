"""A store of nights that nobody measured: read by the same readers, and holding what is said of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.compute as pc
import pytest

from configs.choices import SHIPPED_SUITES
from configs.errors import UserError
from configs.loading import load_suite
from configs.suite import Suite
from tasks.results.example_nights import (
    FAILED_ONCE,
    FEWEST_NIGHTS,
    INCOMPLETE_ONCE,
    REDEFINED,
    SKIPPED_ALWAYS,
    STEP_OF_10,
    STEP_OF_30,
    TRUTHS,
    ExampleOptions,
    Kind,
    known_ratio,
    last_night,
    shared_logs,
)
from tasks.results.example_samples import TYPICAL_MS
from tasks.results.example_store import write_example
from tasks.results.history import History, read_history
from tasks.results.reader import StoredRun, list_runs
from tasks.results.store import open_store
from tasks.stats.cell_cost import CellCost
from tasks.workloads.cell_costs import cell_costs
from tasks.workloads.plan import plan_suite

OPTIONS = ExampleOptions(until=date(2026, 3, 31), nights=FEWEST_NIGHTS, samples=200)


def costs_of(suite: Suite) -> Sequence[CellCost]:
    return cell_costs(suite, plan_suite(suite))


def hashes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    write_example(open_store(folder), OPTIONS, costs_of)
    return folder


@pytest.fixture(scope="module")
def runs(example: Path) -> dict[str, StoredRun]:
    """By night."""
    return {run.dt: run for run in list_runs(open_store(example))}


@pytest.fixture(scope="module")
def history(example: Path) -> History:
    return read_history(open_store(example), "nightly", "2026-01-01")


def nights_of(kind: Kind) -> set[str]:
    """The dates of all nights in which something of a kind is so."""
    return {
        f"{OPTIONS.due[night]:%Y-%m-%d}"
        for truth in TRUTHS
        if truth.kind is kind
        for night in truth.nights(FEWEST_NIGHTS)
    }


def test_every_run_says_of_itself_that_it_is_synthetic(runs: dict[str, StoredRun]) -> None:
    records = [run.record for run in runs.values() if run.record]
    assert len(records) >= FEWEST_NIGHTS - 3
    for record in records:
        assert record.synthetic
        assert {record.environment.cpu_model, record.environment.git_commit} == {"synthetic"}
        assert all("synthetic" in value for cell in record.cells for value in cell.proof.values())
        assert (record.suite, record.schedule, record.lab) == ("nightly", "nightly", False)


def test_nights_are_missing_incomplete_or_failed_as_it_is_known(runs: dict[str, StoredRun]) -> None:
    due = {f"{due_at:%Y-%m-%d}" for due_at in OPTIONS.due}
    assert due - runs.keys() == nights_of(Kind.MISSING)
    states = {dt: run.state for dt, run in runs.items()}
    assert {dt for dt, state in states.items() if state == "incomplete"} == nights_of(Kind.INCOMPLETE)
    assert {dt for dt, state in states.items() if state == "failed"} == nights_of(Kind.FAILED)
    (incomplete,) = nights_of(Kind.INCOMPLETE)
    assert len(runs[incomplete].samples(["total_ns"])) > 0


def test_a_cell_is_skipped_and_one_fails_once_as_it_is_known(runs: dict[str, StoredRun]) -> None:
    outcomes = {
        (dt, cell.cell_id): cell.status
        for dt, run in runs.items()
        for cell in (run.record.cells if run.record else ())
        if cell.status != "measured"
    }
    recorded = {dt for dt, run in runs.items() if run.record}
    skipped = {(dt, cell_id): "skipped" for dt in recorded for cell_id in SKIPPED_ALWAYS.cell_ids}
    failed = {(dt, cell_id): "failed" for dt in nights_of(Kind.FAILED) for cell_id in FAILED_ONCE.cell_ids}
    assert outcomes == skipped | failed


def test_steps_are_as_large_as_it_is_known(history: History) -> None:
    for truth in (STEP_OF_30, STEP_OF_10):
        (cell_id,) = truth.cell_ids
        first = f"{OPTIONS.due[truth.nights(FEWEST_NIGHTS)[0]]:%Y-%m-%d}"
        series, beside = p50_by_night(history, cell_id), p50_by_night(history, "mount/read-64kib")
        relative = {dt: series[dt] / beside[dt] for dt in series.keys() & beside.keys()}
        after, before = (
            np.median([ratio for dt, ratio in relative.items() if (dt >= first) == is_after])
            for is_after in (True, False)
        )
        assert after / before == pytest.approx(truth.ratio, rel=0.06), cell_id


def p50_by_night(history: History, cell_id: str) -> dict[str, int]:
    config_id, workload_id = cell_id.split("/")
    mine = pc.and_(
        pc.equal(history.nightly["config_id"].cast("string"), config_id),
        pc.equal(history.nightly["workload_id"].cast("string"), workload_id),
    )
    rows = history.nightly.filter(mine).select(["dt", "stage", "p50_ns"]).to_pylist()
    return {row["dt"]: row["p50_ns"] for row in rows if row["stage"] == "total_ns"}


def test_a_redefinition_and_a_new_version_are_found_where_it_is_known(history: History) -> None:
    since = OPTIONS.due[REDEFINED.nights(FEWEST_NIGHTS)[0]]
    found = {one.cell_id: one for one in history.redefinitions}
    assert set(found) == set(REDEFINED.cell_ids)
    assert {one.since_at for one in found.values()} == {since}
    assert all(one.what == "workload.iterations: 40 → 60" for one in found.values())
    version = next(mark for mark in history.marks if "obstore" in mark.what)
    assert version.since_at == OPTIONS.due[STEP_OF_10.nights(FEWEST_NIGHTS)[0]]


def test_duckdb_sees_the_same_samples_and_all_tables(example: Path, runs: dict[str, StoredRun]) -> None:
    seen = {
        table: duckdb.sql(
            f"SELECT count(*) FROM read_parquet('{example}/v1/{table}/**/*.parquet')"  # noqa: S608 - nothing of it comes from outside
        ).fetchall()[0][0]
        for table in ("samples", "runs", "nightly", "costs")
    }
    assert seen["samples"] == sum(len(run.samples(["seq"])) for run in runs.values())
    assert seen["runs"] == sum(run.record is not None for run in runs.values())
    assert min(seen["nightly"], seen["costs"]) > 25 * seen["runs"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(example: Path, tmp_path: Path) -> None:
    write_example(open_store(tmp_path / "again"), OPTIONS, costs_of)
    write_example(open_store(tmp_path / "other"), replace(OPTIONS, seed=8), costs_of)
    one, again, other = (hashes(folder) for folder in (example, tmp_path / "again", tmp_path / "other"))
    assert one == again
    assert {name for name in one if one[name] == other.get(name)} == {"README.txt"}


def test_a_folder_with_results_is_refused_and_left_as_it_is(example: Path) -> None:
    before = hashes(example)
    with pytest.raises(UserError, match="holds results already"):
        write_example(open_store(example), OPTIONS, costs_of)
    assert hashes(example) == before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (ExampleOptions(OPTIONS.until, nights=11), "--nights 11: give 12 to 3,660"),
        (ExampleOptions(OPTIONS.until, samples=29), "--samples 29: give 30 or more"),
        (ExampleOptions(OPTIONS.until, seed=-1), "--seed -1: give 0 or more"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_by_name(
    tmp_path: Path, options: ExampleOptions, named: str
) -> None:
    with pytest.raises(UserError, match=named):
        write_example(open_store(tmp_path), options, costs_of)
    assert not list(tmp_path.iterdir())


def test_every_cell_of_the_suite_that_ships_has_a_typical_time_and_truths_name_cells_that_are() -> None:
    targets = ("bucket.bucket=b-b-b", "express.bucket=b--use1-az4--x-s3", "express.region=us-east-1")
    settings = [
        f"targets.{one}" for one in (*targets, "mount.path=/mnt", "mount.file_system_id=fs-0123456789abcdef0")
    ]
    suite = load_suite(str(SHIPPED_SUITES / "nightly.yaml"), settings=settings)
    cells = {cell.cell_id for cell in suite.cells()}
    known = {f"{config}/{workload}" for workload, times in TYPICAL_MS.items() for config in times}
    assert known == cells
    assert {cell_id for truth in TRUTHS for cell_id in truth.cell_ids} <= cells


@pytest.mark.parametrize("nights", [12, 30, 90, 365])
def test_truths_lie_within_the_nights_and_do_not_hide_one_another(nights: int) -> None:
    places = [truth.nights(nights) for truth in TRUTHS]
    assert all(0 <= place[0] <= place[-1] < nights for place in places)
    without_run = [set(truth.nights(nights)) for truth in TRUTHS if truth.kind is Kind.MISSING]
    (incomplete,) = INCOMPLETE_ONCE.nights(nights)
    (failed,) = FAILED_ONCE.nights(nights)
    starts = {truth.nights(nights)[0] for truth in TRUTHS if truth.kind is not Kind.MISSING}
    assert {incomplete, failed} <= starts
    assert not starts & set().union(*without_run)


def test_ratios_that_hold_at_the_same_time_are_multiplied() -> None:
    assert known_ratio("rust/read-64kib", 0, 90) == 1.0
    assert known_ratio("rust/read-64kib", 44, 90) == pytest.approx(1.10)
    assert known_ratio("rust/read-64kib", 89, 90) == pytest.approx(1.10 * 1.12)
    assert known_ratio("mount/scan", 89, 90) == pytest.approx(1.12)


def test_what_all_cells_share_is_a_little_like_the_night_before() -> None:
    shared = shared_logs(ExampleOptions(OPTIONS.until, nights=3_660))
    assert np.std(shared) == pytest.approx(0.03, rel=0.05)
    assert np.corrcoef(shared[1:], shared[:-1])[0, 1] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    ("now", "last"),
    [((6, 29), date(2026, 3, 30)), ((6, 30), date(2026, 3, 31)), ((23, 0), date(2026, 3, 31))],
)
def test_the_last_night_is_the_latest_that_waits_for_no_run_any_more(
    now: tuple[int, int], last: date
) -> None:
    assert last_night(datetime(2026, 3, 31, *now, tzinfo=UTC)) == last
