"""Programs of others: found, run one after another with their processor time, and gone when we are gone.

A program is started by posix_spawn, straight from the measuring process: a launcher between them, such as
`tasks/kernel/leash.py`, would add 10 ms of its own to every operation. What ends a program when the measuring
process dies, by kill -9 too, is a guard: a process that waits for the end of its input, which the kernel
closes with the process that holds it, and then kills its process group. Every program is born into
that group, and what a program starts stays in it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from configs.paths import expanded

if TYPE_CHECKING:
    from resource import struct_rusage

_GUARD: Final = "import os, signal, sys; sys.stdin.buffer.read(); os.killpg(0, signal.SIGKILL)"
_IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)
_NS_A_SECOND: Final = 1_000_000_000
_LOOK_EVERY_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Found:
    """An executable of this machine."""

    path: Path
    where: str
    """In words that name no folder: on the PATH, beside Python, or configured."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended well, and what it cost; programs that it started and waited for are counted in."""

    user_ns: int
    system_ns: int


class ProgramError(Exception):
    """A program ended with another status than 0."""

    def __init__(self, status: int, printed: str) -> None:
        super().__init__(f"exit status {status}: {printed or 'it printed nothing'}")
        self.status = status
        """Its exit status; minus the number of the signal that ended it."""
        self.printed = printed
        """What it wrote to its error output."""


def find_program(wanted: str) -> Found | None:
    """Look a program up: a path as it is, a name on the PATH and then beside Python; None where it is not."""
    if os.sep in wanted:
        path = shutil.which(expanded(wanted))
        return Found(Path(path), "configured") if path else None
    for where, folders in (("on the PATH", None), ("beside Python", str(Path(sys.executable).parent))):
        path = shutil.which(wanted, path=folders)
        if path is not None:
            return Found(Path(path).absolute(), where)
    return None


def why_not_found(wanted: str) -> str:
    """What is wrong with a program that `find_program` does not find."""
    if os.sep not in wanted:
        return "is neither on the PATH nor beside Python"
    path = expanded(wanted)
    if path.is_dir():
        return "is a folder"
    return "is not executable: chmod +x it" if path.exists() else "does not exist"


class ProgramRunner:
    """Runs programs with one environment, one at a time; leaves nothing behind when it is closed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._stack = ExitStack()
        self._guard = self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _GUARD],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        )
        # Files and no pipes: nobody has to empty them while a program runs.
        open_file = tempfile.TemporaryFile
        self._output, self._errors = (self._stack.enter_context(open_file()) for _ in range(2))

    def ready(self, environment: Mapping[str, str]) -> None:
        """Give the programs that follow this environment, and forget what earlier ones have printed."""
        self._environment = dict(environment)
        for file in (self._output, self._errors):
            _empty(file.fileno())

    def run(self, command: list[str], limit_s: float | None = None) -> Ended:
        """Start a program, wait for its end, and give its processor time.

        Args:
            command: the program's path and its arguments.
            limit_s: when it is ended if it has not ended itself; None is for what is measured, since the
                end of a program that has a limit is seen up to 10 ms late.

        Raises:
            ProgramError: it ended with another status than 0, or by a signal.
            TimeoutError: it had not ended when its time was over.
            OSError: it cannot be started.
        """
        process_id = os.posix_spawn(
            command[0],
            command,
            self._environment,
            file_actions=(
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, self._output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, self._errors.fileno(), 2),
            ),
            setpgroup=self._guard.pid,
            setsigdef=_IGNORED_BY_PYTHON,
        )
        try:
            _, wait_status, usage = os.wait4(process_id, 0) if limit_s is None else _end(process_id, limit_s)
        except BaseException:
            os.kill(process_id, signal.SIGKILL)
            os.waitpid(process_id, 0)
            raise
        status = os.waitstatus_to_exitcode(wait_status)
        if status != 0:
            raise ProgramError(status, self.printed_errors())
        return Ended(int(usage.ru_utime * _NS_A_SECOND), int(usage.ru_stime * _NS_A_SECOND))

    def printed(self) -> str:
        """What programs have written to their output since `ready`, or since this was last asked."""
        return _taken(self._output.fileno())

    def printed_errors(self) -> str:
        """What programs have written to their error output since `ready`, or since this was last asked."""
        return _taken(self._errors.fileno())

    def close(self) -> None:
        """End the guard, and with it whatever a program has left running; harmless when called again."""
        with self._stack.pop_all():
            pass  # leaving the guard closes its input and waits for it


def _end(process_id: int, limit_s: float) -> "tuple[int, int, struct_rusage]":
    """As `os.wait4`, which knows no time limit."""
    deadline = time.monotonic() + limit_s
    while (ended := os.wait4(process_id, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it had not ended after {limit_s:g} s")
        time.sleep(_LOOK_EVERY_S)
    return ended


def _taken(descriptor: int) -> str:
    """Read a file to its end and empty it; programs write to the same place of it as we read."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    _empty(descriptor)
    return b"".join(pieces).decode(errors="replace").strip()


def _empty(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
