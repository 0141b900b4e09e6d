"""What `deployments.serve` and its flow runs print: a line for each happening, and no tracebacks.

Prefect's own handler prints tracebacks, which the logs in its UI show too, and ends the process, a flow run
with all that it has measured, where nobody reads any more what it prints.
"""

import copy
import logging
import sys
from pathlib import Path
from typing import IO

from configs.redaction import redacted

logging.raiseExceptions = False  # else a server that is away costs a traceback for each line that it misses


class OneLineHandler(logging.StreamHandler[IO[str]]):
    """A handler for Prefect's logging settings: `PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS` names it."""

    def __init__(self, stream: IO[str] | None = None, styles: dict[str, str] | None = None) -> None:
        super().__init__(stream or sys.stderr)
        self._before: tuple[object, ...] = ()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, unless it says the same as that before it, such as that a run still waits."""
        said = (record.name, record.msg, record.args)
        if said != self._before:
            self._before = said
            super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record; of an error its class, message and place stand in it."""
        short = copy.copy(record)
        short.exc_info, short.exc_text, short.stack_info = None, None, None
        line = super().format(short).rstrip()
        error = record.exc_info[1] if record.exc_info else None
        if error is None or str(error) in line:
            return line
        return redacted(f"{line}: {type(error).__name__}: {_first_line(error)}{_place(error)}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["no message"])[0]


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
