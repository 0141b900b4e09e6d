"""Makes the lines that Prefect writes into the log of a flow run readable.

They show no object's inside, no traceback where the message tells what to do, and nowhere a secret.
"""

import logging
import re
from typing import Any, Final

from configs.errors import UserError
from configs.redaction import redacted

_LOGGERS: Final = ("prefect.flow_runs", "prefect.task_runs")
_FINISHED: Final = re.compile(r"(Finished in state \w+)\(.*\)", re.DOTALL)


class _Readable(logging.Filter):
    """Changes lines, and drops those that repeat a refusal: the flow tells it once."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is kept."""
        if record.exc_info and isinstance(record.exc_info[1], UserError):
            return False
        if isinstance(record.args, tuple) and any(isinstance(one, Exception) for one in record.args):
            record.msg = str(record.msg).replace("%r", "%s")
        record.msg, finished = _FINISHED.subn(r"\1", str(record.msg))
        if finished:  # what failed has a line of its own
            record.levelno, record.levelname = logging.INFO, "INFO"
        if name := getattr(record, "task_run_name", None):  # the UI shows no name beside the line
            if record.args:  # the line is a format, in which a name is not one
                name = str(name).replace("%", "%%")
            record.msg = f"{name}: {record.msg[:1].lower()}{record.msg[1:]}"
        return True


class _WithoutSecrets(logging.LogRecord):
    """A line of any logger, whose handlers get neither its message nor its traceback with a secret in it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.exc_info and self.exc_info[0]:
            self.exc_text = redacted(_FORMATTER.formatException(self.exc_info))

    def getMessage(self) -> str:  # noqa: N802 - logging's own name
        """The message with its arguments."""
        return redacted(super().getMessage())


_FORMATTER: Final = logging.Formatter()
_READABLE: Final = _Readable()


def make_logs_readable() -> None:
    """From now on, in this process; harmless when called again."""
    logging.setLogRecordFactory(_WithoutSecrets)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_READABLE)
