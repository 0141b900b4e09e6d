"""The two locks of a lab: one held by a command that changes it, one shared by all runs that use it.

And the lock of a folder that one command at a time may use.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from configs.errors import UserError
from tasks.lab.state import LabFolder, read_state


def lock_or_refuse(file: IO[str], refusal: str) -> None:
    """Take the lock of an open file; its holder has it until it closes the file or ends, however it ends.

    Raises:
        UserError: with this refusal, where somebody else has it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(refusal) from None


@contextmanager
def locked(lab: LabFolder) -> Iterator[None]:
    """Keeps other commands on this lab waiting; the kernel frees the lock however its holder ends."""
    with lab.lock_file.open(
        "w"
    ) as file:  # not inherited by the processes of the lab: Python opens with O_CLOEXEC
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_last(users: IO[str]) -> bool:
    """Whether nobody else uses the lab; from now on nobody can begin to, until the file is closed."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_abandoned(folder: Path) -> bool:
    """Whether a lab came up for a run and no run uses it any more: then one was killed.

    Asked while no other command can ask the same, since one that finds the lab in use leaves it up. While
    another one changes the lab, or where it cannot be asked, nothing is claimed.
    """
    lab = LabFolder(folder.resolve())
    if read_state(lab.state_file) is None:
        return False
    try:
        with lab.lock_file.open("a") as lock, lab.users_file.open("a") as users:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            state = read_state(lab.state_file)
            return state is not None and state.temporary and is_last(users)
    except OSError:  # another command holds the lock, or the folder is read-only
        return False
