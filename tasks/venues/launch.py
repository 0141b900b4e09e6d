"""How a run was started, and whom it tells how far it is: set by the command line, else by default.

It travels in a context variable, never as a parameter of a flow, because Prefect stores parameters.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tasks.reports.progress import LineReporter, Reporter
from tasks.venues.stopwatch import Stopwatch


def _nothing_to_wait_for() -> None:
    """For a server that others started: how busy it is cannot be seen from here."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a run was started."""

    reporter: Reporter = field(default_factory=lambda: LineReporter(logging.getLogger("s3bench").info))
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    settle: Callable[[], None] = _nothing_to_wait_for
    """Waits until the server has worked off what it was sent: measuring has the machine for itself."""
    holds_host: bool = False
    """True: whoever started the run holds the host's lock already."""
    is_shown: bool = True
    """False: nobody can look into the Prefect server, so that nothing is made for its UI."""
    retry_after_s: tuple[float, ...] = (5.0, 20.0, 60.0)
    """How long to wait before each new attempt at what is not measuring, where the cause may pass."""


_LAUNCH: ContextVar[Launch | None] = ContextVar("launch", default=None)


def current_launch() -> Launch:
    """How the running flow was started."""
    return given_launch() or Launch()


def given_launch() -> Launch | None:
    """How the command that runs the flow in its own process started it; None where a deployment did."""
    return _LAUNCH.get()


@contextmanager
def launched(launch: Launch) -> Iterator[None]:
    """Let flows that are called inside know how they were started."""
    token = _LAUNCH.set(launch)
    try:
        yield
    finally:
        _LAUNCH.reset(token)
