"""How the commands of this folder speak, end, and keep a second one of their kind away."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import httpx
from pydantic import ValidationError

from configs.errors import UserError
from configs.redaction import redacted
from deployments.catalogue import Operation
from flows.server_access import error_of_server
from tasks.lab.files import make_private
from tasks.lab.locks import lock_or_refuse
from tasks.lab.prefect_server import ServerNotReadyError, error_of_files

EXIT_BAD_INPUT: Final = 2
"""Trying again does not help; the units of systemd do not."""
EXIT_NOT_READY: Final = 75
"""EX_TEMPFAIL of <sysexits.h>: trying again may help."""


def say(line: str) -> None:
    """Print a line; a terminal that is gone takes nothing with it."""
    with contextlib.suppress(OSError):
        print(redacted(line), flush=True)


def settings() -> Operation:
    """What the operator has set.

    Raises:
        UserError: something of it makes no sense.
    """
    try:
        return Operation()
    except ValidationError as error:
        wrong = []
        for item in error.errors():
            if item["type"] == "default_factory_not_called":
                continue  # it follows from the others
            name = "S3BENCH_" + "_".join(str(step) for step in item["loc"]).upper()
            wrong.append(f"{name}={item['input']}: {item['msg']}")
        raise UserError("; ".join(wrong)) from error


@contextmanager
def server_faults(address: str) -> Iterator[None]:
    """Turn what a client of a server raises into a message.

    Raises:
        ServerNotReadyError: the server was lost, or is not well: trying again may help.
        UserError: it refuses what it was asked for.
    """
    try:
        yield
    except httpx.TransportError as error:
        raise ServerNotReadyError(f"the Prefect server at {address} was lost: {error}") from error
    except httpx.HTTPStatusError as error:
        raise error_of_server(error, f"the Prefect server at {address} refuses it: {error}") from error


@contextmanager
def told() -> Iterator[None]:
    """Turn what an operator can mend into one message and an exit status."""
    try:
        yield
    except ServerNotReadyError as error:
        _complain(str(error), EXIT_NOT_READY)
    except UserError as error:
        _complain(str(error), EXIT_BAD_INPUT)


def end_by_signals() -> None:
    """Let Ctrl-C, SIGTERM and the end of the terminal end the command as an exception does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)  # it was asked to


def _complain(message: str, status: int) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(f"s3bench: {message}\n")
        sys.stderr.flush()
    sys.exit(status)


@contextmanager
def alone(operation: Operation, command: str) -> Iterator[None]:
    """Hold the data folder for a command of its kind.

    Raises:
        UserError: another one holds it, or it cannot be written.
    """
    folder = operation.data.resolve()
    try:
        make_private(folder)
        lock = (folder / f"{command}.lock").open("w")
    except OSError as error:
        message = f"S3BENCH_DATA={folder}: it cannot be written ({error.strerror}): name a folder of your own"
        raise error_of_files(error, message) from error
    refusal = (
        f"S3BENCH_DATA={folder}: another {command} runs there already: stop it, or name another folder "
        "(and another port, by S3BENCH_PORT)"
    )
    with lock:
        lock_or_refuse(lock, refusal)
        yield
