"""A client's connection through the AWS-shaped lab's proxy, and the server's behind it.

One task passes the client's requests on, another passes the server's bytes back as they come. The proxy's own
answers cannot get between these, because no S3 client sends a request before it has the last one's answer.
"""

import asyncio
import contextlib
import re
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from dataclasses import dataclass
from typing import Final, Self

from tasks.lab.aws_chunks import is_in_chunks, pass_on_bytes_of_chunks, without_chunks
from tasks.lab.aws_requests import CHUNK_BYTES, END_OF_HEAD, BadRequestError, RequestHead, pass_on_body
from tasks.lab.aws_signing import Signer

GONE: Final = (OSError, EOFError, LimitOverrunError, BadRequestError)
"""A client or the server went away, or talks another language: that ends one connection."""


@dataclass(slots=True)
class Tunnel:
    """Both connections."""

    reader: StreamReader
    writer: StreamWriter
    server_reader: StreamReader
    server_writer: StreamWriter
    starts_upload: bool = False
    """The answer that comes next is that of CreateMultipartUpload."""

    @classmethod
    async def to_server(cls, port: int, reader: StreamReader, writer: StreamWriter) -> Self:
        """Connect to the server on loopback, for a client that is connected."""
        return cls(reader, writer, *await asyncio.open_connection("127.0.0.1", port, limit=CHUNK_BYTES))

    async def pass_on(self, head: RequestHead, bucket: str, signer: Signer) -> None:
        """Pass a request on with its body: in path style, signed anew, and without Amazon's chunks."""
        self.starts_upload = head.method == "POST" and "uploads" in head.query
        in_chunks = is_in_chunks(head)
        self.server_writer.write(signer.signed(without_chunks(head) if in_chunks else head, bucket))
        pass_on = pass_on_bytes_of_chunks if in_chunks else pass_on_body
        await pass_on(head, self.reader, self.server_writer)

    async def pass_back(self) -> None:
        """Pass the server's bytes to the client, and the end of its connection too."""
        with contextlib.suppress(*GONE):
            while data := await self.server_reader.read(CHUNK_BYTES):
                self.writer.write(await self._as_amazon_words_it(data) if self.starts_upload else data)
                await self.writer.drain()
        self.writer.close()

    async def _as_amazon_words_it(self, data: bytes) -> bytes:
        """The whole answer to CreateMultipartUpload, of which `data` is the beginning.

        rclone 1.75 leaves `Result` away from the name of the root; the CRT, unlike botocore, looks for it.
        """
        self.starts_upload = False
        while END_OF_HEAD not in data:
            data += await self.server_reader.read(CHUNK_BYTES) or _ended()
        head, _, body = data.partition(END_OF_HEAD)
        if found := re.search(rb"(?i)^Content-Length: *(\d+)", head, re.MULTILINE):
            body += await self.server_reader.readexactly(int(found[1]) - len(body))
            body = re.sub(rb"<(/?)InitiateMultipartUpload>", rb"<\1InitiateMultipartUploadResult>", body)
            head = head.replace(found[0], b"Content-Length: %d" % len(body))
        return head + END_OF_HEAD + body


def _ended() -> bytes:
    raise EOFError
