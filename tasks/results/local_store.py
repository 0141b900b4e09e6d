"""A result store in a local folder.

A commit is a hidden temporary file in the same folder, fsync, rename, fsync of the folder. The temporary
name begins with a dot and does not end in `.parquet`: DuckDB's `*.parquet` takes a name with the dot
alone, and pyarrow.dataset takes one with the other ending alone.
"""

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from configs.errors import UserError
from tasks.results.store_rules import is_hidden, refuse_unlike

_TEMPORARY: Final = re.compile(r"\..+\.parquet\.(?P<pid>\d+)\.tmp")
_LEFTOVER_AGE_S: Final = 86_400.0
"""A process id says nothing of a writer on another host that shares the folder; a day's silence does."""

_REMEDIES: Final = {
    errno.EACCES: "give this user the right to read and write there, or name another folder",
    errno.EPERM: "give this user the right to read and write there, or name another folder",
    errno.EROFS: "name a folder on a file system that is not read-only",
    errno.ENOSPC: "make room on that file system, or name another folder",
    errno.EDQUOT: "make room within the quota, or name another folder",
    errno.EEXIST: "a file stands where a folder is wanted: name another folder",
    errno.ENOTDIR: "a file stands where a folder is wanted: name another folder",
}


class LocalStore:
    """A store in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def location(self) -> str:
        """The folder."""
        return str(self._root)

    @property
    def endpoint(self) -> str:
        """See `Store`."""
        return ""

    def check_writable(self) -> None:
        """See `Store`. Also removes what writers that were killed left behind."""
        with _explained(self.location):
            self._root.mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
            probe = _temporary(self._root / "check.parquet")
            _write_synced(probe, b"\0" * 4096)
            probe.unlink()

    def probe(self) -> str:
        """See `Store`. A folder that is not there yet is not made: what it would lie in is written to."""
        there = next(one for one in (self._root.absolute(), *self._root.absolute().parents) if one.exists())
        with _explained(self.location):
            written = _temporary(there / "check.parquet")
            _write_synced(written, b"\0" * 4096)
            written.unlink()
        return ""

    def put(self, name: str, content: bytes, *, replace: bool = False) -> None:
        """See `Store`.

        Another writer of the same name between the look and the rename would be replaced; names hold a
        run's random id, so that there is none. A hard link would refuse, but not every mount can link.
        """
        path = self._root / name
        with _explained(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not replace and path.exists():
                refuse_unlike(str(path), path.read_bytes(), content)
                return
            temporary = _temporary(path)
            _write_synced(temporary, content)
            temporary.replace(path)
            _sync_folder(path.parent)

    def get(self, name: str) -> bytes:
        """See `Store`."""
        path = self._root / name
        with _explained(str(path)):
            return path.read_bytes()

    def names(self, folder: str) -> list[str]:
        """See `Store`."""
        with _explained(self.location):
            found = [path.relative_to(self._root).as_posix() for path in _parquet_files(self._root / folder)]
        return sorted(name for name in found if not is_hidden(name))

    def sizes(self, folder: str) -> dict[str, int]:
        """See `Store`."""
        names = self.names(folder)
        with _explained(self.location):
            return {name: (self._root / name).stat().st_size for name in names}

    def _remove_leftovers(self) -> None:
        for path in self._root.rglob(".*.tmp"):
            match = _TEMPORARY.fullmatch(path.name)
            if match is None or psutil.pid_exists(int(match["pid"])):
                continue
            with contextlib.suppress(FileNotFoundError):  # another run removed it first
                if time.time() - path.stat().st_mtime > _LEFTOVER_AGE_S:
                    path.unlink()


def _parquet_files(folder: Path) -> Iterator[Path]:
    """All below a folder, which may be missing. `rglob` would silently pass over what may not be read."""
    for parent, _, names in os.walk(folder, onerror=_raise_unless_missing):
        yield from (Path(parent, name) for name in names if name.endswith(".parquet"))


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _temporary(path: Path) -> Path:
    """A name that no reader takes: hidden, and not ending in `.parquet`."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _write_synced(path: Path, content: bytes) -> None:
    """Write a file through to the disk, or leave none."""
    try:
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename last: without this a power cut may undo it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn what the operating system says into what the user can do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "name another folder")
        raise UserError(f"results at {where}: {error.strerror}: {remedy}") from error
