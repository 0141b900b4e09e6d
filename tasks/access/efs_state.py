"""What efs-utils wrote down of a mount: the kernel shows S3 Files and EFS alike as nfs4 at 127.0.0.1.

The mount helper keeps a JSON file `<file system>.<mount point, dotted>.<port>` for every mount, until it is
unmounted (`write_tunnel_state_file` in aws/efs-utils, src/efs_utils_common/proxy.py, 3.1.1). Used of it:
`mountpoint`, `service_type` (`s3files` or `elasticfilesystem`), `cmd` of the local proxy, the `files` that it
reads, and `accessPoint`. A name that begins with ~ is of a mount that is under way. The kernel's options of a
mount name the same port, which ties a record to what is mounted now.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from tasks.kernel.errors import LabelError

STATE_FOLDER: Final = Path("/var/run/efs")
S3_FILES: Final = "s3files"
_RECORD_NAME: Final = re.compile(r"(?P<file_system_id>fs-[0-9a-f]+)\..*?(?P<port>\d+)")
_PORT: Final = re.compile(r"(?:^|,)port=(?P<port>\d+)(?:,|$)")
_VERSION: Final = re.compile(r"^efs_utils_version = (?P<version>\S+)$", re.MULTILINE)
_NO_DIRECT_READS: Final = "--no-direct-s3-read"


class _Record(BaseModel):
    """What is used of a state file; the rest of it differs from version to version."""

    mountpoint: Path
    service_type: str = "elasticfilesystem"
    """Older versions mount nothing else, and do not say so."""
    cmd: list[str] = Field(default_factory=list)
    files: list[Path] = Field(default_factory=list)
    access_point: str = Field("", alias="accessPoint")


def prove_s3_files(path: Path, mount_options: str, file_system_id: str, folder: Path) -> dict[str, str]:
    """See that efs-utils has mounted a certain S3 Files file system at a path, and tell how.

    Args:
        path: the mount point.
        mount_options: of the mount that lies there, as the kernel tells them.
        file_system_id: what the target says, `fs-…`.
        folder: where efs-utils keeps its records, `STATE_FOLDER` outside tests.

    Raises:
        LabelError: it has mounted something else there, there is no record, or it cannot be read.
    """
    kernel_port = _PORT.search(mount_options)
    for name, record in _records_of(path, folder):
        found = _RECORD_NAME.fullmatch(name)
        if found is None or kernel_port is None or kernel_port["port"] != found["port"]:
            continue  # of an earlier mount at the same path
        if record.service_type != S3_FILES or found["file_system_id"] != file_system_id:
            message = (
                f"{path} is file system {found['file_system_id']} of {record.service_type}, as efs-utils "
                f"recorded in {folder / name}, but the target says {file_system_id} of {S3_FILES}"
            )
            raise LabelError(message)
        return {
            "file_system_id": found["file_system_id"],
            "access_point": record.access_point or "none",
            "efs_utils": _version(record),
            "direct_s3_reads": "off" if _NO_DIRECT_READS in record.cmd else "on",
        }
    message = (
        f"efs-utils has no record in {folder} of what is mounted at {path}, but the target says "
        f"{file_system_id}: mount it by `mount -t s3files {file_system_id}:/ {path}`, "
        "or leave file_system_id out if it is no S3 Files"
    )
    raise LabelError(message)


def _records_of(path: Path, folder: Path) -> Iterator[tuple[str, _Record]]:
    try:
        names = sorted(file.name for file in folder.iterdir() if _RECORD_NAME.fullmatch(file.name))
        for name in names:
            record = _read(folder / name)
            if record is not None and os.path.realpath(record.mountpoint) == os.path.realpath(path):
                yield name, record
    except FileNotFoundError:
        return
    except PermissionError as error:
        message = (
            f"what efs-utils mounted at {path} cannot be told: {error.filename} may not be read: "
            "run as root, or set state_file_dir_mode = 755 in /etc/amazon/efs/s3files-utils.conf "
            "and mount it again"
        )
        raise LabelError(message) from error


def _read(file: Path) -> _Record | None:
    """A record; None where it is no whole one, such as while the mount's watchdog rewrites it."""
    try:
        return _Record.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, ValidationError):
        return None


def _version(record: _Record) -> str:
    """Of efs-utils, from the configuration that it wrote for its proxy."""
    for file in record.files:
        if file.is_file():
            found = _VERSION.search(file.read_text(encoding="utf-8"))
            if found is not None:
                return found["version"]
    return "not told"
