"""What a cell costs, and from how many operations on another kind of storage is cheaper than S3 Standard.

Of two bills for a month the one has the dearer storage and the cheaper requests, so that it depends on how
often each object is read or written which is less. They are compared exactly, in fractions of a dollar.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Final, Literal

from tasks.stats import s3_files
from tasks.stats.cost import BYTES_PER_GB, RequestCounts, Tariff, estimate, in_short, total

Direction = Literal["read", "write"]
Kind = Literal["S3 Express One Zone", "S3 Files"]

KINDS: Final[tuple[Kind, ...]] = ("S3 Express One Zone", "S3 Files")
_EXACT: Final = Context(prec=100)
"""Bytes by 2³⁰ have up to thirty decimals."""


@dataclass(frozen=True, slots=True)
class CellCost:
    """What a cell of a run asked for at the least, and what that costs by the price list.

    The columns of the table of costs. None: not known, for the reason in `unknown`.
    """

    config_id: str
    workload_id: str
    operations: int
    """Warm-ups included."""
    put_requests: int | None
    get_requests: int | None
    list_requests: int | None
    head_requests: int | None
    sent_bytes: int | None
    received_bytes: int | None
    usd: float | None
    """Of the whole cell, with what is asked before and after its operations."""
    usd_per_million_operations: float | None
    """Of the operations alone."""
    usd_per_gb: float | None
    """By 2³⁰ bytes that the operations alone moved; None too where they move none."""
    usd_per_gb_month: float | None
    """Of keeping data of this size where the cell finds or leaves it."""
    unknown: tuple[str, ...] = ()
    """What is not in the sums, in words without a semicolon."""
    prices_as_of: str | None = None
    """The date of the oldest price in it."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What an object costs somewhere."""

    operation_usd: Decimal
    """Each time that it is read or written whole."""
    month_usd: Decimal
    """While it lies there for a month."""
    size_bytes: int

    @property
    def usd_per_million(self) -> Decimal:
        """Of operations."""
        return self.operation_usd * 10**6

    @property
    def usd_per_gb_month(self) -> Decimal:
        """Of 2³⁰ bytes in objects of this size."""
        return self.month_usd * BYTES_PER_GB / self.size_bytes

    def of_month(self, operations: int) -> Fraction:
        """The whole bill for one object in a month with so many operations, exactly."""
        return Fraction(self.month_usd) + operations * Fraction(self.operation_usd)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """S3 Standard against another kind of storage in the same region, for objects of one size."""

    kind: Kind
    region: str
    direction: Direction
    size_bytes: int
    standard: Bill
    other: Bill
    unknown: tuple[str, ...]
    """Sentences; with one nothing can be said."""

    @property
    def is_known(self) -> bool:
        """Whether all prices are."""
        return not self.unknown

    @property
    def operations_per_month(self) -> int | None:
        """The fewest for each object with which the other is cheaper; None where no number is enough."""
        return self._fewest(1)

    @property
    def operations_per_gb_month(self) -> int | None:
        """The same for all objects of one GB together."""
        return self._fewest(Fraction(BYTES_PER_GB, self.size_bytes))

    def _fewest(self, objects: int | Fraction) -> int | None:
        dearer_month = Fraction(self.other.month_usd) - Fraction(self.standard.month_usd)
        saved = Fraction(self.standard.operation_usd) - Fraction(self.other.operation_usd)
        if not self.is_known or saved <= 0:
            return None
        return max(0, dearer_month * objects // saved + 1)


def break_evens(region: str, uses: Iterable[tuple[Direction, int]]) -> tuple[BreakEven, ...]:
    """Every other kind of storage against S3 Standard, for every use.

    Left out: transfer, sessions, listings, the parts of large uploads, and that an S3 Files mount must first
    copy what it is to serve. Of writes each is taken to reach the bucket, and the object to lie there
    all the month.

    Args:
        region: the region of both.
        uses: how objects of which size are used; a size of 0 has no bill, and is passed over.
    """
    return tuple(
        _break_even(kind, region, direction, size_bytes)
        for direction, size_bytes in uses
        for kind in KINDS
        if size_bytes
    )


def _break_even(kind: Kind, region: str, direction: Direction, size_bytes: int) -> BreakEven:
    with localcontext(_EXACT):
        standard, unknown = _bill(Tariff(region), _operation(direction, size_bytes), size_bytes, 0)
        if kind == "S3 Files":
            tariff, operation = Tariff(region, files=True), _file_operation(direction, size_bytes)
            # What is written stays on the file system for a month at least, whatever its size.
            stays = direction == "write" or s3_files.lies_there(size_bytes)
            there_bytes = s3_files.stored_bytes(size_bytes) if stays else 0
        else:
            tariff, operation = Tariff(region, "express_one_zone"), _operation(direction, size_bytes)
            there_bytes = 0
        other, others_unknown = _bill(tariff, operation, size_bytes, there_bytes)
    missing = in_short(dict.fromkeys((*unknown, *others_unknown)))
    return BreakEven(kind, region, direction, size_bytes, standard, other, missing)


def _bill(
    tariff: Tariff, operation: RequestCounts, size_bytes: int, file_stored_bytes: int
) -> tuple[Bill, tuple[str, ...]]:
    each = estimate(operation, tariff)
    stored = RequestCounts(stored_bytes=size_bytes, file_stored_bytes=file_stored_bytes)
    month = estimate(stored, tariff)
    return Bill(each.usd, month.usd, size_bytes), total((each, month)).unknown


def _operation(direction: Direction, size_bytes: int) -> RequestCounts:
    if direction == "read":
        return RequestCounts(get=1, received_bytes=size_bytes)
    return RequestCounts(put=1, sent_bytes=size_bytes)


def _file_operation(direction: Direction, size_bytes: int) -> RequestCounts:
    return s3_files.reads(1, size_bytes) if direction == "read" else s3_files.writes(1, size_bytes)
