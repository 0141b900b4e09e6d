"""Prepares a dataset in a bucket, once: a dataset that is already there and whole is only looked at.

Below a dataset's prefix lie its objects and nothing else, so that a plain listing of it is the dataset;
its manifest lies beside it. The order of steps makes any interruption harmless: the old manifest goes
before the first object changes, the new one comes after the last was found in a listing. Rejected: a
manifest among the objects, which every listing, mount and file count would then have to step around.
"""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from botocore.client import BaseClient
from pydantic import ValidationError

from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, DatasetConfig, FileTree
from configs.errors import UserError
from configs.manifest import DatasetObject, Manifest
from tasks.access import bucket_io
from tasks.datasets.blobs import plan_blobs
from tasks.datasets.cloudtrail_copied import plan_copied
from tasks.datasets.cloudtrail_generated import plan_generated
from tasks.datasets.file_tree import plan_tree
from tasks.datasets.plan import Item, LeftOutError, Plan, Rejection, in_words, tally

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MOST_WORKERS: Final = 8
"""Below the ten connections that a boto3 client keeps open."""

HELD_BYTES: Final = 128 * 1024**2
"""About how much object data is held at once; one object is held however large it is."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a dataset lies."""

    client: "S3Client"
    bucket: str
    area: str
    """Prefix of all that is ours, ending in a slash."""
    prefix: str
    """Prefix of the dataset's objects, ending in a slash."""
    manifest_key: str


def prepare_dataset(  # noqa: PLR0913  a place (client, bucket, prefix), a dataset (name, config), two helpers
    client: "S3Client",
    bucket: str,
    prefix: str,
    name: str,
    config: DatasetConfig,
    *,
    source_client: "Callable[[], S3Client] | S3Client",
    progress: Callable[[int, int], None] | None = None,
) -> Manifest:
    """Make sure that a dataset lies in a bucket as configured, and say what it consists of.

    Objects lie below `<prefix>/datasets/<name>/`, the manifest at `<prefix>/datasets/<name>.manifest.json`.
    Where the manifest's fingerprint fits and a listing shows its keys and sizes, nothing is written.
    Otherwise everything is written again, and whatever else lies below the dataset's prefix is deleted;
    nothing outside of it is touched. The manifest's objects are in the order of their keys.

    Args:
        client: Of the bucket. Its own retries are the only ones, so they should be bounded.
        bucket: An existing bucket.
        prefix: Below which everything of ours lies, without a slash at its end.
        name: Of the dataset, in the characters of `configs.base.Identifier`.
        config: What the dataset consists of.
        source_client: For copying from `s3://…`; where it is a function, it is called only then.
        progress: Is told the objects done and their total after each, in the calling thread.

    Raises:
        UserError: the source has no log or cannot be read, or the bucket refuses or loses something.
    """
    own_prefix = f"{prefix}/datasets/{name}"
    place = _Place(client, bucket, f"{prefix}/", f"{own_prefix}/", f"{own_prefix}.manifest.json")
    plan = _plan(config, place, source_client)
    return _whole_manifest(place, plan.fingerprint) or _prepare_again(name, place, plan, progress)


def _prepare_again(
    name: str, place: _Place, plan: Plan, progress: Callable[[int, int], None] | None
) -> Manifest:
    if not plan.items:
        raise _nothing_to_copy(plan, plan.rejections)
    bucket_io.delete(place.client, place.bucket, [place.manifest_key])
    objects, rejections = _upload(place, plan, progress)
    if not objects:
        raise _nothing_to_copy(plan, rejections)
    _settle(place, objects)
    manifest = Manifest(
        dataset=name,
        prefix=place.prefix,
        fingerprint=plan.fingerprint,
        seed=plan.seed,
        objects=objects,
        left_out=tally(rejections),
    )
    bucket_io.put(place.client, place.bucket, place.manifest_key, manifest.model_dump_json(indent=1).encode())
    return manifest


def _plan(
    config: DatasetConfig,
    place: _Place,
    source_client: "Callable[[], S3Client] | S3Client",
) -> Plan:
    match config:
        case Blobs():
            return plan_blobs(config)
        case CloudTrailGenerated():
            return plan_generated(config)
        case FileTree():
            return plan_tree(config)
        case CloudTrailCopied():
            return plan_copied(
                config,
                lambda: source_client if isinstance(source_client, BaseClient) else source_client(),
                own_bucket=place.bucket,
                own_area=place.area,
            )
    assert_never(config)


def _whole_manifest(place: _Place, fingerprint: str) -> Manifest | None:
    """The manifest of a dataset that is there, whole, and as configured; None where anything differs."""
    stored = bucket_io.get_if_there(place.client, place.bucket, place.manifest_key)
    if stored is None:
        return None
    try:
        manifest = Manifest.model_validate_json(stored)
    except ValidationError:  # damaged, or of another version of this program: prepare again
        return None
    if manifest.fingerprint != fingerprint or manifest.prefix != place.prefix:
        return None
    wanted = {item.key: item.size_bytes for item in manifest.objects}
    return manifest if bucket_io.sizes_below(place.client, place.bucket, place.prefix) == wanted else None


def _upload(
    place: _Place, plan: Plan, progress: Callable[[int, int], None] | None
) -> tuple[tuple[DatasetObject, ...], tuple[Rejection, ...]]:
    """Make and write every item of a plan; the first failure stops it."""
    workers = max(1, min(MOST_WORKERS, HELD_BYTES // max(1, plan.largest_bytes)))
    objects: list[DatasetObject] = []
    rejections = list(plan.rejections)
    with ThreadPoolExecutor(workers, thread_name_prefix="prepare") as pool:
        jobs = [pool.submit(_upload_one, place, item) for item in plan.items]
        try:
            for done, job in enumerate(as_completed(jobs), start=1):
                outcome = job.result()
                if isinstance(outcome, Rejection):
                    rejections.append(outcome)
                else:
                    objects.append(outcome)
                if progress is not None:
                    progress(done, len(jobs))
        except BaseException:  # also Ctrl-C: waiting jobs would otherwise all be run before it is heard
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return tuple(sorted(objects, key=lambda item: item.key)), tuple(rejections)


def _upload_one(place: _Place, item: Item) -> DatasetObject | Rejection:
    try:
        payload = item.make()
    except LeftOutError as reason:
        return Rejection(str(reason), item.origin)
    key = place.prefix + item.name
    bucket_io.put(place.client, place.bucket, key, payload.body)
    return DatasetObject(
        key=key,
        size_bytes=len(payload.body),
        sha256=hashlib.sha256(payload.body).hexdigest(),
        records=payload.records,
    )


def _settle(place: _Place, objects: tuple[DatasetObject, ...]) -> None:
    """Delete what is not of the dataset from below its prefix, once all of the dataset is seen there."""
    listed = bucket_io.sizes_below(place.client, place.bucket, place.prefix)
    for item in objects:
        found = listed.pop(item.key, None)
        if found != item.size_bytes:
            raise UserError(
                f"s3://{place.bucket}/{item.key} at {place.client.meta.endpoint_url} has "
                f"{'not arrived' if found is None else f'{found} bytes'} after {item.size_bytes} bytes were "
                "written: look at the server (a full disk?), and whether something else writes there"
            )
    bucket_io.delete(place.client, place.bucket, sorted(listed))


def _nothing_to_copy(plan: Plan, rejections: tuple[Rejection, ...]) -> UserError:
    return UserError(
        f"no CloudTrail log in {plan.source}: found {in_words(tally(rejections))}. Logs are named "
        "AWSLogs/<account>/CloudTrail/<region>/YYYY/MM/DD/<account>_CloudTrail_<region>_<time>_<random>.json.gz"
    )
