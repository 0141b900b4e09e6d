"""Generated CloudTrail logs: one day of one account and region, in the real key layout.

The sizes are fitted to experiment E1, about 380 gzipped bytes per record, by the mix of calls: what
counts there is how much of an event cannot be compressed (ids, session tokens). The events are the same for
a seed everywhere; the gzipped bytes also depend on the zlib that Python was built with, so that another
zlib may give sizes that differ by a few percent. A prepared dataset is therefore described by its own
manifest, and is not made again because another machine would compress it otherwise.
"""

import gzip
import io
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from configs.datasets import CloudTrailGenerated
from tasks.datasets.cloudtrail_calls import ACCOUNT, REGION
from tasks.datasets.cloudtrail_events import Cast, cast_of, event
from tasks.datasets.fake_values import Draw
from tasks.datasets.plan import Item, Payload, Plan, fingerprint_of

_DAY: Final = datetime(2026, 5, 1, tzinfo=UTC)
"""The day of the logs; experiment E1 was made in that month."""

_SLOT_MINUTES: Final = 5
_SLOTS_PER_DAY: Final = 24 * 60 // _SLOT_MINUTES
"""CloudTrail delivers about every five minutes, and at times several files at once."""

_WEIGHT_BITS: Final = (4, 12)
"""Files differ in records by up to 2⁸ and more: most hold a few, some hundreds, as in real logs."""

_BYTES_PER_RECORD: Final = 380
_GZIP_LEVEL: Final = 6


def plan_generated(config: CloudTrailGenerated) -> Plan:
    """Plan exactly `config.files` logs that hold exactly `config.records` records, at least one each."""
    draw = Draw(f"{config.seed}/files")
    cast = cast_of(config.seed)
    counts = _records_per_file(draw, config.files, config.records)
    items = []
    for index, records in enumerate(counts):
        slot = index * _SLOTS_PER_DAY // max(config.files, _SLOTS_PER_DAY)
        delivered_at = _DAY + timedelta(minutes=slot * _SLOT_MINUTES)
        name = _log_name(delivered_at, draw.alphanumeric(16))
        make = partial(_payload, f"{config.seed}/{index}", cast, delivered_at, records)
        items.append(Item(name, name, make))
    return Plan(
        source="generated events",
        fingerprint=fingerprint_of(config),
        seed=config.seed,
        items=tuple(items),
        largest_bytes=max(counts) * _BYTES_PER_RECORD,
    )


def _records_per_file(draw: Draw, files: int, records: int) -> list[int]:
    """Spread the records over the files in whole numbers, with a long tail and at least one each."""
    weights = [draw.long_tailed(*_WEIGHT_BITS) for _ in range(files)]
    spare, total = records - files, sum(weights)
    counts = [1 + spare * weight // total for weight in weights]
    for index in range(records - sum(counts)):  # what rounding down left over, less than one per file
        counts[index] += 1
    return counts


def _log_name(delivered_at: datetime, suffix: str) -> str:
    folder = f"AWSLogs/{ACCOUNT}/CloudTrail/{REGION}/{delivered_at:%Y/%m/%d}"
    return f"{folder}/{ACCOUNT}_CloudTrail_{REGION}_{delivered_at:%Y%m%dT%H%MZ}_{suffix}.json.gz"


def _payload(seed: str, cast: Cast, delivered_at: datetime, records: int) -> Payload:
    draw = Draw(seed)
    log = {"Records": [event(draw, cast, delivered_at) for _ in range(records)]}
    text = json.dumps(log, separators=(",", ":")).encode()
    packed = io.BytesIO()
    # GzipFile writes the header itself; gzip.compress leaves a byte of it to the platform.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=packed, mtime=0) as stream:
        stream.write(text)
    return Payload(packed.getvalue(), records)
