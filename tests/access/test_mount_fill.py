"""What a file system that shows no bucket lacks is copied there, whole, and what it has stays."""

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from configs.manifest import DatasetObject
from configs.targets import MountTarget
from tasks.access.mount_fill import fill_mount
from tasks.kernel.bounded_files import BoundedFiles
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture
def target(lab: LabState) -> MountTarget:
    """The lab's mount, which does not show the bucket of these tests, below a folder of its own."""
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    return MountTarget(shows="b", path=lab.mount_path, shows_bucket=False)


@pytest.fixture
def objects(s3_client: "S3Client", bucket: str) -> tuple[DatasetObject, ...]:
    prefix = f"fill-{secrets.token_hex(4)}"
    found = []
    for name in ("a", "b/c"):
        body, key = secrets.token_bytes(1000), f"{prefix}/{name}"
        s3_client.put_object(Bucket=bucket, Key=key, Body=body)
        sha256 = hashlib.sha256(body).hexdigest()
        found.append(DatasetObject(key=key, size_bytes=len(body), sha256=sha256))
    return tuple(found)


def digests(target: MountTarget, objects: tuple[DatasetObject, ...]) -> list[str]:
    return [hashlib.sha256(target.path_of(item.key).read_bytes()).hexdigest() for item in objects]


def test_what_is_missing_is_copied_and_what_is_there_is_not_touched(
    target: MountTarget, objects: tuple[DatasetObject, ...], s3_client: "S3Client", bucket: str
) -> None:
    assert fill_mount(target, s3_client, bucket, objects, 10) == ""
    assert digests(target, objects) == [item.sha256 for item in objects]
    for item in objects:
        s3_client.delete_object(Bucket=bucket, Key=item.key)
    assert fill_mount(target, s3_client, bucket, objects, 10) == "", "nothing is asked for again"
    folder = target.path_of(objects[0].key).parent
    assert list(folder.rglob(".*")) == [], "no part of a file is left"


def test_an_object_that_the_bucket_has_not_is_named(
    target: MountTarget, objects: tuple[DatasetObject, ...], s3_client: "S3Client", bucket: str
) -> None:
    gone = objects[0].model_copy(update={"key": "none-such"})
    reason = fill_mount(target, s3_client, bucket, [gone], 10)
    assert reason == f"s3://{bucket}/none-such is not there to be copied to {target.path}"


def test_copying_ends_in_time_and_says_how_much_is_left(
    target: MountTarget, objects: tuple[DatasetObject, ...], s3_client: "S3Client", bucket: str
) -> None:
    reason = fill_mount(target, s3_client, bucket, objects, 0)
    assert reason.startswith(f"2 of 2 objects that {target.path} lacked were not copied there within 0 s")


def test_a_folder_that_is_no_mount_is_not_filled(
    tmp_path: Path, objects: tuple[DatasetObject, ...], s3_client: "S3Client", bucket: str
) -> None:
    folder = MountTarget(shows="b", path=tmp_path, shows_bucket=False)
    assert fill_mount(folder, s3_client, bucket, objects, 10) == "", "the access path tells of that"
    assert list(tmp_path.iterdir()) == []


def test_a_full_file_system_is_told(
    target: MountTarget,
    objects: tuple[DatasetObject, ...],
    s3_client: "S3Client",
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BoundedFiles, "write_whole", full)
    reason = fill_mount(target, s3_client, bucket, objects, 10)
    assert reason.endswith(f"{objects[0].key} cannot be written: No space left on device: look at the mount")
