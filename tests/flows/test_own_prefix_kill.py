"""A run that is killed at any moment, and the next one, leave what others have in the bucket as it was."""

import hashlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SUITE = """\
name: writes
lab: true
blocks: 2
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: team/s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
configurations:
  api: {access_path: {kind: boto3_api}, target: bucket}
  cli: {access_path: {kind: aws_cli}, target: bucket}
  mnt: {access_path: {kind: mount_io}, target: mount}
datasets:
  tree: {kind: file_tree, scale: 0.001, mean_size: 100}
  logs: {kind: cloudtrail_generated, files: 4, records: 8}
workloads:
  write: {kind: blob_write, size: 64 KiB, iterations: 4, warmup: 0}
  lag: {kind: sync_lag, size: 64, seen_by: get, timeout_s: 10, iterations: 2, warmup: 0}
  up: {kind: file_upload, size: 64, iterations: 2, warmup: 0}
  tree: {kind: tree_upload, dataset: tree, iterations: 2, warmup: 0}
  scan: {kind: cloudtrail_scan, dataset: logs, iterations: 2, warmup: 0}
"""
OTHERS = (
    "team/s3bench2/k",
    "team/s3benchx",
    "team/s3bench/k",
    "team/s3bench/runs/README",
    "team/s3bench/runs/20260101T020000Z-0000000/k",
    "team/s3bench/runs/shared/k",
    "team/s3bench/datasets/logs-of-others/k",
    "runs/20260101T020000Z-00000000/k",
    "s3bench/runs/20260101T020000Z-00000000/k",
)


def seen(data: Path) -> dict[str, tuple[str, int]]:
    """The content and the time of change of all that others have."""
    return {
        key: (hashlib.sha256((data / key).read_bytes()).hexdigest(), (data / key).stat().st_mtime_ns)
        for key in OTHERS
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("after_s", [0.3, 2.1])
def test_others_keep_all_that_they_have_whenever_a_run_is_killed(
    s3bench: Command, environment: dict[str, str], tmp_path: Path, prefect_api_url: str, after_s: float
) -> None:
    (tmp_path / "writes.yaml").write_text(SUITE, encoding="utf-8")
    more = {"PREFECT_API_URL": prefect_api_url, "S3BENCH_STATE": str(tmp_path / "state")}
    data = tmp_path / ".lab" / "s3" / "s3bench-lab"
    for key in OTHERS:
        (data / key).parent.mkdir(parents=True, exist_ok=True)
        (data / key).write_text(key, encoding="utf-8")
    before = seen(data)
    process = subprocess.Popen(
        [Path(sys.executable).with_name("s3bench"), "run", "writes.yaml"],
        cwd=tmp_path,
        env=environment | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not list((data / "team/s3bench").glob("runs/*Z-????????/*")):  # it has begun to write
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(after_s)
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert seen(data) == before
    after = s3bench("run", "writes.yaml", **more)
    assert after.returncode == 0, after.stdout + after.stderr
    assert seen(data) == before
    left = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()} - set(OTHERS)
    ours = tuple(f"team/s3bench/datasets/{name}" for name in ("logs/", "logs.manifest.json"))
    assert [key for key in sorted(left) if not key.startswith(ours)] == []
