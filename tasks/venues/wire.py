"""The format in which a measured block travels from where it ran to where it is stored.

    8 bytes   length of the header, little endian
    header    JSON: how the block ended, what ran, what measuring cost, which columns follow
    columns   the arrays' bytes, one after another, in the header's order

Of a column in which nothing happened only the name is sent. Samples never pass through text, so nothing is
rounded and nothing is taken from what a client printed.

Where several clients measure one block, each process has a channel more: over it goes that it is ready, and
back comes one line, a `StartSignal`; then that its operations have ended, and back comes an empty line once
those of all have.
"""

import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal

from pydantic import Field

from configs.base import Model
from configs.redaction import redacted
from tasks.kernel.environment import Machine
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import INTEGER_COLUMNS, NULL, Failure, SampleColumns

_LENGTH_BYTES = 8


class WireError(Exception):
    """What arrived is not a whole block."""


@dataclass(frozen=True, slots=True)
class BlockCost:
    """What measuring cost in one block."""

    timer_resolution_ns: int
    timed_nothing_ns: int
    loop: LoopCost


@dataclass(frozen=True, slots=True)
class BlockOutcome:
    """How a block ended. Samples may be there even if it failed: what was measured is kept.

    Its words hold no secret, whoever said them: a server, a program, a function, a process that died.
    """

    status: Literal["measured", "skipped", "failed"]
    samples: SampleColumns
    reason: str = ""
    proof: dict[str, str] | None = None
    cache_state: str = ""
    machine: Machine | None = None
    cost: BlockCost | None = None

    def __post_init__(self) -> None:
        """Take secrets out of what is told."""
        object.__setattr__(self, "reason", redacted(self.reason))
        if self.proof is not None:
            proof = {name: redacted(value) for name, value in self.proof.items()}
            object.__setattr__(self, "proof", proof)


READY: Final = b"+"
"""What a process says when it is connected, warmed up, and waits for the common start."""
ENDED: Final = b"-"
"""What it says when its operations have ended, and it waits with its clean-up."""


GIVEN_UP: Final = "not all clients came to the common start"
"""What clients that were ready are told where another one was not."""


class StartSignal(Model):
    """What a process is told that waits for the common start."""

    start_us: int = 0
    """The moment of the common start on the wall clock of its host, in microseconds since 1970."""
    why_not: str = ""
    """Why there is no start; empty where there is one."""


class _Column(Model):
    name: str
    typecode: Literal["b", "i", "q"]
    size_bytes: int


class _Header(Model):
    wire_version: Literal[1] = 1
    byteorder: Literal["little", "big"]
    rows: int
    status: Literal["measured", "skipped", "failed"]
    reason: str
    proof: dict[str, str] | None
    cache_state: str
    machine: Machine | None
    cost: BlockCost | None
    keys: list[str]
    failures: dict[int, Failure]
    columns: list[_Column] = Field(default_factory=list)


def send(outcome: BlockOutcome, stream: BinaryIO) -> None:
    """Write a block to a stream; column by column, so that no second copy of the samples is made."""
    samples = outcome.samples
    columns = list(_columns_to_send(samples))
    header = _Header(
        byteorder=sys.byteorder,
        rows=len(samples),
        status=outcome.status,
        reason=outcome.reason,
        proof=outcome.proof,
        cache_state=outcome.cache_state,
        machine=outcome.machine,
        cost=outcome.cost,
        keys=samples.keys,
        failures=samples.failures,
        columns=[
            _Column.model_validate(
                {"name": name, "typecode": column.typecode, "size_bytes": len(column) * column.itemsize}
            )
            for name, column in columns
        ],
    )
    encoded = header.model_dump_json().encode()
    stream.write(len(encoded).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(encoded)
    stream.writelines(memoryview(column) for _, column in columns)
    stream.flush()


def receive(payload: bytes) -> BlockOutcome:
    """Read a block from the bytes that `send` wrote.

    Raises:
        WireError: if they are not one whole block, as after the death of the process that sent it.
    """
    length = int.from_bytes(payload[:_LENGTH_BYTES], "little")
    end = _LENGTH_BYTES + length
    if len(payload) <= _LENGTH_BYTES or end > len(payload):
        message = f"a block of {len(payload)} bytes arrived, which is less than its header"
        raise WireError(message)
    header = _Header.model_validate_json(payload[_LENGTH_BYTES:end])
    samples = SampleColumns(keys=header.keys, failures=header.failures)
    rest = memoryview(payload)[end:]
    if len(rest) != sum(column.size_bytes for column in header.columns):
        message = f"a block's columns arrived with {len(rest)} bytes, which is not what its header says"
        raise WireError(message)
    for column in header.columns:
        values: array[int] = array(column.typecode)
        values.frombytes(rest[: column.size_bytes])
        if header.byteorder != sys.byteorder:
            values.byteswap()
        _put(samples, column.name, values)
        rest = rest[column.size_bytes :]
    for column in header.columns:
        if column.typecode == "q" and not samples.integers[column.name] and header.rows:
            del samples.integers[column.name]  # null in every row, which a missing column says as well
    return BlockOutcome(
        status=header.status,
        samples=samples,
        reason=header.reason,
        proof=header.proof,
        cache_state=header.cache_state,
        machine=header.machine,
        cost=header.cost,
    )


def _columns_to_send(samples: SampleColumns) -> Iterator[tuple[str, "array[int]"]]:
    nothing: array[int] = array("q")
    for name, column in samples.integers.items():
        yield name, nothing if column.count(NULL) == len(column) else column
    for name in ("operation", "warmup", "object_key"):
        yield name, getattr(samples, name)


def _put(samples: SampleColumns, name: str, values: "array[int]") -> None:
    if name in INTEGER_COLUMNS:
        samples.integers[name] = values
    else:
        setattr(samples, name, values)
