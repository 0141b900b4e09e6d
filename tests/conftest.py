"""Fixtures that every test may use: a real S3 server on loopback, and a bucket of one's own in it."""

import gc
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tasks.lab.local_lab import running_lab
from tasks.lab.state import AWS_SHAPED_VARIABLES_TO_UNSET, LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class OnePlaceForFlows(LoadScopeScheduling):
    """Keeps the tests of a module together, and all of `tests/flows`, which share one Prefect server."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/flows" if nodeid.startswith("tests/flows/") else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OnePlaceForFlows | None:
    """Who runs what where `--dist=loadscope` is asked for: what has most tests begins."""
    return OnePlaceForFlows(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_collection_finish() -> None:
    """What was imported stays to the end: no collection of garbage needs to look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's lab lies."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def lab(lab_folder: Path) -> Iterator[LabState]:
    """The local lab, up: a real S3 server and, where this machine can, a mount of it."""
    with running_lab(lab_folder) as state:
        yield state


@pytest.fixture(scope="session")
def aws_shaped_lab(lab_folder: Path, lab: LabState) -> Iterator[LabState]:
    """The same lab, which answers to Amazon's host names too, to clients that have `aws_environment`."""
    with running_lab(lab_folder, aws_shaped=True) as state:
        assert state.endpoint_url == lab.endpoint_url
        yield state


@pytest.fixture
def aws_environment(aws_shaped_lab: LabState, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """This process's environment, for the time of a test, as measuring processes have it in that lab."""
    for name in AWS_SHAPED_VARIABLES_TO_UNSET:
        monkeypatch.delenv(name, raising=False)
    for name, value in aws_shaped_lab.aws_environment().items():
        monkeypatch.setenv(name, value)
    return dict(os.environ)


@pytest.fixture(scope="session")
def s3_endpoint_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real S3 server (`rclone serve s3`) over an empty folder; keys: `testkey` / `testsecret`."""
    folder = tmp_path_factory.mktemp("s3-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    rclone = Path(sys.executable).with_name("rclone")
    server = subprocess.Popen(
        [rclone, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", "testkey,testsecret", folder],
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.fail("the S3 server did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="session")
def s3_client(s3_endpoint_url: str) -> "S3Client":
    """A boto3 client of that server."""
    return boto3.client(
        "s3",
        endpoint_url=s3_endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="testkey",
        aws_secret_access_key="testsecret",
    )


@pytest.fixture
def bucket(s3_client: "S3Client") -> str:
    """A new, empty bucket."""
    name = f"test-{secrets.token_hex(6)}"
    s3_client.create_bucket(Bucket=name)
    return name
