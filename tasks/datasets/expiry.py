"""Finds the datasets in a bucket that nothing uses any more, and removes them if that is wanted.

A dataset is ours where its manifest says so. Removing it deletes the objects that the manifest names, each
only while it has the size that it was written with, and the manifest last, so that one that was cut off is
gone on with the next time. Nothing else is deleted, not even below the dataset's own prefix. Copied logs are
never removed: nobody can make them again where their source is gone.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from pydantic import ValidationError

from configs.errors import UserError
from configs.manifest import Manifest
from configs.suite import Suite
from configs.targets import DIRECTORY_BUCKET_PATTERN
from tasks.access import bucket_io

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MANIFEST: Final = ".manifest.json"


@dataclass(frozen=True, slots=True)
class FoundDataset:
    """What lies in a bucket where a dataset would."""

    bucket: str
    name: str
    prefix: str
    """Of its objects, ending in a slash."""
    listed: Mapping[str, int] = field(default_factory=dict)
    """The size in bytes of everything below the prefix, by its whole key."""
    prepared_at: datetime | None = None
    """When its manifest was written; none where there is no manifest."""
    is_used: bool = False
    """Whether the suite reads it, so that nothing else is asked."""

    @property
    def address(self) -> str:
        """Where it lies, for people."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def manifest_key(self) -> str:
        """The key of its manifest."""
        return f"{self.prefix.removesuffix('/')}{_MANIFEST}"


@dataclass(frozen=True, slots=True)
class DatasetOutcome:
    """What was found of a dataset, and what was done with it."""

    address: str
    action: Literal["kept", "listed", "removed", "left", "failed"]
    """`listed`: nothing uses it; `left`: it is not plainly ours; `failed`: the bucket refused something."""
    reason: str
    objects: int
    """Below its prefix; of one that was removed, those that are gone."""
    size_bytes: int
    """Of the same."""


def bucket_ids_of_places(suite: Suite, bucket_ids: Collection[str]) -> list[str]:
    """One bucket target for each place in which datasets lie."""
    first = {_place_of(suite, bucket_id): bucket_id for bucket_id in sorted(bucket_ids, reverse=True)}
    return sorted(first.values())


def used_datasets(suite: Suite, bucket_id: str) -> frozenset[str]:
    """The names of the datasets that the cells of a suite read where a bucket target has its own."""
    place = _place_of(suite, bucket_id)
    return frozenset(name for other, name in suite.datasets_by_bucket() if _place_of(suite, other) == place)


def _place_of(suite: Suite, bucket_id: str) -> tuple[str, str]:
    """A bucket and our prefix in it: the same by whatever endpoint a target reaches them."""
    target = suite.bucket(bucket_id)
    return target.bucket, target.prefix


def find_datasets(
    client: "S3Client", bucket: str, prefix: str, used: Collection[str]
) -> tuple[FoundDataset, ...]:
    """Everything that lies where datasets do: below `<prefix>/datasets/`.

    Args:
        client: a control client.
        bucket: the bucket's name.
        prefix: the target's prefix, without a trailing slash.
        used: the names of the datasets that the suite reads there.

    Raises:
        UserError: if the bucket cannot be listed.
    """
    area = f"{prefix}/datasets/"
    listed: dict[str, dict[str, int]] = {}
    prepared: dict[str, datetime] = {}
    for entry in bucket_io.objects_below(client, bucket, area):
        name, slash, _ = entry["Key"].removeprefix(area).partition("/")
        if slash:
            listed.setdefault(name, {})[entry["Key"]] = entry["Size"]
        elif name.endswith(_MANIFEST):
            prepared[name.removesuffix(_MANIFEST)] = entry["LastModified"]
    return tuple(
        FoundDataset(
            bucket, name, f"{area}{name}/", listed.get(name, {}), prepared.get(name), is_used=name in used
        )
        for name in sorted(listed.keys() | prepared.keys())
    )


def tend_dataset(
    client: "S3Client",
    dataset: FoundDataset,
    *,
    last_read: Callable[[str, str], datetime | None],
    unused_since: datetime,
    remove: bool,
) -> DatasetOutcome:
    """Keep a dataset that is used, and list or remove one that is not; copies are only listed.

    Args:
        client: a control client of its bucket.
        dataset: as `find_datasets` found it.
        last_read: when a dataset, by its name and its prefix, was last read; None where nobody can tell.
            The age of its manifest counts as well.
        unused_since: one that was read or prepared after this is kept.
        remove: whether to remove it.

    Raises:
        UserError: if the bucket refuses something.
    """
    if dataset.is_used:
        return _outcome(dataset, "kept", "the suite uses it")
    if dataset.prepared_at is None:
        return _outcome(dataset, "left", "has no manifest of ours: it is being prepared, or was cut off then")
    manifest, problem = _manifest_of(client, dataset)
    if manifest is None:
        return _outcome(dataset, "left", problem)
    if kept_for := _why_kept(dataset.prepared_at, last_read(dataset.name, dataset.prefix), unused_since):
        return _outcome(dataset, "kept", kept_for)
    why = (
        f"prepared on {dataset.prepared_at:%Y-%m-%d}, and no run is known to have read it since "
        f"{unused_since:%Y-%m-%d}"
    )
    if manifest.is_copied:
        why = f"{why}; it is a copy whose source may be gone, and is never removed: delete it yourself"
    elif remove:
        return _removed(client, dataset, manifest, why)
    return _outcome(dataset, "listed", why)


def _why_kept(prepared_at: datetime, read_at: datetime | None, unused_since: datetime) -> str:
    """What a dataset was used for lately; empty where it was not."""
    if read_at is not None and read_at > unused_since:
        return f"a run read it on {read_at:%Y-%m-%d}"
    return f"was prepared on {prepared_at:%Y-%m-%d}" if prepared_at > unused_since else ""


def _outcome(dataset: FoundDataset, action: Literal["kept", "listed", "left"], reason: str) -> DatasetOutcome:
    return DatasetOutcome(dataset.address, action, reason, len(dataset.listed), sum(dataset.listed.values()))


def _manifest_of(client: "S3Client", dataset: FoundDataset) -> tuple[Manifest | None, str]:
    """The manifest of a dataset that is plainly ours; else none, and why it is not."""
    stored = bucket_io.get_if_there(client, dataset.bucket, dataset.manifest_key)
    try:
        manifest = Manifest.model_validate_json(stored or b"")
    except ValidationError:
        return None, "its manifest is gone, damaged, or not of this version"
    if (manifest.dataset, manifest.prefix) != (dataset.name, dataset.prefix):
        return None, f"its manifest is that of {manifest.prefix}"
    return manifest, ""


def _removed(client: "S3Client", dataset: FoundDataset, manifest: Manifest, why: str) -> DatasetOutcome:
    """Delete what the manifest names, then the manifest."""
    bucket, listed = dataset.bucket, dataset.listed
    ours = {item.key: item.size_bytes for item in manifest.objects}
    gone = [key for key, size_bytes in ours.items() if listed.get(key) == size_bytes]
    bucket_io.delete(client, bucket, gone)
    # Keys that are not listed may have been deleted by a removal that was cut off.
    unseen = _forget_versions(client, bucket, dataset.prefix, {*gone, *(ours.keys() - listed.keys())})
    bucket_io.delete(client, bucket, [dataset.manifest_key])
    unseen = _forget_versions(client, bucket, dataset.manifest_key, {dataset.manifest_key}) or unseen
    others = len(listed) - len(gone)
    left = f"{others} object{'' if others == 1 else 's'} below it that it did not hold so stayed"
    reason = "; ".join(filter(None, (why, left if others else "", unseen)))
    return DatasetOutcome(dataset.address, "removed", reason, len(gone), sum(ours[key] for key in gone))


def _forget_versions(client: "S3Client", bucket: str, prefix: str, keys: Collection[str]) -> str:
    """Delete what a bucket with versioning keeps of deleted keys; say what hinders it.

    Directory buckets have no versions, and know no such request.
    """
    if re.match(DIRECTORY_BUCKET_PATTERN, bucket):
        return ""
    try:
        if bucket_io.keeps_versions(client, bucket):
            bucket_io.delete_versions_below(client, bucket, prefix, only=keys)
    except UserError as error:
        return f"older versions may be left, and billed: {error}"
    return ""
