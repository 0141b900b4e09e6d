"""Real clients reach the lab by Amazon's host names, and are told what Amazon would tell them."""

import http.client
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
import obstore
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.exceptions import ClientError
from obstore.store import S3Store

from tasks.lab.aws_hosts import aws_host
from tasks.lab.state import BUCKETS, LAB_REGION, LabFolder, LabState

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

REGIONAL, PLAIN, SAME_ZONE, OTHER_ZONE = BUCKETS
DOMAIN = f"{LAB_REGION}.amazonaws.com"
HOSTS = {
    REGIONAL: f"{REGIONAL}.s3.{DOMAIN}",
    PLAIN: f"{PLAIN}.s3.{DOMAIN}",
    SAME_ZONE: f"{SAME_ZONE}.s3express-apne1-az4.{DOMAIN}",
    OTHER_ZONE: f"{OTHER_ZONE}.s3express-apne1-az1.{DOMAIN}",
}
ACCELERATED = f"{REGIONAL}.s3-accelerate.amazonaws.com"
BODY = bytes(range(256)) * 256
BIN = Path(sys.executable).parent

pytestmark = pytest.mark.usefixtures("aws_environment")


def client(**s3: object) -> "S3Client":
    return boto3.client("s3", config=Config(s3=s3))


@contextmanager
def hosts_asked(s3: "S3Client") -> Iterator[list[str]]:
    hosts: list[str] = []

    def note(request: AWSPreparedRequest, **_: object) -> None:
        hosts.append(str(urlsplit(request.url).hostname))

    s3.meta.events.register("before-send.s3", note)
    yield hosts
    s3.meta.events.unregister("before-send.s3", note)


def connection(lab: LabState, host: str) -> http.client.HTTPSConnection:
    """A connection through the proxy, by the standard library alone."""
    assert lab.aws_shaped is not None
    tls = ssl.create_default_context(cafile=lab.aws_shaped.ca_file)
    proxy = urlsplit(lab.aws_shaped.proxy_url)
    through = http.client.HTTPSConnection(proxy.hostname or "", proxy.port, context=tls, timeout=20)
    through.set_tunnel(host, 443)
    return through


def signed(lab: LabState) -> dict[str, str]:
    """Enough of a signature: the proxy looks for the key's id."""
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential={lab.access_key_id}/20260101/r/s3/aws4_request"}


def code_of(error: "pytest.ExceptionInfo[ClientError]") -> tuple[int, str]:
    response = error.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


@pytest.mark.parametrize("key", ["x/plain", "x/sp ace+plus&und=is?ä%2F~"])
@pytest.mark.parametrize("bucket", BUCKETS)
def test_boto3_reaches_each_bucket_by_its_own_host_name(bucket: str, key: str) -> None:
    s3 = client()
    with hosts_asked(s3) as hosts:
        s3.put_object(Bucket=bucket, Key=key, Body=BODY)
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == BODY
        assert s3.head_object(Bucket=bucket, Key=key)["ContentLength"] == len(BODY)
        assert key in [item["Key"] for item in s3.list_objects_v2(Bucket=bucket, Prefix="x/")["Contents"]]
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
        with pytest.raises(ClientError) as absent:
            s3.get_object(Bucket=bucket, Key=key)
    assert code_of(absent) == (404, "NoSuchKey")
    assert set(hosts) == {HOSTS[bucket]}


def test_an_accelerated_bucket_is_the_same_bucket_by_another_host_name() -> None:
    s3 = client(use_accelerate_endpoint=True)
    with hosts_asked(s3) as hosts:
        s3.put_object(Bucket=REGIONAL, Key="accelerated", Body=BODY)
    assert hosts == [ACCELERATED]
    assert client().get_object(Bucket=REGIONAL, Key="accelerated")["Body"].read() == BODY


def test_a_bucket_that_is_not_accelerated_is_told_so_and_refused() -> None:
    assert client().get_bucket_accelerate_configuration(Bucket=REGIONAL)["Status"] == "Enabled"
    assert "Status" not in client().get_bucket_accelerate_configuration(Bucket=PLAIN)
    path_style = client(addressing_style="path")
    assert path_style.get_bucket_accelerate_configuration(Bucket=REGIONAL)["Status"] == "Enabled"
    with pytest.raises(
        ClientError, match="S3 Transfer Acceleration is not configured on this bucket"
    ) as error:
        client(use_accelerate_endpoint=True).put_object(Bucket=PLAIN, Key="k", Body=b"b")
    assert code_of(error) == (400, "InvalidRequest")


def test_a_directory_bucket_is_read_within_a_session_or_without_one() -> None:
    def names_of_requests(s3: "S3Client") -> list[str]:
        seen: list[str] = []
        s3.meta.events.register("before-call.s3", lambda model, **_: seen.append(model.name))
        for _ in range(2):
            s3.put_object(Bucket=SAME_ZONE, Key="in a session", Body=b"b")
        return seen

    assert names_of_requests(client()) == ["PutObject", "CreateSession", "PutObject"]
    assert names_of_requests(client(disable_s3_express_session_auth=True)) == ["PutObject", "PutObject"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"Prefix": "no-slash"}, (400, "InvalidRequest")),
        ({"Delimiter": "-"}, (400, "InvalidRequest")),
        ({"StartAfter": "a"}, (501, "NotImplemented")),
    ],
)
def test_a_directory_bucket_refuses_listings_that_other_buckets_answer(
    query: dict[str, str], expected: tuple[int, str]
) -> None:
    assert client().list_objects_v2(Bucket=REGIONAL, **query)["Name"] == REGIONAL
    with pytest.raises(ClientError) as error:
        client().list_objects_v2(Bucket=SAME_ZONE, **query)
    assert code_of(error) == expected
    assert client().list_objects_v2(Bucket=SAME_ZONE, Prefix="a/", Delimiter="/")["Name"] == SAME_ZONE


def test_a_directory_bucket_knows_neither_the_old_listing_nor_versions() -> None:
    for ask in ("list_objects", "list_object_versions"):
        with pytest.raises(ClientError) as error:
            getattr(client(), ask)(Bucket=SAME_ZONE)
        assert code_of(error) == (501, "NotImplemented")


def test_what_is_put_by_amazons_host_name_is_in_the_plain_lab_at_once_and_the_other_way_round(
    aws_shaped_lab: LabState,
) -> None:
    plain = boto3.client("s3", endpoint_url=aws_shaped_lab.endpoint_url)
    plain.list_objects_v2(Bucket=REGIONAL, Prefix="both/")  # what the server remembers of a folder
    client().put_object(Bucket=REGIONAL, Key="both/1", Body=b"by name")
    assert plain.get_object(Bucket=REGIONAL, Key="both/1")["Body"].read() == b"by name"
    plain.put_object(Bucket=REGIONAL, Key="both/2", Body=b"plain")
    assert client().get_object(Bucket=REGIONAL, Key="both/2")["Body"].read() == b"plain"


@pytest.mark.parametrize("bucket", [REGIONAL, SAME_ZONE])
def test_the_lab_takes_no_other_key_than_its_own(bucket: str) -> None:
    stranger = boto3.client("s3", aws_access_key_id="AKIDSTRANGER", aws_secret_access_key="s")
    with pytest.raises(ClientError) as error:
        stranger.list_objects_v2(Bucket=bucket)
    assert code_of(error) == (403, "InvalidAccessKeyId")


def test_a_presigned_url_works_without_headers(aws_shaped_lab: LabState) -> None:
    for bucket in (REGIONAL, SAME_ZONE):
        # By default such URLs are for the host without a region, and signed as long ago.
        s3 = boto3.client("s3", config=Config(signature_version="s3v4", s3={"addressing_style": "virtual"}))
        s3.put_object(Bucket=bucket, Key="presigned", Body=BODY)
        url = urlsplit(s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "presigned"}))
        through = connection(aws_shaped_lab, str(url.hostname))
        through.request("GET", f"{url.path}?{url.query}")
        assert through.getresponse().read() == BODY
        through.close()


@pytest.mark.parametrize(
    "target", ["example.com:443", f"{HOSTS[REGIONAL]}:80", "s3.eu-west-1.amazonaws.com:443", "127.0.0.1:443"]
)
def test_the_proxy_opens_no_way_to_anything_else(aws_shaped_lab: LabState, target: str) -> None:
    assert aws_shaped_lab.aws_shaped is not None
    proxy = urlsplit(aws_shaped_lab.aws_shaped.proxy_url)
    with socket.create_connection((str(proxy.hostname), proxy.port or 0), timeout=10) as plain:
        plain.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        assert plain.recv(100).startswith(b"HTTP/1.1 403 ")


def test_one_connection_serves_request_after_request(aws_shaped_lab: LabState) -> None:
    through = connection(aws_shaped_lab, HOSTS[SAME_ZONE])
    headers = signed(aws_shaped_lab)
    chunks = iter([BODY[:10], BODY[10:20_000], BODY[20_000:]])

    def ask(method: str, path: str, body: object = None, **more: str) -> tuple[int, bytes]:
        through.request(method, path, body, headers | more)  # type: ignore[arg-type]
        response = through.getresponse()
        return response.status, response.read()

    assert ask("PUT", "/kept", BODY)[0] == 200
    first = through.sock
    assert ask("HEAD", "/kept") == (200, b"")
    assert ask("GET", "/kept") == (200, BODY)
    assert ask("GET", "/?list-type=2&prefix=x")[0] == 400  # the proxy's own answer
    assert ask("PUT", "/chunked", chunks)[0] == 411  # rclone wants a length, but has read to the end
    assert ask("GET", "/kept", Range="bytes=1-3")[1] == BODY[1:4]
    assert ask("HEAD", "/?list-type=2&prefix=x")[0] == 200
    assert through.sock is first
    through.close()


def test_a_client_that_waits_for_leave_to_send_gets_it(aws_shaped_lab: LabState) -> None:
    through = connection(aws_shaped_lab, HOSTS[SAME_ZONE])
    through.putrequest("PUT", "/expected")
    for name, value in (signed(aws_shaped_lab) | {"Content-Length": "5", "Expect": "100-continue"}).items():
        through.putheader(name, value)
    through.endheaders()
    assert through.sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    through.send(b"bytes")
    assert through.getresponse().status == 200
    through.close()


def test_a_client_that_goes_away_in_the_middle_leaves_no_object_and_no_damage(
    aws_shaped_lab: LabState, lab_folder: Path
) -> None:
    through = connection(aws_shaped_lab, HOSTS[SAME_ZONE])
    through.putrequest("PUT", "/broken")
    for name, value in (signed(aws_shaped_lab) | {"Content-Length": "1000000"}).items():
        through.putheader(name, value)
    through.endheaders(BODY)
    through.close()
    s3 = client()
    s3.put_object(Bucket=SAME_ZONE, Key="after", Body=b"fine")
    with pytest.raises(ClientError):
        s3.head_object(Bucket=SAME_ZONE, Key="broken")
    response = s3.get_object(Bucket=SAME_ZONE, Key="after")
    assert response["Body"].read() == b"fine"
    assert LabFolder(lab_folder).proxy.log.read_text() == ""


def test_an_upload_that_the_server_refuses_is_answered_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(ClientError) as error:
        client().put_object(Bucket=REGIONAL, Key="no//file", Body=b"b")
    assert code_of(error) == (400, "InvalidArgument")
    assert time.monotonic() - began < 5


def test_many_connections_at_once_get_each_their_own_bytes() -> None:
    s3 = boto3.client("s3", config=Config(max_pool_connections=32))
    together = threading.Barrier(32)

    def round_trip(number: int) -> bool:
        body = os.urandom(100_000)
        together.wait()
        s3.put_object(Bucket=SAME_ZONE, Key=f"many/{number}", Body=body)
        return s3.get_object(Bucket=SAME_ZONE, Key=f"many/{number}")["Body"].read() == body

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(round_trip, range(32)))


def test_a_body_of_many_parts_comes_through_whole(tmp_path: Path) -> None:
    file = tmp_path / "20m"
    file.write_bytes(os.urandom(20_000_000))
    s3 = client()
    s3.upload_file(str(file), REGIONAL, "parts", Config=TransferConfig(multipart_threshold=8_000_000))
    s3.download_file(REGIONAL, "parts", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == file.read_bytes()


def test_delays_count_once_for_the_connection_for_tls_and_for_each_request(aws_shaped_lab: LabState) -> None:
    def stages_ms(host: str) -> tuple[float, float, float]:
        through = connection(aws_shaped_lab, host)
        began = time.perf_counter()
        http.client.HTTPConnection.connect(through)  # with CONNECT
        connected = time.perf_counter()
        through.sock = through._context.wrap_socket(through.sock, server_hostname=host)  # type: ignore[attr-defined]
        encrypted = time.perf_counter()
        through.request("GET", "/?list-type=2", headers=signed(aws_shaped_lab))
        through.getresponse().read()
        ended = time.perf_counter()
        through.close()
        return (connected - began) * 1e3, (encrypted - connected) * 1e3, (ended - encrypted) * 1e3

    def least(host: str) -> list[float]:
        return [min(stage) for stage in zip(*(stages_ms(host) for _ in range(9)), strict=True)]

    pairs = zip(least(ACCELERATED), least(HOSTS[REGIONAL]), strict=True)
    # Counted twice it would be 64: what a busy machine adds is less than half of that.
    assert [regional - accelerated for accelerated, regional in pairs] == pytest.approx([32.0] * 3, abs=10.0)


@pytest.mark.parametrize(
    "program",
    [
        ["aws", "s3", "cp", "{file}", f"s3://{SAME_ZONE}/cli/"],
        ["s5cmd", "cp", "{file}", f"s3://{REGIONAL}/cli/"],
        [
            "s5cmd",
            "--endpoint-url",
            "https://s3-accelerate.amazonaws.com",
            "cp",
            "{file}",
            f"s3://{REGIONAL}/cli/",
        ],
    ],
)
def test_command_lines_reach_them(tmp_path: Path, program: list[str]) -> None:
    file = tmp_path / f"{program[0]}-{len(program)}"
    file.write_bytes(BODY)
    name, *arguments = (word.format(file=file) for word in program)
    subprocess.run([BIN / name, *arguments], check=True, capture_output=True)
    bucket = urlsplit(program[-1]).netloc
    assert client().get_object(Bucket=bucket, Key=f"cli/{file.name}")["Body"].read() == BODY


def test_a_rust_client_reaches_them() -> None:
    for bucket, express in ((REGIONAL, False), (SAME_ZONE, True)):
        store = S3Store(bucket, region=LAB_REGION, s3_express=express)
        obstore.put(store, "rust/1", BODY)
        assert bytes(obstore.get(store, "rust/1").bytes()) == BODY
        assert [item["path"] for item in obstore.list(store, "rust/").collect()] == ["rust/1"]


def test_the_crt_reaches_them(tmp_path: Path) -> None:
    """In a process of its own, since it keeps one client for good."""
    program = f"""
import boto3, os, pathlib
from boto3.s3.transfer import TransferConfig
file = pathlib.Path({str(tmp_path)!r}, "file")
file.write_bytes(os.urandom(9_000_000))
for bucket in {(REGIONAL, SAME_ZONE)!r}:
    crt = TransferConfig(preferred_transfer_client="crt")
    boto3.client("s3").upload_file(str(file), bucket, "crt/1", Config=crt)
    boto3.client("s3").download_file(bucket, "crt/1", f"{{file}}-back", Config=crt)
    assert pathlib.Path(f"{{file}}-back").read_bytes() == file.read_bytes()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (HOSTS[REGIONAL], "regional"),
        (f"with.dots.s3.{DOMAIN}", "regional"),
        (f"b.s3.dualstack.{DOMAIN}", "regional"),
        (f"s3.{DOMAIN}", "regional"),
        (ACCELERATED.upper(), "accelerate"),
        (HOSTS[SAME_ZONE], "express"),
        (f"s3express-control.{DOMAIN}", "express_control"),
        (f"b--use1-az4--x-s3.s3express-use1-az4.{DOMAIN}", None),
        ("b.s3.us-east-1.amazonaws.com", None),
        (f"b.s3.{DOMAIN}.example.com", None),
        (f"s3files.{DOMAIN}", None),
    ],
)
def test_host_names_are_those_of_the_labs_region_and_zones(name: str, kind: str | None) -> None:
    host = aws_host(name)
    assert (host and host.kind) == kind
