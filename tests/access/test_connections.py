"""Every thread finds a connection that is open already: none is opened inside a sample."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from configs.access_paths import Boto3Api
from configs.targets import BucketTarget
from tasks.access.boto3_api import Boto3ApiPath

EMPTY_LISTING = b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>'


class CountingServer(ThreadingHTTPServer):
    """Answers everything, and counts the connections that clients open."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.connections = 0
        self.arrived = threading.Barrier(4, timeout=5)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self.server.arrived.wait()  # all of them are under way at once
        self.send_response(200)
        self.send_header("Content-Length", str(len(EMPTY_LISTING)))
        self.end_headers()
        self.wfile.write(EMPTY_LISTING)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[CountingServer]:
    server = CountingServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_as_many_connections_as_threads_are_opened_before_the_first_sample(
    server: CountingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    endpoint_url = f"http://127.0.0.1:{server.server_port}"
    target = BucketTarget(bucket="bucket", endpoint_url=endpoint_url, region="us-east-1")
    access = Boto3ApiPath(Boto3Api(max_attempts=1), target)
    access.connect(4)
    assert server.connections == 4
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(access.read, ["k"] * 40))
    assert server.connections == 4
    access.close()
