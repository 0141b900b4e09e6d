"""How the commands of this folder end: bad settings with one message, a signal as an exception."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pydantic import ValidationError

from configs.errors import UserError

EXIT_BAD_INPUT = 2


@contextmanager
def told() -> Iterator[None]:
    """Turn what an operator can mend into one message and exit status 2."""
    try:
        yield
    except UserError as error:
        _complain(str(error))
    except ValidationError as error:
        for item in error.errors():
            name = "S3BENCH_" + "_".join(str(step) for step in item["loc"]).upper()
            _complain(f"{name}: {item['msg']}, but it is {item['input']!r}")


def end_by_sigterm() -> None:
    """Let SIGTERM end the command as Ctrl-C does, so that what it started is stopped."""
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _complain(message: str) -> None:
    sys.stderr.write(f"s3bench: {message}\n")
    sys.exit(EXIT_BAD_INPUT)
