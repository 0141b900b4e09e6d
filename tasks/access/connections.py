"""A connection for every thread, open before the first sample."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

_MOST_ROUNDS: Final = 10


def open_connections(request: Callable[[], None], wanted: int, opened: Callable[[], int]) -> None:
    """Send a request, and then as many at once as it takes until enough connections are open.

    The first goes alone: threads that come at once to a new client of botocore make a session each for a
    directory bucket, and a pool each where there is a proxy, and all but one are lost with their connections.
    More rounds than one are needed where a quick answer frees a connection for two threads. What is missing
    after ten is opened within a sample, whose stages show it.

    Args:
        request: sends one.
        wanted: how many threads there will be.
        opened: how many connections the client has opened so far.
    """
    request()
    for _ in range(_MOST_ROUNDS):
        if opened() >= wanted:
            return
        at_once(request, wanted)


def at_once(request: Callable[[], None], times: int) -> None:
    """Send a request from as many threads at the same moment, so that each takes a connection of its own."""
    together = threading.Barrier(times)

    def send(_: int) -> None:
        together.wait()
        request()

    with ThreadPoolExecutor(times) as pool:
        list(pool.map(send, range(times)))
