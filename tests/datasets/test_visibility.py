"""A mount shows what was put into its bucket and passes on what is written to it, or it is told."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from configs.manifest import DatasetObject, Manifest
from configs.targets import MountTarget
from tasks.datasets.visibility import wait_until_in_bucket, wait_until_visible
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RUN = "s3bench/runs/20260101T020000Z-00000000/"


def a_manifest(*keys: str, size_bytes: int = 3) -> Manifest:
    objects = tuple(DatasetObject(key=key, size_bytes=size_bytes, sha256="0" * 64) for key in keys)
    return Manifest(dataset="d", prefix="", fingerprint="", seed=1, objects=objects)


@pytest.fixture
def mount(lab: LabState) -> MountTarget:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    return MountTarget(shows="b", path=lab.mount_path)


@pytest.fixture
def client(lab: LabState) -> "S3Client":
    names = {"aws_access_key_id": "AWS_ACCESS_KEY_ID", "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY"}
    keys = {argument: lab.environment()[name] for argument, name in names.items()}
    return boto3.Session(region_name=lab.region, **keys).client("s3", endpoint_url=lab.endpoint_url)


def test_objects_that_are_put_into_the_bucket_appear_on_the_mount(
    mount: MountTarget, lab: LabState, client: "S3Client"
) -> None:
    key = "s3bench/datasets/d/appears"
    client.put_object(Bucket=lab.bucket, Key=key, Body=b"abc")
    assert wait_until_visible(mount, a_manifest(key), 10, pytest.fail) == ""
    assert mount.path_of(key).read_bytes() == b"abc"


def test_what_does_not_appear_or_has_another_size_is_named(tmp_path: Path) -> None:
    target = MountTarget(shows="b", path=tmp_path)
    (tmp_path / "there").write_bytes(b"abc")
    (tmp_path / "short").write_bytes(b"a")
    answer = wait_until_visible(target, a_manifest("there", "short", "missing"), 0.5, pytest.fail)
    assert answer.startswith("2 of 3 objects of dataset d did not appear on the mount within 0.5 s, such as ")
    assert answer.endswith("short")


def test_a_write_to_the_mount_reaches_the_bucket_and_leaves_nothing(
    mount: MountTarget, lab: LabState, client: "S3Client"
) -> None:
    assert wait_until_in_bucket(mount, client, lab.bucket, RUN, 30, lambda _: None) == ""
    assert not mount.path_of(f"{RUN}probe.bin").exists()


@pytest.mark.slow
def test_a_mount_of_something_else_does_not_pass_writes_on(
    tmp_path: Path, lab: LabState, client: "S3Client"
) -> None:
    told: list[str] = []
    other = MountTarget(shows="b", path=tmp_path)
    started = time.monotonic()
    answer = wait_until_in_bucket(other, client, lab.bucket, RUN, 4, told.append)
    assert answer == f"what was written to the mount at {tmp_path} did not reach the bucket within 4 s"
    assert told == [f"waiting up to 4 s for {tmp_path} to pass a write on to the bucket"]
    assert time.monotonic() - started < 8


def test_a_mount_that_takes_no_write_says_why(lab: LabState, client: "S3Client") -> None:
    target = MountTarget(shows="b", path=Path("/proc"))
    answer = wait_until_in_bucket(target, client, lab.bucket, RUN, 1, pytest.fail)
    assert answer.startswith("the mount at /proc takes no write: ")
