"""What lies in a folder is told with slashes, and reading it through brings it into the page cache."""

import os
from pathlib import Path

import pytest

from tasks.kernel.folders import read_through, sizes_in


def test_files_are_told_by_their_path_with_slashes_and_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")
    (tmp_path / "d").write_bytes(b"")
    assert sizes_in(tmp_path) == {"a/b/c": 3, "d": 0}
    assert sizes_in(tmp_path / "missing") == {}


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="only Linux tells what is in the page cache")
def test_what_was_read_through_is_in_the_page_cache(tmp_path: Path) -> None:
    file, size_bytes = tmp_path / "file", 3 * 1024**2 + 1
    with file.open("wb") as stream:
        stream.write(os.urandom(size_bytes))
        stream.flush()
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if in_the_page_cache(file) == size_bytes:
        pytest.skip("the file system here keeps files in the page cache")
    read_through([file])
    assert in_the_page_cache(file) == size_bytes


def in_the_page_cache(file: Path) -> int:
    """How many of its bytes, from the first on, are read without asking the disk."""
    found, buffer = 0, bytearray(4096)
    with file.open("rb", buffering=0) as stream:
        try:
            while read := os.preadv(stream.fileno(), [buffer], found, os.RWF_NOWAIT):
                found += read
        except BlockingIOError:
            pass
        except OSError as error:
            pytest.skip(f"the file system here does not tell what is in the page cache: {error}")
    return found
