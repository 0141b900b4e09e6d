"""Processes that outlive the command that started them, and how to know them again.

A process id alone says nothing once its process has ended, because the kernel hands it out again. The id and
the moment of creation together name one process for good, so nothing here signals a process on its id alone.

`os.posix_spawn` starts them rather than `subprocess.Popen`: it gives a session of its own and leaves no
object behind that warns of a child which is meant to live on.
"""

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from configs.base import Model
from configs.errors import UserError

SAME_MOMENT_S = 1.0
"""psutil derives the moment from the boot time on the wall clock, which corrections of that clock move."""

LOG_TAIL_LINES = 12
POLL_S = 0.02
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
QUIET_WINDOW_S = 0.5


class ProcessRef(Model):
    """One process, named so that a reused process id is not taken for it."""

    pid: int
    create_time: float
    """Seconds since the epoch, as psutil tells it."""

    @classmethod
    def of(cls, pid: int) -> "ProcessRef":
        """Names a process that runs now; raises `psutil.NoSuchProcess` where there is none."""
        return cls(pid=pid, create_time=psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The process if it still runs; none if it has ended, is a zombie, or its id is another's by now."""
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.create_time) > SAME_MOMENT_S:
                return None
            return None if process.status() == psutil.STATUS_ZOMBIE else process
        except psutil.NoSuchProcess:
            return None

    def end(self, timeout_s: float) -> bool:
        """Asks the process to end and kills it after `timeout_s`; false if it did not run any more.

        Raises:
            UserError: It belongs to another user, or the kernel holds it.
        """
        process = self.find()
        if process is None:
            return False
        try:
            process.terminate()
            if not self._ends_within(timeout_s):
                process.kill()
                if not self._ends_within(timeout_s):
                    raise UserError(
                        f"process {self.pid} does not end: the kernel holds it (see ps -o stat,wchan)"
                    )
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied as error:
            message = f"process {self.pid} was started by another user: end it as that user"
            raise UserError(message) from error
        return True

    def _ends_within(self, timeout_s: float) -> bool:
        """Waits for the end; psutil's own `wait` takes an orphan that nobody has reaped for alive."""
        deadline = time.monotonic() + timeout_s
        while self.find() is not None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        with contextlib.suppress(ChildProcessError):  # another command's child is another's to reap
            os.waitpid(self.pid, os.WNOHANG)
        return True


def start_daemon(command: Sequence[str], environment: Mapping[str, str], log_file: Path) -> ProcessRef:
    """Starts a program in a session of its own, with its output in `log_file`, which is emptied first.

    Raises:
        OSError: The program or the log file cannot be opened.
    """
    log_flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log_file), log_flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return ProcessRef.of(pid)


def listening_ports(process: psutil.Process) -> list[int]:
    """The TCP ports of IPv4 on which a process listens now, which the kernel may have chosen."""
    connections = process.net_connections("tcp4")
    return [connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN]


def log_tail(log_file: Path) -> str:
    """The last lines of a log, for an error message; a sentence if there are none."""
    try:
        lines = log_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return "\n".join(lines[-LOG_TAIL_LINES:]) or "(its log is empty)"


def wait_until_quiet(pid: int, *, cpu_share_below: float, timeout_s: float) -> float:
    """Waits until a process and its children use less than a share of one core, by half seconds.

    Call it between the orchestration and a measurement: a Prefect server works through its events after the
    calls that caused them have returned.

    Returns:
        The share of one core that was used last; at or above `cpu_share_below` if `timeout_s` ran out first.

    Raises:
        UserError: The process has ended.
    """
    deadline = time.monotonic() + timeout_s
    try:
        process = psutil.Process(pid)
        while True:
            before_s, began = _tree_cpu_s(process), time.monotonic()
            time.sleep(QUIET_WINDOW_S)
            share = (_tree_cpu_s(process) - before_s) / (time.monotonic() - began)
            if share < cpu_share_below or time.monotonic() >= deadline:
                return share
    except psutil.NoSuchProcess as error:
        raise UserError(f"process {pid}, which should become quiet, has ended: look into its log") from error


def _tree_cpu_s(process: psutil.Process) -> float:
    """Processor seconds of a process, its living children and those it has reaped."""
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it ended between the listing and the look; its parent's children_* has its time
        total += times.user + times.system
    return total
