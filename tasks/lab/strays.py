"""Processes of a lab of which no state file tells: the run that was bringing it up was killed meanwhile."""

import fcntl
import os
from pathlib import Path
from typing import Final

import psutil

from tasks.lab.locks import is_last
from tasks.lab.mounting import end_mount
from tasks.lab.processes import STOP_TIMEOUT_S, ProcessRef
from tasks.lab.state import LabFolder, LabState, read_state

_PARTS: Final = ("a stray proxy", "a stray mount", "a stray S3 server")


def end_strays(folder: Path) -> tuple[str, ...]:
    """End what serves this lab's folder while the lab is down and nobody uses or changes it.

    Returns:
        What was ended, in words; empty if there was nothing.

    Raises:
        UserError: A process or the mount could not be ended.
    """
    lab = LabFolder(folder.resolve())
    if not lab.lock_file.exists():  # no command brings it up; what serves it is of a folder that was deleted
        return _ended(lab)
    with lab.lock_file.open("a") as lock, lab.users_file.open("a") as users:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another command brings it up or down
            return ()
        if read_state(lab.state_file) is not None or not is_last(users):
            return ()
        return _ended(lab)


def same_lab(one: LabState, other: LabState | None) -> bool:
    """Whether two states tell of the same processes."""
    return other is not None and one.server == other.server


def end_unrecorded(lab: LabFolder, state: LabState) -> None:
    """End the parts of a lab of which its folder tells no more: somebody deleted that meanwhile."""
    if state.aws_shaped is not None:
        state.aws_shaped.proxy.end(STOP_TIMEOUT_S)
    if read_state(lab.state_file) is None:
        end_mount(lab, state.mount)
    elif state.mount is not None:  # what is mounted there now is of another lab
        state.mount.end(STOP_TIMEOUT_S)
    state.server.end(STOP_TIMEOUT_S)


def _ended(lab: LabFolder) -> tuple[str, ...]:
    return tuple(part for part, process in _strays(lab) if _end(lab, part, process))


def _strays(lab: LabFolder) -> list[tuple[str, ProcessRef]]:
    """This user's processes that are a part of the lab, in the order in which a lab is taken down."""
    found = []
    for process in psutil.process_iter(["cmdline", "uids", "create_time"]):
        told = process.info
        part = _part(lab, told["cmdline"] or [])
        if part and told["uids"].real == os.getuid():
            found.append((part, ProcessRef(pid=process.pid, create_time=told["create_time"])))
    return sorted(found, key=lambda stray: _PARTS.index(stray[0]))


def _part(lab: LabFolder, command: list[str]) -> str:
    """What a command line is of this lab, which its own folders in it tell; empty for all others."""
    program, *words = command or [""]
    if words[:1] == ["mount"] and str(lab.mount_point) in words and "rclone" in program:
        return "a stray mount"
    if words[:2] == ["serve", "s3"] and str(lab.data) in words and "rclone" in program:
        return "a stray S3 server"
    if words[-2:] == ["tasks.lab.aws_proxy", str(lab.proxy.settings)]:
        return "a stray proxy"
    return ""


def _end(lab: LabFolder, part: str, process: ProcessRef) -> bool:
    return end_mount(lab, process) if part == "a stray mount" else process.end(STOP_TIMEOUT_S)
