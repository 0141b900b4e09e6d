"""Failures that may pass are told from those that somebody has to mend."""

import socket
from typing import TYPE_CHECKING

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, SSLError

from configs.errors import UserError
from tasks.access import bucket_io
from tasks.patience import may_pass

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def answer(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "GetObject")


def refusal_of(cause: Exception) -> UserError:
    error = UserError("cannot read it")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (UserError("there is no such suite"), False),
        (ValueError("a mistake of ours"), False),
        (answer("SlowDown", 503), True),
        (answer("InternalError", 500), True),
        (answer("RequestTimeout", 400), True),
        (answer("AccessDenied", 403), False),
        (answer("NoSuchBucket", 404), False),
        (refusal_of(answer("SlowDown", 503)), True),
        (refusal_of(answer("NoSuchBucket", 404)), False),
        (SSLError(endpoint_url="https://x", error="certificate verify failed"), False),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (PermissionError(), False),
        (httpx.ConnectError("refused"), True),
        (
            httpx.HTTPStatusError("", request=httpx.Request("GET", "http://x"), response=httpx.Response(503)),
            True,
        ),
        (
            httpx.HTTPStatusError("", request=httpx.Request("GET", "http://x"), response=httpx.Response(409)),
            False,
        ),
    ],
)
def test_causes_that_may_pass_are_told_from_those_that_do_not(error: Exception, *, passes: bool) -> None:
    assert may_pass(error) is passes


@pytest.mark.parametrize("listens", [False, True])
def test_what_a_client_says_of_a_server_that_is_gone_or_silent_may_pass(*, listens: bool) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if listens:
            silent.listen()
        client: S3Client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{silent.getsockname()[1]}",
            region_name="us-east-1",
            aws_access_key_id="k",
            aws_secret_access_key="s",
            config=Config(connect_timeout=0.2, read_timeout=0.2, retries={"total_max_attempts": 1}),
        )
        with pytest.raises(UserError) as refusal:
            bucket_io.put(client, "bucket", "key", b"")
    assert may_pass(refusal.value)
