import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import pytest
from botocore.stub import Stubber

from configs.errors import UserError
from tasks.results.store import Store, open_store

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NAME = "v1/runs/dt=2026-01-01/a.parquet"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What boto3's default chain finds, and nothing of the machine's own."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def store(s3_endpoint_url: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    return open_store(f"s3://{bucket}/team/results/")


def test_a_file_is_kept_below_the_prefix_and_listed_by_its_name(
    store: Store, bucket: str, s3_client: "S3Client"
) -> None:
    assert store.names("v1/runs") == []
    store.check_writable()
    store.check_writable()
    store.put(NAME, b"content")
    s3_client.put_object(Bucket=bucket, Key="team/results-of-others/v1/runs/b.parquet", Body=b"")
    for hidden in (".c.parquet", "_c.parquet", "README"):
        s3_client.put_object(Bucket=bucket, Key=f"team/results/v1/runs/{hidden}", Body=b"")
    assert store.get(NAME) == b"content"
    assert store.names("v1/runs") == [NAME]
    assert store.names("v1") == [NAME]
    assert store.names("v1/run") == []
    assert s3_client.head_object(Bucket=bucket, Key=f"team/results/{NAME}")["ContentLength"] == 7


def test_what_a_server_lists_beside_the_prefix_is_no_result(store: Store) -> None:
    listed = [f"team/results/{NAME}", "team/v1/runs/b.parquet", "v1/runs/dt=2026-01-01/c.parquet"]
    with Stubber(store._client) as stub:  # type: ignore[attr-defined]
        stub.add_response("list_objects_v2", {"Contents": [{"Key": key, "Size": 1} for key in listed]})
        assert store.names("v1/runs") == [NAME]


@pytest.mark.parametrize(
    ("endpoint_url", "endpoint"),
    [
        (None, ""),
        ("https://s3.dualstack.eu-west-1.amazonaws.com", ""),
        ("https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", ""),
        ("http://127.0.0.1:9000", "127.0.0.1:9000"),
        ("https://user:secret@minio.example/path", "minio.example"),
        ("https://notamazonaws.com", "notamazonaws.com"),
    ],
)
def test_an_endpoint_is_told_apart_by_host_and_port_and_amazons_is_one(
    endpoint_url: str | None, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    if endpoint_url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint_url)
    assert open_store("s3://some-bucket/results").endpoint == endpoint
    assert open_store("results").endpoint == ""


def test_more_names_than_one_answer_holds_are_all_listed(store: Store) -> None:
    expected = [f"v1/runs/{number:04}.parquet" for number in range(1005)]
    for name in expected:
        store.put(name, b"", replace=True)
    assert store.names("v1/runs") == expected


def test_the_same_again_is_kept_once_and_other_content_is_refused(store: Store) -> None:
    store.put(NAME, b"content")
    store.put(NAME, b"content")
    with pytest.raises(UserError, match=rf"{store.location}/{NAME} exists with other content"):
        store.put(NAME, b"other")
    assert store.get(NAME) == b"content"
    store.put(NAME, b"other", replace=True)
    assert store.get(NAME) == b"other"


def test_a_missing_bucket_is_named(s3_endpoint_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    store = open_store("s3://no-such-bucket/results")
    actions = (store.check_writable, lambda: store.get(NAME), lambda: store.names("v1"))
    for action in actions:
        with pytest.raises(UserError, match=r"s3://no-such-bucket/results.*NoSuchBucket.*create the bucket"):
            action()


def test_a_missing_file_is_named(store: Store) -> None:
    with pytest.raises(UserError, match=f"{NAME}: NoSuchKey"):
        store.get(NAME)


def test_wrong_credentials_are_named_but_not_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    denied = open_store(store.location)
    with pytest.raises(UserError, match=r"SignatureDoesNotMatch.*set the secret key") as raised:
        denied.check_writable()
    assert "wrong-secret" not in str(raised.value)


def test_missing_credentials_are_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UserError, match=f"{store.location}.*credentials"):
        open_store(store.location).check_writable()


def test_an_endpoint_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(UserError, match=r"s3://some-bucket/results.*Could not connect.*AWS_ENDPOINT_URL"):
            open_store("s3://some-bucket/results").check_writable()


@pytest.mark.parametrize(
    "location",
    ["s3://", "s3://bucket", "s3://bucket/", "s3://B_/x", "s3://bucket/a//b", "s3://bucket/../x", "gs://b/x"],
)
def test_an_address_that_is_no_place_of_its_own_is_refused(location: str) -> None:
    with pytest.raises(UserError, match=rf"{re.escape(repr(location))}.*s3://BUCKET/PREFIX"):
        open_store(location)


class ConditionalServer(BaseHTTPRequestHandler):
    """Honours `If-None-Match: *` as Amazon S3 does, on an object that another writer made a moment ago."""

    protocol_version = "HTTP/1.1"  # or boto3 waits a second for "100 Continue"
    written_by_other: ClassVar[bytes]
    looks: ClassVar[int]
    conditions: ClassVar[list[str | None]]

    def do_GET(self) -> None:
        type(self).looks += 1
        if self.looks == 1:  # the look before the PUT comes too early to see it
            self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")
        else:
            self._answer(200, self.written_by_other)

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.conditions.append(self.headers["If-None-Match"])
        self._answer(412, b"<Error><Code>PreconditionFailed</Code><Message>exists</Message></Error>")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output quiet."""


@pytest.fixture
def contested(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    ConditionalServer.looks, ConditionalServer.conditions = 0, []
    ConditionalServer.written_by_other = b"content"
    with ThreadingHTTPServer(("127.0.0.1", 0), ConditionalServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        yield open_store("s3://some-bucket/results")
        server.shutdown()


class ReadOnlyServer(BaseHTTPRequestHandler):
    """A bucket that was written before, and whose owner has taken the right to write away."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200, b"<ListBucketResult/>" if "list-type" in self.path else b"from an earlier run")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output quiet."""


def test_a_right_to_write_that_was_revoked_since_the_last_run_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), ReadOnlyServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(UserError, match=r"AccessDenied.*s3:PutObject"):
            open_store("s3://some-bucket/results").check_writable()
        server.shutdown()


def test_checking_writes_each_time(store: Store, bucket: str, s3_client: "S3Client") -> None:
    store.check_writable()
    key = "team/results/.s3bench-write-check"
    s3_client.put_object(Bucket=bucket, Key=key, Body=b"from an older version")
    store.check_writable()
    assert s3_client.get_object(Bucket=bucket, Key=key)["Body"].read() == b"results can be written here\n"


def test_a_put_that_meets_its_own_content_is_a_success(contested: Store) -> None:
    contested.put(NAME, b"content")
    assert ConditionalServer.conditions == ["*"]


def test_a_put_that_meets_other_content_leaves_it_there(contested: Store) -> None:
    with pytest.raises(UserError, match="exists with other content"):
        contested.put(NAME, b"mine")
    assert ConditionalServer.conditions == ["*"]
