"""Finds what an operator has set wrong while somebody is there to see it: before anything is started.

Nothing of AWS is asked: a network that is away for a moment must not keep a host from serving.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from configs.choices import known_suites, refuse_missing_suites, troubles_of_suites
from configs.errors import UserError
from configs.lab_marker import LAB_MARKER
from configs.loading import mistakes_in
from configs.overlays import nearest
from deployments.catalogue import Operation, refuse_unknown_suite
from deployments.commands import say
from tasks.lab.prefect_server import ServerNotReadyError
from tasks.results.store import open_store
from tasks.venues.host_lock import refuse_unusable_lock
from tasks.venues.journal import state_folder

_PREFIX: Final = "S3BENCH_"
_READ_ELSEWHERE: Final = ("S3BENCH_LOCK", "S3BENCH_STATE", "S3BENCH_SUITES", LAB_MARKER)
_FREE_AT_LEAST_BYTES: Final = 100_000_000
"""A new database with what Prefect writes in a night."""


def refuse_wrong_settings(operation: Operation, *, is_night_ours: bool = True) -> None:
    """Refuse all settings that are wrong, in one message.

    Args:
        operation: what is set, each of which is right for itself.
        is_night_ours: whether this host's settings say what a night measures; those of a worker do not.

    Raises:
        UserError: with the variable of each.
    """
    wrong = [
        *_unknown_names(),
        *_said(lambda: _check_results(operation.results)),
        *_said(lambda: _check_folder("S3BENCH_STATE", state_folder())),
        *_said(lambda: _check_folder("S3BENCH_LAB", operation.lab)),
        *_said(refuse_unusable_lock),
        *_said(lambda: _check_webhook(operation.alert_webhook)),
        *_said((lambda: refuse_unknown_suite(operation)) if is_night_ours else refuse_missing_suites),
    ]
    if wrong:
        raise UserError("; ".join(wrong))


def say_troubles_of_suites() -> None:
    """A line for each suite of the operator's own folder that is not what it looks like."""
    for line in troubles_of_suites():
        say(line)
    for name in known_suites():
        for line in mistakes_in(name):
            say(f"{line}: {name} is not offered in the form until it is mended and this started anew")


def refuse_full_disk(folder: Path) -> None:
    """Say so where there is no room for a server's database, of which Prefect itself says little.

    Raises:
        ServerNotReadyError: somebody has to make room; then trying again helps.
    """
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(_existing(folder.resolve())).free
        if free < _FREE_AT_LEAST_BYTES:
            message = (
                f"S3BENCH_DATA={folder}: no space left on its disk ({free / 1e6:.0f} MB are free, and the "
                f"Prefect server needs {_FREE_AT_LEAST_BYTES / 1e6:.0f} MB): make room"
            )
            raise ServerNotReadyError(message)


def _said(check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except UserError as error:
        yield str(error)


def _unknown_names() -> Iterator[str]:
    known = [*(f"{_PREFIX}{name.upper()}" for name in Operation.model_fields), *_READ_ELSEWHERE]
    for name in sorted(os.environ):
        if name.upper().startswith(_PREFIX) and name.upper() not in known:
            meant = nearest(name.upper(), known)
            yield f"{name} is no setting{f': did you mean {meant}?' if meant else ': unset it'}"


def _check_results(location: str) -> None:
    try:
        store = open_store(location)
    except UserError as error:
        raise UserError(f"S3BENCH_RESULTS: {error}") from error
    if "://" not in location:
        _check_folder("S3BENCH_RESULTS", Path(store.location))


def _check_folder(variable: str, folder: Path) -> None:
    """A folder that can be written, or made: nothing is made here, since the next mistake may stop all."""
    found = _existing(folder.absolute())
    if not found.is_dir():
        why = f"{found} is no folder"
    elif not os.access(found, os.W_OK | os.X_OK):
        why = f"{found} cannot be written"
    else:
        return
    raise UserError(f"{variable}={folder}: {why}: name a folder of your own")


def _existing(path: Path) -> Path:
    """The path itself, or the nearest above it that is there."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))


def _check_webhook(address: str | None) -> None:
    if address is None:
        return
    with contextlib.suppress(ValueError):  # such as a port that is no number
        parts = urlsplit(address)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            return
    # The address may hold a secret: it is not shown.
    raise UserError("S3BENCH_ALERT_WEBHOOK: this is no address: give one such as https://HOST/PATH")
