"""Uploads in Amazon's own chunks: how clients send a checksum, or signatures of parts, after the bytes.

AWS clients send uploads so by default wherever TLS protects them. rclone 1.75 does not take them, so the
proxy passes the bytes on without the chunks; what comes after them, the checksum, is read and not checked.

Source: Amazon S3 API reference, "Transferring Payload in Multiple Chunks" and its page on trailing headers.
"""

from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tasks.lab.aws_requests import BadRequestError, RequestHead, pieces_of_body

_DECODED_LENGTH: Final = "x-amz-decoded-content-length"
_OF_CHUNKS: Final = frozenset(
    {
        _DECODED_LENGTH,
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "x-amz-content-sha256",
        "x-amz-sdk-checksum-algorithm",
        "x-amz-trailer",
    }
)


def is_in_chunks(head: RequestHead) -> bool:
    """Whether a request's body is in Amazon's chunks."""
    streaming = head.headers.get("x-amz-content-sha256", "").startswith("STREAMING-")
    return streaming and _DECODED_LENGTH in head.headers


def without_chunks(head: RequestHead) -> RequestHead:
    """The head of the same request with the bytes alone as its body."""
    encodings = [item.strip() for item in head.headers.get("content-encoding", "").split(",")]
    kept = ",".join(item for item in encodings if item not in {"", "aws-chunked"})
    new = {
        "content-length": head.headers[_DECODED_LENGTH],
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
        **({"content-encoding": kept} if kept else {}),
    }
    lines = [(name, line) for name, line in head.lines if name not in _OF_CHUNKS]
    headers = {name: value for name, value in head.headers.items() if name not in _OF_CHUNKS}
    return replace(
        head,
        lines=(*lines, *((name, f"{name}: {value}") for name, value in new.items())),
        headers=headers | new,
    )


async def pass_on_bytes_of_chunks(head: RequestHead, source: StreamReader, sink: StreamWriter) -> None:
    """Pass on the bytes of a body in Amazon's chunks; `head` is the one that came with it.

    Raises:
        BadRequestError: Its chunks are none.
        IncompleteReadError: It ended early.
    """
    chunks = _Chunks()
    async for piece in pieces_of_body(head, source):
        for data in chunks.bytes_in(piece):
            sink.write(data)
            await sink.drain()


class _Chunks:
    """Takes a body apart that comes in pieces: `<size in hex>[;…]`, the bytes, and so on up to size 0."""

    def __init__(self) -> None:
        self._line = b""
        """The beginning of a line that is not whole yet."""
        self._left = 0
        """Bytes of the current chunk that are still to come."""
        self._at_end = False

    def bytes_in(self, piece: bytes) -> Iterator[bytes]:
        """The payload in the next piece."""
        start = 0
        while start < len(piece) and not self._at_end:
            if self._left:
                data = piece[start : start + self._left]
                self._left -= len(data)
                start += len(data)
                yield data
                continue
            end = piece.find(b"\n", start) + 1 or len(piece)
            self._line += piece[start:end]
            start = end
            if self._line.endswith(b"\n"):
                self._take_line()

    def _take_line(self) -> None:
        line, self._line = self._line.strip(), b""
        if not line:
            return  # what ends the bytes of a chunk
        try:
            self._left = int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise BadRequestError(f"no chunk of Amazon's: {line[:40]!r}") from error
        self._at_end = not self._left
