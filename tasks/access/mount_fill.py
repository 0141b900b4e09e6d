"""Puts what is to be read onto a file system that shows no bucket, such as EFS: from the bucket that has it.

It runs while no clock does. What lies there already with its size stays: reads verify every byte of it.
"""

import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from configs.errors import UserError
from configs.manifest import DatasetObject
from configs.targets import MountTarget
from tasks.access import bucket_io
from tasks.access.mount_io import mounted_at
from tasks.kernel.folders import size_bytes_of

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_s3 import S3Client


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
    missing = [item for item in objects if size_bytes_of(target.path_of(item.key)) != item.size_bytes]
    for done, item in enumerate(missing):
        if time.monotonic() >= deadline_s:
            return (
                f"{len(missing) - done} of {len(missing)} objects that {target.path} lacked were not copied "
                f"there within {within_s:.0f} s: they go on being copied by the next block"
            )
        try:
            body = bucket_io.get_if_there(client, bucket, item.key)
            if body is None:
                return f"s3://{bucket}/{item.key} is not there to be copied to {target.path}"
            _write_whole(target.path_of(item.key), body)
        except UserError as error:
            return str(error)
        except OSError as error:
            return f"{target.path_of(item.key)} cannot be written: {error.strerror}: look at the mount"
    return ""


def _write_whole(path: "Path", body: bytes) -> None:
    """Nobody sees a part of it: other clients copy the same files at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(body)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
