from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config

from configs.datasets import CloudTrailCopied
from configs.errors import UserError
from configs.manifest import Manifest
from tasks.datasets.plan import LeftOutError
from tasks.datasets.prepare import prepare_dataset
from tasks.datasets.sources import open_source

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Prepare = Callable[..., Manifest]


def from_folder(folder: Path) -> CloudTrailCopied:
    return CloudTrailCopied(source=str(folder))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("/no/such/folder", "no folder /no/such/folder"),
        (__file__, "is no folder"),
        ("s3://", "names no bucket"),
        ("s3:///prefix", "names no bucket"),
        ("s3://no-such-bucket/x", "NoSuchBucket.*create the bucket"),
        ("s3://NOT a bucket/x", "cannot list s3://NOT a bucket/x/"),
    ],
)
def test_a_source_that_is_not_there_is_named(prepare: Prepare, source: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        prepare(CloudTrailCopied(source=source))


def test_a_source_without_a_log_says_what_was_found_instead(
    prepare: Prepare, tmp_path: Path, log_key: Callable[[int], str], keys_below: Callable[[str], set[str]]
) -> None:
    with pytest.raises(UserError, match=r"no CloudTrail log in .*: found nothing at all"):
        prepare(from_folder(tmp_path))
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    path = tmp_path / log_key(1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    with pytest.raises(
        UserError, match=r"1 × empty \(0 bytes\), such as AWSLogs.*; 1 × not named .*notes.txt"
    ):
        prepare(from_folder(tmp_path))
    path.write_bytes(b"text")
    with pytest.raises(UserError, match="1 × not gzip"):
        prepare(from_folder(tmp_path))
    assert keys_below("") == set()


def test_a_source_with_wrong_or_without_credentials_is_a_plain_error(
    s3_client: "S3Client", bucket: str, s3_endpoint_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    config = CloudTrailCopied(source=f"s3://{bucket}/trail")

    def client(**credentials: str) -> "S3Client":
        made: S3Client = boto3.Session().client(
            "s3",
            endpoint_url=s3_endpoint_url,
            region_name="us-east-1",
            config=Config(retries={"total_max_attempts": 1}),
            **credentials,  # type: ignore[arg-type]
        )
        return made

    wrong = client(aws_access_key_id="testkey", aws_secret_access_key="wrong")
    with pytest.raises(UserError, match="use credentials of this endpoint"):
        prepare_dataset(s3_client, bucket, "p", "logs", config, source_client=wrong)
    with pytest.raises(UserError, match="set up credentials"):
        prepare_dataset(s3_client, bucket, "p", "logs", config, source_client=client())
    with pytest.raises(UserError, match="set up credentials"):
        prepare_dataset(
            s3_client, bucket, "p", "logs", config,
            source_client=lambda: boto3.Session(profile_name="nobody").client("s3"),
        )  # fmt: skip


def test_a_link_that_takes_the_place_of_a_listed_log_is_not_followed_out_of_the_folder(
    tmp_path: Path, folder: Path, s3_client: "S3Client"
) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    source = open_source(str(folder), lambda: s3_client)
    entry, *_ = source.entries()
    assert source.read(entry)
    (folder / entry.key).unlink()
    (folder / entry.key).symlink_to(tmp_path / "secret")
    with pytest.raises(LeftOutError, match="link that leads out of the folder"):
        source.read(entry)
    (folder / entry.key).unlink()
    with pytest.raises(LeftOutError, match="gone"):
        source.read(entry)
