"""Where the clients of one block meet on a Dask cluster, and what they agree on; no Prefect here.

Four times: each says that it is there, before it warms up; that it is ready; and that its operations have
ended. Then it waits: for the word to go on, for the moment of the start, and for the end of all others, so
that nobody cleans up while another one still measures. Nothing is asked in turns while clients measure:
whoever waits is told.

Rejected: a start at a moment fixed beforehand, which is too early for some on a busy host, or too late for
all on a quiet one.
"""

# mypy: disable-error-code="no-untyped-call"
# Dask gives types to some of its functions only.

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from distributed import Client, Event, Queue, Variable, get_client

from tasks.venues.wire import StartSignal

_LOOK_EVERY_S: Final = 0.1
_NOBODY: Final = -1
"""Said at the end instead of a client's number: nobody is waited for any longer."""
_CLOSED_WITHIN_S: Final = 5.0


class Meeting:
    """The meeting, seen from the process of the run."""

    def __init__(self, client: Client, name: str, clients: int) -> None:
        """Make one.

        Args:
            client: of the cluster.
            name: unlike that of any other meeting.
            clients: how many come.
        """
        self._clients = clients
        self._here, self._ready, self._ended = (
            Queue(f"{name}-{what}", client=client) for what in ("here", "ready", "ended")
        )
        self._go, self._over = (Event(f"{name}-{what}", client=client) for what in ("go", "over"))
        self._signals = Variable(f"{name}-signals", client=client)
        self._watching = threading.Thread(target=self._watch_the_end, daemon=True)
        self._watching.start()

    def not_here(self, within_s: float, has_one_ended: Callable[[], bool]) -> set[int]:
        """Wait until every client is there, one has ended, or the time is up; who is not there then."""
        return self._missing(self._here, within_s, has_one_ended)

    def not_ready(self, within_s: float, has_one_ended: Callable[[], bool]) -> set[int]:
        """Wait until every client is ready, one has ended, or the time is up; who is not ready then."""
        return self._missing(self._ready, within_s, has_one_ended)

    def _missing(self, queue: Queue, within_s: float, has_one_ended: Callable[[], bool]) -> set[int]:
        missing = set(range(self._clients))
        deadline_s = time.monotonic() + within_s
        # Asked again and again: a scheduler writes an error to its log where waiting at a queue times out.
        while missing := missing - set(queue.get(batch=True)):
            if has_one_ended() or time.monotonic() >= deadline_s:
                break
            time.sleep(_LOOK_EVERY_S)
        return missing

    def go_on(self) -> None:
        """Let all clients that are there connect and warm up."""
        self._go.set()

    def tell(self, signals: Sequence[StartSignal]) -> None:
        """Tell each client how to go on once it is ready, those too that come later."""
        self._signals.set([signal.model_dump_json() for signal in signals])

    def count_as_ended(self, numbers: Iterable[int]) -> None:
        """Let nobody wait for these, which may have died."""
        for number in numbers:
            self._ended.put(number)

    def _watch_the_end(self) -> None:
        """Beside the clients: once all have ended, tell them."""
        left = set(range(self._clients))
        with contextlib.suppress(Exception):  # a cluster that is lost has nobody to be told
            while left:
                number = self._ended.get()
                if number == _NOBODY:
                    break
                left.discard(number)
            self._over.set()

    def close(self) -> None:
        """Forget it."""
        self._ended.put(_NOBODY)
        self._watching.join(_CLOSED_WITHIN_S)
        for queue in (self._here, self._ready, self._ended):
            queue.close()
        self._signals.delete()
        for event in (self._go, self._over):
            event.clear()


class ClientsMeeting:
    """The same meeting, seen from the task of a client."""

    def __init__(self, name: str, number: int, within_s: float) -> None:
        """Make one.

        Args:
            name: of the meeting.
            number: of the client.
            within_s: how long it waits each time; its own time ends it before.
        """
        client = get_client()
        self._here, self._ready, self._ended = (
            Queue(f"{name}-{what}", client=client) for what in ("here", "ready", "ended")
        )
        self._go, self._over = (Event(f"{name}-{what}", client=client) for what in ("go", "over"))
        self._signals = Variable(f"{name}-signals", client=client)
        self._number = number
        self._within_s = within_s

    def arrive(self) -> bool:
        """Say that this client is there, wait for the word to connect and warm up, and tell whether it came.

        Who comes after that word is refused: Dask starts a task a second time whose worker died, where the
        scheduler was not told otherwise, and what was measured once is never measured again.
        """
        if self._go.is_set():
            return False
        self._here.put(self._number)
        return bool(self._go.wait(timeout=self._within_s))

    def begin(self) -> StartSignal:
        """Say that it is ready, and wait for what it is told."""
        self._ready.put(self._number)
        told = self._signals.get(timeout=self._within_s)
        return StartSignal.model_validate_json(told[self._number])

    def end(self) -> None:
        """Say that its operations have ended, and wait until those of all have."""
        self._ended.put(self._number)
        self._over.wait(timeout=self._within_s)
