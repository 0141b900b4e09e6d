"""The real command, in a process of its own, against one real Prefect server for all tests of this folder."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.lab.local_lab import lab_down
from tasks.lab.prefect_server import private_prefect_server

PROJECT_ROOT = Path(__file__).resolve().parents[2]

SMALL_SUITE = """\
name: small
lab: true
blocks: 2
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
configurations:
  boto3-lab: {access_path: {kind: boto3_api}, target: bucket}
  mount-lab: {access_path: {kind: mount_io}, target: mount}
datasets:
  logs: {kind: cloudtrail_generated, files: 12, records: 60}
  blobs: {kind: blobs, size: 64 KiB, unique_count: 10}
workloads:
  scan-staged: {kind: cloudtrail_scan, dataset: logs, staged: true, iterations: 4, warmup: 2}
  read-unique: {kind: blob_read, dataset: blobs, read_mode: unique, iterations: 10, warmup: 2}
  write: {kind: blob_write, size: 64 KiB, iterations: 10, warmup: 2}
"""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def prefect_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the Prefect server of these tests keeps all that it is told."""
    return tmp_path_factory.mktemp("prefect-server")


@pytest.fixture(scope="session")
def prefect_api_url(prefect_folder: Path) -> Iterator[str]:
    with private_prefect_server(prefect_folder) as server:
        yield server.api_url


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with a home and a host lock of its own, and nothing of AWS or Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PREFECT_"))}
    return kept | {
        "HOME": str(tmp_path / "home"),
        "S3BENCH_LOCK": str(tmp_path / "host.lock"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


@pytest.fixture(autouse=True)
def no_lab_is_left_over(tmp_path: Path) -> Iterator[None]:
    """A test that fails half-way leaves neither processes nor a mount behind."""
    yield
    lab_down(tmp_path / ".lab")


@pytest.fixture
def s3bench(tmp_path: Path, environment: dict[str, str]) -> Command:
    """Runs `s3bench` in an empty folder; keyword arguments are environment variables."""

    def command(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [executable(), *arguments],
            cwd=tmp_path,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return command


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL_SUITE, encoding="utf-8")
    return path


def executable() -> str:
    return str(Path(sys.executable).with_name("s3bench"))
