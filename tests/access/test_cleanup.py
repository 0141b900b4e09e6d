"""Cleaning up deletes what one run wrote and nothing else, and says so where it cannot."""

from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber

from configs.errors import UserError
from configs.targets import MountTarget
from tasks.access.cleanup import remove_run, remove_run_from_mount
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RUN = "s3bench/runs/20260101T020000Z-00000000/"
OTHERS = ["s3bench/runs/20260101T020000Z-00000001/k", "s3bench/datasets/d/k", "runs/k", f"{RUN[:-1]}x/k"]


def test_only_what_lies_below_the_run_is_deleted(s3_client: "S3Client", bucket: str) -> None:
    for key in [f"{RUN}a", f"{RUN}b/c", *OTHERS]:
        s3_client.put_object(Bucket=bucket, Key=key, Body=b"x")
    assert remove_run(s3_client, bucket, RUN) == 2
    left = {item["Key"] for item in s3_client.list_objects_v2(Bucket=bucket)["Contents"]}
    assert left == set(OTHERS)


@pytest.mark.parametrize(
    "prefix", ["", "/", "s3bench/", "s3bench/runs/", "team/runs/shared/", RUN[:-1], f"{RUN}a/", f"{RUN}../"]
)
def test_what_is_not_the_prefix_of_one_run_is_never_deleted(
    s3_client: "S3Client", bucket: str, tmp_path: Path, prefix: str
) -> None:
    with pytest.raises(ValueError, match="not the prefix of one run"):
        remove_run(s3_client, bucket, prefix)
    with pytest.raises(ValueError, match="not the prefix of one run"):
        remove_run_from_mount(MountTarget(shows="b", path=tmp_path), prefix)


def test_an_object_that_may_not_be_deleted_is_told() -> None:
    # DeleteObjects answers 200 and names in its body what it did not delete.
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    denied = {"Key": f"{RUN}a", "Code": "AccessDenied", "Message": "Access Denied"}
    with Stubber(client) as stub:
        stub.add_response("list_objects_v2", {"Contents": [{"Key": f"{RUN}a", "Size": 1}]})
        stub.add_response("delete_objects", {"Errors": [denied]})
        with pytest.raises(UserError, match="AccessDenied"):
            remove_run(client, "bucket", RUN)


def test_a_run_is_removed_from_its_mount_before_it_is_written_back(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    folder = lab.mount_path / RUN
    folder.mkdir(parents=True)
    (folder / "late.bin").write_bytes(b"x")
    neighbour = lab.mount_path / "s3bench" / "neighbour.bin"
    neighbour.write_bytes(b"x")
    remove_run_from_mount(MountTarget(shows="b", path=lab.mount_path), RUN)
    assert not folder.exists()
    assert neighbour.exists()
    neighbour.unlink()


def test_a_plain_folder_is_not_cleaned_up_as_a_mount(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir(parents=True)
    remove_run_from_mount(MountTarget(shows="b", path=tmp_path), RUN)
    assert (tmp_path / RUN).is_dir()
