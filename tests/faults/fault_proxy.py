"""A proxy before a real S3 server, which does to chosen requests what broken servers and networks do."""

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NOT_PASSED_BACK = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_HOUR_S = 3600


@dataclass(frozen=True)
class Asked:
    """A request that came, and what was done to it; empty where it was passed on."""

    method: str
    path: str
    fault: str


@dataclass(frozen=True)
class Reply:
    """What the real server answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


Fault = Callable[["FaultHandler"], None]


@dataclass
class Rule:
    """Which requests suffer, and how many of them; None is all."""

    name: str
    fault: Fault
    suffers: Callable[[str, str], bool]
    """Told the method and the path with its query."""
    times: int | None = None


class FaultProxy(ThreadingHTTPServer):
    """Passes requests on to a real server, but for those that a rule names; the first that fits applies."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, own_client: "S3Client") -> None:
        super().__init__(("127.0.0.1", 0), FaultHandler)
        self.own_client = own_client
        self.server_netloc = urlsplit(own_client.meta.endpoint_url).netloc
        self.rules: list[Rule] = []
        self.asked: list[Asked] = []
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fault_for(self, method: str, path: str) -> Fault | None:
        """Note a request, and say what is to be done to it."""
        with self._lock:
            for rule in self.rules:
                if rule.times != 0 and rule.suffers(method, path):
                    rule.times = None if rule.times is None else rule.times - 1
                    self.asked.append(Asked(method, path, rule.name))
                    return rule.fault
            self.asked.append(Asked(method, path, ""))
            return None

    def suffered(self) -> list[Asked]:
        """The requests to which something was done."""
        return [asked for asked in self.asked if asked.fault]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients go away in the middle, as they must."""

    def go_away(self) -> None:
        """No one listens any more, and every connection ends."""
        self.over.set()
        self.shutdown()
        self.server_close()
        for request in list(self._open):
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)


class FaultHandler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body of an answer in one piece
    server: FaultProxy

    def handle_expect_100(self) -> bool:
        """Say at once that the body may come."""
        may_come = super().handle_expect_100()
        self.wfile.flush()
        return may_come

    def handle_any(self) -> None:
        self.sent = self._body()
        fault = self.server.fault_for(self.command, self.path)
        if fault is not None:
            fault(self)
        else:
            self.pass_back(self.pass_on())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 - as http.server names them

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def pass_on(self) -> Reply:
        """The same request to the real server, whose signature holds since the host's name is kept."""
        connection = http.client.HTTPConnection(self.server.server_netloc, timeout=60)
        with connection_closed(connection):
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in {"connection", "expect"}:
                    connection.putheader(name, value)
            connection.endheaders(self.sent)
            answer = connection.getresponse()
            body = answer.read()
            kept = [pair for pair in answer.getheaders() if pair[0].lower() not in _NOT_PASSED_BACK]
            if self.command == "HEAD":
                kept.append(("Content-Length", answer.getheader("Content-Length", "0")))
            return Reply(answer.status, kept, body)

    def pass_back(self, reply: Reply, length: int | None = None) -> None:
        self.head(reply, length)
        self.wfile.write(reply.body)

    def head(self, reply: Reply, length: int | None = None, date: str = "") -> None:
        self.send_response_only(reply.status)
        self.send_header("Date", date or formatdate(usegmt=True))
        for name, value in reply.headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(reply.body) if length is None else length))
        self.end_headers()

    def reset(self) -> None:
        """End the connection by a RST, in which what was not yet read is lost too."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        socket.close(self.connection.detach())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def connection_closed(connection: http.client.HTTPConnection) -> Iterator[None]:
    try:
        yield
    finally:
        connection.close()


@contextmanager
def running_proxy(own_client: "S3Client") -> Iterator[FaultProxy]:
    """A proxy that serves in this process, until the end of the block, before the server of a client."""
    proxy = FaultProxy(own_client)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.go_away()
        thread.join()
