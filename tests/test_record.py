"""A run is completed once, by whichever attempt at it arrives."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from configs.loading import parse_suite
from configs.run_record import RunIdentity, Timing
from tasks.kernel.samples import SampleColumns
from tasks.record import Circumstances, record
from tasks.results.cells import EndedCell, store_cell
from tasks.results.reader import read_run
from tasks.results.store import open_store
from tasks.venues.accounting import environment
from tasks.venues.session import CellMeasurement, SessionPlan

RUN = RunIdentity(run_id="20260101T020000Z-00000077", dt="2026-01-01")
SUITE = """
name: s
targets: {b: {kind: bucket, bucket: bucket, endpoint_url: "http://127.0.0.1:9"}}
configurations: {one: {access_path: {kind: boto3_api}, target: b}}
workloads: {write: {kind: blob_write, size: 64}}
"""
BEGAN = datetime(2026, 1, 1, 2, tzinfo=UTC)


def test_a_second_attempt_at_recording_makes_the_same_bytes_whenever_it_comes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    plan = SessionPlan(RUN, parse_suite(SUITE, "s.yaml"), "", 1, {}, {}, tmp_path)
    measurement = CellMeasurement(plan.suite.cells()[0])
    samples = SampleColumns()
    samples.grow(3, "write")
    measurement.stored_as = store_cell(store, RUN, EndedCell("one", "write", [(0, samples)], "measured"))
    circumstances = Circumstances(
        started_at=BEGAN,
        ended_at=BEGAN + timedelta(minutes=1),
        timing=Timing(server_start_ms=0, prepare_ms=1, measure_ms=2, wall_ms=60_000),
        environment=environment((measurement,)),
    )
    first = record.fn(plan, store, (measurement,), circumstances)
    whole = {file: file.read_bytes() for file in tmp_path.rglob("*.parquet")}
    again = record.fn(plan, store, (measurement,), circumstances)
    assert again == first == read_run(store, RUN.run_id).record
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.parquet")} == whole
    assert len(whole) == 3
