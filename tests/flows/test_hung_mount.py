"""A mount that stops answering in the middle of a run ends its own cells in time, and nothing else."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from tasks.lab.state import LabState
from tests.flows.conftest import environment_in
from tests.mounts import own_mount

SUITE = """\
name: hung
blocks: 3
block_timeout_s: 8
targets:
  bucket: {{kind: bucket, bucket: {bucket}, prefix: hung, endpoint_url: "{endpoint_url}", region: {region}}}
  mount: {{kind: mount, shows: bucket, path: {path}}}
configurations:
  boto3-c: {{access_path: {{kind: boto3_api}}, target: bucket}}
  mount-c: {{access_path: {{kind: mount_io}}, target: mount}}
datasets:
  blobs: {{kind: blobs, size: 1 KiB, unique_count: 10}}
workloads:
  read: {{kind: blob_read, dataset: blobs, iterations: 60, warmup: 6}}
"""


@pytest.mark.slow
def test_the_other_cells_are_measured_and_what_the_mount_had_given_is_kept(
    lab: LabState, tmp_path: Path, prefect_api_url: str
) -> None:
    keys = {name: value for name, value in lab.environment().items() if name.startswith("AWS_")}
    variables = keys | {"PREFECT_API_URL": prefect_api_url, "S3BENCH_STATE": str(tmp_path / "state")}
    with own_mount(lab, tmp_path) as mounted:
        suite = SUITE.format(
            bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region, path=mounted.path
        )
        (tmp_path / "hung.yaml").write_text(suite)
        run = subprocess.Popen(
            [Path(sys.executable).with_name("s3bench"), "run", "hung.yaml"],
            cwd=tmp_path,
            env=environment_in(tmp_path) | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline_s = time.monotonic() + 60
        while not list((tmp_path / "state" / "journal").glob("*/mount-c.read.000.*.block")):
            assert run.poll() is None, run.communicate()[0]
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        mounted.stop_answering()
        began_s = time.monotonic()
        printed, _ = run.communicate(timeout=100)
        assert time.monotonic() - began_s < 80
        os.kill(mounted.process.pid, signal.SIGCONT)
    assert run.returncode == 1, printed
    assert "did not connect in time" in printed or "did not end within block_timeout_s" in printed
    assert "may still be there" in printed, "nobody knows what lies on a mount that does not answer"
    sql = "SELECT config, count(*) FILTER (outcome = 'ok') FROM SAMPLES GROUP BY ALL"
    source = f"read_parquet('{tmp_path}/results/v1/samples/*/*/*.parquet', hive_partitioning=true)"
    found = dict(duckdb.connect().execute(sql.replace("SAMPLES", source)).fetchall())
    assert found["boto3-c"] == 60
    assert 20 <= found["mount-c"] < 60
