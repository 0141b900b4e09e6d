"""What a first request pays is told apart by stage, and a steady one pays none of it."""

import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from botocore.exceptions import BotoCoreError
from botocore.utils import S3ExpressIdentityCache

from configs.access_paths import Boto3Api
from configs.targets import BucketTarget, DirectoryBucketTarget
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.protocol import Answer, Upload
from tasks.lab.state import LAB_ZONES, LabState

if TYPE_CHECKING:
    from conftest import SlowServer


def connected(target: BucketTarget | DirectoryBucketTarget) -> Boto3ApiPath:
    access = Boto3ApiPath(Boto3Api(max_attempts=1), target)
    access.connect(1)
    return access


def read(access: Boto3ApiPath, key: str = "k") -> Answer:
    return access.answer(access.read(key)[1])


def test_a_steady_request_opens_nothing(server: "SlowServer") -> None:
    access = connected(server.target)
    answer = read(access)
    assert (answer.connect_ns, answer.tls_ns, answer.session_ns) == (None, None, None)
    assert (answer.ttfb_ns or 0) > 0
    access.close()


def test_a_write_has_no_first_byte_of_its_own(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    access = connected(BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region))
    answer = access.answer(access.write(Upload("s3bench/stages/w", b"x")))
    assert (answer.http_status, answer.ttfb_ns, answer.connect_ns) == (200, None, None)
    access.delete(["s3bench/stages/w"])
    access.close()


def test_a_renewed_client_connects_within_its_first_operation(server: "SlowServer") -> None:
    access = connected(server.target)
    access.renew()
    first, second = read(access), read(access)
    assert 0 < (first.connect_ns or 0) < (first.ttfb_ns or 0)
    assert first.tls_ns is None
    assert second.connect_ns is None
    assert access.proof()["connections_in_block"] == "2"
    assert access.proof()["requests_in_block"] == "3"
    access.close()


def test_a_connection_that_the_server_closed_shows_in_the_operation_that_opened_another(
    server: "SlowServer",
) -> None:
    access = connected(server.target)
    server.closes_after_answer = True
    read(access)
    assert (read(access).connect_ns or 0) > 0
    access.close()


def test_what_a_failed_operation_opened_is_not_put_down_to_the_next(server: "SlowServer") -> None:
    access = connected(server.target)
    server.closes_after_answer = True
    read(access)
    access.list_keys("p/")  # opens one as well, and is no read
    server.closes_after_answer = False
    read(access)
    assert read(access).connect_ns is None
    access.close()


def test_the_handshake_is_told_apart_from_the_connection(
    start_server: Callable[..., "SlowServer"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    server = start_server(context)
    access = connected(server.target)
    server.before_handshake_s = 0.04
    access.renew()
    answer = read(access)
    assert (answer.tls_ns or 0) > 38e6
    assert (answer.connect_ns or 0) > 0
    # Were the handshake counted in both, their sum would be more than the whole.
    assert (answer.ttfb_ns or 0) > (answer.tls_ns or 0) + (answer.connect_ns or 0)
    access.close()


def test_each_thread_has_the_stages_of_its_own_operations(server: "SlowServer") -> None:
    access = connected(server.target)
    server.before_headers_s = 0.05
    with ThreadPoolExecutor(2) as pool:  # one connection is open, so that one of the two opens another
        answers = [access.answer(native) for _, native in pool.map(access.read, ["a", "b"])]
    assert sorted(answer.connect_ns is None for answer in answers) == [False, True]
    access.close()


@pytest.mark.usefixtures("aws_environment")
def test_a_session_is_timed_without_the_connection_that_it_opened(aws_shaped_lab: LabState) -> None:
    bucket = f"{aws_shaped_lab.bucket}--{LAB_ZONES[0]}--x-s3"
    target = DirectoryBucketTarget(bucket=bucket, region=aws_shaped_lab.region)
    access = connected(target)
    access.write(Upload("s3bench/stages/k", b"x"))
    access.renew()
    first, second = read(access, "s3bench/stages/k"), read(access, "s3bench/stages/k")
    stages = (first.connect_ns or 0, first.tls_ns or 0, first.session_ns or 0)
    assert all(stage > 1.9e6 for stage in stages)  # the lab adds 2 ms to each of them, and to the request
    assert (first.ttfb_ns or 0) > sum(stages) + 1.9e6
    assert second.session_ns is None
    assert float(access.proof()["create_session_ms"]) > 1.9
    access.delete(["s3bench/stages/k"])
    access.close()


@pytest.mark.usefixtures("aws_environment")
def test_a_session_that_is_made_anew_in_the_middle_shows_in_that_operation(aws_shaped_lab: LabState) -> None:
    bucket = f"{aws_shaped_lab.bucket}--{LAB_ZONES[0]}--x-s3"
    access = connected(DirectoryBucketTarget(bucket=bucket, region=aws_shaped_lab.region))
    access.write(Upload("s3bench/stages/m", b"x"))
    before = read(access, "s3bench/stages/m")
    S3ExpressIdentityCache.get_credentials.cache_clear()  # as when five minutes have gone by
    renewed, after = read(access, "s3bench/stages/m"), read(access, "s3bench/stages/m")
    assert (before.session_ns, after.session_ns) == (None, None)
    assert (renewed.session_ns or 0) > 1.9e6
    assert (renewed.ttfb_ns or 0) > (renewed.session_ns or 0) + 1.9e6
    assert renewed.connect_ns is None
    access.delete(["s3bench/stages/m"])
    access.close()


def test_a_connection_that_fails_leaves_the_watch_in_order(server: "SlowServer") -> None:
    access = connected(server.target)
    access._target = BucketTarget(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1")
    access.renew()
    with pytest.raises(BotoCoreError) as raised:
        access.read("k")
    assert access.failure(raised.value).error == "EndpointConnectionError"
    access._target = server.target
    access.renew()
    assert (read(access).connect_ns or 0) > 0
    access.close()
