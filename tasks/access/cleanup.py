"""Removing what a run wrote: only below the run's own prefix, through the bucket and through its mounts."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from configs.run_record import RUN_ID_PATTERN
from configs.targets import DIRECTORY_BUCKET_PATTERN, MountTarget
from tasks.access import bucket_io
from tasks.access.mount_io import mounted_at
from tasks.kernel.bounded_files import BoundedFiles

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ANSWERS_WITHIN_S: Final = 30.0
_REMOVED_WITHIN_S: Final = 300.0
_RUN_PREFIX = re.compile(rf"(.+/)?runs/{RUN_ID_PATTERN.strip('^$')}/")


def remove_run(client: "S3Client", bucket: str, prefix: str, note: Callable[[str], None]) -> int:
    """Delete every object below a run's prefix and return how many there were.

    What no listing of objects shows, and is billed as well, goes too: uploads in parts that were never
    completed, and in a bucket with versioning the older versions and the delete markers.

    Args:
        client: a control client.
        bucket: the bucket's name.
        prefix: the run's prefix with its trailing slash, `…/runs/<run_id>/`.
        note: told what of the latter could not be removed.

    Raises:
        ValueError: if the prefix is not that of one run; nothing is deleted then.
        UserError: if the objects cannot be listed or deleted.
    """
    _refuse_other_prefixes(prefix)
    keys = sorted(bucket_io.sizes_below(client, bucket, prefix))
    bucket_io.delete(client, bucket, keys)
    for remove in (bucket_io.abort_uploads_below, _remove_versions):
        try:
            remove(client, bucket, prefix)
        except UserError as error:
            note(f"unseen parts or versions below s3://{bucket}/{prefix} may be left, and billed: {error}")
    return len(keys)


def _remove_versions(client: "S3Client", bucket: str, prefix: str) -> None:
    """Directory buckets have none, and know no such request."""
    if re.match(DIRECTORY_BUCKET_PATTERN, bucket) is None and bucket_io.keeps_versions(client, bucket):
        bucket_io.delete_versions_below(client, bucket, prefix)


def left_over_runs(client: "S3Client", bucket: str, prefix: str) -> list[str]:
    """The prefixes of runs that left something behind, as a killed one does, or that go on elsewhere.

    Args:
        client: a control client.
        bucket: the bucket's name.
        prefix: the target's prefix, without a trailing slash.

    Raises:
        UserError: if the bucket cannot be listed.
    """
    found = bucket_io.folders_below(client, bucket, f"{prefix}/runs/")
    return [run for run in found if _RUN_PREFIX.fullmatch(run)]


def remove_run_from_mount(target: MountTarget, prefix: str) -> None:
    """Delete the folder of a run on a mount, so that nothing of it is written back to the bucket later.

    Raises:
        ValueError: if the prefix is not that of one run; nothing is deleted then.
        OSError: if something cannot be deleted, or not in time.
    """
    _refuse_other_prefixes(prefix)
    if target.path is None or mounted_at(target.path) is None:
        return
    with BoundedFiles(_ANSWERS_WITHIN_S) as files:
        files.look(target.path)
    with BoundedFiles(_REMOVED_WITHIN_S) as files:
        files.remove_tree(target.path_of(prefix), target.path)


def _refuse_other_prefixes(prefix: str) -> None:
    if _RUN_PREFIX.fullmatch(prefix) is None:
        message = f"{prefix!r} is not the prefix of one run"
        raise ValueError(message)
