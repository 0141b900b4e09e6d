"""Samples in columns: what a block measured, held in typed arrays so that a million of them stay small.

One row is one timed operation. Standard library only: the same file records inside AWS Lambda.
Rejected: a list of objects per sample (about 400 bytes each, so that one million would not fit a
small function's memory).
"""

from array import array
from dataclasses import dataclass, field
from typing import Final

NULL: Final = -(2**63)
"""Stands for "did not happen" in an integer column; it becomes null in Parquet."""

STAGES: Final = (
    "connect_ns",
    "tls_ns",
    "session_ns",
    "ttfb_ns",
    "list_ns",
    "read_ns",
    "gunzip_ns",
    "parse_ns",
    "user_ns",
    "system_ns",
    "total_ns",
    "response_ns",
)
"""The timed stages, in the order in which they happen; `total_ns` is the whole operation.

`response_ns` runs from the moment at which an operation should have begun to its end, in an open loop alone.
`user_ns` and `system_ns` are processor time of a client's own process, which runs beside the other stages.
"""

INTEGER_COLUMNS: Final = (
    "worker",
    "seq",
    "started_us",
    "intended_us",
    "size_bytes",
    "http_status",
    "retries",
    "files",
    "records",
    *STAGES,
)
"""The integer columns of a sample: counts, bytes, epoch microseconds and nanoseconds."""

OPERATIONS: Final = (
    "read",
    "write",
    "scan",
    "scan_file",
    "first_read",
    "upload",
    "download",
    "upload_tree",
    "download_tree",
    "start_up",
    "sync_lag",
)
"""What was timed."""

BESIDES: Final = frozenset({"scan_file", "start_up"})
"""Operations that tell more of another one of their cell, and are never compared on their own.

`scan_file` is one file of a staged scan, whose whole is a `scan`; `start_up` is a client's process that
moves nothing.
"""

_OF_EVERY_OPERATION: Final = (
    "worker",
    "seq",
    "started_us",
    "size_bytes",
    "http_status",
    "retries",
    "total_ns",
)

_OF_SCANS: Final = (
    *_OF_EVERY_OPERATION,
    "files",
    "records",
    "list_ns",
    "read_ns",
    "gunzip_ns",
    "parse_ns",
)

COLUMNS_OF: Final = {
    **dict.fromkeys(OPERATIONS, _OF_EVERY_OPERATION),
    "scan": _OF_SCANS,
    "scan_file": _OF_SCANS,
}
"""The columns that an operation has from the start; `SampleColumns.put` adds others when they are filled."""


TIMED_OUT: Final = "TimedOut"
"""The kind of the failure of an operation that had not ended when its block was stopped."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an operation gave no good result."""

    error: str
    """The kind, short and stable: an exception's name, or a service's error code."""
    message: str
    http_status: int = NULL
    retries: int = NULL


@dataclass(slots=True)
class SampleColumns:
    """All samples of one block; row i of every column is one sample.

    `object_key` and `operation` are small indices: into `keys` (−1: none) and `OPERATIONS`.
    `failures` holds what went wrong by row; a row without an entry succeeded. A column that no operation
    of the block has filled is not in `integers`: it is null in every row.
    """

    integers: dict[str, "array[int]"] = field(default_factory=dict)
    operation: "array[int]" = field(default_factory=lambda: array("b"))
    warmup: "array[int]" = field(default_factory=lambda: array("b"))
    object_key: "array[int]" = field(default_factory=lambda: array("i"))
    keys: list[str] = field(default_factory=list)
    failures: dict[int, Failure] = field(default_factory=dict)
    parts: "list[SampleColumns]" = field(default_factory=list)
    """Of threads that measure at this moment; theirs are not here yet."""
    under_way: tuple[int, int] | None = None
    """The row whose operation has begun and is not verified yet, and the reading of the clock before it."""
    to_look_up: bool = False
    """Whether what was written here is looked up later: until then nobody knows that it arrived."""

    def __len__(self) -> int:
        return len(self.operation)

    def grow(self, rows: int, operation: str, worker: int = 0) -> int:
        """Append `rows` empty rows of one worker and return the index of the first.

        Rows are made before the clock starts, so that no array is ever enlarged between two readings.
        """
        first = len(self)
        for name in COLUMNS_OF[operation]:
            if name not in self.integers:
                self.integers[name] = array("q", [NULL]) * first
        empty = array("q", [NULL]) * rows
        for name, column in self.integers.items():
            column.extend(array("q", [worker]) * rows if name == "worker" else empty)
        self.operation.extend(array("b", [OPERATIONS.index(operation)]) * rows)
        self.warmup.extend(array("b", [0]) * rows)
        self.object_key.extend(array("i", [-1]) * rows)
        return first

    def put(self, row: int, name: str, value: int) -> None:
        """Fill in one of `INTEGER_COLUMNS`; a column that most blocks lack is made when first needed."""
        if name not in self.integers:
            self.integers[name] = array("q", [NULL]) * len(self)
        self.integers[name][row] = value

    def fail(self, row: int, failure: Failure) -> None:
        """Mark a row as an error; what is already known of it stays."""
        self.failures[row] = failure
        if failure.http_status != NULL:
            self.integers["http_status"][row] = failure.http_status
        if failure.retries != NULL:
            self.integers["retries"][row] = failure.retries

    def key_index(self, key: str) -> int:
        """The index under which `key` is recorded; a new one is appended to `keys`."""
        self.keys.append(key)
        return len(self.keys) - 1

    def extend(self, other: "SampleColumns") -> None:
        """Append another block's rows, as of another thread that measured at the same time."""
        rows, keys = len(self), len(self.keys)
        for name in self.integers.keys() | other.integers.keys():
            column = self.integers.setdefault(name, array("q", [NULL]) * rows)
            column.extend(other.integers.get(name) or array("q", [NULL]) * len(other))
        self.operation.extend(other.operation)
        self.warmup.extend(other.warmup)
        self.object_key.extend(array("i", [key if key < 0 else keys + key for key in other.object_key]))
        self.keys += other.keys
        self.failures |= {rows + row: failure for row, failure in other.failures.items()}

    def give_up(self, now_us: int, now_ns: int) -> int:
        """Make failures of what is under way, and of what nobody has verified, and forget the rest.

        Whoever measures may hang in an operation for ever: another thread calls this, once, and sends the
        samples. An operation that has not ended has the time that it has taken so far.

        Args:
            now_us: microseconds since 1970, as in `started_us`.
            now_ns: the reading of the loop's clock.

        Returns:
            How many operations had not ended.
        """
        hung = sum(part.give_up(now_us, now_ns) for part in self.parts)
        for part in self.parts:
            self.extend(part)
        self.parts.clear()
        under_way, self.under_way = self.under_way, None
        if under_way is not None:
            hung += self._give_up_row(*under_way, now_us, now_ns)
        self.drop_unmeasured()
        if self.to_look_up:
            unseen = Failure("NotVerified", "the block was stopped before what it wrote was looked up")
            for row in range(len(self)):
                self.failures.setdefault(row, unseen)
        return hung

    def _give_up_row(self, row: int, begun_ns: int, now_us: int, now_ns: int) -> bool:
        """Whether its operation had not ended."""
        if self.integers["total_ns"][row] != NULL:
            self.fail(row, Failure("NotVerified", "the block was stopped while its result was verified"))
            return False
        elapsed_ns = now_ns - begun_ns
        self.integers["started_us"][row] = now_us - elapsed_ns // 1000
        self.integers["total_ns"][row] = elapsed_ns
        message = f"it had not ended after {elapsed_ns / 1e9:.1f} s, when the block was stopped"
        self.fail(row, Failure(TIMED_OUT, message))
        return True

    def drop_unmeasured(self) -> None:
        """Forget the rows that were made and never reached, as after a block that broke off."""
        total_ns = self.integers.get("total_ns", array("q"))
        kept = [row for row in range(len(self)) if total_ns[row] != NULL]
        place = {row: index for index, row in enumerate(kept)}
        for name, column in self.integers.items():
            self.integers[name] = array(column.typecode, [column[row] for row in kept])
        self.operation = array("b", [self.operation[row] for row in kept])
        self.warmup = array("b", [self.warmup[row] for row in kept])
        self.object_key = array("i", [self.object_key[row] for row in kept])
        self.failures = {place[row]: failure for row, failure in self.failures.items() if row in place}
