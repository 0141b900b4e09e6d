"""The engines that people query with, on months of a store, with the partitions pruned."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from configs.run_record import RunIdentity, RunRecord
from tasks.kernel.samples import SampleColumns
from tasks.results.samples import samples_table
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store
from tasks.results.writer import write_cell, write_run

NIGHTS = 60
CONFIG_IDS = ("boto3", "mount")
SAMPLES_PER_CELL = 20
DuckDb = duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def nights() -> list[date]:
    return [date(2026, 1, 1) + timedelta(days=night) for night in range(NIGHTS)]


@pytest.fixture
def two_months(
    tmp_path: Path, nights: list[date], block: Callable[[int], SampleColumns], record: RunRecord
) -> Path:
    """60 nights of two configurations, and a file that a killed writer left."""
    store = open_store(tmp_path)
    columns = block(SAMPLES_PER_CELL)
    for night in nights:
        run = RunIdentity(run_id=f"{night:%Y%m%d}T020000Z-1a2b3c4d", dt=f"{night}")
        for config_id in CONFIG_IDS:
            table = samples_table(run, config_id, "read_1k", [(0, columns)])
            write_cell(store, run, config_id, "read_1k", table)
        write_run(store, record.model_copy(update=run.model_dump()))
    (tmp_path / "v1/samples/dt=2026-01-01/config=boto3/.x.parquet.123.tmp").write_bytes(b"part of a file")
    return tmp_path / "v1"


@pytest.fixture
def duck(two_months: Path) -> DuckDb:
    connection = duckdb.connect()
    connection.execute("SET TimeZone='UTC'")
    for table in ("samples", "runs"):
        types = "{'dt': DATE, 'config': VARCHAR}" if table == "samples" else "{'dt': DATE}"
        connection.execute(
            f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{two_months}/{table}/**/*.parquet', "  # noqa: S608 - nothing of it comes from outside
            f"hive_partitioning=true, hive_types={types})"
        )
    return connection


def test_duckdb_reads_two_months_and_the_types_are_ours(duck: DuckDb) -> None:
    count, configs, first, exact = duck.execute(
        "SELECT count(*), count(DISTINCT config), min(dt)::VARCHAR, bool_and(config = config_id) FROM samples"
    ).fetchall()[0]
    assert (count, configs, first, exact) == (NIGHTS * 2 * SAMPLES_PER_CELL, 2, "2026-01-01", True)
    types = {name: kind for name, kind, *_ in duck.execute("DESCRIBE samples").fetchall()}
    assert (types["dt"], types["config"], types["total_ns"]) == ("DATE", "VARCHAR", "BIGINT")
    assert (types["started_at"], types["cold"], types["message"]) == (
        "TIMESTAMP WITH TIME ZONE",
        "BOOLEAN",
        "VARCHAR",
    )
    assert set(types) == {*SAMPLES.names, "dt", "config"}
    moment = duck.execute("SELECT min(started_at)::VARCHAR, min(started_us) FROM samples").fetchall()[0]
    assert moment == ("2026-01-01 02:00:00+00", 1_767_232_800_000_000)


def test_duckdb_opens_only_the_files_of_the_partitions_asked_for(duck: DuckDb) -> None:
    plan = duck.execute(
        "EXPLAIN ANALYZE SELECT sum(total_ns) FROM samples "
        "WHERE dt BETWEEN '2026-02-01' AND '2026-02-03' AND config = 'mount'"
    ).fetchall()[0][1]
    scanned = re.search(r"(\d+)/(\d+)", plan)
    assert scanned is not None, plan
    assert scanned.groups() == ("3", str(NIGHTS * 2))


def test_duckdb_joins_samples_with_the_runs_that_ended(duck: DuckDb, two_months: Path) -> None:
    (killed,) = (two_months / "runs/dt=2026-01-02").iterdir()
    killed.unlink()
    complete = duck.execute("SELECT count(*) FROM samples SEMI JOIN runs USING (run_id)").fetchall()[0][0]
    assert complete == (NIGHTS - 1) * 2 * SAMPLES_PER_CELL


def test_pyarrow_opens_only_the_files_of_the_partitions_asked_for(two_months: Path) -> None:
    partitions = ds.partitioning(pa.schema([("dt", pa.date32()), ("config", pa.string())]), flavor="hive")
    samples = ds.dataset(two_months / "samples", format="parquet", partitioning=partitions)
    wanted = (ds.field("dt") == date(2026, 1, 31)) & (ds.field("config") == "boto3")
    assert len(list(samples.get_fragments())) == NIGHTS * 2
    assert len(list(samples.get_fragments(filter=wanted))) == 1
    assert samples.to_table(filter=wanted)["run_id"].unique().to_pylist() == ["20260131T020000Z-1a2b3c4d"]
    assert samples.count_rows() == NIGHTS * 2 * SAMPLES_PER_CELL
