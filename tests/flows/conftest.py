"""The real command, in a process of its own, against one real Prefect server for all tests of this folder."""

import hashlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
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


def plant(home: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Secrets in a home's AWS files and in an environment; they come back by where they are.

    Returns:
        The secrets, and the variables that hold some of them.
    """
    alone = (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PREFECT_API_KEY"),
        *("MY_TOKEN", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "PGPASSWORD"),
    )
    within = {
        "HTTPS_PROXY": "http://user:{}@127.0.0.1:9",
        "DATABASE_URL": "postgresql://user:{}@db.example/runs",
        "PREFECT_API_AUTH_STRING": "user:{}",
        "S3BENCH_ALERT_WEBHOOK": "https://hooks.example/{}",
    }
    in_files = ("aws_secret_access_key", "aws_session_token", "credential_process")
    planted = {place: f'{secrets.token_hex(8)}/"+{place}' for place in (*alone, *in_files)}
    planted |= {place: secrets.token_hex(12) for place in within}
    folder = home / ".aws"
    folder.mkdir(parents=True)
    keys = "".join(f"{name} = {planted[name]}\n" for name in in_files[:2])
    (folder / "credentials").write_text(f"[default]\naws_access_key_id = k\n{keys}")
    (folder / "config").write_text(f"[profile other]\ncredential_process = tool {planted[in_files[2]]}\n")
    addresses = {name: text.format(planted[name]) for name, text in within.items()}
    return planted, {name: planted[name] for name in alone} | addresses


def texts_below(*tops: Path) -> dict[str, bytes]:
    """What every file below some folders holds, by its path; of Parquet also what is in it, unpacked."""
    kept = {}
    for top in tops:
        for path in top.rglob("*"):
            if path.is_file() and path.parent.name != ".aws":
                kept[str(path)] = path.read_bytes()
                if path.suffix == ".parquet":
                    rows = duckdb.execute("SELECT t::VARCHAR FROM read_parquet(?) t", [str(path)]).fetchall()
                    kept[f"{path}, unpacked"] = "\n".join(row[0] for row in rows).encode()
    return kept


@dataclass(frozen=True)
class TwoRuns:
    """Two finished runs of the small suite into one folder, with secrets planted in what they find there."""

    folder: Path
    planted: dict[str, str]
    """Each secret by where it was planted; in no text of ours is any."""
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
    folder = tmp_path_factory.mktemp("two-runs")
    (folder / "small.yaml").write_text(SMALL_SUITE, encoding="utf-8")
    planted, secret_environment = plant(folder / "home")
    environment = environment_in(folder) | secret_environment | {"PREFECT_API_URL": prefect_api_url}
    first = run_command(folder, ["run", "small.yaml", "--seed", "7"], environment)
    stored_by_first = hashes_of_parquet(folder / "results")
    second = run_command(folder, ["run", "small.yaml"], environment)
    return TwoRuns(folder, planted, first, stored_by_first, second)


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
