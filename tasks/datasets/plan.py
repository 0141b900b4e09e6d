"""What a dataset is going to consist of: names, and for each a function that makes its bytes when asked.

A plan is cheap to make and says everything that decides whether the prepared dataset still fits; its
bytes are made only where something has to be uploaded, a few objects at a time. Rejected: iterating over
finished payloads, which would make copying from S3 and uploading wait for each other.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from configs.datasets import DatasetConfig
from configs.manifest import LeftOut

FINGERPRINT_VERSION: Final = 1
"""To be raised when the same configuration comes to give other objects: old datasets are prepared again."""


class LeftOutError(Exception):
    """A source object that is no whole CloudTrail log; its text is the reason, the same for all of a kind."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The bytes of one object, and the CloudTrail records inside (None for blobs)."""

    body: bytes
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One object to be made: its key below the dataset's prefix, and what makes it.

    `make` raises LeftOutError where the source's bytes are no whole log; the object is then left out.
    `origin` names the source object in messages; for made-up data it is the name itself.
    """

    name: str
    origin: str
    make: Callable[[], Payload]


@dataclass(frozen=True, slots=True)
class Rejection:
    """One source object that is left out, and why."""

    reason: str
    origin: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A dataset before it is made.

    `largest_bytes` is about the size of the largest object, for limiting how many are held in memory.
    """

    source: str
    """What the objects come from, for messages."""
    fingerprint: str
    seed: int | None
    items: tuple[Item, ...]
    largest_bytes: int
    rejections: tuple[Rejection, ...] = ()


def fingerprint_of(config: DatasetConfig, listing: Iterable[Mapping[str, str | int]] = ()) -> str:
    """SHA-256, in hexadecimal digits, of the configuration and of the source's listing."""
    digest = hashlib.sha256(f"{FINGERPRINT_VERSION}\n{config.model_dump_json()}\n".encode())
    for entry in listing:
        digest.update(json.dumps(entry, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def tally(rejections: Iterable[Rejection]) -> tuple[LeftOut, ...]:
    """Count rejections by reason, in the order of the reasons, each with the first name as its example."""
    ordered = sorted(rejections, key=lambda rejection: (rejection.reason, rejection.origin))
    counted = []
    for reason, group in groupby(ordered, key=lambda rejection: rejection.reason):
        origins = [rejection.origin for rejection in group]
        # A file name on Linux may be any bytes, a manifest is UTF-8.
        example = origins[0].encode("utf-8", "backslashreplace").decode()
        counted.append(LeftOut(reason=reason, count=len(origins), example=example))
    return tuple(counted)


def in_words(left_out: Iterable[LeftOut]) -> str:
    """Left-out objects as one line: `2 × empty (0 bytes), such as a/b; 1 × …`, or `nothing at all`."""
    parts = [f"{item.count} × {item.reason}, such as {item.example}" for item in left_out]
    return "; ".join(parts) or "nothing at all"
