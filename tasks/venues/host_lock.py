"""One measurement at a time on a host: a kernel lock, freed at once however its holder dies."""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from configs.errors import UserError
from configs.paths import expanded

_POLL_S = 0.5


def lock_path() -> Path:
    """The same file for everybody on this host; S3BENCH_LOCK names another one, as tests do."""
    if named := os.environ.get("S3BENCH_LOCK"):
        return expanded(named)
    return Path(tempfile.gettempdir()) / "s3-access-benchmark.lock"


@contextmanager
def host_lock(holder: str, wait_s: float, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the host's lock, telling others `holder` (such as a run id and a process id).

    Raises:
        UserError: if another measurement still holds it after `wait_s` seconds.
    """
    descriptor = _open(lock_path())
    try:
        _acquire(descriptor, wait_s, on_wait)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def refuse_unusable_lock() -> None:
    """Find a mistake in S3BENCH_LOCK before anything is measured.

    Raises:
        UserError: that file can be neither opened nor made.
    """
    os.close(_open(lock_path()))


def _open(path: Path) -> int:
    try:
        return _descriptor(path)
    except OSError as error:
        message = (
            f"S3BENCH_LOCK: {path}: the lock of this host cannot be opened ({error.strerror}): let "
            "S3BENCH_LOCK name a file that can be written, in a folder that is there"
        )
        raise UserError(message) from error


def _descriptor(path: Path) -> int:
    try:
        # Without O_CREAT first: in a sticky folder the kernel refuses O_CREAT on another user's file
        # (fs.protected_regular), although the lock itself would be allowed.
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor


def _acquire(descriptor: int, wait_s: float, on_wait: Callable[[str], None]) -> None:
    deadline_s = time.monotonic() + wait_s
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 400, 0).decode(errors="replace") or "another measurement"
            if time.monotonic() >= deadline_s:
                message = f"{holder} is measuring on this host: two at once would disturb each other"
                raise UserError(message) from None
            if not told:
                on_wait(f"waiting for {holder}, which is measuring on this host")
                told = True
            time.sleep(_POLL_S)
        else:
            return
