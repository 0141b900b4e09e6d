"""A whole run against a server that repeats what it was sent in each of its errors."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from configs.redaction import forms_of
from tests.faults.echo import echo
from tests.faults.fault_proxy import Rule, running_proxy
from tests.flows.conftest import environment_in, plant, run_command, texts_below

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SUITE = """\
name: echoed
blocks: 1
targets:
  bucket: {{kind: bucket, bucket: {bucket}, prefix: s3bench, endpoint_url: "{url}", region: us-east-1}}
configurations:
  boto3: {{access_path: {{kind: boto3_api}}, target: bucket}}
datasets:
  blobs: {{kind: blobs, size: 4 KiB, unique_count: 3}}
workloads:
  read: {{kind: blob_read, dataset: blobs, read_mode: unique, iterations: 3, warmup: 1}}
  write: {{kind: blob_write, size: 4 KiB, iterations: 4, warmup: 1}}
"""
SESSION_TOKEN = "/pl4nted+session=token"  # noqa: S105 - of nothing


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("what", "method", "part"),
    [
        ("the first request", "", ""),
        ("writes of what is measured", "PUT", "/runs/"),
        ("reads", "GET", "blobs/"),
    ],
)
def test_no_error_of_such_a_server_brings_a_secret_into_files_the_terminal_or_prefect(  # noqa: PLR0913, PLR0917
    what: str,
    method: str,
    part: str,
    tmp_path: Path,
    prefect_api_url: str,
    prefect_folder: Path,
    s3_client: "S3Client",
    bucket: str,
) -> None:
    planted, _ = plant(tmp_path / "home")
    keys = tmp_path / "home" / ".aws" / "credentials"  # what boto3 finds, and no variable tells
    keys.write_text(
        "[default]\naws_access_key_id = testkey\naws_secret_access_key = testsecret\n"
        f"aws_session_token = {SESSION_TOKEN}\n"
    )
    with running_proxy(s3_client) as proxy:
        proxy.rules.append(Rule(what, echo, lambda verb, path: verb.startswith(method) and part in path))
        (tmp_path / "echoed.yaml").write_text(SUITE.format(bucket=bucket, url=proxy.endpoint_url))
        environment = environment_in(tmp_path) | {
            "PREFECT_API_URL": prefect_api_url,
            "MY_TOKEN": planted["MY_TOKEN"],
        }
        answer = run_command(tmp_path, ["run", "echoed.yaml"], environment, 200)
    kept = texts_below(tmp_path, prefect_folder) | {"printed": (answer.stdout + answer.stderr).encode()}
    assert answer.returncode != 0, answer.stdout + answer.stderr
    assert proxy.suffered()
    for secret in (SESSION_TOKEN, "AWS4-HMAC-SHA256", planted["MY_TOKEN"]):
        for form in forms_of(secret):
            assert [path for path, content in kept.items() if form.encode() in content] == []
    assert any(b"You sent" in content and b"***" in content for content in kept.values())
