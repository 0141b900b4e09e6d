"""How a run was started, and whom it tells how far it is: set by the command line, else by default.

It travels in a context variable, never as a parameter of a flow, because Prefect stores parameters.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tasks.reports.progress import LineReporter, Reporter
from tasks.venues.host_lock import host_lock
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


@contextmanager
def holding_host(launch: Launch, what: str, wait_s: float) -> Iterator[None]:
    """Have the host for oneself, unless whoever started the run has it already.

    Args:
        launch: how the run was started.
        what: who has it, for others that wait.
        wait_s: how long to wait for another one to end.

    Raises:
        UserError: it has not ended by then.
    """
    with contextlib.ExitStack() as held:
        if not launch.holds_host:
            with launch.stopwatch.of("wait"):
                holder = f"{what} (process {os.getpid()})"
                held.enter_context(host_lock(holder, wait_s, launch.reporter.note))
        yield
