"""Which flow runs are alive on this host: a file for each, locked for as long as its process lives.

A Prefect server does not know that: a run whose process died together with what started it stays Running
there for ever. The kernel frees the lock however its holder dies: a file that nobody locks tells of a death.

* `<state>/flow-runs/<flow run id>.json`: which server the run is of, and which process runs it.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final
from uuid import UUID

from pydantic import AwareDatetime, ValidationError

from configs.base import Model
from tasks.lab.files import make_private
from tasks.venues.journal import state_folder

_KEPT_FOR_S: Final = 30 * 86400
"""How long the file of a run stays that no server asks for any more."""

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
        OSError: the state folder cannot be written.
    """
    folder = _folder()
    make_private(folder.parent)
    make_private(folder)
    path = folder / f"{flow_run_id}.json"
    file = path.open("a")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.truncate(0)
    record = _Record(api_url=api_url, pid=os.getpid(), began_at=datetime.now(UTC))
    file.write(record.model_dump_json())
    file.flush()
    _held.append(file)


def presences(api_url: str) -> Iterator[Presence]:
    """The flow runs of a server that this host began, until the server is known to know of their end."""
    try:
        paths = [path for path in _folder().iterdir() if path.suffix == ".json"]
    except OSError:  # none was begun
        return
    for path in paths:
        with contextlib.suppress(OSError, ValueError, ValidationError), path.open() as file:
            is_alive = _is_locked(file)
            record = _Record.model_validate_json(file.read())
            if record.api_url == api_url:
                yield Presence(UUID(path.stem), record.pid, record.began_at, is_alive)
            elif not is_alive and time.time() - path.stat().st_mtime > _KEPT_FOR_S:
                path.unlink()


def forget(flow_run_id: UUID) -> None:
    """Remove the file of a run of whose end its server knows, unless the run has begun again."""
    path = _folder() / f"{flow_run_id}.json"
    with contextlib.suppress(OSError), path.open() as file:
        if not _is_locked(file):
            path.unlink()


def _folder() -> Path:
    return state_folder() / "flow-runs"


def _is_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
