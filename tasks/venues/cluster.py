"""The Dask cluster whose workers start the clients of a block, each on its worker's host; no Prefect here.

A cluster of this run's own listens on loopback, takes only those who hold its throwaway certificate, and is
kept as quiet as Dask can be, because it runs beside the measuring processes: a worker then takes 0.25 % of a
processor and the scheduler 0.9 %, instead of 2.3 % and 3.8 %.
"""

# mypy: disable-error-code="no-untyped-call"
# Dask gives types to some of its functions only.

import contextlib
import logging
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, Protocol

from dask.base import annotate
from distributed import Client, Future, KilledWorker, Worker, get_worker, wait
from distributed.client import FuturesCancelledError

from tasks.venues.client import Order, installation, why_unlike, why_unreachable

QUIET: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.client.heartbeat": "10s",
    "distributed.client.scheduler-info-interval": "10s",
    "distributed.diagnostics.nvml": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # What was measured once is never measured again because a worker died.
    "distributed.scheduler.allowed-failures": 0,
}
"""Dask's settings for a cluster of our own."""

_LOOKS: Final = 5
"""At each clock: the answer that took the shortest counts."""


class ClientTask(Protocol):
    """One client, as it was submitted."""

    @property
    def future(self) -> "Future[Any]":
        """What Dask knows of it."""

    def payload(self) -> bytes:
        """What it sent when it had ended; raises whatever kept it from that."""

    def record_death(self) -> None:
        """Keep it from being shown as running for ever: its worker died with it."""


Submit = Callable[[Order, str], ClientTask]
"""Starts a client: its order, and the address of the Dask worker that carries it out."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where clients run."""

    dask: Client
    submit: Submit
    recorder_url: str | None
    """The server that a client's host tells of its start and end; None for a cluster of this run's own."""


def of_our_own(workers: int) -> dict[str, Any]:
    """What makes `distributed.LocalCluster` one of as many workers, on loopback, for this run alone."""
    return {
        "n_workers": workers,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "security": True,
        "memory_limit": None,
        "silence_logs": logging.CRITICAL,
        "preload": [__name__],
        "scheduler_kwargs": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    }


def dask_setup(_worker: Worker) -> None:
    """What Dask calls in each worker of such a cluster."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends the workers
    silence()


def silence() -> None:
    """Let Dask tell only of what nobody else does: a worker that dies is an outcome here."""
    for name in ("distributed", "distributed.client", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def workers_of(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """What the scheduler tells of each worker, by address.

    Raises:
        ConnectionError: it tells nothing.
    """
    told: Mapping[str, Mapping[str, Any]] | None = client.scheduler_info().get("workers")
    if told is None:
        raise ConnectionError("its scheduler does not answer")
    return told


def places(workers: Mapping[str, Mapping[str, Any]], wanted: int) -> list[str]:
    """The workers of the clients, by address: spread over hosts first, and then over their threads.

    Args:
        workers: what the scheduler tells of each, by address.
        wanted: how many; the answer is shorter where there are not as many threads.
    """
    found: list[str] = []
    for turn in range(max((int(facts["nthreads"]) for facts in workers.values()), default=0)):
        by_host: dict[str, list[str]] = {}
        for address, facts in sorted(workers.items()):
            if int(facts["nthreads"]) > turn:
                by_host.setdefault(str(facts["host"]), []).append(address)
        rounds = zip_longest(*by_host.values())
        found += [address for one in rounds for address in one if address is not None]
    return found[:wanted]


def why_unfit(client: Client, workers: Iterable[str], api_url: str) -> str:
    """Why clients on other hosts could not be measured, or not fairly; empty where they can."""
    ours, asked = installation(), sorted(set(workers))
    theirs = client.run(installation, workers=asked, on_error="return")
    for address in asked:
        told = theirs[address]
        if isinstance(told, BaseException):
            return (
                f"the Dask worker {address} cannot load this project ({told}): "
                "install there what is installed here"
            )
        if unlike := why_unlike(ours, told):
            return f"the Dask worker {address} has {unlike}: install there what is installed here"
    for address, problem in client.run(why_unreachable, api_url, workers=asked).items():
        if problem:
            return (
                f"the Dask worker {address} does not reach the Prefect server at {api_url} ({problem}): set "
                "PREFECT_API_URL to the address of a server that it reaches"
            )
    return ""


@dataclass(frozen=True, slots=True)
class Clock:
    """How far another host's clock is from ours."""

    ahead_ms: float
    """What it shows more than ours."""
    within_ms: float
    """How far that may be wrong: half of the time that asking took."""

    @property
    def surely_apart_ms(self) -> float:
        """At least so far are the clocks from each other."""
        return max(0.0, abs(self.ahead_ms) - self.within_ms)

    @property
    def ahead_us(self) -> int:
        """What must be added to a moment of our clock there; 0 where the two may show the same."""
        return round(self.ahead_ms * 1000) if self.surely_apart_ms else 0


def clocks(client: Client, workers: Iterable[str]) -> dict[str, Clock]:
    """The clocks of the workers' hosts, by address."""
    return {address: min(_looks(client, address), key=lambda clock: clock.within_ms) for address in workers}


def _looks(client: Client, address: str) -> list[Clock]:
    found = []
    for _ in range(_LOOKS):
        asked_ns = time.time_ns()
        shown_ns = client.run(time.time_ns, workers=[address])[address]
        answered_ns = time.time_ns()
        found.append(clock_of(asked_ns, shown_ns, answered_ns))
    return found


def why_apart(found: Mapping[str, Clock], bound_ms: float) -> str:
    """Why clients cannot begin together by the clocks of their hosts; empty where they can.

    Args:
        found: the clocks, by the address of the Dask worker.
        bound_ms: how far a clock may be from ours, and how far what is known of it may be wrong.
    """
    for address, clock in found.items():
        host = f"the clock of the host of the Dask worker {address}"
        if clock.surely_apart_ms > bound_ms:
            return (
                f"{host} is {clock.ahead_ms:+.0f} ms from the one here, and clients begin together by their "
                "clocks: keep both in step (NTP)"
            )
        if clock.within_ms > bound_ms:
            return (
                f"{host} can only be read to within {clock.within_ms:.0f} ms, and clients begin together by "
                "their clocks: use a cluster that is nearer, or less busy"
            )
    return ""


def clock_of(asked_ns: int, shown_ns: int, answered_ns: int) -> Clock:
    """What one question tells: the other clock was read somewhere between our two readings."""
    middle_ns = (asked_ns + answered_ns) / 2
    return Clock(ahead_ms=(shown_ns - middle_ns) / 1e6, within_ms=(answered_ns - asked_ns) / 2e6)


def is_given_up() -> bool:
    """Whether nobody waits for the task that runs in this thread: it was cancelled, or the run has died."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state in {"cancelled", "resumed"}


@contextlib.contextmanager
def on_worker(address: str) -> Iterator[None]:
    """Whatever is submitted inside runs on this worker, or nowhere."""
    with annotate(workers=[address], allow_other_workers=False):
        yield


def has_ended(future: Future[Any]) -> bool:
    """Whether nothing more will come of it."""
    return bool(future.done())


def give_up(futures: Iterable[Future[Any]]) -> None:
    """Wait for them no longer; each client sees that and ends."""
    for future in futures:
        future.cancel()


def wait_for_one(client: Client, futures: Sequence[Future[Any]], within_s: float) -> None:
    """Return when one of them has ended, or the time is up."""
    with client.as_current(), contextlib.suppress(TimeoutError, FuturesCancelledError):
        wait(futures, timeout=within_s, return_when="FIRST_COMPLETED")


def is_cancelled(future: Future[Any]) -> bool:
    """Whether the scheduler was lost, and with it what it knew; or nobody waits any longer."""
    return bool(future.cancelled())


def has_died(future: Future[Any]) -> bool:
    """Whether a client's worker died with it."""
    return future.status == "error" and isinstance(future.exception(), KilledWorker)
