"""What a run will cost: its requests and bytes by the prices of the data file beside this module.

A price that is not known stays unknown: the estimate says so, and is never filled with a guess.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from ruamel.yaml import YAML

_FILE: Final = Path(__file__).with_name("prices.yaml")
_BYTES_PER_GB: Final = 2**30  # as Amazon S3 bills

Usd = Annotated[Decimal, Field(ge=0)]


class Prices(BaseModel):
    """List prices of S3 Standard in one region, in US dollars; None is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    region: str
    put_per_1000: Usd | None
    """PUT, COPY, POST and LIST."""
    get_per_1000: Usd | None
    """GET, HEAD and all other requests but DELETE, which is free."""
    storage_per_gb_month: Usd | None
    source: str
    as_of: date
    confidence: Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests to Amazon S3, by kind, and the bytes that stay stored for a month."""

    put: int = 0
    get: int = 0
    list: int = 0
    head: int = 0
    delete: int = 0
    stored_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The known part of a cost in US dollars, and what is not known of it."""

    usd: Decimal
    unknown: tuple[str, ...]
    """Sentences; empty where `usd` is the whole."""


@lru_cache(maxsize=1)
def load_prices() -> tuple[Prices, ...]:
    """The price table that ships, one row per region."""
    rows = YAML(typ="safe").load(_FILE.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Prices, ...]).validate_python(rows)


def estimate(requests: RequestCounts, region: str) -> Estimate:
    """The list price of these requests in a region, and of keeping the stored bytes for one month.

    Data transfer is not in it: within a region it is free, out to the internet it is not.
    """
    prices = next((row for row in load_prices() if row.region == region), None)
    put, get, storage = (
        (None, None, None)
        if prices is None
        else (prices.put_per_1000, prices.get_per_1000, prices.storage_per_gb_month)
    )
    gb_stored = Decimal(requests.stored_bytes) / _BYTES_PER_GB
    parts = (
        ("PUT and LIST", Decimal(requests.put + requests.list) / 1000, put),
        ("GET and HEAD", Decimal(requests.get + requests.head) / 1000, get),
        ("storage", gb_stored, storage),
    )
    return Estimate(
        usd=sum((amount * price for _, amount, price in parts if price is not None), Decimal(0)),
        unknown=tuple(
            f"price unknown for region {region}: {what}"
            for what, amount, price in parts
            if amount and price is None
        ),
    )
