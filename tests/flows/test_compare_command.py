"""The compare command over a made-up store: blocks of a run, nights of a schedule, and what it refuses."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from configs.run_record import CellRecord, RunIdentity, dt_of
from tasks.reports.wording import milliseconds, three_digits
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.summaries import summarise
from tests.records import run_record

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Command = Callable[..., "subprocess.CompletedProcess[str]"]

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
CELLS = {("sdk", "read"): 10e6, ("crt", "read"): 8e6, ("cli", "upload"): 50e6}
"""Typical times in nanoseconds; the first two do the same workload."""


def write_night(results: Path | str, day: int) -> str:
    """A night of 400 operations of each cell in five blocks, each block with a weather of its own."""
    store, at, rng = open_store(results), FIRST + timedelta(days=day), np.random.default_rng(day)
    run = RunIdentity(run_id=f"{at:%Y%m%dT%H%M%SZ}-{day:08x}", dt=dt_of(at))
    tables = []
    for (config_id, workload_id), typical_ns in CELLS.items():
        weather = rng.lognormal(0, 0.03, 5)
        rows = [
            {
                "run_id": run.run_id,
                "config_id": config_id,
                "workload_id": workload_id,
                "operation": "read" if workload_id == "read" else "upload",
                "outcome": "ok",
                "warmup": False,
                "block": place % 5,
                "worker": 0,
                "size_bytes": 65_536,
                "total_ns": int(typical_ns * weather[place % 5] * rng.lognormal(0, 0.2)),
            }
            for place in range(400)
        ]
        tables.append(pa.Table.from_pylist(rows, schema=SAMPLES))
        write_cell(store, run, config_id, workload_id, tables[-1])
    write_nightly(store, run, summarise(pa.concat_tables(tables)))
    cells = [
        CellRecord(
            config_id=config_id,
            workload_id=workload_id,
            status="measured",
            parameters={"workload.concurrency": "1"},
        )
        for config_id, workload_id in CELLS
    ]
    write_run(store, run_record(run, at, cells, schedule="nightly", scheduled_at=at))
    return run.run_id


@pytest.fixture
def run_ids(tmp_path: Path) -> list[str]:
    """Four nights in the folder in which the command runs."""
    return [write_night(tmp_path / "results", day) for day in range(4)]


def rows_of(answer: "subprocess.CompletedProcess[str]") -> dict[str, list[str]]:
    """The table's lines by their first word."""
    assert answer.returncode == 0, answer.stderr
    lines = (line.split() for line in answer.stdout.splitlines())
    return {words[0]: words[1:] for words in lines if words and words[0] in {"p50", "p90", "p99", "mean"}}


RATIO_BY_SQL = """
WITH q AS (
    SELECT config, {unit} AS unit, quantile_disc(total_ns, {share}) AS ns
    FROM read_parquet('{results}/v1/samples/*/*/*.parquet', hive_partitioning = true)
    WHERE workload_id = 'read' AND {where} GROUP BY ALL
)
SELECT exp(avg(ln(a.ns / b.ns))) FROM q a JOIN q b USING (unit) WHERE a.config = 'crt' AND b.config = 'sdk'
"""


def by_sql(results: Path, share: float, unit: str, where: str = "true") -> str:
    query = RATIO_BY_SQL.format(results=results, share=share, unit=unit, where=where)
    return three_digits(duckdb.sql(query).fetchall()[0][0])


def test_the_blocks_of_the_newest_run_are_compared_with_the_ratios_that_sql_finds(
    s3bench: Command, tmp_path: Path, run_ids: list[str]
) -> None:
    answer = s3bench("compare", "crt", "sdk", COLUMNS="160")
    found = rows_of(answer)
    where = f"run_id = '{run_ids[-1]}'"
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert found[name][4] == by_sql(tmp_path / "results", share, "block", where)
        assert found[name][1::2][:2] == ["400", "400"]
    p50 = duckdb.read_parquet(f"{tmp_path}/results/v1/samples/*/config=sdk/{run_ids[-1]}.*.parquet")
    assert found["p50"][2] == milliseconds(p50.aggregate("quantile_disc(total_ns, 0.5)").fetchall()[0][0])
    assert found["p50"][-3:] == ["crt", "faster", "5"]
    assert "crt against sdk" in answer.stdout
    assert "! LOCAL LAB" in answer.stdout
    assert run_ids[-1] in answer.stdout
    assert "Verdicts are corrected for the 4 comparisons" in answer.stdout
    assert "upload" not in answer.stdout


def test_nights_are_paired_with_the_ratios_that_sql_finds(
    s3bench: Command, tmp_path: Path, run_ids: list[str]
) -> None:
    answer = s3bench("compare", "crt", "sdk", "--nights", "3", COLUMNS="160")
    found = rows_of(answer)
    where = f"run_id <> '{run_ids[0]}'"
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert found[name][4] == by_sql(tmp_path / "results", share, "run_id", where)
        assert found[name][1::2][:2] == ["1,200", "1,200"]
    assert found["p50"][-3:] == ["crt", "faster", "3"]
    assert "3 nights, 2026-01-02 to 2026-01-04" in answer.stdout
    assert "median night" in answer.stdout


@pytest.mark.usefixtures("run_ids")
def test_wrong_names_are_refused_with_those_that_there_are(s3bench: Command) -> None:
    answer = s3bench("compare", "crt", "sdc")
    assert answer.returncode == 2
    assert answer.stderr.endswith(" has no configuration sdc: it has cli, crt, sdk\n")
    assert answer.stderr.startswith("s3bench: run 20260104T")


BAD_INPUT = {
    "crt crt": "crt and crt are the same: name two configurations",
    "crt cli": "no workload in common: crt does read; cli does upload",
    "crt sdk --nights 2 --run 20260104T023000Z-00000003": "--run compares the blocks of one run, and",
    "crt sdk --schedule weekly": "--schedule says whose nights are compared: say with --nights how many",
    "crt sdk --nights 2 --schedule weekly": "no night of schedule weekly in results: a run by",
    "crt sdk --nights 9 --workload writes": "(4 nights, 2026-01-01 to 2026-01-04) has no workload writes:",
    "crt sdc --nights 9": "schedule nightly in results (4 nights, 2026-01-01 to 2026-01-04) has no",
}


@pytest.mark.slow
@pytest.mark.usefixtures("run_ids")
@pytest.mark.parametrize(("typed", "message"), BAD_INPUT.items())
def test_bad_input_is_one_message_and_status_2(s3bench: Command, typed: str, message: str) -> None:
    answer = s3bench("compare", *typed.split())
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("s3bench: ")
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_workload_that_one_of_them_does_not_do_is_named_with_the_reason(
    s3bench: Command, run_ids: list[str]
) -> None:
    answer = s3bench("compare", "crt", "cli", "--workload", "read", "--run", run_ids[0])
    assert answer.returncode == 0
    assert "cli does not do this workload" in answer.stdout


@pytest.fixture
def results_in_bucket(s3_client: "S3Client", bucket: str, tmp_path: Path, run_ids: list[str]) -> str:
    """The same store in a bucket."""
    results = tmp_path / "results"
    for path in results.rglob("*.parquet"):
        s3_client.put_object(Bucket=bucket, Key=f"some/{path.relative_to(results)}", Body=path.read_bytes())
    assert run_ids
    return f"s3://{bucket}/some"


@pytest.mark.slow
def test_it_reads_a_bucket_as_it_reads_a_folder(
    s3bench: Command, s3_endpoint_url: str, results_in_bucket: str
) -> None:
    aws = {
        "AWS_ENDPOINT_URL": s3_endpoint_url,
        "AWS_ACCESS_KEY_ID": "testkey",
        "AWS_SECRET_ACCESS_KEY": "testsecret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for options in ([], ["--nights", "3"]):
        local = s3bench("compare", "crt", "sdk", *options)
        remote = s3bench("compare", "crt", "sdk", *options, "--results", results_in_bucket, **aws)
        assert rows_of(remote) == rows_of(local)
