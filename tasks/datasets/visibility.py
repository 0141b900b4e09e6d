"""Waiting until a mount shows what was put into its bucket, and the bucket what was written to the mount."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from configs.manifest import Manifest
from configs.targets import MountTarget
from tasks.access import bucket_io
from tasks.kernel.bounded_files import BoundedFiles

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_POLL_S = 0.2
_PROBE_BYTES = 4096
_LONG_S = 3.0
_ANSWERS_WITHIN_S = 60.0


def wait_until_visible(
    target: MountTarget, manifest: Manifest, timeout_s: float, note: Callable[[str], None]
) -> str:
    """Look until every object of a dataset is on a mount with its size; a long look is told.

    Returns:
        An empty string, or what was still missing when the time was over.
    """
    waiting = {target.path_of(item.key): item.size_bytes for item in manifest.objects}
    what = f"waiting up to {timeout_s:g} s for {target.path} to show dataset {manifest.dataset}"
    with BoundedFiles(_ANSWERS_WITHIN_S) as files:

        def all_there() -> bool:
            for path, size_bytes in zip(list(waiting), files.sizes(waiting), strict=True):
                if size_bytes == waiting[path]:
                    del waiting[path]
            return not waiting

        try:
            if _soon(all_there, timeout_s, lambda: note(what)):
                return ""
        except OSError as error:
            return f"the mount at {target.path} does not answer: {error.strerror}: mount it again"
    return (
        f"{len(waiting)} of {len(manifest.objects)} objects of dataset {manifest.dataset} did not appear on "
        f"the mount within {timeout_s:g} s, such as {next(iter(waiting))}"
    )


def wait_until_in_bucket(  # noqa: PLR0913, PLR0917 - a mount, its bucket, the run, and how to wait
    target: MountTarget,
    client: "S3Client",
    bucket: str,
    run_prefix: str,
    timeout_s: float,
    note: Callable[[str], None],
) -> str:
    """Write one small file through a mount, and look until the bucket has the same bytes; then remove it.

    Args:
        target: a mount of the bucket.
        client: a control client of the bucket.
        bucket: the bucket's name.
        run_prefix: what the file lies below, with its trailing slash.
        timeout_s: how long to look.
        note: told of a long look.

    Returns:
        An empty string, or what went wrong: then writes to this mount do not reach the bucket.
    """
    key, payload = f"{run_prefix}probe.bin", os.urandom(_PROBE_BYTES)
    path = target.path_of(key)
    try:
        with BoundedFiles(_ANSWERS_WITHIN_S) as files:
            files.write(path, payload)
            what = f"waiting up to {timeout_s:g} s for {target.path} to pass a write on to the bucket"
            arrived = _soon(
                lambda: bucket_io.get_if_there(client, bucket, key) == payload, timeout_s, lambda: note(what)
            )
            files.unlink(path)
    except OSError as error:
        return f"the mount at {target.path} takes no write: {error.strerror}"
    if arrived:
        return ""
    return f"what was written to the mount at {target.path} did not reach the bucket within {timeout_s:g} s"


def _soon(condition: Callable[[], bool], timeout_s: float, on_long: Callable[[], None]) -> bool:
    started_s = time.monotonic()
    told = False
    while not condition():
        waited_s = time.monotonic() - started_s
        if waited_s > timeout_s:
            return False
        if waited_s > _LONG_S and not told:
            on_long()
            told = True
        time.sleep(_POLL_S)
    return True
