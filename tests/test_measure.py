"""What a run wrote is removed when it has ended, what cannot be is told, and nothing measured is lost."""

from pathlib import Path

import pytest

from configs.errors import UserError
from configs.loading import load_suite, parse_suite
from configs.run_record import RunIdentity
from configs.targets import MountTarget
from tasks import measure
from tasks.kernel.samples import SampleColumns
from tasks.lab.state import LabState
from tasks.reports.progress import LineReporter
from tasks.results.store import open_store
from tasks.venues.journal import JournalHeader, journalled
from tasks.venues.places import Place
from tasks.venues.recovery import recover
from tasks.venues.session import CellMeasurement, SessionPlan
from tasks.venues.wire import BlockOutcome

SUITE = """
name: s
targets:
  b: {{kind: bucket, bucket: {bucket}, endpoint_url: "{endpoint_url}", region: {region}}}
  m: {{kind: mount, shows: b, path: /mnt/none}}
configurations:
  one: {{access_path: {{kind: boto3_api}}, target: b}}
  two: {{access_path: {{kind: mount_io}}, target: m}}
workloads:
  write: {{kind: blob_write, size: 64}}
"""
RUN_ID = "20260101T020000Z-00000077"
RUN = f"s3bench/runs/{RUN_ID}/"


def test_a_mount_that_cannot_be_cleaned_up_is_told_and_its_bucket_is_cleaned_up_once(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: MountTarget, prefix: str) -> None:
        raise PermissionError(1, "Operation not permitted", prefix)

    cleaned: list[tuple[str, str]] = []
    monkeypatch.setattr(measure, "remove_run_from_mount", refuse)
    monkeypatch.setattr(
        measure, "remove_run", lambda _client, bucket, prefix, _note: cleaned.append((bucket, prefix))
    )
    suite = parse_suite(
        SUITE.format(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region), "s.yaml"
    )
    plan = SessionPlan(
        run=RunIdentity(run_id=RUN_ID, dt="2026-01-01"),
        suite=suite,
        suite_sha256="",
        seed=1,
        manifests={},
        obstacles={},
        scratch=Path("unused"),
    )
    told: list[str] = []
    place = Place(suite, lab.environment(), {}, Path("unused"))
    measure._remove_what_was_written(plan, place, LineReporter(told.append))
    assert cleaned == [(lab.bucket, RUN)]
    assert len(told) == 1
    assert f"{RUN} of m may still be there" in told[0]


def test_a_cell_that_the_store_refuses_stays_in_the_journal_for_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    suite = parse_suite(
        SUITE.format(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1"), "s.yaml"
    )
    cell, results = suite.cells()[0], tmp_path / "results"
    (results / "v1").mkdir(parents=True)
    (results / "v1" / "samples").touch()  # in place of a folder
    plan = SessionPlan(RunIdentity(run_id=RUN_ID, dt="2026-01-01"), suite, "", 1, {}, {}, tmp_path)
    samples = SampleColumns()
    samples.grow(2, "write")
    outcome = BlockOutcome("measured", samples)
    store = open_store(results)
    told: list[str] = []
    measurement = CellMeasurement(cell)
    measurement.add(0, outcome)
    with journalled(JournalHeader.of(plan.run, store, 1, plan.scratch), told.append) as journal:
        journal.keep(cell, 0, outcome)
        with pytest.raises(UserError, match="a file stands where a folder is wanted"):
            measure._store_cell(store, plan, journal, measurement)
    assert told[0].startswith("1 measured blocks are not stored")
    (results / "v1" / "samples").unlink()
    assert "1 blocks of 1 cells" in recover()[0]
    assert len(list(results.rglob("*.parquet"))) == 1


def test_a_cell_cut_short_is_stored_with_the_same_row_whoever_stores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    suite = parse_suite(
        SUITE.format(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1"), "s.yaml"
    )
    samples = SampleColumns()
    samples.grow(2, "write")
    outcome = BlockOutcome("measured", samples)
    stored = []
    for who in ("the run", "the recovery"):
        results = tmp_path / who
        results.mkdir()
        plan = SessionPlan(RunIdentity(run_id=RUN_ID, dt="2026-01-01"), suite, "", 1, {}, {}, tmp_path)
        measurement = CellMeasurement(suite.cells()[0])
        measurement.add(0, outcome)
        header = JournalHeader.of(plan.run, open_store(results), 5, plan.scratch)
        with journalled(header, lambda _: None) as journal:
            journal.keep(measurement.cell, 0, outcome)
            if who == "the run":
                measurement.cut_short(5)
                measure._store_cell(open_store(results), plan, journal, measurement)
        recover()
        (file,) = results.rglob("*.parquet")
        stored.append(file.read_bytes())
    assert stored[0] == stored[1]


def test_a_lab_that_has_ended_is_told_when_measuring_ends(tmp_path: Path) -> None:
    suite = load_suite("lab")
    told: list[str] = []
    place = Place(suite, {}, {}, tmp_path, lab_folder=tmp_path / "lab")
    measure._tell_of_a_broken_lab(place, LineReporter(told.append))
    assert len(told) == 1
    assert told[0].startswith("the lab is down: somebody took it down: errors since then are the lab's")
