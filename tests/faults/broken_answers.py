"""What broken servers and networks do to a request, as faults of the proxy."""

import threading
import time
from email.utils import formatdate
from html import escape
from urllib.parse import unquote, urlsplit

from tests.faults.fault_proxy import Fault, FaultHandler, Reply


def refusal(status: int, code: str, *, date_off_s: float = 0, **headers: str) -> Fault:
    """An error as S3 tells it, in XML; HEAD has no body, and so no code."""

    def refuse(handler: FaultHandler) -> None:
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        body = b"" if handler.command == "HEAD" else _error_text(code)
        reply = Reply(status, [*named, ("Content-Type", "application/xml")], body)
        handler.head(reply, date=formatdate(time.time() + date_off_s, usegmt=True))
        handler.wfile.write(body)

    return refuse


def echo(handler: FaultHandler) -> None:
    """A refusal that repeats every header of the request, as proxies and gateways do for debugging."""
    sent = escape("; ".join(f"{name}: {value}" for name, value in handler.headers.items()))
    body = f"<Error><Code>AccessDenied</Code><Message>You sent {sent}</Message></Error>".encode()
    handler.pass_back(Reply(403, [("Content-Type", "application/xml")], body))


def bare_status(status: int) -> Fault:
    """A status, and nothing that explains it."""
    return lambda handler: handler.pass_back(Reply(status, [], b""))


def gateway_page(handler: FaultHandler) -> None:
    """A load balancer's own page: no S3 error, no XML."""
    body = b"" if handler.command == "HEAD" else b"<html><body><h1>502 Bad Gateway</h1><p>nginx</body></html>"
    handler.pass_back(Reply(502, [("Content-Type", "text/html")], body))


def reset_midway(handler: FaultHandler) -> None:
    """Half of the body, and then a RST."""
    _half(handler)
    time.sleep(0.05)  # a RST throws away what the client has not read yet
    handler.reset()


def short_body(handler: FaultHandler) -> None:
    """Half of the body, and then an ordinary end of the connection."""
    _half(handler)
    handler.close_connection = True


def stalled_body(handler: FaultHandler) -> None:
    """Half of the body, and then nothing for ever."""
    _half(handler)
    handler.server.over.wait()
    handler.close_connection = True


def trickling_body(pause_s: float, pieces: int) -> Fault:
    """The body in so many pieces, with a pause before each."""

    def trickle(handler: FaultHandler) -> None:
        reply = handler.pass_on()
        handler.head(reply)
        step = max(1, len(reply.body) // pieces)
        for start in range(0, len(reply.body), step):
            if handler.server.over.wait(pause_s):
                break
            handler.wfile.write(reply.body[start : start + step])
            handler.wfile.flush()

    return trickle


def shorter_object(handler: FaultHandler) -> None:
    """Half of the body, with a Content-Length that says so."""
    reply = handler.pass_on()
    handler.pass_back(Reply(reply.status, reply.headers, reply.body[: len(reply.body) // 2]))


def wrong_bytes(handler: FaultHandler) -> None:
    """As many bytes as there should be, and others."""
    reply = handler.pass_on()
    handler.pass_back(Reply(reply.status, reply.headers, bytes(255 - byte for byte in reply.body)))


def late_headers(delay_s: float) -> Fault:
    """The real answer, late."""

    def be_late(handler: FaultHandler) -> None:
        handler.server.over.wait(delay_s)
        handler.pass_back(handler.pass_on())

    return be_late


def silence(handler: FaultHandler) -> None:
    """No answer for ever."""
    handler.server.over.wait()
    handler.close_connection = True


def gone(handler: FaultHandler) -> None:
    """The server ends: the connection breaks, and every later one is refused."""
    handler.close_connection = True
    threading.Thread(target=handler.server.go_away, daemon=True).start()
    handler.server.over.wait()


def lost_write(handler: FaultHandler) -> None:
    """Answered as if it were stored."""
    handler.pass_back(Reply(200, [("ETag", '"00000000000000000000000000000000"')], b""))


def lost_answer(handler: FaultHandler) -> None:
    """Stored, but the connection breaks before anybody is told."""
    handler.pass_on()
    handler.reset()


def cut_write(handler: FaultHandler) -> None:
    """Half of the bytes are stored, without a word, by a client of the server's own."""
    bucket, _, key = unquote(urlsplit(handler.path).path).lstrip("/").partition("/")
    half = handler.sent[: len(handler.sent) // 2]
    handler.server.own_client.put_object(Bucket=bucket, Key=key, Body=half)
    lost_write(handler)


def error_in_success(handler: FaultHandler) -> None:
    """CompleteMultipartUpload may say 200 first and then, in its body, that it failed."""
    handler.pass_back(Reply(200, [("Content-Type", "application/xml")], _error_text("InternalError")))


def _error_text(code: str) -> bytes:
    """As S3 tells it; where to go instead is in it where that is the error."""
    more = "<Endpoint>bucket.s3.eu-west-1.amazonaws.com</Endpoint>" if code == "PermanentRedirect" else ""
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{head}\n<Error><Code>{code}</Code><Message>No.</Message>{more}</Error>".encode()


def _half(handler: FaultHandler) -> None:
    reply = handler.pass_on()
    half = Reply(reply.status, reply.headers, reply.body[: len(reply.body) // 2])
    handler.pass_back(half, len(reply.body))
    handler.wfile.flush()
