"""The classic transfer manager finds its connections open, and its retries are counted."""

import os
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from botocore.exceptions import ClientError

from configs.access_paths import TransferManager
from configs.targets import BucketTarget
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.protocol import FileTransfer

BODY = b"x" * 1000
LISTING = b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>'


class BusyServer(ThreadingHTTPServer):
    """Has every object, and refuses the first so many requests for one; counts connections."""

    daemon_threads = True
    request_queue_size = 64
    connections = 0
    busy_times = 0

    def process_request(self, request: object, client_address: object) -> None:
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BusyServer

    def do_GET(self) -> None:
        body = LISTING if "list-type" in self.path else BODY
        status = 200
        if body is BODY and self.server.busy_times:
            self.server.busy_times -= 1
            body, status = b"", 503
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"e"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - as http.server names it

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BusyServer]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_RETRY_MODE", "standard")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    server = BusyServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def connected(server: BusyServer) -> Iterator[Callable[..., TransferManagerPath]]:
    """Connects clients of that server."""
    made = []
    endpoint_url = f"http://127.0.0.1:{server.server_port}"
    target = BucketTarget(bucket="bucket", endpoint_url=endpoint_url, region="us-east-1")

    def connect(**settings: object) -> TransferManagerPath:
        path = TransferManagerPath(TransferManager.model_validate(settings), target)
        path.connect(1)
        made.append(path)
        return path

    yield connect
    for path in made:
        path.close()


def test_a_connection_for_every_thread_is_open_before_the_first_transfer(
    server: BusyServer, connected: Callable[..., TransferManagerPath], tmp_path: Path
) -> None:
    path = connected(threads=4, multipart_threshold=200, part_size=100)
    assert server.connections == 4
    for number in range(5):  # of ten parts each
        path.download(FileTransfer("k", tmp_path / str(number)))
    assert server.connections == 4


def test_the_sdks_own_retries_are_counted(
    server: BusyServer, connected: Callable[..., TransferManagerPath], tmp_path: Path
) -> None:
    path = connected()
    server.busy_times = 1
    assert path.answer(path.download(FileTransfer("k", tmp_path / "a"))).retries == 1
    assert path.answer(path.download(FileTransfer("k", tmp_path / "b"))).retries == 0


def test_a_service_that_stays_busy_is_an_error_with_its_retries(
    server: BusyServer, connected: Callable[..., TransferManagerPath], tmp_path: Path
) -> None:
    path = connected()
    server.busy_times = 2
    with pytest.raises(ClientError) as raised:
        path.download(FileTransfer("k", tmp_path / "a"))
    failure = path.failure(raised.value)
    assert (failure.error, failure.http_status, failure.retries) == ("ServiceUnavailable", 503, 1)
