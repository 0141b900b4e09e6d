"""Files that a reader finds whole or not at all, and folders for nobody else's eyes."""

import os
import tempfile
from pathlib import Path


def write_whole(file: Path, content: str) -> None:
    """Writes a file under a temporary name and renames it; its owner alone may read it.

    Raises:
        OSError: It cannot be written; an older file of that name is untouched then.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(file)
    except OSError:
        Path(temporary).unlink()
        raise


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone may enter; one that is there already stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
