import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from configs.run_record import CellRecord, Night, RunIdentity, RunRecord, dt_of
from tasks.kernel.samples import SampleColumns
from tasks.results.history import HISTORY, read_history
from tasks.results.names import nightly_name, run_name
from tasks.results.reader import read_run
from tasks.results.samples import samples_table
from tasks.results.schema import RUNS
from tasks.results.store import Store, open_store
from tasks.results.told import Told, read_told, write_told
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.nights import NightState
from tasks.stats.panels import panel
from tasks.stats.regressions import changes
from tasks.stats.summary_types import Distribution, Quantile, Summary

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
Block = Callable[[int], SampleColumns]
MakeRun = Callable[..., RunIdentity]


def summary(config_id: str, p50_ns: int, workload_id: str = "read", size_bytes: int = 1024) -> Summary:
    times = Distribution(
        n=100,
        min_ns=1,
        avg_ns=p50_ns,
        p50=Quantile(p50_ns, p50_ns, p50_ns),
        p90=Quantile(2 * p50_ns, p50_ns, 3 * p50_ns),
        p99=Quantile(3 * p50_ns, p50_ns, None),
        max_ns=3 * p50_ns,
    )
    return Summary(config_id, workload_id, "read", "total_ns", 5, 0, times, None, None, size_bytes)


def cell(
    config_id: str, status: str = "measured", workload_id: str = "read", **parameters: str
) -> CellRecord:
    return CellRecord.model_validate(
        {
            "config_id": config_id,
            "workload_id": workload_id,
            "status": status,
            "parameters": {f"workload.{name}": value for name, value in parameters.items()},
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path)


@pytest.fixture
def write_night(store: Store, record: RunRecord) -> MakeRun:
    """Writes a run as it is stored: its quantiles, then its own row."""

    def write(  # noqa: PLR0913 - whatever a test is about
        day: int,
        *,
        schedule: str | None = "nightly",
        cells: tuple[CellRecord, ...] = (cell("boto3"),),
        summaries: tuple[Summary, ...] = (summary("boto3", 7),),
        lab: bool = True,
        into: Store = store,
        late: timedelta = timedelta(0),
        host: dict[str, object] | None = None,
        synthetic: bool = False,
    ) -> RunIdentity:
        at = FIRST + timedelta(days=day)
        run = RunIdentity(run_id=f"{at + late:%Y%m%dT%H%M%SZ}-{day:08x}", dt=dt_of(at))
        changed = {
            "environment": record.environment.model_copy(update=host),
            "started_at": at + late,
            "cells": cells,
            "lab": lab,
            "schedule": schedule,
            "scheduled_at": at if schedule else None,
            "synthetic": synthetic,
        }
        write_nightly(into, run, summaries)
        write_run(into, record.model_copy(update=run.model_dump() | changed))
        return run

    return write


def test_a_run_knows_its_night_when_it_is_read_back(store: Store, record: RunRecord) -> None:
    night = Night(schedule="nightly", scheduled_at=datetime.fromisoformat("2026-01-01T03:30:00+02:00"))
    write_run(store, record.model_copy(update=night.model_dump()))
    found = read_run(store, None).record
    assert found is not None
    assert (found.schedule, found.scheduled_at) == ("nightly", datetime(2026, 1, 1, 1, 30, tzinfo=UTC))


def test_the_partition_of_a_night_is_its_date_in_utc() -> None:
    night = Night(schedule="nightly", scheduled_at=datetime.fromisoformat("2026-01-01T00:30:00+02:00"))
    assert night.dt == "2025-12-31"


def test_a_run_that_was_stored_before_nights_were_known_is_one_by_hand(
    tmp_path: Path, store: Store, record: RunRecord
) -> None:
    write_run(store, record)
    path = tmp_path / run_name(record)
    older = RUNS.names[: RUNS.names.index("schedule")]
    pq.write_table(pq.ParquetFile(path).read().select(older), path, store_schema=False)
    assert read_run(store, None).record == record
    assert (record.schedule, record.scheduled_at, record.synthetic) == (None, None, False)


def test_the_history_has_the_figures_of_scheduled_runs_with_what_is_known_of_the_run(
    store: Store, write_night: MakeRun
) -> None:
    night = write_night(0)
    write_night(1, schedule=None)
    write_night(2, schedule="weekly")
    found = read_history(store, "nightly", "2026-01-01")
    assert found.nightly.column_names == HISTORY.names
    (row,) = found.nightly.to_pylist()
    assert {name: row[name] for name in ("dt", "schedule", "scheduled_at", "run_id", "suite", "lab")} == {
        "dt": "2026-01-01",
        "schedule": "nightly",
        "scheduled_at": FIRST,
        "run_id": night.run_id,
        "suite": "lab-tour",
        "lab": True,
    }
    assert (row["n"], row["p50_ns"], row["p90_ns"], row["size_bytes"]) == (100, 7, 14, 1024)
    assert [(run.run_id, run.scheduled_at) for run in found.runs] == [(night.run_id, FIRST)]


def test_nights_before_the_date_are_not_read(store: Store, write_night: MakeRun) -> None:
    for day in range(4):
        write_night(day)
    assert len(read_history(store, "nightly", "2026-01-03").runs) == 2


def test_a_failed_cell_has_no_times_and_its_run_is_a_night_all_the_same(
    store: Store, write_night: MakeRun
) -> None:
    cells = (cell("boto3"), cell("mount", status="failed"))
    write_night(0, cells=cells, summaries=(summary("boto3", 7), summary("mount", 9)))
    found = read_history(store, "nightly", "2026-01-01")
    assert found.nightly["config_id"].to_pylist() == ["boto3"]
    assert [run.state for run in found.runs] == [NightState.FAILED_CELLS]


def test_a_run_without_its_row_is_incomplete_and_of_an_unknown_schedule(store: Store, block: Block) -> None:
    run = RunIdentity(run_id="20260105T023004Z-0000000a", dt="2026-01-05")
    write_cell(store, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, block(3))]))
    found = read_history(store, "nightly", "2026-01-01")
    (night,) = found.runs
    assert (night.state, night.scheduled_at) == (NightState.INCOMPLETE, None)
    assert night.started_at == datetime(2026, 1, 5, 2, 30, 4, tzinfo=UTC)
    assert len(found.nightly) == 0


def test_a_series_means_the_same_while_the_suite_asks_the_same_of_its_cell(
    store: Store, write_night: MakeRun
) -> None:
    write_night(0, cells=(cell("boto3", size="64"),))
    write_night(1, cells=(cell("boto3", size="64"), cell("mount", status="skipped")))
    write_night(2, cells=(cell("boto3", size="128"),))
    write_night(3, cells=(cell("boto3", size="128"),), summaries=(summary("boto3", 7, size_bytes=2048),))
    write_night(4, cells=(cell("boto3", size="128"),), lab=False)
    found = read_history(store, "nightly", "2026-01-01")
    meanings = found.nightly["meaning"].to_pylist()
    assert meanings[0] == meanings[1]
    assert len(set(meanings)) == 4
    assert [(one.cell_id, f"{one.since_at:%d}", one.what) for one in found.redefinitions] == [
        ("boto3/read", "03", "workload.size: 64 → 128"),
        ("boto3/read", "04", "read held 1,024 bytes and holds 2,048 bytes"),
        ("boto3/read", "05", "no longer in the local lab"),
    ]


def test_nights_of_another_machine_are_another_series_and_it_is_said_since_when(
    store: Store, write_night: MakeRun
) -> None:
    write_night(0)
    write_night(1, host={"kernel": "6.9", "memory_bytes": 1})
    write_night(2, host={"cpu_model": "faster", "cpu_count": 64})
    write_night(3, host={"cpu_model": "faster", "cpu_count": 64})
    found = read_history(store, "nightly", "2026-01-01")
    meanings = found.nightly["meaning"].to_pylist()
    assert (meanings[0], meanings[2]) == (meanings[1], meanings[3])
    assert meanings[0] != meanings[2]
    assert len(panel(found.nightly, "p50").keys) == 2
    assert [(one.cell_id, f"{one.since_at:%d}", one.what) for one in found.redefinitions] == [
        ("boto3/read", "03", "cpu_count: 2 → 64, cpu_model: test → faster"),
    ]


def test_what_changed_of_the_environment_is_marked_from_one_night_that_counts_to_the_next(
    store: Store, write_night: MakeRun
) -> None:
    write_night(0)
    write_night(1, schedule=None, host={"kernel": "by hand"})
    write_night(3, host={"packages": {"boto3": "1.45.0"}})
    found = read_history(store, "nightly", "2026-01-01")
    assert [(f"{mark.since_at:%d}", mark.what, mark.cells) for mark in found.marks] == [
        ("04", "boto3 1.44.8 → 1.45.0", None)
    ]
    assert len(panel(found.nightly, "p50").keys) == 1


def test_a_history_of_made_up_runs_says_so(store: Store, write_night: MakeRun) -> None:
    write_night(0)
    assert not read_history(store, "nightly", "2026-01-01").synthetic
    write_night(1, synthetic=True)
    assert read_history(store, "nightly", "2026-01-01").synthetic


def test_of_two_runs_of_a_night_the_figures_are_those_of_the_one_that_counts(
    store: Store, write_night: MakeRun
) -> None:
    whole = write_night(0)
    cells = (cell("boto3"), cell("mount", status="failed"))
    write_night(0, cells=cells, summaries=(summary("boto3", 9),), late=timedelta(hours=1))
    found = read_history(store, "nightly", "2026-01-01")
    assert len(found.runs) == 2
    assert found.nightly["run_id"].to_pylist() == [whole.run_id]
    assert panel(found.nightly, "p50").values_ns.tolist() == [[7]]


def test_a_damaged_file_is_told_and_the_other_nights_are_read(
    tmp_path: Path, store: Store, write_night: MakeRun
) -> None:
    rows, quantiles, gone, whole = (write_night(day) for day in range(4))
    for name in (run_name(rows), nightly_name(quantiles)):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
    (tmp_path / nightly_name(gone)).unlink()
    found = read_history(store, "nightly", "2026-01-01")
    assert found.nightly["run_id"].to_pylist() == [whole.run_id]
    assert [run.run_id for run in found.runs] == [quantiles.run_id, gone.run_id, whole.run_id]
    told = "\n".join(sorted(found.unread))
    assert f"{nightly_name(quantiles)} is damaged: move it away or restore it" in told
    assert f"{nightly_name(gone)} is not there" in told
    assert f"{run_name(rows)} is damaged" in told


def test_a_file_that_cannot_be_fetched_is_an_error_since_it_may_come_later(
    store: Store, write_night: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_night(0)

    def broken(_name: str) -> bytes:
        raise UserError("results at s3://b/r: SlowDown: try again")

    monkeypatch.setattr(store, "get", broken)
    with pytest.raises(UserError, match="SlowDown"):
        read_history(store, "nightly", "2026-01-01")


def test_an_empty_store_has_an_empty_history(store: Store) -> None:
    found = read_history(store, "nightly", "2026-01-01")
    assert (found.runs, len(found.nightly), found.redefinitions, found.unread) == ((), 0, (), ())
    assert changes([panel(found.nightly, "p50")]) == ()


def test_a_history_lies_in_a_bucket_as_it_does_in_a_folder(
    s3_endpoint_url: str, bucket: str, write_night: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    remote = open_store(f"s3://{bucket}/results")
    for day in range(12):
        write_night(day, into=remote)
    found = read_history(remote, "nightly", "2026-01-01")
    assert len(found.nightly) == len(found.runs) == 12
    told = Told("night", "nightly", None, FIRST)
    assert read_told(remote) is None
    write_told(remote, [told])
    assert read_told(remote) == (told,)


@pytest.mark.slow
def test_a_year_of_forty_cells_is_read_and_compared_in_seconds(store: Store, write_night: MakeRun) -> None:
    rng = np.random.default_rng(1)
    ids = [(f"config-{number % 10}", f"read-{number // 10}") for number in range(40)]
    for day in range(365):
        step = 1.3 if day >= 300 else 1.0
        times_ns = [int(1e7 * rng.lognormal(0, 0.03) * (step if one == ids[7] else 1)) for one in ids]
        write_night(
            day,
            cells=tuple(cell(config, workload_id=workload) for config, workload in ids),
            summaries=tuple(
                summary(*(config, time_ns, workload))
                for (config, workload), time_ns in zip(ids, times_ns, strict=True)
            ),
        )
    began = time.monotonic()
    found = read_history(store, "nightly", "2026-01-01")
    read_s = time.monotonic() - began
    changed = changes([panel(found.nightly, statistic) for statistic in ("p50", "p90")])
    compare_s = time.monotonic() - began - read_s
    assert len(found.nightly) == 365 * 40
    assert {(change.name, change.since_dt) for change in changed} == {("config-7/read-0 read", "2026-10-28")}
    assert (read_s, compare_s) < (10, 10), "5 times what a busy machine took"
