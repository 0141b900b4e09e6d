"""Puts what is to be read onto a file system that shows no bucket, such as EFS: from the bucket that has it.

It runs while no clock does. What lies there already with its size stays: reads verify every byte of it.
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from configs.manifest import DatasetObject
from configs.targets import MountTarget
from tasks.access import bucket_io
from tasks.access.mount_io import mounted_at
from tasks.kernel.bounded_files import BoundedFiles

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_ANSWERS_WITHIN_S: Final = 120.0


def fill_mount(
    target: MountTarget, client: "S3Client", bucket: str, objects: Iterable[DatasetObject], within_s: float
) -> str:
    """Copy objects that a mount lacks.

    Args:
        target: the mount, which shows no bucket.
        client: of the bucket that has them.
        bucket: its name.
        objects: what is to be read.
        within_s: how long it may take, in seconds.

    Returns:
        An empty string, or why something of it is not there.
    """
    if target.path is None or mounted_at(target.path) is None:
        return ""  # the access path tells what is not mounted
    deadline_s = time.monotonic() + within_s
    with BoundedFiles(_ANSWERS_WITHIN_S) as files:
        try:
            missing = _missing(target, files, list(objects))
        except OSError as error:
            return f"{target.path} does not show what lies there: {error.strerror}: look at the mount"
        for done, item in enumerate(missing):
            if time.monotonic() >= deadline_s:
                return (
                    f"{len(missing) - done} of {len(missing)} objects that {target.path} lacked were not "
                    f"copied there within {within_s:.0f} s: they go on being copied by the next block"
                )
            if reason := _copied(target, client, bucket, item, files):
                return reason
    return ""


def _missing(target: MountTarget, files: BoundedFiles, objects: list[DatasetObject]) -> list[DatasetObject]:
    sizes = files.sizes([target.path_of(item.key) for item in objects])
    return [item for item, size_bytes in zip(objects, sizes, strict=True) if size_bytes != item.size_bytes]


def _copied(
    target: MountTarget, client: "S3Client", bucket: str, item: DatasetObject, files: BoundedFiles
) -> str:
    """Why an object could not be copied; empty where it was."""
    path = target.path_of(item.key)
    try:
        body = bucket_io.get_if_there(client, bucket, item.key)
        if body is None:
            return f"s3://{bucket}/{item.key} is not there to be copied to {target.path}"
        files.write_whole(path, body)  # other clients copy the same files at the same time
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}: look at the mount"
    return ""
