"""The lab's buckets of every kind, and a server whose every step can be made slow."""

import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3.crt
import pytest
import s3transfer.crt

from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.access.protocol import AccessPath
from tasks.kernel.errors import LabelError
from tasks.lab.state import LAB_ZONES, LabState
from tasks.venues.places import lab_environment

EMPTY_LISTING = b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>'


class SlowServer(ThreadingHTTPServer):
    """Answers every request with the same body, but has no object `nothing-…`; counts connections."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._tls = tls
        self.connections = 0
        self.before_handshake_s = 0.0
        self.before_headers_s = 0.0
        self.before_body_s = 0.0
        self.requests = 0
        self.stalls_at = 0
        """The request with which it ceases to answer for a while; 0 for none."""
        self.stall_s = 0.0
        self.stalled_until_s = 0.0
        self.closes_after_answer = False
        self.more_headers: dict[str, str] = {}

    @property
    def endpoint_url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://localhost:{self.server_port}"

    @property
    def target(self) -> BucketTarget:
        return BucketTarget(bucket="bucket", endpoint_url=self.endpoint_url, region="us-east-1")

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._tls is not None:
            time.sleep(self.before_handshake_s)
            request = self._tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the answer to its headers
    server: SlowServer

    def do_GET(self) -> None:
        is_missing = "/nothing-" in self.path
        body = b"<Error><Code>NoSuchKey</Code></Error>" if is_missing else EMPTY_LISTING
        self.server.requests += 1
        if self.server.requests == self.server.stalls_at:
            self.server.stalled_until_s = time.monotonic() + self.server.stall_s
        time.sleep(max(self.server.before_headers_s, self.server.stalled_until_s - time.monotonic()))
        self.send_response(404 if is_missing else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"e"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        for name, value in self.server.more_headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()
        time.sleep(self.server.before_body_s)
        self.wfile.write(body)
        self.close_connection = self.server.closes_after_answer

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def enter_lab(aws_shaped_lab: LabState) -> Iterator[Callable[[bool], None]]:
    """Gives this process the environment of a lab, AWS-shaped or not, until the last test of a file."""
    with pytest.MonkeyPatch.context() as patch:

        def enter(aws_shaped: bool) -> None:
            environment = lab_environment(aws_shaped_lab, aws_shaped=aws_shaped)
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)

        yield enter


@pytest.fixture(scope="session")
def bucket_of_kind(aws_shaped_lab: LabState) -> Callable[[str, bool], AnyBucket]:
    """The lab's bucket of a kind, by the lab's own endpoint or by Amazon's host names."""
    lab = aws_shaped_lab

    def bucket_of_kind(kind: str, aws_shaped: bool) -> AnyBucket:
        if kind == "directory_bucket":
            bucket = f"{lab.bucket}--{LAB_ZONES[0]}--x-s3"
            return DirectoryBucketTarget(bucket=bucket, region=lab.region)
        if kind == "accelerated_bucket":
            return AcceleratedBucketTarget(bucket=lab.bucket, region=lab.region)
        endpoint_url = None if aws_shaped else lab.endpoint_url
        return BucketTarget(bucket=lab.bucket, endpoint_url=endpoint_url, region=lab.region)

    return bucket_of_kind


@pytest.fixture
def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SlowServer]]:
    """Starts servers that end with the test; this process then has credentials for them."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    running: list[tuple[SlowServer, threading.Thread]] = []

    def start(tls: ssl.SSLContext | None = None) -> SlowServer:
        server = SlowServer(tls)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(start_server: Callable[..., SlowServer]) -> SlowServer:
    """A server without TLS."""
    return start_server()


@pytest.fixture(scope="session")
def connect() -> Callable[[AccessPath], None]:
    """Connects; a CRT client of another process, such as other tests at the same time, is waited for."""

    def connect(path: AccessPath) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                return path.connect(1)
            except LabelError as error:
                if "has a CRT client" not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    return connect


@pytest.fixture(scope="session")
def release_the_crt() -> Callable[[], None]:
    """boto3 keeps one CRT client to the end of a process, and with it a lock that shuts out all others."""

    def release() -> None:
        boto3.crt.CRT_S3_CLIENT = boto3.crt.BOTOCORE_CRT_SERIALIZER = None
        s3transfer.crt.CRT_S3_PROCESS_LOCK = None

    return release
