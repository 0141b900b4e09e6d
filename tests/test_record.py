"""A run is completed once, by whichever attempt at it arrives."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from configs.loading import parse_suite
from configs.run_record import RunIdentity, Timing
from tasks.kernel.samples import SampleColumns
from tasks.record import Circumstances, record
from tasks.results.cells import EndedCell, store_cell
from tasks.results.costs import read_costs
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
    assert len(whole) == 4  # of the cell, of its quantiles, of its cost, of the run


def test_a_skipped_cell_costs_nothing_and_of_a_failed_one_nobody_knows_how_much(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    three = SUITE.replace('endpoint_url: "http://127.0.0.1:9"', "region: us-east-1").replace(
        "configurations: {one:",
        "configurations: {two: {access_path: {kind: boto3_api}, target: b}, "
        "three: {access_path: {kind: boto3_api}, target: b}, one:",
    )
    plan = SessionPlan(RUN, parse_suite(three, "s.yaml"), "", 1, {}, {}, tmp_path)
    measured, failed, skipped = (CellMeasurement(cell) for cell in plan.suite.cells())
    failed.status, skipped.status = "failed", "skipped"
    for item in (measured, failed, skipped):
        ended = EndedCell(item.cell.config_id, "write", [], "skipped", "for this test")
        item.stored_as = store_cell(store, RUN, ended)
    circumstances = Circumstances(
        started_at=BEGAN,
        ended_at=BEGAN + timedelta(minutes=1),
        timing=Timing(server_start_ms=0, prepare_ms=1, measure_ms=2, wall_ms=60_000),
        environment=environment((measured,)),
    )
    record.fn(plan, store, (measured, failed, skipped), circumstances)
    whole, partly = read_costs(store, RUN.run_id, RUN.dt)
    assert (whole.config_id, partly.config_id) == ("two", "three")
    assert whole.usd is not None
    assert (whole.unknown, partly.usd) == ((), None)
    assert partly.unknown == ("how much of it was done, since the cell failed",)
    assert partly.usd_per_million_operations == whole.usd_per_million_operations
