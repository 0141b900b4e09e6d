"""The AWS-shaped lab's proxy: `python -m tasks.lab.aws_proxy SETTINGS`.

Clients send CONNECT for one of Amazon's host names; the proxy ends TLS itself, with a certificate that its
own authority signed, and passes each request to the lab's S3 server in path style, signed anew. What it adds
by host name is a known delay: before the answer to CONNECT, before the TLS handshake, and before each
request is passed on.
"""

import asyncio
import contextlib
import selectors
import ssl
import sys
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import trustme

from tasks.lab.aws_answers import OwnAnswers
from tasks.lab.aws_hosts import aws_host, certificate_names
from tasks.lab.aws_requests import CHUNK_BYTES, END_OF_HEAD, BadRequestError, RequestHead
from tasks.lab.aws_settings import ProxySettings
from tasks.lab.aws_signing import Signer
from tasks.lab.aws_tunnel import GONE, Tunnel

HTTPS_PORT: Final = "443"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Serves connections."""

    settings: ProxySettings
    answers: OwnAnswers
    signer: Signer
    tls: ssl.SSLContext

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection, from its CONNECT to its end."""
        try:
            with contextlib.suppress(*GONE):
                if await self._open_tunnel(reader, writer):
                    await self._serve_requests(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(*GONE):
                await writer.wait_closed()

    async def _open_tunnel(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Answer CONNECT and do the TLS handshake; false for a host that is none of ours."""
        head = RequestHead.parse(await reader.readuntil(END_OF_HEAD))
        host, _, port = head.target.rpartition(":")
        if head.method != "CONNECT" or port != HTTPS_PORT or aws_host(host) is None:
            writer.write(b"HTTP/1.1 403 No host of the lab\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return False
        await self._delay(host)
        # What the client sends next is for TLS, which begins later, and not for `reader`.
        cast("asyncio.Transport", writer.transport).pause_reading()
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await self._delay(host)
        await writer.start_tls(self.tls)
        return True

    async def _serve_requests(self, reader: StreamReader, writer: StreamWriter) -> None:
        tunnel = await Tunnel.to_server(self.settings.server_port, reader, writer)
        responses = asyncio.create_task(tunnel.pass_back())
        try:
            while await self._serve_request(tunnel):
                pass
        finally:
            tunnel.server_writer.close()
            responses.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await responses

    async def _serve_request(self, tunnel: Tunnel) -> bool:
        """Answer one request or pass it on; false if the connection ends with it."""
        head = RequestHead.parse(await tunnel.reader.readuntil(END_OF_HEAD))
        host = aws_host(head.host)
        if host is None:
            raise BadRequestError(head.host)
        await self._delay(head.host)
        answer = self.answers.to(head, host)
        if answer is not None:
            tunnel.writer.write(answer.encode(to_head=head.method == "HEAD", close=head.has_body))
            await tunnel.writer.drain()
            return not head.has_body  # its body was not read
        await tunnel.pass_on(head, host.bucket, self.signer)
        return True

    async def _delay(self, host: str) -> None:
        milliseconds = self.settings.delays.of(host)
        if milliseconds:
            await asyncio.sleep(milliseconds / 1000)


async def run(settings: ProxySettings) -> None:
    """Serve until the process is ended, on a loopback port of the kernel's choice."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # botocore takes a ticket for the beginning of an answer and waits for the rest, its body not sent.
    tls.num_tickets = 0
    authority.issue_cert(*certificate_names()).configure_cert(tls)
    authority.cert_pem.write_to_path(str(settings.ca_file))
    answers = OwnAnswers(settings.access_key_id, settings.accelerated)
    signer = Signer(settings.access_key_id, settings.secret_access_key)
    proxy = Proxy(settings, answers, signer, tls)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=CHUNK_BYTES)
    async with server:
        await server.serve_forever()


def _precise_loop() -> asyncio.AbstractEventLoop:
    """A loop whose sleeps are right to a tenth of a millisecond; epoll's are rounded up to whole ones."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main() -> None:
    """Run the proxy."""
    settings = ProxySettings.model_validate_json(Path(sys.argv[1]).read_bytes())
    with asyncio.Runner(loop_factory=_precise_loop) as runner:
        runner.run(run(settings))


if __name__ == "__main__":
    main()
