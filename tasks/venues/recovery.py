"""Stores what runs that ended early had measured, from their journals (see `journal`).

Most of those were killed; a run whose store refused a file has ended in good order, and left it here too.

What is done twice changes nothing: a cell's file has one name, and one that is in the store is left alone. A
cell that was cut short ends with a row that says so; one whose blocks had all ended is stored as its run
would have stored it. What cannot be stored now is kept for the next time.
"""

import contextlib
import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from configs.errors import UserError
from configs.run_record import RUN_ID_PATTERN
from tasks.results.cells import EndedCell, store_cell
from tasks.results.names import samples_name
from tasks.results.schema import VERSION_FOLDER
from tasks.results.store import Store, open_store
from tasks.venues.journal import (
    LOCK_FILE,
    RUN_FILE,
    BlockName,
    JournalHeader,
    device_of,
    is_unfinished,
    journals_folder,
    locked_journal,
    state_folder,
)
from tasks.venues.scratch import remove_run
from tasks.venues.session import CUT_SHORT, how_much_was_measured, why_nothing_succeeded
from tasks.venues.wire import BlockOutcome, receive

_FORMING_S: Final = 3600.0
"""A journal has no header for a moment after it was begun: one that is older will never have one."""

_Blocks: TypeAlias = dict[int, BlockOutcome]


def recover() -> tuple[str, ...]:
    """Store the blocks of every journal whose run lives no more, and remove the journal and its scratch.

    Returns:
        What was done and what could not be, in words; empty where there was nothing.
    """
    told: list[str] = []
    try:
        folders = sorted(path for path in journals_folder().iterdir() if _is_a_runs(path))
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"{journals_folder()}: journals of runs cannot be looked for ({error.strerror})",)
    for folder in folders:
        try:
            with locked_journal(folder):
                told += _recovered(folder)
        except (
            BlockingIOError,
            FileNotFoundError,
        ):  # it lives, or another one recovers it
            continue
        except Exception as error:  # noqa: BLE001 - what an earlier run left must not keep the next from measuring
            why = str(error) if isinstance(error, OSError | UserError) else repr(error)
            told.append(f"what run {folder.name} had measured is kept in {folder} for the next time: {why}")
    return tuple(told)


def _is_a_runs(path: Path) -> bool:
    return re.fullmatch(RUN_ID_PATTERN, path.name) is not None and path.is_dir()


def _recovered(folder: Path) -> Iterator[str]:
    header = _header(folder)
    if header is None:
        yield from _without_header(folder)
        return
    remove_run(header.scratch, header.run.run_id)
    store = _store(header)
    blocks = cells = lost = 0
    for (config_id, workload_id), files in _cells(folder).items():
        outcomes = _read(files)
        lost += len(files) - len(outcomes)
        if outcomes and _is_new(store, header, config_id, workload_id):
            store_cell(store, header.run, _ended(config_id, workload_id, outcomes, header.blocks))
            blocks, cells = blocks + len(outcomes), cells + 1
        for block in outcomes:
            files[block].unlink()
    if blocks:
        yield (
            f"run {header.run.run_id} ended before it had stored {blocks} blocks of {cells} cells: they are "
            f"now in {header.results}"
        )
    if unfinished := _remove_unfinished(folder):
        yield f"{unfinished} half-written blocks of run {header.run.run_id} were removed: it ended meanwhile"
    if lost:
        yield f"{lost} damaged blocks of run {header.run.run_id} were moved to {_set_aside(folder)}"
    else:
        _remove(folder)


def _header(folder: Path) -> JournalHeader | None:
    """None where there is none, or it cannot be read."""
    try:
        return JournalHeader.model_validate_json((folder / RUN_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _without_header(folder: Path) -> Iterator[str]:
    """It is just being begun, or its end was cut short, or its header is damaged."""
    blocks = [name for file in folder.iterdir() if (name := BlockName.of(file))]
    if blocks or (folder / RUN_FILE).exists():
        yield (
            f"the journal of run {folder.name} does not say where its {len(blocks)} blocks belong: "
            f"it was moved to {_set_aside(folder)}"
        )
    elif time.time() - folder.stat().st_mtime > _FORMING_S:
        _remove_unfinished(folder)
        _remove(folder)


def _store(header: JournalHeader) -> Store:
    """The store that the run was given.

    Raises:
        UserError: it is not there now, or what has its name now is another one.
    """
    if "://" not in header.results:
        _refuse_another_disk(header, Path(header.results))
    store = open_store(header.results)
    if header.endpoint != store.endpoint:
        wanted = (
            f"AWS_ENDPOINT_URL to that of {header.endpoint}"
            if header.endpoint
            else "no AWS_ENDPOINT_URL, and no endpoint_url in the profile"
        )
        raise UserError(f"{header.results} was at another S3 server: set {wanted}, and run again")
    return store


def _refuse_another_disk(header: JournalHeader, results: Path) -> None:
    """Where a disk is not mounted, its mount point is an empty folder.

    The number of a device may change at each mount or boot: a folder that has results counts in any case.
    """
    if not results.is_dir():
        raise UserError(f"{results} is not there: mount its disk, or delete the journal")
    if header.device not in {None, device_of(results)} and not (results / VERSION_FOLDER).is_dir():
        raise UserError(
            f"{results} lay on another disk and has no results now: mount its disk; where it is the right "
            f"one, make the folder {VERSION_FOLDER} in it"
        )


def _cells(folder: Path) -> dict[tuple[str, str], dict[int, Path]]:
    """The file of each block, by cell."""
    found: dict[tuple[str, str], dict[int, Path]] = defaultdict(dict)
    for file in sorted(folder.iterdir()):
        if name := BlockName.of(file):
            found[name.config_id, name.workload_id][name.block] = file
    return found


def _read(files: Mapping[int, Path]) -> _Blocks:
    """The blocks that are whole, and that this version understands."""
    found = {}
    for block, file in files.items():
        payload, name = file.read_bytes(), BlockName.of(file)
        if name and zlib.crc32(payload) == name.crc32:
            with contextlib.suppress(Exception):  # of another version: it may lack or have anything
                found[block] = receive(payload)
    return found


def _is_new(store: Store, header: JournalHeader, config_id: str, workload_id: str) -> bool:
    """Whether the store has no file of a cell: its run may have stored it just before it ended."""
    name = samples_name(header.run, config_id, workload_id)
    return name not in store.names(name.rpartition("/")[0])


def _ended(config_id: str, workload_id: str, outcomes: _Blocks, blocks: int) -> EndedCell:
    """A cell as its run would have handed it on, or with the words that it was cut short."""
    last = outcomes[max(outcomes)]
    status, reason, error = last.status, last.reason, "CellFailed"
    samples = [(block, outcome.samples) for block, outcome in outcomes.items() if len(outcome.samples)]
    if status == "measured" and len(outcomes) < blocks:
        status, reason, error = "failed", how_much_was_measured(len(outcomes), blocks), CUT_SHORT
    elif status == "measured" and (why := why_nothing_succeeded(samples)):
        status, reason = "failed", why
    return EndedCell(config_id, workload_id, samples, status, reason, error)


def _remove_unfinished(folder: Path) -> int:
    """Remove what was being written when the run was killed, which nobody can read."""
    unfinished = [file for file in folder.iterdir() if is_unfinished(file)]
    for file in unfinished:
        file.unlink()
    return len(unfinished)


def _remove(folder: Path) -> None:
    """Remove a journal that keeps nothing; what somebody else has put there stays."""
    for name in (RUN_FILE, LOCK_FILE):
        (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def _set_aside(folder: Path) -> Path:
    """Where a journal lies that cannot be read: nothing measured is thrown away."""
    damaged = state_folder() / "damaged"
    damaged.mkdir(mode=0o700, exist_ok=True)
    return folder.rename(damaged / folder.name)
