"""What the tests of the result store share: a run, its record, and blocks of samples."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from configs.run_record import (
    CellRecord,
    DatasetRecord,
    Environment,
    HarnessCost,
    RunIdentity,
    RunRecord,
    Timing,
)
from tasks.kernel.samples import SampleColumns
from tests.results.sql_store import SqlStore, written_store

STARTED_US = 1_767_232_800_000_000  # 2026-01-01T02:00:00Z


@pytest.fixture
def run() -> RunIdentity:
    return RunIdentity(run_id="20260101T020000Z-1a2b3c4d", dt="2026-01-01")


@pytest.fixture
def block() -> Callable[[int], SampleColumns]:
    """Reads of 1,024 bytes, one each millisecond, row i taking 1,000,000 + i nanoseconds."""

    def make(rows: int) -> SampleColumns:
        columns = SampleColumns()
        columns.grow(rows, "read")
        key = columns.key_index("blobs/000.bin")
        for row in range(rows):
            columns.warmup[row] = row == 0
            columns.object_key[row] = key
            for name, value in {
                "seq": row,
                "started_us": STARTED_US + 1000 * row,
                "total_ns": 1_000_000 + row,
                "size_bytes": 1024,
                "http_status": 200,
                "retries": 0,
            }.items():
                columns.integers[name][row] = value
        return columns

    return make


@pytest.fixture
def record(run: RunIdentity) -> RunRecord:
    started_at = datetime(2026, 1, 1, 2, 0, 0, 123_000, tzinfo=UTC)
    return RunRecord(
        **run.model_dump(),
        suite="lab-tour",
        suite_sha256="ab" * 32,
        lab=True,
        seed=42,
        blocks=5,
        baseline="boto3",
        started_at=started_at,
        ended_at=started_at + timedelta(seconds=9),
        cells=(
            CellRecord(
                config_id="boto3", workload_id="read_1k", status="measured", proof={"host": "127.0.0.1"}
            ),
            CellRecord(config_id="mount", workload_id="read_1k", status="skipped", reason="no /dev/fuse"),
        ),
        datasets=(DatasetRecord(name="blobs", kind="blobs", objects=1, records=0, size_bytes=1024),),
        environment=Environment(
            python="3.11.7",
            kernel="6.1",
            machine="x86_64",
            cpu_model="test",
            cpu_count=2,
            memory_bytes=2**33,
            packages={"boto3": "1.44.8"},
            git_commit="0" * 40,
        ),
        harness=HarnessCost(timer_resolution_ns=40, timed_nothing_ns=80, loop_gap_ns=20_000, cpu_share=0.5),
        timing=Timing(server_start_ms=3000, prepare_ms=1000, wait_ms=500, measure_ms=4000, wall_ms=9000),
    )


@pytest.fixture(scope="session")
def sql_store(tmp_path_factory: pytest.TempPathFactory) -> SqlStore:
    """A store with everything in it that a query could trip over; for tests that only read."""
    return written_store(tmp_path_factory.mktemp("sql") / "it's [one] store")
