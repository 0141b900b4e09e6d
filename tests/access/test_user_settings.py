"""The user's own AWS settings apply to measured clients, and are told, or named where they are in the way."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config

from configs.access_paths import Boto3Api, Obstore, TransferManager
from configs.targets import AcceleratedBucketTarget, BucketTarget, DirectoryBucketTarget
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.hosts import refuse_other_hosts
from tasks.access.obstore_api import ObstorePath
from tasks.access.s3_client import control_client, default_client, measured_client
from tasks.kernel.errors import LabelError
from tasks.lab.state import LAB_BUCKET, LAB_REGION, LAB_ZONES

BUCKET = BucketTarget(bucket=LAB_BUCKET, region=LAB_REGION)
DIRECTORY = DirectoryBucketTarget(bucket=f"{LAB_BUCKET}--{LAB_ZONES[0]}--x-s3", region=LAB_REGION)
ACCELERATED = AcceleratedBucketTarget(bucket=LAB_BUCKET, region=LAB_REGION)
REGIONAL_HOST = f"{LAB_BUCKET}.s3.dualstack.{LAB_REGION}.amazonaws.com"


class StopHereError(Exception):
    """Raised in place of sending a request."""


@pytest.fixture
def _in_a_profile(
    aws_environment: dict[str, str],  # noqa: ARG001 - is set by it
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A profile that accelerates, and has another setting in the same section."""
    profile = "[default]\ns3 =\n  use_accelerate_endpoint = true\n  use_dualstack_endpoint = true\n"
    (tmp_path / "config").write_text(profile, encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def host_asked(client: Any) -> str:
    hosts: list[str] = []

    def stop(request: AWSPreparedRequest, **_: object) -> None:
        hosts.append(urlsplit(request.url).netloc)
        raise StopHereError

    client.meta.events.register("before-send.s3", stop)
    with pytest.raises(StopHereError):
        client.list_objects_v2(Bucket=LAB_BUCKET)
    return hosts[0]


@pytest.mark.usefixtures("_in_a_profile")
def test_a_profile_that_accelerates_does_not_accelerate_what_is_not_measured() -> None:
    assert host_asked(control_client(ACCELERATED, {})) == REGIONAL_HOST
    assert host_asked(default_client()) == REGIONAL_HOST


@pytest.mark.usefixtures("_in_a_profile")
def test_a_bucket_without_sessions_is_prepared_without_them_and_without_acceleration() -> None:
    settings = control_client(DIRECTORY.model_copy(update={"sessions": False}), {}).meta.config.s3
    assert settings["disable_s3_express_session_auth"]
    assert not settings["use_accelerate_endpoint"]


def test_users_who_have_no_configuration_file_are_not_taken_for_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = k\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert host_asked(control_client(BUCKET, os.environ)) == "127.0.0.1:9"


def test_what_only_amazons_names_reach_is_prepared_by_those_whatever_endpoint_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for target in (ACCELERATED, DIRECTORY):
        endpoint_url = control_client(target, os.environ).meta.endpoint_url
        assert endpoint_url == f"https://s3.{LAB_REGION}.amazonaws.com"


@pytest.mark.usefixtures("_in_a_profile")
@pytest.mark.parametrize(
    "path", [Boto3ApiPath(Boto3Api(), BUCKET), TransferManagerPath(TransferManager(), BUCKET)]
)
def test_a_profile_that_accelerates_an_ordinary_bucket_is_named(path: Boto3ApiPath) -> None:
    with pytest.raises(LabelError, match=r"go to .*s3-accelerate.*s3 section says use_accelerate_endpoint"):
        path.connect(1)


@pytest.mark.parametrize(
    "host",
    [
        f"{LAB_BUCKET}.s3-fips.{LAB_REGION}.amazonaws.com",
        f"s3-fips.dualstack.{LAB_REGION}.amazonaws.com",
        f"{DIRECTORY.bucket}.s3express-fips-{LAB_ZONES[0]}.{LAB_REGION}.amazonaws.com",
    ],
)
def test_fips_endpoints_are_named_where_they_are_in_the_way(host: str) -> None:
    with pytest.raises(LabelError, match=r"AWS_USE_FIPS_ENDPOINT.*unset it"):
        refuse_other_hosts([host], BUCKET, LAB_REGION)


def test_fips_endpoints_are_what_that_setting_asks_botocore_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
    target = BUCKET.model_copy(update={"region": "us-west-2"})
    host = host_asked(measured_client(boto3.Session("k", "s"), target, Config()))
    with pytest.raises(LabelError, match="AWS_USE_FIPS_ENDPOINT"):
        refuse_other_hosts([host], target, "us-west-2")


def test_obstore_asks_for_a_bucket_with_a_dot_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Amazon's certificate is for one label before the service's name."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    path = ObstorePath(Obstore(max_attempts=1), BucketTarget(bucket="my.logs", region="eu-west-1"))
    with pytest.raises(LabelError, match=r"https://s3\.eu-west-1\.amazonaws\.com/my\.logs/"):
        path.connect(1)


@pytest.mark.usefixtures("aws_environment")
@pytest.mark.parametrize(
    ("retry_mode", "max_attempts", "setting", "seen"),
    [("adaptive", "7", "when_supported", "crc32"), ("standard", "1", "when_required", "none")],
)
def test_the_transfer_manager_tells_the_users_retries_and_the_checksum_of_its_uploads(
    retry_mode: str, max_attempts: str, setting: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_RETRY_MODE", retry_mode)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", max_attempts)
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", setting)
    path = TransferManagerPath(TransferManager(threads=1), DIRECTORY)
    path.connect(1)
    path.ready_for_writes("s3bench/settings/")
    proof = path.proof()
    assert (proof["retry_mode"], proof["max_attempts"]) == (retry_mode, max_attempts)
    assert (proof["upload_checksums"], proof["upload_checksum"]) == (setting, seen)
    assert path.list_keys("s3bench/settings/") == []  # it was seen without a request
    path.close()
