"""The real command, in a process of its own, against one real Prefect server for all tests of this folder."""

import hashlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.lab.local_lab import lab_down
from tasks.lab.prefect_server import private_prefect_server

PROJECT_ROOT = Path(__file__).resolve().parents[2]

SMALL_SUITE = """\
name: small
lab: true
blocks: 1
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


def environment_in(folder: Path) -> dict[str, str]:
    """An environment with a home and a host lock of its own, and nothing of AWS or Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PREFECT_"))}
    return kept | {
        "HOME": str(folder / "home"),
        "S3BENCH_LOCK": str(folder / "host.lock"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


def run_command(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str], timeout_s: float = 100
) -> "subprocess.CompletedProcess[str]":
    """Run `s3bench` in a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("s3bench"), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@dataclass(frozen=True)
class TwoRuns:
    """Two finished runs of the small suite into one folder, with secrets planted in their environment."""

    folder: Path
    secret: str
    first: "subprocess.CompletedProcess[str]"
    stored_by_first: dict[str, str]
    second: "subprocess.CompletedProcess[str]"

    @property
    def results(self) -> Path:
        return self.folder / "results"


def hashes_of_parquet(folder: Path) -> dict[str, str]:
    """Every Parquet file below a folder, with the hash of its bytes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.parquet")
    }


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory, prefect_api_url: str) -> TwoRuns:
    """The first with seed 7, the second with a fresh one; for tests that only look at what they left."""
    folder, secret = tmp_path_factory.mktemp("two-runs"), f"planted-{secrets.token_hex(8)}"
    (folder / "small.yaml").write_text(SMALL_SUITE, encoding="utf-8")
    names = ("MY_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    environment = environment_in(folder) | dict.fromkeys(names, secret) | {"PREFECT_API_URL": prefect_api_url}
    first = run_command(folder, ["run", "small.yaml", "--seed", "7"], environment)
    stored_by_first = hashes_of_parquet(folder / "results")
    second = run_command(folder, ["run", "small.yaml"], environment)
    return TwoRuns(folder, secret, first, stored_by_first, second)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_in(tmp_path)


@pytest.fixture(autouse=True)
def no_lab_is_left_over(tmp_path: Path) -> Iterator[None]:
    """A test that fails half-way leaves neither processes nor a mount behind."""
    yield
    lab_down(tmp_path / ".lab")


@pytest.fixture
def s3bench(tmp_path: Path, environment: dict[str, str]) -> Command:
    """Runs `s3bench` in an empty folder; keyword arguments are environment variables."""
    return lambda *arguments, **variables: run_command(tmp_path, arguments, environment | variables)


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL_SUITE, encoding="utf-8")
    return path
