"""Cleaning up deletes what one run wrote and nothing else, and says so where it cannot."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber

from configs.errors import UserError
from configs.targets import MountTarget
from tasks.access.cleanup import left_over_runs, remove_run, remove_run_from_mount
from tasks.lab.state import LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RUN = "s3bench/runs/20260101T020000Z-00000000/"
PERMISSIONS = ("ListBucketMultipartUploads", "GetBucketVersioning")
OTHERS = ["s3bench/runs/20260101T020000Z-00000001/k", "s3bench/datasets/d/k", "runs/k", f"{RUN[:-1]}x/k"]


def test_only_what_lies_below_the_run_is_deleted(s3_client: "S3Client", bucket: str) -> None:
    for key in [f"{RUN}a", f"{RUN}b/c", *OTHERS]:
        s3_client.put_object(Bucket=bucket, Key=key, Body=b"x")
    told: list[str] = []
    assert remove_run(s3_client, bucket, RUN, told.append) == 2
    assert told == []
    left = {item["Key"] for item in s3_client.list_objects_v2(Bucket=bucket)["Contents"]}
    assert left == set(OTHERS)


@pytest.mark.parametrize(
    "prefix", ["", "/", "s3bench/", "s3bench/runs/", "team/runs/shared/", RUN[:-1], f"{RUN}a/", f"{RUN}../"]
)
def test_what_is_not_the_prefix_of_one_run_is_never_deleted(
    s3_client: "S3Client", bucket: str, tmp_path: Path, prefix: str
) -> None:
    with pytest.raises(ValueError, match="not the prefix of one run"):
        remove_run(s3_client, bucket, prefix, print)
    with pytest.raises(ValueError, match="not the prefix of one run"):
        remove_run_from_mount(MountTarget(shows="b", path=tmp_path), prefix)


@pytest.fixture
def stubbed() -> "Iterator[tuple[S3Client, Stubber]]":
    """A client that gets prepared answers, each to the very request that it was prepared for."""
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    with Stubber(client) as stub:
        yield client, stub


def test_an_object_that_may_not_be_deleted_is_told(stubbed: "tuple[S3Client, Stubber]") -> None:
    # DeleteObjects answers 200 and names in its body what it did not delete.
    client, stub = stubbed
    denied = {"Key": f"{RUN}a", "Code": "AccessDenied", "Message": "Access Denied"}
    stub.add_response("list_objects_v2", {"Contents": [{"Key": f"{RUN}a", "Size": 1}]})
    stub.add_response("delete_objects", {"Errors": [denied]})
    with pytest.raises(UserError, match="AccessDenied"):
        remove_run(client, "bucket", RUN, print)


def test_unfinished_uploads_of_the_run_are_aborted_and_no_others(s3_client: "S3Client", bucket: str) -> None:
    for key in [f"{RUN}a", f"{RUN}a", f"{RUN}b/c", *OTHERS]:
        upload_id = s3_client.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        s3_client.upload_part(Bucket=bucket, Key=key, UploadId=upload_id, PartNumber=1, Body=b"x")
    told: list[str] = []
    assert remove_run(s3_client, bucket, RUN, told.append) == 0
    left = [item["Key"] for item in s3_client.list_multipart_uploads(Bucket=bucket)["Uploads"]]
    assert (sorted(left), told) == (sorted(OTHERS), [])


def uploads_in_two_pages(stub: Stubber) -> None:
    """Answers with an upload on each page, and with one of somebody else."""
    first = {
        "Uploads": [{"Key": f"{RUN}a", "UploadId": "1"}, {"Key": OTHERS[0], "UploadId": "2"}],
        "IsTruncated": True,
        "NextKeyMarker": "a",
        "NextUploadIdMarker": "1",
    }
    ask = {"Bucket": "bucket", "Prefix": RUN}
    stub.add_response("list_multipart_uploads", first, ask)
    second = {"Uploads": [{"Key": f"{RUN}b", "UploadId": "3"}], "IsTruncated": False}
    stub.add_response("list_multipart_uploads", second, {**ask, "KeyMarker": "a", "UploadIdMarker": "1"})
    stub.add_response("abort_multipart_upload", {}, {"Bucket": "bucket", "Key": f"{RUN}a", "UploadId": "1"})
    stub.add_client_error(  # completed or aborted by somebody else in the meantime
        "abort_multipart_upload",
        "NoSuchUpload",
        http_status_code=404,
        expected_params={"Bucket": "bucket", "Key": f"{RUN}b", "UploadId": "3"},
    )


@pytest.mark.parametrize("status", ["Enabled", "Suspended"])
def test_every_version_and_marker_of_the_run_is_deleted_and_nothing_else_is_named(
    stubbed: "tuple[S3Client, Stubber]", status: str
) -> None:
    client, stub = stubbed
    stub.add_response("list_objects_v2", {"Contents": []})
    uploads_in_two_pages(stub)
    stub.add_response("get_bucket_versioning", {"Status": status}, {"Bucket": "bucket"})
    of_others = [{"Key": key, "VersionId": "o"} for key in OTHERS]  # as a faulty server might list them
    pages = [
        {"Versions": [{"Key": f"{RUN}a", "VersionId": "1"}, *of_others], "DeleteMarkers": of_others},
        {"Versions": of_others},
        {"DeleteMarkers": [{"Key": f"{RUN}b", "VersionId": "2"}]},
    ]
    ask: dict[str, str] = {"Bucket": "bucket", "Prefix": RUN}
    for number, page in enumerate(pages):
        markers = {"NextKeyMarker": f"k{number}", "NextVersionIdMarker": f"v{number}"}
        truncated = number < len(pages) - 1
        stub.add_response(
            "list_object_versions", {**page, "IsTruncated": truncated, **(markers if truncated else {})}, ask
        )
        ask = {"Bucket": "bucket", "Prefix": RUN, "KeyMarker": f"k{number}", "VersionIdMarker": f"v{number}"}
    named = [{"Key": f"{RUN}a", "VersionId": "1"}, {"Key": f"{RUN}b", "VersionId": "2"}]
    wanted = {"Bucket": "bucket", "Delete": {"Objects": named, "Quiet": True}}
    stub.add_response("delete_objects", {}, wanted)
    told: list[str] = []
    remove_run(client, "bucket", RUN, told.append)
    assert told == []
    stub.assert_no_pending_responses()


def test_what_may_not_be_seen_is_told_and_keeps_nothing_else_from_being_removed(
    stubbed: "tuple[S3Client, Stubber]",
) -> None:
    client, stub = stubbed
    stub.add_response("list_objects_v2", {"Contents": []})
    stub.add_client_error("list_multipart_uploads", "AccessDenied", http_status_code=403)
    stub.add_client_error("get_bucket_versioning", "AccessDenied", http_status_code=403)
    told: list[str] = []
    remove_run(client, "bucket", RUN, told.append)
    assert [f"(s3:{name})" in message for message, name in zip(told, PERMISSIONS, strict=True)] == [True] * 2
    stub.assert_no_pending_responses()


def test_a_server_that_knows_neither_parts_nor_versions_has_none(
    stubbed: "tuple[S3Client, Stubber]",
) -> None:
    client, stub = stubbed
    stub.add_response("list_objects_v2", {"Contents": []})
    stub.add_client_error("list_multipart_uploads", "NotImplemented", http_status_code=501)
    stub.add_client_error("get_bucket_versioning", "MethodNotAllowed", http_status_code=405)
    told: list[str] = []
    remove_run(client, "bucket", RUN, told.append)
    assert told == []


def test_a_directory_bucket_is_not_asked_for_versions(stubbed: "tuple[S3Client, Stubber]") -> None:
    client, stub = stubbed
    stub.add_response("list_objects_v2", {"Contents": []})
    stub.add_response("list_multipart_uploads", {})
    told: list[str] = []
    remove_run(client, "logs--use1-az4--x-s3", RUN, told.append)
    assert told == []
    stub.assert_no_pending_responses()


def test_a_run_is_removed_from_its_mount_before_it_is_written_back(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    folder = lab.mount_path / RUN
    folder.mkdir(parents=True, exist_ok=True)  # tests of this run share the mount
    (folder / "late.bin").write_bytes(b"x")
    neighbour = lab.mount_path / "s3bench" / "neighbour.bin"
    neighbour.write_bytes(b"x")
    remove_run_from_mount(MountTarget(shows="b", path=lab.mount_path), RUN)
    assert not folder.exists()
    assert neighbour.exists()
    neighbour.unlink()


def test_a_server_that_lists_more_than_it_was_asked_for_has_nothing_of_it_deleted(
    stubbed: "tuple[S3Client, Stubber]",
) -> None:
    client, stub = stubbed
    keys = [f"{RUN}a", *OTHERS]
    stub.add_response("list_objects_v2", {"Contents": [{"Key": key, "Size": 1} for key in keys]})
    named = {"Objects": [{"Key": f"{RUN}a"}], "Quiet": True}
    stub.add_response("delete_objects", {}, {"Bucket": "bucket", "Delete": named})
    stub.add_response("list_multipart_uploads", {})
    stub.add_response("get_bucket_versioning", {})
    assert remove_run(client, "bucket", RUN, print) == 1
    stub.assert_no_pending_responses()


def test_runs_of_another_prefix_are_not_taken_for_left_overs(stubbed: "tuple[S3Client, Stubber]") -> None:
    client, stub = stubbed
    listed = [RUN, f"team/{RUN}", "s3bench/runs/README/"]
    stub.add_response("list_objects_v2", {"CommonPrefixes": [{"Prefix": prefix} for prefix in listed]})
    assert left_over_runs(client, "bucket", "s3bench") == [RUN]


def test_a_key_that_xml_cannot_hold_is_deleted_by_itself(stubbed: "tuple[S3Client, Stubber]") -> None:
    client, stub = stubbed
    odd, plain = f"{RUN}a\x01b", f"{RUN}c\n&é"
    stub.add_response("list_objects_v2", {"Contents": [{"Key": key, "Size": 1} for key in (odd, plain)]})
    stub.add_response("delete_object", {}, {"Bucket": "bucket", "Key": odd})
    named = {"Objects": [{"Key": plain}], "Quiet": True}
    stub.add_response("delete_objects", {}, {"Bucket": "bucket", "Delete": named})
    stub.add_response("list_multipart_uploads", {})
    stub.add_response("get_bucket_versioning", {})
    assert remove_run(client, "bucket", RUN, print) == 2
    stub.assert_no_pending_responses()


def test_a_plain_folder_is_not_cleaned_up_as_a_mount(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir(parents=True)
    remove_run_from_mount(MountTarget(shows="b", path=tmp_path), RUN)
    assert (tmp_path / RUN).is_dir()
