"""From how many operations on other storage is cheaper: held against the sums of two whole bills."""

from decimal import Decimal
from fractions import Fraction

import pytest

from tasks.stats import s3_files
from tasks.stats.cell_cost import BreakEven, Direction, break_evens
from tasks.stats.cost import RequestCounts, Tariff, estimate

GB = 2**30
KIB = 1024
SIZES = (
    1,
    1400,
    14_312,
    64 * KIB,
    100_000,
    600_000,
    645 * KIB,
    648 * KIB,
    1024 * KIB,
    1300 * KIB,
    16 * 2**20,
)
"""On both sides of where Express begins to cost more for a read (647 KiB) and for a write (1,268 KiB)."""


def found(direction: Direction, size_bytes: int, kind: str, region: str = "us-east-1") -> BreakEven:
    (one,) = [one for one in break_evens(region, [(direction, size_bytes)]) if one.kind == kind]
    return one


def month(tariff: Tariff, operations: int, of_one: RequestCounts, stored: RequestCounts) -> Fraction:
    """A month's bill for one object, from nothing but the price list."""
    return Fraction(estimate(of_one * operations + stored, tariff).usd)


def operation(direction: Direction, size_bytes: int) -> RequestCounts:
    if direction == "read":
        return RequestCounts(get=1, received_bytes=size_bytes)
    return RequestCounts(put=1, sent_bytes=size_bytes)


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("size_bytes", SIZES)
def test_express_is_cheaper_from_the_operation_on_with_which_its_whole_bill_is(
    direction: Direction, size_bytes: int
) -> None:
    one, stored = found(direction, size_bytes, "S3 Express One Zone"), RequestCounts(stored_bytes=size_bytes)
    of_one = operation(direction, size_bytes)

    def saved(operations: int) -> Fraction:
        standard = month(Tariff("us-east-1"), operations, of_one, stored)
        return standard - month(Tariff("us-east-1", "express_one_zone"), operations, of_one, stored)

    fewest = one.operations_per_month
    if fewest is None:
        assert all(saved(operations) <= 0 for operations in (0, 1, 10, 10**3, 10**6, 10**12))
    else:
        assert saved(fewest) > 0
        assert all(saved(operations) <= 0 for operations in {0, *range(max(0, fewest - 300), fewest)})


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("size_bytes", SIZES)
@pytest.mark.parametrize("region", ["us-east-1", "ap-northeast-1"])
def test_s3_files_is_never_cheaper_where_each_operation_reaches_the_bucket_or_the_file_system(
    direction: Direction, size_bytes: int, region: str
) -> None:
    one = found(direction, size_bytes, "S3 Files", region)
    assert one.is_known
    assert one.operations_per_month is None
    of_one = s3_files.reads(1, size_bytes) if direction == "read" else s3_files.writes(1, size_bytes)
    bucket, stored = Tariff(region), RequestCounts(stored_bytes=size_bytes)
    for operations in (1, 1000, 10**9):
        cheap = month(bucket, operations, operation(direction, size_bytes), stored)
        assert month(Tariff(region, files=True), operations, of_one, stored) > cheap


def test_sixteen_reads_of_64_kib_a_month_pay_for_the_dearer_storage_of_express() -> None:
    # Storage: 0.087 / 16,384 = 5.310e-6 more. A read: 4.0e-7 against 3.0e-8 + 0.0006 / 16,384 = 6.662e-8.
    one = found("read", 64 * KIB, "S3 Express One Zone")
    assert one.operations_per_month == 16  # 15.93
    assert one.operations_per_gb_month == 260_965  # 0.087 / 3.33379e-7
    assert one.standard.usd_per_million == Decimal("0.4")
    assert round(one.other.usd_per_million, 5) == Decimal("0.06662")
    assert (one.standard.usd_per_gb_month, one.other.usd_per_gb_month) == (Decimal("0.023"), Decimal("0.11"))


def test_two_writes_of_64_kib_a_month_pay_for_it() -> None:
    # A write: 5.0e-6 against 1.13e-6 + 0.0032 / 16,384 = 1.3253e-6.
    one = found("write", 64 * KIB, "S3 Express One Zone")
    assert one.operations_per_month == 2  # 1.445
    assert one.operations_per_gb_month == 23_676


def test_a_file_that_stays_in_the_bucket_costs_no_storage_on_the_file_system_until_it_is_written() -> None:
    read, written = (found(direction, 2**20, "S3 Files") for direction in ("read", "write"))
    assert read.other.usd_per_gb_month == Decimal("0.023")
    assert written.other.usd_per_gb_month == Decimal("0.323")


def test_small_files_on_the_file_system_are_stored_as_10_kib() -> None:
    one = found("read", 1024, "S3 Files")
    assert one.other.usd_per_gb_month == Decimal("0.023") + 10 * Decimal("0.30")


def test_without_a_price_nothing_is_said_but_which() -> None:
    one = found("read", 64 * KIB, "S3 Express One Zone", "ap-northeast-1")
    assert one.operations_per_month is None
    assert one.unknown == (
        "price unknown for region ap-northeast-1, S3 Express One Zone: GET and HEAD, retrieval, storage",
    )


def test_an_empty_object_has_no_bill() -> None:
    assert break_evens("us-east-1", [("read", 0)]) == ()
