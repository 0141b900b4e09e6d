"""A journal on the local disk of what a run has measured and not yet stored, for the case that it is killed.

In `<state>/journal/<run id>/` lie

* `run.json`: which run, and where its results go;
* `lock`: locked by the process that measures, as long as it lives;
* `<config>.<workload>.<block>.<checksum>.block`: one block, as `wire.send` writes it.

A block is stored with its cell, and a cell ends late, because the blocks of all cells are interleaved. Until
then a block has its file here, written between blocks: under a hidden name and renamed, so that it is whole
or not there. It is not synced, because the death of a process takes nothing from the kernel's cache, and a
sync would keep the disk busy while the next block is measured. What a power cut may leave of it is seen by
the checksum.

No credential is kept here: whoever recovers brings those of its own environment.
"""

import contextlib
import fcntl
import io
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import PositiveInt

from configs.base import IDENTIFIER_PATTERN, Model
from configs.paths import expanded
from configs.run_record import RunIdentity
from configs.suite import Cell
from tasks.lab.files import make_private, write_whole
from tasks.results.store import Store
from tasks.venues.wire import BlockOutcome, send

if TYPE_CHECKING:
    from typing_extensions import Buffer

RUN_FILE: Final = "run.json"
LOCK_FILE: Final = "lock"
_SUFFIX: Final = ".block"
_ID: Final = IDENTIFIER_PATTERN.strip("^$")
_UNFINISHED_BLOCK: Final = re.compile(rf"\.{_ID}\.{_ID}\.\d{{3,}}")
_UNFINISHED_HEADER: Final = re.compile(rf"\.{re.escape(RUN_FILE)}\.\w+")


def state_folder() -> Path:
    """Where this user's runs keep what must outlive them; S3BENCH_STATE names another one, as tests do."""
    if named := os.environ.get("S3BENCH_STATE"):
        return expanded(named).absolute()
    try:
        home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    except RuntimeError:  # a user without a home, as in some containers
        home = Path(tempfile.gettempdir()) / f"s3bench-{os.getuid()}"
    return Path(home).absolute() / "s3-access-benchmark"


def journals_folder() -> Path:
    """Where the journals lie, one folder for each run."""
    return state_folder() / "journal"


class JournalHeader(Model):
    """What is known of a run before anything is measured."""

    journal_version: Literal[1] = 1
    run: RunIdentity
    results: str
    """Where its results go: a folder's whole path, or `s3://BUCKET/PREFIX`."""
    endpoint: str = ""
    """Of the store: the same bucket name at another S3 server is another bucket."""
    device: int | None = None
    """That the results' folder lies on: what is found where its disk was may be an empty mount point."""
    blocks: PositiveInt
    """Of each cell."""
    scratch: Path
    """Where files lie that the run moves."""

    @classmethod
    def of(cls, run: RunIdentity, store: Store, blocks: int, scratch: Path) -> "JournalHeader":
        """That of a run of this process."""
        in_s3 = "://" in store.location
        return cls(
            run=run,
            results=store.location if in_s3 else str(Path(store.location).absolute()),
            endpoint=store.endpoint,
            device=None if in_s3 else device_of(Path(store.location)),
            blocks=blocks,
            scratch=scratch.absolute(),
        )


def device_of(folder: Path) -> int | None:
    """The number of the device that a folder lies on; None where it is not there."""
    try:
        return folder.stat().st_dev
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class BlockName:
    """What the name of a block's file tells."""

    config_id: str
    workload_id: str
    block: int
    crc32: int

    def __str__(self) -> str:
        return f"{self.config_id}.{self.workload_id}.{self.block:03d}.{self.crc32:08x}{_SUFFIX}"

    @classmethod
    def of(cls, file: Path) -> "BlockName | None":
        """That of a file; None where it is no whole block's."""
        try:
            config_id, workload_id, block, crc32 = file.name.removesuffix(_SUFFIX).split(".")
            name = cls(config_id, workload_id, int(block), int(crc32, 16))
        except ValueError:
            return None
        return name if str(name) == file.name else None


def is_unfinished(file: Path) -> bool:
    """Whether a file was just being written, a block or the header: nobody was told that it is kept."""
    return any(hidden.fullmatch(file.name) for hidden in (_UNFINISHED_BLOCK, _UNFINISHED_HEADER))


class Journal:
    """The journal of a run that goes on."""

    def __init__(self, folder: Path | None, note: Callable[[str], None]) -> None:
        """Make one.

        Args:
            folder: of this run alone; without one nothing is kept.
            note: is told once where a block cannot be kept.
        """
        self.folder = folder
        self._note = note
        self._told = False

    def keep(self, cell: Cell, block: int, outcome: BlockOutcome) -> None:
        """Keep a block; where that cannot be, say so once and go on, because memory has it still."""
        if self.folder is None:
            return
        temporary = self.folder / f".{cell.config_id}.{cell.workload_id}.{block:03d}"
        try:
            with _Summed(io.FileIO(temporary, "w")) as file:
                send(outcome, file)
            name = BlockName(cell.config_id, cell.workload_id, block, file.crc32)
            temporary.rename(self.folder / str(name))
        except OSError as error:
            if not self._told:
                self._note(_cannot_keep(self.folder, error))
            self._told = True
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def forget(self, config_id: str, workload_id: str) -> None:
        """Remove a cell's blocks: they are stored."""
        if self.folder is not None:
            with contextlib.suppress(OSError):  # what stays is found to be stored by whoever recovers
                for file in self.folder.iterdir():
                    if file.name.removeprefix(".").startswith(f"{config_id}.{workload_id}."):
                        file.unlink()


class _Summed(io.BufferedWriter):
    """A file that adds up the checksum of what is written to it."""

    crc32 = 0

    def write(self, piece: "Buffer", /) -> int:
        """Write a piece."""
        self.crc32 = zlib.crc32(piece, self.crc32)
        return super().write(piece)


@contextmanager
def journalled(header: JournalHeader, note: Callable[[str], None]) -> Iterator[Journal]:
    """The journal of a run for the time of its measuring; gone afterwards, unless something is not stored.

    Args:
        header: of the run.
        note: is told where nothing can be kept, and what was not stored.
    """
    with contextlib.ExitStack() as held:
        folder = _begin(header, held, note)
        try:
            yield Journal(folder, note)
        finally:
            if folder is not None:
                _end(folder, note)


def _begin(header: JournalHeader, held: contextlib.ExitStack, note: Callable[[str], None]) -> Path | None:
    """Make the folder and hold it; None where that cannot be."""
    folder = journals_folder() / header.run.run_id
    with contextlib.ExitStack() as undone:
        try:
            make_private(state_folder())
            make_private(folder.parent)
            folder.mkdir(mode=0o700)
            undone.callback(shutil.rmtree, folder, ignore_errors=True)
            held.enter_context(locked_journal(folder))
            write_whole(folder / RUN_FILE, header.model_dump_json())
        except OSError as error:
            note(_cannot_keep(folder, error))
            return None
        undone.pop_all()
    return folder


def _end(folder: Path, note: Callable[[str], None]) -> None:
    try:
        blocks = sum(BlockName.of(file) is not None for file in folder.iterdir())
    except OSError:  # its disk is gone, and it must not take with it what is stored
        return
    if blocks:
        note(f"{blocks} measured blocks are not stored: they are kept in {folder} for the next run to store")
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _cannot_keep(folder: Path, error: OSError) -> str:
    return (
        f"no journal can be kept in {folder} ({error.strerror}): should this run be killed, what it has not "
        "stored is lost (S3BENCH_STATE names another place)"
    )


@contextmanager
def locked_journal(folder: Path) -> Iterator[None]:
    """Hold a journal, as its run does while it lives, and as whoever recovers it does.

    Raises:
        BlockingIOError: somebody holds it.
        OSError: it cannot be locked.
    """
    with (folder / LOCK_FILE).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
