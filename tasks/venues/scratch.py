"""The scratch folder: where files lie that are moved from or to a local disk, and nothing else.

* `<folder>/s3-access-benchmark/trees/…`: file trees to upload, kept from run to run;
* `<folder>/s3-access-benchmark/runs/<run id>/…`: what one run moves, a folder for each block, gone with it.

The folder is the user's, and may hold a `runs` of theirs: only what lies in our own part of it, and has the
name of a run, is ever removed.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from configs.errors import UserError
from configs.run_record import RUN_ID_PATTERN
from tasks.lab.files import make_private

_OURS = "s3-access-benchmark"
_TREES = "trees"
_RUNS = "runs"


def scratch_folder(wanted: Path | None) -> Path:
    """Our part of the folder that a suite names, or of one of this user's below the temporary folder.

    Raises:
        UserError: it cannot be made or written, or somebody else's lies in its place.
    """
    named = wanted or Path(tempfile.gettempdir()) / f"s3bench-{os.getuid()}"
    folder = named / _OURS
    try:
        make_private(named)
        make_private(folder)
        folder = folder.resolve()
        for part in (_TREES, _RUNS):
            make_private(folder / part)
        if (folder / _RUNS).lstat().st_uid != os.getuid():
            raise UserError(f"{folder}: this scratch folder is another user's: give one of your own")
        tempfile.TemporaryFile(dir=folder / _RUNS).close()
    except OSError as error:
        raise UserError(
            f"{named}: files that are moved cannot lie there ({error.strerror}): "
            "write scratch: FOLDER into the suite, on a local disk with free space"
        ) from error
    return folder


def trees_folder(scratch: Path) -> Path:
    """Where file trees lie that are uploaded."""
    return scratch / _TREES


@contextmanager
def folder_of_block(scratch: Path, run_id: str, block: str) -> Iterator[Path]:
    """A new folder for what one block moves, removed afterwards with all that is in it."""
    folder = scratch / _RUNS / run_id / block
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_run(scratch: Path, run_id: str) -> None:
    """Remove what is left of a run."""
    shutil.rmtree(scratch / _RUNS / run_id, ignore_errors=True)


def remove_left_overs(scratch: Path) -> None:
    """Remove what killed runs left: to be called by a run that holds the host's lock, before it measures."""
    for folder in (scratch / _RUNS).iterdir():
        if re.fullmatch(RUN_ID_PATTERN, folder.name):
            shutil.rmtree(folder, ignore_errors=True)
