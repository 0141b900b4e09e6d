"""The report command over a stored run: its report, or the run beside the published results."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from configs.run_record import CellRecord, RunIdentity, RunRecord
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store
from tasks.results.writer import write_cell, write_run
from tests.records import run_record

Command = Callable[..., "subprocess.CompletedProcess[str]"]
RUN = RunIdentity(run_id="20260101T020000Z-1a2b3c4d", dt="2026-01-01")
START = datetime(2026, 1, 1, 2, tzinfo=UTC)


@pytest.fixture
def stored(tmp_path: Path) -> RunRecord:
    """100 reads of 64 KiB by the SDK, of 10 ms each, against the local lab."""
    reads = [
        {
            "run_id": RUN.run_id,
            "config_id": "sdk",
            "workload_id": "read",
            "operation": "read",
            "outcome": "ok",
            "warmup": False,
            "block": place % 5,
            "worker": 0,
            "size_bytes": 65_536,
            "total_ns": 10_000_000,
        }
        for place in range(100)
    ]
    cell = CellRecord(
        config_id="sdk",
        workload_id="read",
        status="measured",
        proof={"client": "boto3 1.44.8", "host": "127.0.0.1"},
        parameters={
            "access_path.kind": "boto3_api",
            "target.kind": "bucket",
            "workload.kind": "blob_read",
            "workload.read_mode": "single",
            "workload.concurrency": "1",
        },
    )
    record = run_record(RUN, START, [cell])
    store = open_store(str(tmp_path / "results"))
    write_cell(store, RUN, "sdk", "read", pa.Table.from_pylist(reads, schema=SAMPLES))
    write_run(store, record)
    return record


@pytest.mark.usefixtures("stored")
def test_a_stored_run_is_set_beside_the_published_results(s3bench: Command) -> None:
    answer = s3bench("report", "--against", "published", "--run", RUN.run_id, COLUMNS="160")
    assert answer.returncode == 0, answer.stderr
    assert "LOCAL LAB: these numbers are not comparable" in answer.stdout
    assert "E2 lambda-s3-files, published 2026-07" in answer.stdout
    assert "– local lab" in answer.stdout
    assert "24.8" in answer.stdout
    (counted,) = (line.split() for line in answer.stdout.splitlines() if line.startswith("all "))
    assert counted == ["all", "311", "6", "305"]


@pytest.mark.usefixtures("stored")
def test_an_unknown_reference_is_refused_with_the_known_ones(s3bench: Command) -> None:
    answer = s3bench("report", "--against", "yesterday")
    assert answer.returncode == 2
    assert answer.stderr == "s3bench: --against yesterday: a run can be set beside: published\n"


@pytest.mark.usefixtures("stored")
def test_without_a_reference_the_run_is_reported(s3bench: Command) -> None:
    answer = s3bench("report")
    assert answer.returncode == 0, answer.stderr
    assert "Time of one read, ms" in answer.stdout
    assert len(answer.stdout.splitlines()[0]) == 120, "as COLUMNS says"
    assert "published" not in answer.stdout


@pytest.mark.usefixtures("stored")
def test_without_a_terminal_lines_are_long_where_columns_does_not_tell_their_length(s3bench: Command) -> None:
    assert len(s3bench("report", COLUMNS="").stdout.splitlines()[0]) == 160
