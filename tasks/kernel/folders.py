"""What lies in a folder, and a known state of the page cache for it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CHUNK_BYTES: Final = 1024**2


def sizes_in(folder: Path) -> dict[str, int]:
    """The size in bytes of every file below a folder, by its path with slashes."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }


def size_bytes_of(path: Path) -> int | None:
    """The size of a file; None where it is not there, or cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def read_through(files: Iterable[Path]) -> None:
    """Read files to their ends, so that of them what fits into memory is in the page cache."""
    buffer = bytearray(_CHUNK_BYTES)
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
