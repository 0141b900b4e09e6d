"""Stores what killed runs had measured, from their journals (see `journal`).

What is done twice changes nothing: a cell's file has one name, and one that is in the store is left alone. A
cell that was cut short ends with a row that says so; one whose blocks had all ended is stored as its run
would have stored it. What cannot be stored now is kept for the next time.
"""

import contextlib
import shutil
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from configs.errors import UserError
from tasks.results.cells import EndedCell, store_cell
from tasks.results.schema import samples_name
from tasks.results.store import Store, open_store
from tasks.venues.journal import (
    RUN_FILE,
    BlockName,
    JournalHeader,
    journals_folder,
    locked_journal,
    results_endpoint,
    state_folder,
)
from tasks.venues.scratch import remove_run
from tasks.venues.session import why_nothing_succeeded
from tasks.venues.wire import BlockOutcome, WireError, receive

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
        folders = sorted(path for path in journals_folder().iterdir() if path.is_dir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"{journals_folder()}: journals of killed runs cannot be looked for ({error.strerror})",)
    for folder in folders:
        try:
            with locked_journal(folder):
                told += _recovered(folder)
        except (
            BlockingIOError,
            FileNotFoundError,
        ):  # it lives, or another one recovers it
            continue
        except (OSError, UserError) as error:
            told.append(f"what run {folder.name} had measured is kept in {folder} for the next time: {error}")
    return tuple(told)


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
    damaged = lost + _unfinished(folder)
    if blocks:
        yield (
            f"run {header.run.run_id} was killed: {blocks} blocks of {cells} cells that it had not stored "
            f"are now in {header.results}"
        )
    if damaged:
        yield f"{damaged} damaged blocks of run {header.run.run_id} were moved to {_set_aside(folder)}"
    else:
        shutil.rmtree(folder)


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
        shutil.rmtree(folder)


def _store(header: JournalHeader) -> Store:
    """The store that the run was given.

    Raises:
        UserError: it is not there now, or this environment would lead to another one of that name.
    """
    if "://" not in header.results and not Path(header.results).is_dir():
        raise UserError(f"{header.results} is not there: mount its disk, or delete the journal")
    if "://" in header.results and header.endpoint != results_endpoint():
        wanted = (
            f"AWS_ENDPOINT_URL to that of {header.endpoint}" if header.endpoint else "no AWS_ENDPOINT_URL"
        )
        raise UserError(f"{header.results} was at another S3 server: set {wanted}, and run again")
    return open_store(header.results)


def _cells(folder: Path) -> dict[tuple[str, str], dict[int, Path]]:
    """The file of each block, by cell."""
    found: dict[tuple[str, str], dict[int, Path]] = defaultdict(dict)
    for file in sorted(folder.iterdir()):
        if name := BlockName.of(file):
            found[name.config_id, name.workload_id][name.block] = file
    return found


def _read(files: Mapping[int, Path]) -> _Blocks:
    """The blocks that are whole."""
    found = {}
    for block, file in files.items():
        payload, name = file.read_bytes(), BlockName.of(file)
        if name and zlib.crc32(payload) == name.crc32:
            with contextlib.suppress(WireError, ValueError):  # of another version
                found[block] = receive(payload)
    return found


def _is_new(store: Store, header: JournalHeader, config_id: str, workload_id: str) -> bool:
    """Whether the store has no file of a cell: its run may have stored it just before it was killed."""
    name = samples_name(header.run, config_id, workload_id)
    return name not in store.names(name.rpartition("/")[0])


def _ended(config_id: str, workload_id: str, outcomes: _Blocks, blocks: int) -> EndedCell:
    """A cell as its run would have handed it on, or with the words that it was cut short."""
    last = outcomes[max(outcomes)]
    status, reason, error = last.status, last.reason, "CellFailed"
    samples = [(block, outcome.samples) for block, outcome in outcomes.items() if len(outcome.samples)]
    if status == "measured" and len(outcomes) < blocks:
        reason = f"the run was killed: {len(outcomes)} of {blocks} blocks were measured"
        status, error = "failed", "RunKilled"
    elif status == "measured" and (why := why_nothing_succeeded(samples)):
        status, reason = "failed", why
    return EndedCell(config_id, workload_id, samples, status, reason, error)


def _unfinished(folder: Path) -> int:
    """Blocks that were being written when the run was killed; each has a hidden file."""
    return sum(file.name.startswith(".") for file in folder.iterdir())


def _set_aside(folder: Path) -> Path:
    """Where a journal lies that cannot be recovered: nothing measured is thrown away."""
    damaged = state_folder() / "damaged"
    damaged.mkdir(mode=0o700, exist_ok=True)
    return folder.rename(damaged / folder.name)
