"""What a run's cells cost is stored beside it, and read back as it was."""

from dataclasses import fields
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from configs.run_record import RunIdentity, RunRecord
from tasks.results.costs import read_costs, write_costs
from tasks.results.names import costs_name
from tasks.results.reader import list_runs
from tasks.results.schema import COSTS
from tasks.results.store import open_store
from tasks.results.writer import write_run
from tasks.stats.cell_cost import CellCost

READ = CellCost(
    config_id="boto3",
    workload_id="read_1k",
    operations=105,
    put_requests=0,
    get_requests=105,
    list_requests=5,
    head_requests=0,
    sent_bytes=0,
    received_bytes=107_520,
    usd=6.7e-05,
    usd_per_million_operations=0.4,
    usd_per_gb=0.41943040000000003,
    usd_per_gb_month=0.023,
    prices_as_of="2025-10-28",
)
HIDDEN = CellCost(
    "mount", "read_1k", 105, None, None, None, None, 0, None, None, None, None, None, ("a, b", "c: d"), None
)


def test_what_is_written_is_read_back_and_a_second_attempt_writes_the_same_bytes(
    tmp_path: Path, run: RunIdentity
) -> None:
    store = open_store(tmp_path)
    write_costs(store, run, [READ, HIDDEN])
    stored = (tmp_path / costs_name(run)).read_bytes()
    write_costs(store, run, [READ, HIDDEN])
    assert (tmp_path / costs_name(run)).read_bytes() == stored
    assert read_costs(store, run.run_id, run.dt) == (READ, HIDDEN)


def test_a_cost_is_a_row_of_the_table_and_nothing_else() -> None:
    assert [one.name for one in fields(CellCost)] == [name for name in COSTS.names if name != "run_id"]


def test_sql_reads_it_with_its_night_and_its_unknown_in_one_sentence(
    tmp_path: Path, run: RunIdentity
) -> None:
    write_costs(open_store(tmp_path), run, [READ, HIDDEN])
    assert pq.read_schema(tmp_path / costs_name(run)) == COSTS
    found = duckdb.execute(
        "SELECT strftime(dt, '%Y-%m-%d'), run_id, config_id, usd, unknown "
        "FROM read_parquet(?, hive_partitioning = true) ORDER BY config_id",
        [f"{tmp_path}/v1/costs/*/*.parquet"],
    ).fetchall()
    assert found == [
        (run.dt, run.run_id, "boto3", 6.7e-05, None),
        (run.dt, run.run_id, "mount", None, "a, b; c: d"),
    ]


def test_a_run_from_before_costs_were_stored_has_none(tmp_path: Path, record: RunRecord) -> None:
    store = open_store(tmp_path)
    write_run(store, record)
    assert read_costs(store, record.run_id, record.dt) == ()
    other = RunIdentity(run_id="20260101T030000Z-1a2b3c4d", dt=record.dt)
    write_costs(store, other, [READ])
    assert read_costs(store, record.run_id, record.dt) == ()
    assert [one.run_id for one in list_runs(store)] == [record.run_id], "costs alone make no run"


def test_a_damaged_file_is_named(tmp_path: Path, run: RunIdentity) -> None:
    store = open_store(tmp_path)
    write_costs(store, run, [READ])
    path = tmp_path / costs_name(run)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match=rf"{run.run_id}\.parquet is damaged: move it away"):
        read_costs(store, run.run_id, run.dt)
