"""File operations that end in time, whatever the file system does: by a process that can be left behind.

A call on a mount whose server is gone may wait for ever, and no thread of Python can be taken out of it. Some
such processes cannot even be killed (a request that a FUSE server has taken is waited for by the kernel,
fs/fuse/dev.c). So the calls are made by a small process of its own, which is killed and forgotten where it
does not answer: its caller gets an `OSError` with ETIMEDOUT, and goes on.

Between the two go lines of JSON, each followed by as many bytes as it says. Standard library alone: the file
is also the program that is started, by a Python that imports nothing else, within some 20 ms.
"""

import contextlib
import errno
import json
import os
import select
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_KILLED_WITHIN_S: Final = 1.0
_CHUNK_BYTES: Final = 1 << 16
_LOOKS_A_CALL: Final = 200


class BoundedFiles:
    """Files of one place, such as a mount, each call on which ends within a time."""

    def __init__(self, within_s: float) -> None:
        """Start nothing yet.

        Args:
            within_s: how long one call may take.
        """
        self._within_s = within_s
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process, or leave it behind."""
        self._end()

    def look(self, folder: Path) -> None:
        """Open a folder as a listing does.

        Raises:
            OSError: if it cannot be opened; here and below with ETIMEDOUT where it does not answer in time.
        """
        self._ask("look", [folder])

    def sizes(self, paths: Iterable[Path]) -> list[int | None]:
        """The size of each file in bytes; None where it is not there (yet)."""
        every = list(paths)
        parts = (every[first : first + _LOOKS_A_CALL] for first in range(0, len(every), _LOOKS_A_CALL))
        return [size_bytes for part in parts for size_bytes in self._ask("sizes", part)]

    def write(self, path: Path, payload: bytes) -> None:
        """Write a file, whose folder is made where it is missing."""
        self._ask("write", [path], payload)

    def write_whole(self, path: Path, payload: bytes) -> None:
        """The same, so that nobody ever sees a part of it: not every mount lets files be renamed."""
        self._ask("write_whole", [path], payload)

    def unlink(self, path: Path) -> None:
        """Remove a file."""
        self._ask("unlink", [path])

    def remove_tree(self, folder: Path, root: Path) -> None:
        """Remove a folder with all that is in it, if it is there; no symbolic link is followed.

        Args:
            folder: what to remove.
            root: what it lies below; a link between the two that leads elsewhere is refused.
        """
        self._ask("remove_tree", [folder, root])

    def _ask(self, what: str, paths: Iterable[Path], payload: bytes = b"") -> list[int | None]:
        names = [os.fspath(path) for path in paths]
        deadline_s = time.monotonic() + self._within_s
        process = self._process or self._start()
        question = {"what": what, "paths": names, "payload_bytes": len(payload)}
        try:
            _send(process, json.dumps(question).encode() + b"\n" + payload, deadline_s)
            answer = json.loads(_line_of(process, deadline_s))
        except TimeoutError:
            self._end()
            raise OSError(errno.ETIMEDOUT, f"no answer within {self._within_s:g} s", *names[:1]) from None
        except (BrokenPipeError, ValueError):
            self._end()
            raise OSError(errno.EIO, "the process that asked has died", *names[:1]) from None
        if "errno" in answer:
            raise OSError(answer["errno"], answer["strerror"], answer["filename"])
        found: list[int | None] = answer["found"]
        return found

    def _start(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
        self._process = process
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            end_or_leave(process, _KILLED_WITHIN_S)


def end_or_leave(process: "subprocess.Popen[bytes]", within_s: float) -> bool:
    """Wait for a killed process, and tell whether it ended.

    One that waits in the kernel for a file system may not: it is left to end whenever that answers, and what
    we share with it is closed.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was not sent can no longer be
                pipe.close()
    return process.returncode is not None


def _send(process: "subprocess.Popen[bytes]", what: bytes, deadline_s: float) -> None:
    if process.stdin is None:
        raise BrokenPipeError
    pipe, rest = process.stdin.fileno(), memoryview(what)
    while rest:
        _wait(pipe, select.POLLOUT, deadline_s)
        rest = rest[os.write(pipe, rest[:_CHUNK_BYTES]) :]


def _line_of(process: "subprocess.Popen[bytes]", deadline_s: float) -> bytes:
    if process.stdout is None:
        raise BrokenPipeError
    line = b""
    while not line.endswith(b"\n"):
        _wait(process.stdout.fileno(), select.POLLIN, deadline_s)
        piece = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not piece:
            raise BrokenPipeError
        line += piece
    return line


def _wait(pipe: int, event: int, deadline_s: float) -> None:
    waiting = select.poll()
    waiting.register(pipe, event)
    if not waiting.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
        raise TimeoutError


def _look(paths: list[str], _payload: bytes) -> list[int | None]:
    os.scandir(paths[0]).close()
    return []


def _sizes(paths: list[str], _payload: bytes) -> list[int | None]:
    return [_size_bytes_of(path) for path in paths]


def _size_bytes_of(path: str) -> int | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path takes longer to make than to look at
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ESTALE}:
            return None
        raise
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _write(paths: list[str], payload: bytes) -> list[int | None]:
    path = Path(paths[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(payload)
    return []


def _write_whole(paths: list[str], payload: bytes) -> list[int | None]:
    path = Path(paths[0])
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_bytes(payload)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return []


def _unlink(paths: list[str], _payload: bytes) -> list[int | None]:
    Path(paths[0]).unlink()
    return []


def _remove_tree(paths: list[str], _payload: bytes) -> list[int | None]:
    folder, root = map(Path, paths)
    if folder.parent.resolve() != root.resolve() / folder.parent.relative_to(root):
        raise OSError(errno.ELOOP, f"a link leads out of {root}", paths[0])
    if folder.is_dir():
        shutil.rmtree(paths[0])
    return []


_CALLS: Final[Mapping[str, Callable[[list[str], bytes], list[int | None]]]] = {
    "look": _look,
    "sizes": _sizes,
    "write": _write,
    "write_whole": _write_whole,
    "unlink": _unlink,
    "remove_tree": _remove_tree,
}


def main() -> None:
    """Answer until nobody asks any more."""
    while line := sys.stdin.buffer.readline():
        question = json.loads(line)
        payload = sys.stdin.buffer.read(question["payload_bytes"])
        try:
            answer: dict[str, object] = {"found": _CALLS[question["what"]](question["paths"], payload)}
        except OSError as error:
            # Some have a message alone, as of a link that should be a folder.
            what = {"errno": error.errno or errno.EIO, "strerror": error.strerror or str(error)}
            answer = what | {"filename": error.filename}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
