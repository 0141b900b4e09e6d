"""A suite of which a part runs in Lambda: the real command, a real function, the lab's bucket and mount."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow.parquet as pq
import pytest

from tasks.lab import rclone
from tasks.lab.local_lab import running_lab
from tests.flows.conftest import environment_in, run_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(rclone.mount_obstacle() != "", reason=rclone.mount_obstacle()),
]

SUITE = """\
name: in-lambda
lab: true
blocks: 2
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
venues:
  function: {kind: lambda, function: s3bench-lab, region: us-east-1, memory_mb: 512, vpc: false}
  larger: {kind: lambda, function: s3bench-lab, region: us-east-1, memory_mb: 1024}
configurations:
  here: {access_path: {kind: boto3_api}, target: bucket, workloads: [read, write, scan]}
  there: {access_path: {kind: boto3_api}, target: bucket, venue: function, workloads: [read, write, scan]}
  mount-there: {access_path: {kind: mount_io}, target: mount, venue: function, workloads: [read, write]}
  files-there: {access_path: {kind: boto3_transfer}, target: bucket, venue: function, workloads: [upload]}
  cli-there: {access_path: {kind: aws_cli}, target: bucket, venue: function, workloads: [upload]}
  mislabelled: {access_path: {kind: boto3_api}, target: bucket, venue: larger, workloads: [read]}
datasets:
  blobs: {kind: blobs, size: 64 KiB, unique_count: 10}
  logs: {kind: cloudtrail_generated, files: 12, records: 60}
workloads:
  read: {kind: blob_read, dataset: blobs, read_mode: unique, iterations: 10, warmup: 2}
  write: {kind: blob_write, size: 64 KiB, iterations: 10, warmup: 2}
  scan: {kind: cloudtrail_scan, dataset: logs, iterations: 4, warmup: 2}
  upload: {kind: file_upload, size: 64 KiB, iterations: 4, warmup: 2}
"""


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    folder: Path
    answer: "subprocess.CompletedProcess[str]"

    @property
    def cells(self) -> dict[str, Any]:
        (record,) = (self.folder / "results" / "v1" / "runs").rglob("*.parquet")
        cells = json.loads(pq.read_table(record)["cells_json"][0].as_py())
        return {f"{cell['config_id']}/{cell['workload_id']}": cell for cell in cells}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, prefect_api_url: str) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("in-lambda")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    environment = environment_in(folder) | {"PREFECT_API_URL": prefect_api_url}
    with running_lab(folder / ".lab"):  # what is left of a run is looked at
        yield Ran(folder, run_command(folder, ["run", "suite.yaml", "--seed", "7"], environment))


def test_cells_of_both_venues_are_measured_and_the_others_say_why_not(ran: Ran) -> None:
    assert ran.answer.returncode == 1, ran.answer.stdout + ran.answer.stderr  # one cell is mislabelled
    statuses = {cell_id: cell["status"] for cell_id, cell in ran.cells.items()}
    assert statuses == {
        **dict.fromkeys(("here/read", "here/write", "here/scan"), "measured"),
        **dict.fromkeys(("there/read", "there/write", "there/scan"), "measured"),
        **dict.fromkeys(("mount-there/read", "mount-there/write", "files-there/upload"), "measured"),
        "cli-there/upload": "skipped",
        "mislabelled/read": "failed",
    }
    assert ran.cells["cli-there/upload"]["reason"].startswith("a Lambda function has no program for aws_cli")
    assert ran.cells["mislabelled/read"]["reason"].startswith("the venue says memory_mb: 1024, and Lambda")


def test_every_operation_in_lambda_is_a_sample_and_none_failed(ran: Ran) -> None:
    files = str(ran.folder / "results" / "v1" / "samples" / "*" / "*" / "*.parquet")
    found = duckdb.execute(
        "SELECT config || '/' || workload_id, count(*), count(*) FILTER (warmup), "
        "count(*) FILTER (outcome = 'error'), count(DISTINCT block) "
        "FROM read_parquet(?, hive_partitioning=true) "
        "WHERE outcome <> 'skipped' AND config LIKE '%there' GROUP BY ALL ORDER BY ALL",
        [files],
    ).fetchall()
    assert found == [
        ("files-there/upload", 4, 2, 0, 2),
        ("mount-there/read", 10, 2, 0, 2),
        ("mount-there/write", 10, 2, 0, 2),
        ("there/read", 10, 2, 0, 2),
        ("there/scan", 4, 2, 0, 2),
        ("there/write", 10, 2, 0, 2),
    ]


def test_the_record_proves_where_cells_ran_and_says_what_was_asked(ran: Ran) -> None:
    here, there = (ran.cells[name] for name in ("here/read", "there/read"))
    assert not [name for name in here["parameters"] if name.startswith("venue.")]
    assert not [name for name in here["proof"] if name.startswith("lambda_")]
    assert there["parameters"]["venue.memory_mb"] == "512"
    assert there["proof"]["lambda_function"] == "s3bench-lab"
    assert there["proof"]["lambda_invocation"]


def test_the_report_shows_the_venue_beside_the_access_path(ran: Ran) -> None:
    (page,) = (path.read_text("utf-8") for path in (ran.folder / "results" / "reports").glob("*.html"))
    assert "venue.memory_mb" in page
    assert "lambda_memory_mb" in page


def test_what_functions_wrote_is_gone_from_the_bucket_and_the_data_is_kept(ran: Ran) -> None:
    bucket = ran.folder / ".lab" / "s3" / "s3bench-lab" / "s3bench"
    assert [path for path in (bucket / "runs").rglob("*") if path.is_file()] == []
    assert list((bucket / "datasets").rglob("*.json.gz"))


def test_no_emulator_and_no_function_is_left_after_a_run(ran: Ran) -> None:
    folder = str((ran.folder / ".lab" / "lambda").resolve())
    left = [process.pid for process in psutil.process_iter() if _works_in(process, folder)]
    assert left == []
    assert [path.name for path in (ran.folder / ".lab" / "lambda").iterdir()] == ["ministack.log"]


def _works_in(process: psutil.Process, folder: str) -> bool:
    try:
        return process.cwd().startswith(folder)
    except psutil.Error:
        return False


@pytest.mark.timeout(400)
def test_experiment_e2_runs_in_lambda_to_its_six_tables_by_one_command(
    tmp_path: Path, prefect_api_url: str
) -> None:
    environment = environment_in(tmp_path) | {"PREFECT_API_URL": prefect_api_url}
    fewer = [
        f"workloads.{name}=null" for name in ("first-64kib", "seen-in-bucket-64kib", "seen-in-bucket-16mib")
    ]
    settings = [word for one in [*fewer, "configurations.s3_files_on_host=null"] for word in ("--set", one)]
    answer = run_command(tmp_path, ["run", "e2-lambda-s3-files", "--in-lab", *settings], environment, 350)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for size, what in ((65_536, "64kib"), (16_777_216, "16mib")):
        for workload in (f"read-{what}-single", f"read-{what}-unique", f"write-{what}"):
            told = answer.stdout.split(f"Workload {workload} ")[1]
            assert f"Each operation moves {size:,} bytes" in told.partition("Time of one")[0]
            rows = [line.split() for line in told.split("Configuration", 1)[1].splitlines()]
            measured = {row[0]: int(row[1]) for row in rows[2:7]}
            counted = 100 if what == "64kib" else 10
            assert measured == dict.fromkeys(
                ("a_s3_sdk", "a_s3_sdk_in_vpc", "b_s3_files", "c_efs", "s3_rust"), counted
            ), workload
