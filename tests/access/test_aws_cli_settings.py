"""What applies to the AWS CLI: one's own settings are told or replaced by ours; its debug text is read."""

import os
import sys
from pathlib import Path

import pytest

from configs.access_paths import AwsCli
from configs.targets import BucketTarget
from tasks.access.aws_cli import AwsCliPath, _environment
from tasks.access.aws_cli_debug import seen_in
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
    own_settings: BucketTarget, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-a-session")
    config = AwsCli.model_validate({"engine": engine})
    environment = _environment(config, own_settings, with_engines=True)
    settings = Path(environment["AWS_CONFIG_FILE"]).read_text(encoding="utf-8")
    assert f"preferred_transfer_client = {engine}\n" in settings
    assert "AWS_PROFILE" not in environment
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        assert environment[name] == os.environ[name]
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull


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
