"""Real CloudTrail logs, copied unchanged from a folder or a bucket.

The source is listed at every preparation and read only where the listing or the configuration changed.
A log that is rewritten with the same size and the same time of modification (or ETag) is not noticed.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from configs.datasets import CloudTrailCopied
from tasks.datasets.cloudtrail_log import layout_of, records_in
from tasks.datasets.plan import (
    Item,
    LeftOutError,
    Payload,
    Plan,
    Rejection,
    fingerprint_of,
)
from tasks.datasets.sources import BucketSource, Source, SourceEntry, open_source

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def plan_copied(
    config: CloudTrailCopied, make_client: "Callable[[], S3Client]", *, own_bucket: str, own_area: str
) -> Plan:
    """List the source and choose its logs.

    What the benchmark itself has written below `own_area`, a prefix of `own_bucket`, is left out and not
    part of the fingerprint: where the source is the whole bucket, or a mount of it, every run would change
    it. A source inside of that area is taken as it is.

    Raises:
        UserError: the source does not exist or cannot be listed.
    """
    source = open_source(config.source, make_client)
    apart = isinstance(source, BucketSource) and (
        source.bucket != own_bucket or source.prefix.startswith(own_area)
    )
    listing = sorted(source.entries(), key=lambda entry: entry.key)
    entries = [entry for entry in listing if apart or not entry.key.startswith(own_area)]
    items, rejections = choose_logs(source, entries)
    ours = tuple(
        Rejection("written by this benchmark", entry.key)
        for entry in listing
        if not apart and entry.key.startswith(own_area)
    )
    return Plan(
        source=source.name,
        fingerprint=fingerprint_of(config, map(asdict, entries)),
        seed=None,
        items=items,
        largest_bytes=max((entry.size_bytes for entry in entries), default=0),
        rejections=(*rejections, *ours),
    )


def choose_logs(
    source: Source, entries: Iterable[SourceEntry]
) -> tuple[tuple[Item, ...], tuple[Rejection, ...]]:
    """Part a listing into the logs to be copied and the rest, with a reason for each of the rest.

    Where two entries have the same key from `AWSLogs/` on, the first in the listing's order is taken.
    """
    items: dict[str, Item] = {}
    rejections = []
    for entry in entries:
        try:
            name = _log_name(entry)
        except LeftOutError as reason:
            rejections.append(Rejection(str(reason), entry.key))
            continue
        if name in items:
            rejections.append(Rejection("second log of the same name", entry.key))
        else:
            items[name] = Item(name, entry.key, partial(_payload, source, entry))
    return tuple(items.values()), tuple(rejections)


def _log_name(entry: SourceEntry) -> str:
    if entry.problem:
        raise LeftOutError(entry.problem)
    name = layout_of(entry.layout_key)
    if entry.size_bytes == 0:
        raise LeftOutError("empty (0 bytes)")
    return name


def _payload(source: Source, entry: SourceEntry) -> Payload:
    body = source.read(entry)
    return Payload(body, records_in(body))
