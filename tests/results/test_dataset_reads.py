"""Which datasets were read lately is told by the records of the runs, older ones by name alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from configs.errors import UserError
from configs.run_record import DatasetRecord, RunRecord
from tasks.results.dataset_reads import dataset_reads
from tasks.results.names import run_name
from tasks.results.samples import skipped_table
from tasks.results.store import open_store
from tasks.results.writer import write_cell, write_run

SINCE = datetime(2026, 1, 10, tzinfo=UTC)
BLOBS = DatasetRecord(name="blobs", kind="blobs", objects=1, records=0, size_bytes=1)


def record_of(record: RunRecord, day: int, *datasets: DatasetRecord) -> RunRecord:
    return record.model_copy(
        update={
            "run_id": f"202601{day:02}T020000Z-1a2b3c4d",
            "dt": f"2026-01-{day:02}",
            "ended_at": datetime(2026, 1, day, 3, tzinfo=UTC),
            "datasets": datasets,
        }
    )


def at(*prefixes: str) -> DatasetRecord:
    return BLOBS.model_copy(update={"prefixes": prefixes})


def test_the_last_run_that_read_a_dataset_counts_wherever_it_lay(tmp_path: Path, record: RunRecord) -> None:
    store = open_store(tmp_path)
    for day, prefixes in ((11, ("a/datasets/blobs/", "b/datasets/blobs/")), (13, ("b/datasets/blobs/",))):
        write_run(store, record_of(record, day, at(*prefixes)))
    reads = dataset_reads(store, SINCE)
    assert reads.since == SINCE
    assert reads.last("blobs", "a/datasets/blobs/") == datetime(2026, 1, 11, 3, tzinfo=UTC)
    assert reads.last("blobs", "b/datasets/blobs/") == datetime(2026, 1, 13, 3, tzinfo=UTC)
    assert reads.last("blobs", "c/datasets/blobs/") is None


def test_a_record_that_does_not_tell_where_a_dataset_lay_counts_for_its_name(
    tmp_path: Path, record: RunRecord
) -> None:
    store = open_store(tmp_path)
    write_run(store, record_of(record, 11, BLOBS))
    reads = dataset_reads(store, SINCE)
    assert reads.last("blobs", "anywhere/datasets/blobs/") == datetime(2026, 1, 11, 3, tzinfo=UTC)
    assert reads.last("logs", "anywhere/datasets/logs/") is None


def test_runs_without_a_record_are_counted_and_old_ones_not_fetched(
    tmp_path: Path, record: RunRecord
) -> None:
    store = open_store(tmp_path)
    write_run(store, record_of(record, 1, at("a/datasets/blobs/")))
    (tmp_path / run_name(record_of(record, 1))).write_bytes(b"damaged, and too old to matter")
    killed = record_of(record, 12)
    write_cell(store, killed, "mount", "read", skipped_table(killed, "mount", "read", "no /dev/fuse"))
    reads = dataset_reads(store, SINCE)
    assert reads.silent_runs == (killed.run_id,)
    assert (dict(reads.by_prefix), dict(reads.by_name)) == ({}, {})


def test_a_damaged_record_stops_the_search_since_it_may_be_the_one_that_tells(
    tmp_path: Path, record: RunRecord
) -> None:
    store = open_store(tmp_path)
    write_run(store, record_of(record, 12, at("a/datasets/blobs/")))
    (tmp_path / run_name(record_of(record, 12))).write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"20260112T020000Z-1a2b3c4d\.parquet is damaged"):
        dataset_reads(store, SINCE)


def test_a_run_is_found_by_its_end_though_it_is_filed_under_an_earlier_night(
    tmp_path: Path, record: RunRecord
) -> None:
    store = open_store(tmp_path)
    late = record_of(record, 9, at("a/datasets/blobs/")).model_copy(
        update={"ended_at": SINCE + timedelta(hours=1)}
    )
    write_run(store, late)
    assert dataset_reads(store, SINCE).last("blobs", "a/datasets/blobs/") == SINCE + timedelta(hours=1)
