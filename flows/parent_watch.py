"""A deployed flow run ends with what started it: `deployments.serve`, or the worker of a work pool.

Prefect's own flow processes live on when that is killed: their next line for the terminal ends them, and
what they had measured is lost; or they go on unseen, beside the run that follows. The kernel tells them at
once (`PR_SET_PDEATHSIG` in prctl(2), on Linux alone), and they end as by a signal from the server: what was
measured is stored, the lab goes down, and the server is told.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
from types import FrameType
from typing import Final

from prefect.context import FlowRunContext
from prefect.settings import PREFECT_API_URL

from tasks.kernel.leash import PR_SET_PDEATHSIG
from tasks.venues import presence

_SIGNAL: Final = signal.SIGHUP
_END_WITHIN_S: Final = 90
"""After that the kernel ends the process, and its guard stores what it had measured."""

_watching = False


class ParentDiedError(BaseException):
    """What started this flow run has died; nothing that handles a run's own errors may catch it."""


def watch_parent() -> None:
    """From now on end with what started this flow run, and let this host know that the run is alive.

    Does nothing in a run of no deployment, such as `s3bench run`, nor in a process that watches already.

    Raises:
        ParentDiedError: it has died already.
    """
    global _watching  # noqa: PLW0603 - one signal handler for each process
    context = FlowRunContext.get()
    if _watching or context is None or context.flow_run is None or context.flow_run.deployment_id is None:
        return
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return
    _watching = True
    with contextlib.suppress(OSError):  # a disk that is full must not keep a run from measuring
        presence.announce(context.flow_run.id, PREFECT_API_URL.value() or "")
    began_under = os.getppid()

    def end(_number: int, _frame: FrameType | None) -> None:
        if os.getppid() != began_under:  # else a thread of the parent has ended
            _end()

    signal.signal(_SIGNAL, end)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, _SIGNAL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if _is_orphan():  # it died before the signal was asked for
        _end()


def _is_orphan() -> bool:
    """Whether what started this process has died: serving and a worker both read what their runs print."""
    return any(_reader_is_gone(number) for number in (1, 2))


def _end() -> None:
    """End, with 90 s for it; where something else has begun to end the run already, only see to that."""
    for number in (1, 2):
        if _reader_is_gone(number):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    for number in (_SIGNAL, signal.SIGTERM):  # what is being stored and stopped is not interrupted again
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_END_WITHIN_S)
    handled = sys.exc_info()[1]
    if handled is not None and not isinstance(handled, Exception):
        return
    raise ParentDiedError("what had started this flow run died: it ended with what was measured until then")


def _reader_is_gone(number: int) -> bool:
    """Whether nobody reads any more what is printed there."""
    poll = select.poll()
    poll.register(number, 0)  # errors alone
    return bool(poll.poll(0))
