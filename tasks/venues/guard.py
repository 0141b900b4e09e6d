"""What outlives a killed run and tidies after it: the lab, the scratch, and what was measured and not stored.

A guard is a small process in a session of its own, so that neither Ctrl-C nor a signal to the run's group
reaches it. It waits in `watch.py` for the end of the run, holds neither its lock nor its output, and becomes
this module where the run ended without a word. What even that misses, because it was killed too, the next
run tidies and the start of `deployments.serve`.
"""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from configs.errors import UserError
from tasks.lab.files import make_private, write_whole
from tasks.lab.local_lab import lab_down
from tasks.lab.locks import is_abandoned
from tasks.lab.state import LabFolder, read_state
from tasks.lab.strays import end_strays
from tasks.venues import watch
from tasks.venues.host_lock import host_lock
from tasks.venues.journal import state_folder
from tasks.venues.recovery import recover

WAIT_FOR_HOST_S: Final = 60.0
"""How long a guard waits for a run that was begun meanwhile, and which has then tidied itself."""
GUARD_LIMIT_S: Final = 110
"""When the kernel ends a guard, after its run's end: a disk that is gone may keep it waiting for ever."""
_DISMISSED_WITHIN_S: Final = 5.0
_POLL_S: Final = 0.01
_LOG_BYTES: Final = 1 << 20
_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
_WATCH: Final = str(Path(watch.__file__).resolve())

_GUARDED: ContextVar[bool] = ContextVar("guarded", default=False)


def tidy_host(*, holds_host: bool = False, wait_s: float = 0.0, labs: Iterable[Path] = ()) -> tuple[str, ...]:
    """Bring down the labs of killed runs, remove their scratch, and store what they had measured.

    Nothing is done while somebody measures. What cannot be done is told and left for the next time.

    Args:
        holds_host: the caller holds the host's lock already.
        wait_s: how long to wait for it otherwise.
        labs: folders of labs to look at, besides those that guarded runs of this user had.

    Returns:
        What was done, in words; empty where there was nothing to do.
    """
    with contextlib.ExitStack() as held:
        if not holds_host:
            holder = f"the guard of a killed run (process {os.getpid()})"
            try:
                held.enter_context(host_lock(holder, wait_s, lambda _: None))
            except UserError as busy:
                return (f"nothing was tidied: {busy}",)
        # The lab first: it takes of the machine, and a store may take long.
        return (*_tidied_labs(labs), *recover())


def _tidied_labs(labs: Iterable[Path]) -> Iterator[str]:
    for folder in sorted({*labs, *_remembered_labs()}):
        try:
            ended = [*(lab_down(folder) if is_abandoned(folder) else ()), *end_strays(folder)]
            _forget_lab(folder)
        except (UserError, OSError) as error:
            yield f"the lab in {folder} could not be tidied: {error}"
        else:
            if ended:
                yield f"the lab in {folder} was left by a killed run: ended {', '.join(ended)}"


def _memory_of(folder: Path) -> Path:
    return state_folder() / "labs" / hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def _remember_lab(folder: Path) -> None:
    """Let whoever tidies know of a lab whose guard was killed too; where that cannot be, its guard knows."""
    file = _memory_of(folder)
    with contextlib.suppress(OSError):
        make_private(file.parent.parent)
        make_private(file.parent)
        write_whole(file, str(folder))


def _remembered_labs() -> list[Path]:
    try:
        return [Path(file.read_text()) for file in (state_folder() / "labs").iterdir() if file.name[0] != "."]
    except OSError:  # none was remembered, or another process forgets one just now: the next time will do
        return []


def _forget_lab(folder: Path) -> None:
    """Forget a lab that is down, also one whose folder is gone."""
    if read_state(LabFolder(folder).state_file) is None:
        _memory_of(folder).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Guard:
    """A guard that waits."""

    pid: int
    leash: int
    """The pipe whose end it waits for."""

    def leave(self) -> None:
        """Let it tidy as after a killed run, once this process has let go of the host."""
        os.close(self.leash)

    def dismiss(self) -> None:
        """Tell it that all is done, and wait for its end."""
        with contextlib.suppress(OSError):  # somebody killed it
            os.write(self.leash, watch.DONE)
        os.close(self.leash)
        deadline = time.monotonic() + _DISMISSED_WITHIN_S
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(self.pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
                time.sleep(_POLL_S)


@contextmanager
def guarded(
    lab_folder: Path | None, note: Callable[[str], None], *, holds_host: bool = False
) -> Iterator[None]:
    """Have a guard for the time of a run; within a guarded run this does nothing.

    Args:
        lab_folder: of the lab that the run uses; None where it uses none.
        note: told what was tidied first, and where there can be no guard.
        holds_host: this process holds the host's lock: what killed runs left is tidied first.
    """
    if _GUARDED.get():
        yield
        return
    if holds_host:
        for told in tidy_host(holds_host=True):
            note(told)
    lab = None if lab_folder is None else lab_folder.resolve()
    if lab is not None:
        _remember_lab(lab)
    guard = _start(lab, note)
    token = _GUARDED.set(True)
    try:
        yield
    finally:
        _GUARDED.reset(token)
        if guard is not None:
            guard.leave() if _is_left_up(lab) else guard.dismiss()


def _is_left_up(lab: Path | None) -> bool:
    """Whether a run was interrupted while it took its lab down."""
    if lab is not None:
        with contextlib.suppress(UserError, OSError):
            _forget_lab(lab)
            return is_abandoned(lab)
    return False


def _start(lab: Path | None, note: Callable[[str], None]) -> _Guard | None:
    labs = [] if lab is None else [str(lab)]
    # -P: the folder in which the run was started may hold a package of the same name.
    becomes = [sys.executable, "-P", "-m", "tasks.venues.guard", *labs]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with contextlib.ExitStack() as opened:
        try:
            reads, leash = os.pipe()
            opened.callback(os.close, reads)
            opened.callback(os.close, log := _open_log())
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _WATCH, str(GUARD_LIMIT_S), *becomes],
                kept | {"PYTHONPATH": str(_PROJECT_ROOT)},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reads, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                ],
                setsid=True,
            )
        except OSError as error:
            note(f"this run has no guard ({error}): should it be killed, the next run tidies after it")
            return None
    return _Guard(pid, leash)


def _open_log() -> int:
    """Where guards say what they did; emptied when it has grown large, and nowhere if it cannot be."""
    log = state_folder() / "guard.log"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        make_private(log.parent)
        too_large = log.exists() and log.stat().st_size > _LOG_BYTES
        return os.open(log, flags | (os.O_TRUNC if too_large else 0), 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def main() -> None:
    """Tidy after the run whose guard this process was."""
    for told in tidy_host(wait_s=WAIT_FOR_HOST_S, labs=[Path(folder) for folder in sys.argv[1:]]):
        sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {told}\n")


if __name__ == "__main__":
    main()
