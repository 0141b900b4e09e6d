"""What a run will cost: its requests and bytes by the prices of the data file beside this module.

A price that is not known stays unknown: the estimate says so, and is never filled with a guess.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from ruamel.yaml import YAML

_FILE: Final = Path(__file__).with_name("prices.yaml")
_NOT_FOUND: Final = "not found"
BYTES_PER_GB: Final = 2**30
"""As Amazon S3 bills."""

Usd = Annotated[Decimal, Field(ge=0)]
StorageClass = Literal["standard", "express_one_zone"]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    as_of: date
    confidence: Literal["high", "medium", "low"]


class StoragePrices(_Row):
    """List prices of one storage class in one region, in US dollars; None is unknown."""

    region: str
    storage_class: StorageClass
    put_per_1000: Usd | None
    """PUT, COPY, POST and LIST."""
    get_per_1000: Usd | None
    """GET, HEAD and all other requests but DELETE, which is free."""
    upload_per_gb: Usd | None
    retrieval_per_gb: Usd | None
    storage_per_gb_month: Usd | None


def _nothing_known(tariff: "Tariff") -> StoragePrices:
    """Standard takes no charge for bytes anywhere; all else differs from region to region."""
    free = Decimal(0) if tariff.storage_class == "standard" else None
    return StoragePrices(
        region=tariff.region,
        storage_class=tariff.storage_class,
        put_per_1000=None,
        get_per_1000=None,
        upload_per_gb=free,
        retrieval_per_gb=free,
        storage_per_gb_month=None,
        source=_NOT_FOUND,
        as_of=date.min,
        confidence="low",
    )


def _no_file_price_known(region: str) -> "FilePrices":
    return FilePrices(
        region=region,
        storage_per_gb_month=None,
        read_per_gb=None,
        write_per_gb=None,
        source=_NOT_FOUND,
        as_of=date.min,
        confidence="low",
    )


class AccelerationPrices(_Row):
    """What Transfer Acceleration adds for each GB, whatever the region."""

    in_per_gb: Usd
    out_per_gb: Usd


class FilePrices(_Row):
    """List prices of S3 Files in one region, besides those of its bucket; None is unknown."""

    region: str
    storage_per_gb_month: Usd | None
    """Of what lies on the file system itself."""
    read_per_gb: Usd | None
    write_per_gb: Usd | None


class FileMetering(_Row):
    """How S3 Files counts what is read, written and stored, whatever the region."""

    least_data_bytes: PositiveInt
    """Of one read or write of data."""
    metadata_bytes: PositiveInt
    """Of one read or write of metadata."""
    step_bytes: PositiveInt
    """Every size is rounded up to a multiple of it."""
    least_file_bytes: PositiveInt
    """Of a file that lies on the file system."""
    resident_below_bytes: PositiveInt
    """Only smaller files come to lie there by being read."""


class LambdaPrices(_Row):
    """List prices of running Lambda functions in one region, in US dollars."""

    region: str
    architecture: Literal["arm64", "x86_64"]
    per_gb_second: Usd
    """Of the memory that a function has, while it runs."""
    per_million_requests: Usd


class Prices(BaseModel):
    """The whole price table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    storage: tuple[StoragePrices, ...]
    acceleration: AccelerationPrices
    s3_files: tuple[FilePrices, ...]
    s3_files_metering: FileMetering
    lambda_functions: tuple[LambdaPrices, ...]

    def of(self, tariff: "Tariff") -> StoragePrices:
        """The row of a region and storage class; one of unknown prices where there is none."""
        wanted = (tariff.region, tariff.storage_class)
        rows = (row for row in self.storage if (row.region, row.storage_class) == wanted)
        return next(rows, _nothing_known(tariff))

    def of_files(self, region: str) -> FilePrices:
        """The row of S3 Files in a region; one of unknown prices where there is none."""
        rows = (row for row in self.s3_files if row.region == region)
        return next(rows, _no_file_price_known(region))

    def of_lambda(self, region: str, architecture: str) -> LambdaPrices | None:
        """The row of a region and architecture; None where there is none."""
        rows = (
            row for row in self.lambda_functions if (row.region, row.architecture) == (region, architecture)
        )
        return next(rows, None)

    def rows_of(self, tariff: "Tariff") -> dict[str, tuple[date | None, str]]:
        """Where the prices of a tariff are from: date and source by what they are of; None: not known."""
        standard = tariff.storage_class == "standard"
        where = tariff.region
        rows: dict[str, _Row] = {where if standard else f"{where}, S3 Express One Zone": self.of(tariff)}
        if tariff.accelerated:
            rows["Transfer Acceleration"] = self.acceleration
        if tariff.files:
            rows[f"{where}, S3 Files"] = self.of_files(where)
        return {
            name: (None if row.source == _NOT_FOUND else row.as_of, row.source) for name, row in rows.items()
        }

    def as_of(self, tariff: "Tariff") -> date | None:
        """The date of the oldest price that a tariff has; None where one of its rows is not there."""
        rows: list[_Row] = [self.of(tariff)]
        if tariff.accelerated:
            rows.append(self.acceleration)
        if tariff.files:
            rows += [self.of_files(tariff.region), self.s3_files_metering]
        oldest = min(row.as_of for row in rows)
        return None if oldest == date.min else oldest


@dataclass(frozen=True, slots=True)
class Tariff:
    """What decides the prices of a request."""

    region: str
    storage_class: StorageClass = "standard"
    accelerated: bool = False
    """Through Transfer Acceleration."""
    files: bool = False
    """Through an S3 Files mount, whose prices come on top of the bucket's."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests to Amazon S3, by kind, the bytes that they move, and those that stay stored for a month.

    Those of files are as S3 Files meters them (`tasks/stats/s3_files.py`): minimums and metadata are in them.
    """

    put: int = 0
    get: int = 0
    list: int = 0
    head: int = 0
    delete: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    stored_bytes: int = 0
    file_read_bytes: int = 0
    file_write_bytes: int = 0
    file_stored_bytes: int = 0

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        return RequestCounts(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        )

    def __mul__(self, times: int) -> "RequestCounts":
        return RequestCounts(**{each.name: times * getattr(self, each.name) for each in fields(self)})

    def __sub__(self, part: "RequestCounts") -> "RequestCounts":
        return self + part * -1


@dataclass(frozen=True, slots=True)
class Estimate:
    """The known part of a cost in US dollars, and what is not known of it."""

    usd: Decimal
    unknown: tuple[str, ...]
    """Sentences; empty where `usd` is the whole."""


@lru_cache(maxsize=1)
def load_prices() -> Prices:
    """The price table that ships."""
    return Prices.model_validate(YAML(typ="safe").load(_FILE.read_text(encoding="utf-8")))


def estimate(requests: RequestCounts, tariff: Tariff) -> Estimate:
    """The list price of these requests and bytes, and of keeping the stored bytes for one month.

    Ordinary data transfer is not in it: within a region it is free, out to the internet it is not.
    """
    parts = tuple(_parts(requests, tariff))
    return Estimate(
        usd=sum((amount * price for _, amount, price in parts if price is not None), Decimal(0)),
        unknown=tuple(
            f"price unknown for region {what}" for what, amount, price in parts if amount and price is None
        ),
    )


def total(estimates: Iterable[Estimate]) -> Estimate:
    """The sum of estimates; what several do not know is told once."""
    each = tuple(estimates)
    unknown = dict.fromkeys(what for one in each for what in one.unknown)
    return Estimate(sum((one.usd for one in each), Decimal(0)), tuple(unknown))


def in_short(unknown: Iterable[str]) -> tuple[str, ...]:
    """The unknown prices of one tariff, those of a region and service in one sentence."""
    parts: dict[str, list[str]] = {}
    for sentence in unknown:
        where, _, what = sentence.rpartition(": ")
        parts.setdefault(where, []).append(what)
    return tuple(f"{where}: {', '.join(whats)}" for where, whats in parts.items())


def _parts(requests: RequestCounts, tariff: Tariff) -> Iterator[tuple[str, Decimal, Decimal | None]]:
    """What is charged and where, how much of it there is, and its price; None where that is unknown."""
    table = load_prices()
    row = table.of(tariff)
    where = tariff.region if tariff.storage_class == "standard" else f"{tariff.region}, S3 Express One Zone"
    sent, received = _gb(requests.sent_bytes), _gb(requests.received_bytes)
    yield f"{where}: PUT and LIST", Decimal(requests.put + requests.list) / 1000, row.put_per_1000
    yield f"{where}: GET and HEAD", Decimal(requests.get + requests.head) / 1000, row.get_per_1000
    yield f"{where}: upload", sent, row.upload_per_gb
    yield f"{where}: retrieval", received, row.retrieval_per_gb
    yield f"{where}: storage", _gb(requests.stored_bytes), row.storage_per_gb_month
    if tariff.accelerated:
        yield f"{where}: acceleration in", sent, table.acceleration.in_per_gb
        yield f"{where}: acceleration out", received, table.acceleration.out_per_gb
    if tariff.files:
        files, where = table.of_files(tariff.region), f"{tariff.region}, S3 Files"
        yield f"{where}: reads", _gb(requests.file_read_bytes), files.read_per_gb
        yield f"{where}: writes", _gb(requests.file_write_bytes), files.write_per_gb
        yield f"{where}: storage", _gb(requests.file_stored_bytes), files.storage_per_gb_month


def _gb(size_bytes: int) -> Decimal:
    return Decimal(size_bytes) / BYTES_PER_GB
