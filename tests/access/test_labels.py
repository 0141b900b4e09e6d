"""A label is proved before anything is measured: another host, no mount or another mount fails the cell."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.access_paths import Boto3Api, MountIo
from configs.targets import BucketTarget, MountTarget
from tasks.access.boto3_api import Boto3ApiPath, _hosts_of
from tasks.access.mount_io import MountIoPath, mounted_at
from tasks.kernel.errors import LabelError
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
    assert (host in _hosts_of(BucketTarget(bucket="bbb"), region)) is right


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
