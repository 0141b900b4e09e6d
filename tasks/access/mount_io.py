"""File input and output on a mounted file system that shows a bucket.

A read is open, read to the end, close. A write is open, write, flush, fsync, close: on S3 Files and on
rclone, fsync returns when the file system has the data, and the bucket gets it later; on Mountpoint for
Amazon S3 fsync and close end the upload, and both are timed.
"""

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from configs.access_paths import MountIo
from configs.errors import UserError
from configs.targets import MountTarget
from tasks.access.efs_state import STATE_FOLDER, prove_s3_files
from tasks.access.protocol import Answer, CacheStates, Upload
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import Failure

_ANSWER = Answer()
_MOUNTPOINT: Final = "mountpoint-s3"
"""What the mount table gives as the source of a Mountpoint for Amazon S3."""
_MOUNTPOINT_HINT: Final = (
    "Mountpoint for Amazon S3 overwrites and deletes only where it was mounted with "
    "--allow-overwrite and --allow-delete"
)


@dataclass(frozen=True, slots=True)
class Mounted:
    """What the mount table says of a path."""

    fstype: str
    source: str
    options: str


_CACHE_STATES: Final = CacheStates(
    single="the same file each time: the kernel's page cache and the mount's own may serve it",
    unique="another file each time; the mount may keep some from an earlier run",
    scan="every file once in each scan: the kernel's page cache and the mount's own may serve it",
    write="a new file each time; fsync returns when the mount has the data, the bucket may get it later",
)
_OF_MOUNTPOINT: Final = replace(
    _CACHE_STATES, write="a new file each time; the bucket has the data when fsync returns"
)


class MountIoPath:
    """Plain `open`, `read` and `write` below a mount point."""

    def __init__(self, config: MountIo, target: MountTarget, efs_state: Path = STATE_FOLDER) -> None:
        if target.path is None:
            message = "the mount target has no path"  # suites and the lab both fill it in
            raise LabelError(message)
        self._read_size = config.read_size or -1
        self._target = target
        self._root = target.path
        self._efs_state = efs_state
        self._s3_files: dict[str, str] = {}
        self._folders: list[Path] = []
        self._mounted: Mounted
        self.cache_states = _CACHE_STATES
        """What is mounted decides: known when it is connected."""

    def connect(self, concurrency: int) -> None:
        """Look up what is mounted, and touch it once; a mount has no connection of each thread.

        Raises:
            LabelError: if nothing, or another kind of file system, is mounted at the path, or it is dead, or
                efs-utils has not mounted there the S3 Files file system that the target names.
        """
        mounted = mounted_at(self._root)
        if mounted is None:
            message = f"nothing is mounted at {self._root}: that would measure a local folder"
            raise LabelError(message)
        if self._target.fstype not in {None, mounted.fstype}:
            message = (
                f"{self._root} is a mount of type {mounted.fstype}, but the target says {self._target.fstype}"
            )
            raise LabelError(message)
        if self._target.file_system_id is not None:
            self._s3_files = prove_s3_files(
                self._root, mounted.options, self._target.file_system_id, self._efs_state
            )
        try:
            os.scandir(self._root).close()
        except OSError as error:
            message = f"the mount at {self._root} does not answer ({error.strerror}): mount it again"
            raise LabelError(message) from error
        self._mounted = mounted
        if mounted.source == _MOUNTPOINT:
            self.cache_states = _OF_MOUNTPOINT

    def proof(self) -> dict[str, str]:
        """Type, source and options of the mount from the kernel's table; of S3 Files its own record too."""
        return {
            "client": "open(), read(), write()",
            "read_size": "the whole file" if self._read_size < 0 else f"{self._read_size} bytes",
            "mount_type": self._mounted.fstype,
            "mount_source": self._mounted.source,
            "mount_options": self._mounted.options,
            **self._s3_files,
        }

    def list_keys(self, prefix: str) -> list[str]:
        """Every file below the folder of `prefix`, as the key that it stands for."""
        top = self._path(prefix.rstrip("/"))
        below = f"{top}/"
        cut = len(below)
        return [
            f"{prefix}{folder[cut:] + '/' if len(folder) >= cut else ''}{name}"
            for folder, _, names in os.walk(top, onerror=_raise)
            for name in names
        ]

    def read(self, key: str) -> tuple[bytes, object]:
        """Open, read to the end, close."""
        with open(self._path(key), "rb", buffering=0) as file:  # noqa: PTH123 - as the experiments did
            if self._read_size < 0:
                return file.read(), None
            pieces = []
            while piece := file.read(self._read_size):
                pieces.append(piece)
        return b"".join(pieces), None

    def write(self, upload: Upload) -> object:
        """Open, write, flush, fsync, close."""
        with open(self._path(upload.key), "wb") as file:  # noqa: PTH123 - as the experiments did
            file.write(upload.payload)
            file.flush()
            os.fsync(file.fileno())
        return None

    def answer(self, native: object) -> Answer:
        """A file system has no status and shows no retries."""
        return _ANSWER

    def failure(self, error: Exception) -> Failure:
        """The error's symbol, such as ENOTCONN."""
        if isinstance(error, OSError) and error.errno is not None:
            hint = f": {_MOUNTPOINT_HINT}" if self._refuses_changes(error) else ""
            return Failure(errno.errorcode.get(error.errno, "OSError"), f"{error}{hint}")
        return Failure(type(error).__name__, str(error))

    def ready_for_writes(self, prefix: str) -> None:
        """Make the folder, remembering which parts of it are ours to remove.

        Raises:
            LabelError: a link on the way leads elsewhere: another file system would be measured, and changed.
        """
        folder = self._path(prefix.rstrip("/"))
        if folder.resolve() != self._root.resolve() / folder.relative_to(self._root):
            message = f"a link leads from {folder} to {folder.resolve()}: remove it, or give another prefix"
            raise LabelError(message)
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._folders += missing

    def sizes_below(self, prefix: str) -> dict[str, int]:
        """From stat, of every file that the folder shows."""
        return {key: self._path(key).stat().st_size for key in self.list_keys(prefix)}

    def delete(self, keys: list[str]) -> None:
        """Unlink the files.

        Raises:
            UserError: if the mount was told to let none be deleted.
        """
        try:
            for key in keys:
                # For a second rclone hides, when asked for it, what it has written back just before.
                self._path(key).unlink(missing_ok=True)
        except PermissionError as error:
            if self._refuses_changes(error):
                message = f"{error}: what was written stays there: {_MOUNTPOINT_HINT}"
                raise UserError(message) from error
            raise

    def _refuses_changes(self, error: OSError) -> bool:
        return self._mounted.source == _MOUNTPOINT and error.errno == errno.EPERM

    def close(self) -> None:
        """Remove the folders that were made, where they are empty again."""
        for folder in self._folders:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _path(self, key: str) -> Path:
        return self._target.path_of(key)


def mounted_at(path: Path) -> Mounted | None:
    """What the kernel's mount table has at exactly this path; None where nothing is mounted there.

    The path is resolved only where the table does not have it as it is: that looks at the mount itself, which
    may not answer.
    """
    table = {
        partition.mountpoint: Mounted(partition.fstype, partition.device, partition.opts)
        for partition in psutil.disk_partitions(all=True)
    }  # of several at one place the last one lies on top
    return table.get(os.path.abspath(path)) or table.get(os.path.realpath(path))  # noqa: PTH100 - see above


def _raise(error: OSError) -> None:
    raise error
