"""Which flow runs are alive on this host: a file for each, locked for as long as its process lives.

A Prefect server does not know that: a run whose process died together with what started it stays Running
there for ever. The kernel frees the lock however its holder dies: a file that nobody locks tells of a death.

* `<state>/flow-runs/<flow run id>.json`: which server the run is of, and which process runs it.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final
from uuid import UUID

from pydantic import AwareDatetime

from configs.base import Model
from tasks.lab.files import make_private
from tasks.venues.journal import state_folder

_KEPT_FOR_S: Final = 30 * 86400
"""How long the file of a run stays that no server asks for any more."""

_LOCKED_WITHIN_S: Final = 5.0
"""Whoever looks at a file holds it for less than a moment."""
_POLL_S: Final = 0.01

_held: Final[list[IO[str]]] = []
"""Closed, and so unlocked, by the end of this process alone."""


class _Record(Model):
    api_url: str
    pid: int
    began_at: AwareDatetime


@dataclass(frozen=True, slots=True)
class Presence:
    """A flow run that this host began."""

    flow_run_id: UUID
    pid: int
    """Of the process that ran it."""
    began_at: datetime
    """When that process said so, which is after the run was Running."""
    is_alive: bool


def announce(flow_run_id: UUID, api_url: str) -> None:
    """Let it be known that this process runs a flow run, until it ends.

    The file stays: whether the server knows of the end is for another process to find out.

    Raises:
        OSError: the state folder cannot be written, or another process runs this flow run.
    """
    folder = _folder()
    make_private(folder.parent)
    make_private(folder)
    file = _held_file(folder / f"{flow_run_id}.json")
    file.truncate(0)
    record = _Record(api_url=api_url, pid=os.getpid(), began_at=datetime.now(UTC))
    file.write(record.model_dump_json())
    file.flush()
    _held.append(file)


def _held_file(path: Path) -> IO[str]:
    """Open a file and lock it; whoever removes it meanwhile leaves its name to another one."""
    deadline = time.monotonic() + _LOCKED_WITHIN_S
    while True:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(path.open("a"))
            if _is_locked_now(file, fcntl.LOCK_EX) and _is_at(path, file):
                opened.pop_all()
                return file
        if time.monotonic() > deadline:
            raise BlockingIOError(errno.EWOULDBLOCK, "another process holds it", str(path))
        time.sleep(_POLL_S)


def presences(api_url: str) -> Iterator[Presence]:
    """The flow runs of a server that this host began, until the server is known to know of their end."""
    try:
        paths = [path for path in _folder().iterdir() if path.suffix == ".json"]
    except OSError:  # none was begun
        return
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            flow_run_id = UUID(path.stem)  # else it is none of ours
            record, is_alive = _read(path)
            if record is not None and record.api_url == api_url:
                yield Presence(flow_run_id, record.pid, record.began_at, is_alive)
            elif not is_alive and time.time() - path.stat().st_mtime > _KEPT_FOR_S:
                _remove(path)


def forget(flow_run_id: UUID) -> None:
    """Remove the file of a run of whose end its server knows, unless the run has begun again."""
    with contextlib.suppress(OSError):
        _remove(_folder() / f"{flow_run_id}.json")


def _read(path: Path) -> tuple[_Record | None, bool]:
    """What a file says, if it can be understood, and whether its process lives. Held no longer than that."""
    with path.open() as file:
        is_alive = not _is_locked_now(file, fcntl.LOCK_SH)
        try:
            return _Record.model_validate_json(file.read()), is_alive
        except ValueError:  # its process died before it had said anything, or the disk was full
            return None, is_alive


def _remove(path: Path) -> None:
    """Remove a file that nobody holds: one that is held alone cannot become another's meanwhile."""
    with path.open() as file:
        if _is_locked_now(file, fcntl.LOCK_EX) and _is_at(path, file):
            path.unlink()


def _folder() -> Path:
    return state_folder() / "flow-runs"


def _is_locked_now(file: IO[str], kind: int) -> bool:
    """Lock a file until it is closed; false where somebody else holds it."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, file: IO[str]) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
