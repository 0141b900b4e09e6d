"""What a run and a Lambda function say to each other: the event of one block, and the answer to it.

The samples travel as `wire.py` writes them, compressed and in Base64, since an answer is JSON; those that are
too large for an answer go through the bucket of the cell, below the prefix of the run, with their SHA-256.
Nothing is taken from what a function printed.
"""

import base64
import binascii
import io
import zlib
from typing import Final, Literal, Protocol

from configs.base import Model
from configs.block import BlockSpec
from tasks.venues.wire import BlockOutcome, WireError, receive, send

MOST_EVENT_BYTES: Final = 6 * 1024**2
"""What an invocation that waits for its answer takes (AWS Lambda Developer Guide, quotas)."""
MOST_INLINE_BYTES: Final = 4_000_000
"""Encoded samples up to this size are in the answer, of which Lambda lets 6 MB pass."""
LONGEST_WAIT_S: Final = 120.0
"""The farthest that a common start may lie ahead of a function's clock: else one of the two is wrong."""


class LambdaContext(Protocol):
    """What Lambda tells a handler of its invocation."""

    function_name: str
    function_version: str
    memory_limit_in_mb: int | str
    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Until Lambda ends the invocation, in milliseconds."""


class AnswerPlace(Model):
    """Where samples go that are too large for an answer."""

    bucket: str
    key: str
    region: str | None
    endpoint_url: str | None


class BlockEvent(Model):
    """What a function is told: one block, or the part of one of several clients."""

    s3bench: Literal[1] = 1
    block: BlockSpec
    start_at_us: int | None = None
    """When all clients begin, by its own clock, in microseconds since 1970; None where it is the only one."""
    answer: AnswerPlace | None = None
    """None: there is no bucket for it."""
    timeout_s: float | None = None
    """How long the block may take; None for as long as the function may."""
    most_inline_bytes: int = MOST_INLINE_BYTES


class StoredSamples(Model):
    """Samples that lie in the bucket."""

    key: str
    size_bytes: int
    sha256: str


class BlockAnswer(Model):
    """What a function answers."""

    s3bench: Literal[1] = 1
    venue: dict[str, str]
    """Facts about the function, its environment and this invocation."""
    wire: str | None = None
    object: StoredSamples | None = None


def packed(outcome: BlockOutcome) -> bytes:
    """A block in the wire format, compressed."""
    stream = io.BytesIO()
    send(outcome, stream)
    return zlib.compress(stream.getbuffer())


def unpacked(payload: bytes) -> BlockOutcome:
    """Read what `packed` made.

    Raises:
        WireError: if it is not one whole block.
    """
    try:
        return receive(zlib.decompress(payload))
    except zlib.error as error:
        raise WireError(str(error)) from error


def as_text(payload: bytes) -> str:
    """Bytes as an answer holds them."""
    return base64.b64encode(payload).decode()


def from_text(text: str) -> bytes:
    """Read what `as_text` made.

    Raises:
        WireError: if it is something else.
    """
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise WireError(str(error)) from error
