"""What a run that Ctrl-C or a signal ends says last: what became of that which was measured."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from types import FrameType

from configs.errors import UserError


def end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end the run as an exception does, so that the lab and the server are stopped."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


@contextlib.contextmanager
def told_when_interrupted(results: str | None) -> Iterator[None]:
    """Tell of an interruption in one line.

    Args:
        results: where the run stores; None as long as it cannot have stored anything.
    """
    begun = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"  # as run ids begin
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        with contextlib.suppress(OSError):  # of a terminal that is gone
            sys.stderr.write(f"s3bench: interrupted: {_what_is_stored(results, begun)}\n")
            sys.stderr.flush()
        raise


def _what_is_stored(results: str | None, begun: str) -> str:
    from tasks.results.reader import list_runs  # noqa: PLC0415 - keeps `plan` quick
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    if results is None:
        return "nothing was measured"
    shows = f"`s3bench report --results {results}` shows it"
    try:
        run = next((run for run in list_runs(open_store(results)) if run.run_id >= begun), None)
    except UserError as error:
        return f"whether anything is stored in {results} cannot be told: {error}"
    if run is None:
        return "nothing was measured"
    if run.record_name is not None:
        return f"the run is stored in {results}, and {shows}"
    return f"what was measured until then is stored in {results}, and {shows} as incomplete"


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
