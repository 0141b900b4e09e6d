"""A label is proved before anything is measured: another host, no mount or another mount fails the cell."""

import functools
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ClientError
from pydantic import ValidationError

from configs.access_paths import Boto3Api, MountIo, Obstore
from configs.targets import (
    AcceleratedBucketTarget,
    AnyBucket,
    BucketTarget,
    DirectoryBucketTarget,
    MountTarget,
)
from tasks.access import obstore_api
from tasks.access.boto3_api import Boto3ApiPath, _client_config
from tasks.access.hosts import hosts_of
from tasks.access.mount_io import MountIoPath, mounted_at
from tasks.access.obstore_api import ObstorePath
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.lab.local_lab import running_lab
from tasks.lab.state import LabState


@pytest.fixture(autouse=True)
def lab_environment(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)


def test_a_plain_folder_is_not_measured_as_a_mount(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match=r"nothing is mounted at .*would measure a local folder"):
        MountIoPath(MountIo(), MountTarget(shows="b", path=tmp_path)).connect(1)


def test_a_folder_inside_a_mount_is_not_taken_for_the_mount(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    (lab.mount_path / "inside").mkdir(exist_ok=True)
    with pytest.raises(LabelError, match="nothing is mounted"):
        MountIoPath(MountIo(), MountTarget(shows="b", path=lab.mount_path / "inside")).connect(1)


def test_another_kind_of_mount_fails_with_both_names(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    path = MountIoPath(MountIo(), MountTarget(shows="b", path=lab.mount_path, fstype="nfs4"))
    with pytest.raises(LabelError, match=r"is a mount of type fuse.rclone, but the target says nfs4"):
        path.connect(1)


def test_the_mount_table_gives_type_and_source(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    mounted = mounted_at(lab.mount_path)
    assert mounted is not None
    assert mounted.fstype == "fuse.rclone"


def test_requests_that_leave_for_another_host_fail_the_cell(lab: LabState) -> None:
    # The target means Amazon's own endpoint, but AWS_ENDPOINT_URL sends the client to the lab.
    target = BucketTarget(bucket=lab.bucket, region="us-east-1")
    with pytest.raises(LabelError, match=r"requests go to 127.0.0.1.*AWS_ENDPOINT_URL"):
        Boto3ApiPath(Boto3Api(), target).connect(1)


def test_a_bucket_that_is_not_there_fails_the_cell_with_its_name(lab: LabState) -> None:
    target = BucketTarget(bucket="no-such-bucket", endpoint_url=lab.endpoint_url, region=lab.region)
    with pytest.raises(LabelError, match="'no-such-bucket' does not answer a listing"):
        Boto3ApiPath(Boto3Api(), target).connect(1)


def test_a_dead_endpoint_fails_the_cell_quickly(lab: LabState) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url="http://127.0.0.1:9", region=lab.region)
    with pytest.raises(LabelError, match=r"127\.0\.0\.1:9"):
        Boto3ApiPath(Boto3Api(), target).connect(1)


def test_the_proof_names_the_host_that_was_asked(lab: LabState) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    path = Boto3ApiPath(Boto3Api(), target)
    path.connect(1)
    assert path.proof()["host"] == lab.endpoint_url.removeprefix("http://")


@pytest.mark.parametrize(
    ("region", "host", "right"),
    [
        ("eu-west-1", "bbb.s3.eu-west-1.amazonaws.com", True),
        ("eu-west-1", "s3.eu-west-1.amazonaws.com", True),
        ("eu-west-1", "bbb.s3.dualstack.eu-west-1.amazonaws.com", True),
        ("us-east-1", "bbb.s3.amazonaws.com", True),
        ("cn-north-1", "bbb.s3.cn-north-1.amazonaws.com.cn", True),
        ("eu-west-1", "bbb.s3.us-east-1.amazonaws.com", False),
        ("eu-west-1", "bbb.s3.amazonaws.com", False),
        ("eu-west-1", "bbb.s3-accelerate.amazonaws.com", False),
        ("eu-west-1", "bbb--euw1-az1--x-s3.s3express-euw1-az1.eu-west-1.amazonaws.com", False),
        ("eu-west-1", "sts.amazonaws.com", False),
        ("eu-west-1", "other.s3.eu-west-1.amazonaws.com", False),
    ],
)
def test_only_the_regional_hosts_of_the_bucket_itself_are_right(region: str, host: str, right: bool) -> None:
    assert (host in hosts_of(BucketTarget(bucket="bbb"), region)) is right


@pytest.mark.parametrize(
    ("host", "right"),
    [
        ("bbb.s3-accelerate.amazonaws.com", True),
        ("bbb.s3-accelerate.dualstack.amazonaws.com", True),
        ("bbb.s3.eu-west-1.amazonaws.com", False),
        ("s3-accelerate.amazonaws.com", False),
        ("other.s3-accelerate.amazonaws.com", False),
    ],
)
def test_only_the_accelerate_hosts_of_the_bucket_are_right(host: str, right: bool) -> None:
    assert (host in hosts_of(AcceleratedBucketTarget(bucket="bbb"), "eu-west-1")) is right


@pytest.mark.parametrize(
    ("region", "host", "right"),
    [
        ("eu-west-1", "s3express-euw1-az1.eu-west-1.amazonaws.com", True),
        ("eu-west-1", "s3express-euw1-az1.dualstack.eu-west-1.amazonaws.com", True),
        ("cn-north-1", "s3express-euw1-az1.cn-north-1.amazonaws.com.cn", True),
        ("eu-west-1", "s3.eu-west-1.amazonaws.com", False),
        ("eu-west-1", "s3express-euw1-az2.eu-west-1.amazonaws.com", False),
        ("eu-west-1", "s3express-control.eu-west-1.amazonaws.com", False),
    ],
)
def test_only_the_hosts_of_its_own_zone_are_right_for_a_directory_bucket(
    region: str, host: str, right: bool
) -> None:
    target = DirectoryBucketTarget(bucket="b--euw1-az1--x-s3")
    assert (f"{target.bucket}.{host}" in hosts_of(target, region)) is right


@functools.cache
def a_session() -> boto3.Session:
    """One for all clients that send nothing: it takes longer to make than they do."""
    return boto3.Session()


class StopHereError(Exception):
    """Raised in place of sending a request."""


@pytest.mark.parametrize("dualstack", [False, True])
@pytest.mark.parametrize("region", ["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1"])
@pytest.mark.parametrize(
    "target",
    [
        BucketTarget(bucket="bbb"),
        DirectoryBucketTarget(bucket="b--euw1-az1--x-s3"),
        DirectoryBucketTarget(bucket="b--usw2-lax1-az1--x-s3"),
        AcceleratedBucketTarget(bucket="bbb"),
    ],
    ids=["bucket", "directory_bucket", "directory_bucket_of_a_local_zone", "accelerated_bucket"],
)
def test_the_hosts_that_botocore_makes_are_those_that_are_right(
    target: AnyBucket, region: str, dualstack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(target, AcceleratedBucketTarget) and region.startswith("cn-"):
        pytest.skip("botocore refuses acceleration in China")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", str(dualstack).lower())
    access = Boto3ApiPath(Boto3Api(), target.model_copy(update={"region": region}))
    access._session = a_session()
    access._client_config = _client_config(Boto3Api(), 1)
    asked: list[str] = []

    def stop(request: AWSPreparedRequest, **_: object) -> None:
        asked.append(urlsplit(request.url).netloc)
        raise StopHereError

    client = access._new_client()
    client.meta.events.register("before-send.s3", stop)
    with pytest.raises(StopHereError):
        client.list_objects_v2(Bucket=target.bucket)
    assert asked[0] in hosts_of(target, region)


def test_a_request_that_leaves_for_another_host_in_the_middle_of_a_block_fails_it(lab: LabState) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    access = Boto3ApiPath(Boto3Api(max_attempts=1), target)
    access.connect(1)

    def send_elsewhere(request: AWSPreparedRequest, **_: object) -> None:
        request.url = request.url.replace("127.0.0.1", "localhost")

    access._client.meta.events.register("before-send.s3.GetObject", send_elsewhere)
    with pytest.raises(ClientError):  # its signature is of the right host
        access.read("k")
    with pytest.raises(LabelError, match="requests go to localhost:"):
        access.proof()
    access.close()


def test_the_store_of_obstore_ignores_an_endpoint_in_the_environment(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    access = ObstorePath(Obstore(), target)
    access.connect(1)
    assert access.proof()["host"] == lab.endpoint_url.removeprefix("http://")


def test_a_store_of_obstore_that_asks_another_host_is_caught(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    elsewhere = lab.endpoint_url.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(obstore_api, "_endpoint", lambda *_: (elsewhere, False))
    with pytest.raises(LabelError, match=r"requests go to localhost:\d+, but the target is 127\.0\.0\.1"):
        ObstorePath(Obstore(), target).connect(1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"endpoint_url": "http://127.0.0.1:9"},
            "'s3bench-lab' does not answer: ConnectionRefused: .*127.0.0.1:9",
        ),
        ({"bucket": "no-such-bucket"}, "'no-such-bucket' does not answer: NoSuchBucket"),
    ],
)
def test_obstore_tells_a_bucket_that_does_not_answer(
    lab: LabState, change: dict[str, str], said: str
) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    with pytest.raises(LabelError, match=said):
        ObstorePath(Obstore(max_attempts=1), target.model_copy(update=change)).connect(1)


def test_obstore_without_credentials_says_how_to_get_some(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    with pytest.raises(LabelError, match="no credentials: set them up"):
        ObstorePath(Obstore(), target).connect(1)


def test_obstore_skips_a_directory_bucket_without_sessions() -> None:
    target = DirectoryBucketTarget(bucket="b--euw1-az1--x-s3", region="eu-west-1", sessions=False)
    with pytest.raises(UnsupportedError, match="use boto3_api, or sessions: true"):
        ObstorePath(Obstore(), target).connect(1)


@pytest.mark.parametrize(("asked_for", "seen"), [(None, "crc32"), ("when_required", "none")])
def test_the_checksum_that_uploads_carry_is_seen_without_a_request(
    lab: LabState, asked_for: Literal["when_required"] | None, seen: str
) -> None:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    access = Boto3ApiPath(Boto3Api(upload_checksums=asked_for), target)
    access.connect(1)
    requests = access.proof()["requests_in_block"]
    access.ready_for_writes("s3bench/labels/")
    assert access.proof()["upload_checksum"] == seen
    assert access.proof()["requests_in_block"] == requests
    assert access.list_keys("s3bench/labels/") == []
    access.close()


def test_a_directory_bucket_is_not_taken_for_a_general_purpose_one() -> None:
    with pytest.raises(ValidationError, match="is a directory bucket"):
        BucketTarget(bucket="b--euw1-az1--x-s3")


@pytest.mark.parametrize("root_prefix", ["s3bench", "/s3bench/", "//", "a//b/"])
def test_a_root_prefix_that_would_lead_out_of_the_mount_is_refused(root_prefix: str) -> None:
    with pytest.raises(ValidationError, match="root_prefix"):
        MountTarget(shows="b", path=Path("/mnt/x"), root_prefix=root_prefix)


@pytest.mark.parametrize("key", ["elsewhere/k", "s3bench/../../etc/passwd"])
def test_a_key_that_is_not_on_the_mount_has_no_path(key: str) -> None:
    target = MountTarget(shows="b", path=Path("/mnt/x"), root_prefix="s3bench/")
    assert target.path_of("s3bench/a/k") == Path("/mnt/x/a/k")
    with pytest.raises(ValueError, match="does not lie on a mount"):
        target.path_of(key)


def test_a_mount_point_with_other_letters_is_found(tmp_path: Path, lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    with running_lab(tmp_path / "données 1") as other:
        assert other.mount_path is not None
        assert mounted_at(other.mount_path) is not None
