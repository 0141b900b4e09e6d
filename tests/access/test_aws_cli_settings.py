"""What applies to the AWS CLI: one's own settings are told or replaced by ours; its debug text is read."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from configs.access_paths import AwsCli
from configs.targets import BucketTarget
from tasks.access.aws_cli import AwsCliPath, _environment
from tasks.access.aws_cli_debug import seen_in
from tasks.access.s5cmd_cli import requests_in
from tasks.kernel.errors import LabelError
from tasks.lab.state import LabState

AWS = str(Path(sys.executable).with_name("aws"))


@pytest.fixture
def plain(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> BucketTarget:
    """The plain lab's bucket, and this process's environment as in a worker there."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)


@pytest.fixture
def own_settings(plain: BucketTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BucketTarget:
    """The plain lab's bucket, for a user with a profile of his own."""
    file = tmp_path / "config"
    file.write_text(
        "[profile work]\ns3 =\n  max_concurrent_requests = 3\n  max_queue_size = 50\n", encoding="utf-8"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "work")
    return plain


def test_settings_of_transfers_in_the_users_own_profile_are_told(own_settings: BucketTarget) -> None:
    path = AwsCliPath(AwsCli(executable=AWS), own_settings)
    path.connect(1)
    path.close()
    assert path.proof()["s3_settings"] == "max_concurrent_requests = 3, max_queue_size = 50"


@pytest.mark.parametrize("engine", ["classic", "crt"])
def test_version_2_gets_its_engine_from_a_file_of_ours_and_no_profile(
    own_settings: BucketTarget, engine: str
) -> None:
    config = AwsCli.model_validate({"engine": engine})
    environment = _environment(config, own_settings, with_engines=True)
    settings = Path(environment["AWS_CONFIG_FILE"]).read_text(encoding="utf-8")
    assert f"preferred_transfer_client = {engine}\n" in settings
    assert "AWS_PROFILE" not in environment
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull


@pytest.mark.parametrize("place", ["use_dualstack_endpoint = true", "s3 =\n  use_dualstack_endpoint = true"])
def test_version_2_asks_and_trusts_the_hosts_that_the_users_own_profile_names(
    own_settings: BucketTarget, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    names = ("AWS_CA_BUNDLE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
    assert not _environment(AwsCli(), own_settings, with_engines=True).keys() & set(names)
    Path(os.environ["AWS_CONFIG_FILE"]).write_text(
        f"[profile work]\nca_bundle = /of/the/profile.pem\nuse_fips_endpoint = true\n{place}\n",
        encoding="utf-8",
    )
    environment = _environment(AwsCli(), own_settings, with_engines=True)
    assert [environment[name] for name in names] == ["/of/the/profile.pem", "true", "true"]
    monkeypatch.setenv("AWS_CA_BUNDLE", "/of/the/environment.pem")
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "false")
    environment = _environment(AwsCli(), own_settings, with_engines=True)
    assert [environment[name] for name in names] == ["/of/the/environment.pem", "false", "true"]


def test_a_version_2_that_does_not_tell_its_engine_is_not_measured_as_the_classic_one(
    plain: BucketTarget, tmp_path: Path
) -> None:
    silent = tmp_path / "aws"  # version 1 says nothing of engines
    silent.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec echo aws-cli/2.99.0; exec {shlex.quote(AWS)} "$@"\n',
        encoding="utf-8",
    )
    silent.chmod(0o755)
    with pytest.raises(LabelError, match=r"engine: classic is wanted, and this version .* does not tell"):
        AwsCliPath(AwsCli(executable=str(silent)), plain).connect(1)


SENT = (
    "2026-11-30 17:36:13,450 - MainThread - botocore.endpoint - DEBUG - Sending http request: "
    "<AWSPreparedRequest stream_output=False, method=HEAD, url={url}, headers={{{token}"
    "'Authorization': b'AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20261130/eu-west-1/{name}/aws4_request, "
    "SignedHeaders=host, Signature=5f09'}}>\n"
)
"""As AWS CLI 2.23.6 printed it, shortened."""


def test_what_version_2_prints_tells_host_signature_and_engine() -> None:
    classic = (
        "2026-11-30 17:36:13,448 - MainThread - awscli.customizations.s3.factory - DEBUG - "
        "Using a multipart threshold of 8388608 and a part size of 8388608\n"
    )
    crt = "[DEBUG] [2026-11-30T17:36:14Z] [00007fefcc320780] [S3Client] - id=0x555564c0d0c0 Client starting\n"
    session = SENT.format(url="https://b.example/?session", token="", name="s3express")
    last = SENT.format(url="https://b.example/k", token="'x-amz-s3session-token': b't', ", name="s3express")
    seen = seen_in(session + last + crt)
    assert (seen.hosts, seen.signing_name, seen.used_session) == (("b.example",), "s3express", True)
    assert seen.engine == "crt"
    assert seen_in(classic + SENT.format(url="http://h:1/k", token="", name="s3")).engine == "classic"
    assert seen_in("nothing").hosts == ()


def test_a_version_2_text_without_an_engine_tells_none() -> None:
    assert seen_in(SENT.format(url="https://b.example/k", token="", name="s3")).engine == ""


def test_a_request_that_assumes_a_role_is_none_of_the_buckets() -> None:
    role = SENT.format(url="https://sts.eu-west-1.amazonaws.com/", token="", name="sts")
    anonymous = role.replace(
        "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20261130/eu-west-1/sts/aws4_request", ""
    )
    own = SENT.format(url="https://b.example/k", token="", name="s3")
    for printed in (role + own, own + role, anonymous + own + anonymous):
        seen = seen_in(printed)
        assert (seen.hosts, seen.signing_name) == (("b.example",), "s3")
    assert seen_in(role + anonymous).hosts == ()


TRACED = (
    "DEBUG: Request {service} Details:\n---[ REQUEST POST-SIGN ]-----------------------------\n"
    "GET /b?list-type=2 HTTP/1.1\r\nHost: {host}\r\nUser-Agent: aws-sdk-go/1.44.298\r\n{signed}"
    "Accept-Encoding: gzip\r\n\r\n\n-----------------------------------------------------\n"
)
"""As s5cmd 2.3.0 printed it, shortened."""
SIGNED = (
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20261130/eu-west-1/{}/aws4_request, "
    "SignedHeaders=host, Signature=5f09\r\n"
)


def test_s5cmds_request_that_assumes_a_role_is_none_of_the_buckets() -> None:
    listing = TRACED.format(service="s3/ListObjectsV2", host="b.example:1", signed=SIGNED.format("s3"))
    role = TRACED.format(service="sts/AssumeRole", host="sts.example", signed=SIGNED.format("sts"))
    by_token = TRACED.format(service="sts/AssumeRoleWithWebIdentity", host="sts.example", signed="")
    for printed in (role + listing, listing + role, by_token + listing + by_token):
        assert requests_in(printed) == (["b.example:1"], "s3")
    assert requests_in(role + by_token) == ([], "")
