"""Heads of HTTP/1 requests: what the AWS-shaped lab's proxy must know of one, and how it passes it on.

Only what the proxy acts on is parsed.
"""

from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs

CHUNK_BYTES = 256 * 1024
"""Of a body, at once."""
END_OF_HEAD = b"\r\n\r\n"
_END = b"\r\n"


class BadRequestError(Exception):
    """What a client sent is no request that the proxy can pass on."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The first lines of a request."""

    method: str
    target: str
    """The path and the query, as they were sent; for CONNECT the host and the port."""
    lines: tuple[tuple[str, str], ...]
    """The headers: each one's lower-case name, and its line as it was sent."""
    headers: dict[str, str]
    """Their values by lower-case name; of one that was repeated the last."""

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """Take a head apart, which ends with its empty line.

        Raises:
            BadRequestError: It is no head of HTTP/1.
        """
        first, *rest = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004 - method, target, version
            raise BadRequestError(f"no HTTP/1 request: {first[:80]!r}")
        lines = tuple((line.partition(":")[0].lower(), line) for line in rest)
        headers = {name: line.partition(":")[2].strip() for name, line in lines}
        return cls(words[0], words[1], lines, headers)

    @property
    def host(self) -> str:
        """The host name that it is for, without a port."""
        return self.headers.get("host", "").rpartition(":")[0] or self.headers.get("host", "")

    @property
    def path(self) -> str:
        """Without the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The parameters; of one that was repeated the last."""
        found = parse_qs(self.target.partition("?")[2], keep_blank_values=True)
        return {name: values[-1] for name, values in found.items()}

    @property
    def has_body(self) -> bool:
        """Whether bytes follow it."""
        return "transfer-encoding" in self.headers or self.headers.get("content-length", "0") != "0"


async def pieces_of_body(head: RequestHead, source: StreamReader) -> AsyncIterator[bytes]:
    """The body that a head announces, as it comes, without HTTP's own chunks.

    Raises:
        BadRequestError: Its length or its chunks are no numbers.
        IncompleteReadError: It ended early.
    """
    if head.headers.get("transfer-encoding", "").lower() != "chunked":
        async for piece in _pieces(_number(head.headers.get("content-length", "0"), 10), source):
            yield piece
        return
    while size_bytes := _number((await source.readuntil(_END)).partition(b";")[0], 16):
        async for piece in _pieces(size_bytes, source):
            yield piece
        await source.readuntil(_END)
    while await source.readuntil(_END) != _END:  # trailer lines, up to an empty one (RFC 9112, section 7.1)
        pass


async def pass_on_body(head: RequestHead, source: StreamReader, sink: StreamWriter) -> None:
    """Pass on the body that a head announces, in chunks where it came so; raises as `pieces_of_body`."""
    chunked = "transfer-encoding" in head.headers
    async for piece in pieces_of_body(head, source):
        sink.writelines((b"%x\r\n" % len(piece), piece, _END) if chunked else (piece,))
        await sink.drain()
    if chunked:
        sink.write(b"0\r\n\r\n")
        await sink.drain()


async def _pieces(size_bytes: int, source: StreamReader) -> AsyncIterator[bytes]:
    left = size_bytes
    while left > 0:
        piece = await source.read(min(left, CHUNK_BYTES))
        if not piece:
            raise IncompleteReadError(b"", left)
        yield piece
        left -= len(piece)


def _number(text: str | bytes, base: int) -> int:
    try:
        return int(text, base)
    except ValueError as error:
        raise BadRequestError(f"no length: {text[:40]!r}") from error
