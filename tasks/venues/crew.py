"""The venue of cells that several clients measure at the same time, each on a worker of a Dask cluster.

A block goes like this: all clients are started; when all are there, whoever recorded that works it off, and
the hosts' clocks are looked at; then they connect and warm up, and once all are ready they are given a common
start. Nothing but Dask's heartbeats happens until the last of them has ended its operations: those that have
wait with their clean-up, for no client that died, and no longer than the block has time for operations.
Nothing is tried again: a client that dies ends its block, not the run.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from configs.block import BlockSpec
from tasks.kernel.samples import SampleColumns
from tasks.venues.client import HandedOver, Order, running_clients, take_over
from tasks.venues.cluster import (
    ClientTask,
    Clock,
    Cluster,
    clocks,
    give_up,
    has_died,
    has_ended,
    is_cancelled,
    places,
    wait_for_one,
    why_apart,
    why_unfit,
    workers_of,
)
from tasks.venues.launch import Launch
from tasks.venues.meeting import Meeting
from tasks.venues.places import Place
from tasks.venues.session import Venue
from tasks.venues.together import LATE_MS, late_by_ms, merge, moved_in_time, split
from tasks.venues.wire import GIVEN_UP, BlockOutcome, StartSignal, WireError, receive

_WORKERS_WITHIN_S: Final = 60
"""How long a worker that died in an earlier block has to come back."""
_READY_WITHIN_S: Final = 60.0
_READY_WITHIN_S_EACH: Final = 2.0
"""Of the time that clients have to connect and warm up: what each adds, since they may share a host."""
_LEAD_S: Final = 0.5
_LEAD_S_EACH: Final = 0.01
"""How long before the common start clients are told of it; doubled after a block in which one was late, and
halved after one in which none was."""
_LONGEST_LEAD_S: Final = 3.0
"""Clients drop connections that were idle for five seconds, and would connect anew within what counts."""
_LOOK_EVERY_S: Final = 10.0
_AFTER_ITS_TIME_S: Final = 30.0
"""Each client's host ends it in time; so long after that it is no longer waited for."""
_STOPPED_WITHIN_S: Final = 20.0
_DIED: Final = "its Dask worker died"
_LOST: Final = "the Dask scheduler was lost, and with it what the client measured"


@dataclass(frozen=True, slots=True)
class _Crew:
    """The clients of one block, in the order of their numbers."""

    workers: Sequence[str]
    tasks: Sequence[ClientTask]
    meeting: Meeting

    def has_one_ended(self) -> bool:
        """Whether one of them can no longer come to the start."""
        return any(has_ended(task.future) for task in self.tasks)


@dataclass(frozen=True, slots=True)
class _Start:
    """How the clients of a block began."""

    start_us: int | None = None
    """None where they had no common start."""
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    """Those of the workers' hosts, by the worker's address; empty where nobody looked."""
    missing: frozenset[int] = frozenset()
    """Those for which the others waited in vain."""
    why_missing: str = ""

    @property
    def apart_ms(self) -> float | None:
        """How far their clocks are from ours at most; None where nobody looked."""
        apart = (abs(clock.ahead_ms) + clock.within_ms for clock in self.clocks.values())
        return max(apart, default=None)

    def explained(self, number: int, outcome: BlockOutcome) -> BlockOutcome:
        """The outcome of a client, with its own reason where it did not come to the start."""
        if outcome.reason != GIVEN_UP:
            return outcome
        if self.start_us is not None:  # all were ready: this is its second start by Dask
            return replace(outcome, reason=_DIED)
        return replace(outcome, reason=self.why_missing) if number in self.missing else outcome

    def ahead_us(self, worker: str) -> int:
        """What a worker's clock shows more than ours."""
        return self.clocks[worker].ahead_us if worker in self.clocks else 0


class VenueOfClients:
    """Measures blocks of one client where the run is, and those of several on the workers of a cluster."""

    def __init__(
        self, alone: Venue, cluster: Cluster, timeout_s: float, place: Place, launch: Launch
    ) -> None:
        """Make one.

        Args:
            alone: where blocks of one client are measured.
            cluster: where all others are.
            timeout_s: how long a block may take.
            place: where the targets are, and what clients need to reach them.
            launch: how the run was started.
        """
        self._alone = alone
        self._cluster = cluster
        self._dask = cluster.dask
        self._timeout_s = timeout_s
        self._place = place
        self._launch = launch
        self._fit: set[str] = set()
        self._more_lead = 1.0

    @property
    def _elsewhere(self) -> bool:
        return self._cluster.recorder_url is not None

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block; the death of a client, or of the cluster, is an outcome, never an exception."""
        if spec.cell.configuration.clients == 1:
            return self._alone.run(spec)
        if problem := self._place.what_is_broken():
            return _failed(problem)
        try:
            with self._crew(spec) as crew:
                return self._measure(spec, crew)
        except _NoCrewError as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - a cluster may break in any way, and ends this cell, not the run
            return _failed(f"the Dask cluster was lost: {type(error).__name__}: {error}")
        finally:
            self._launch.settle()

    @contextlib.contextmanager
    def _crew(self, spec: BlockSpec) -> Iterator[_Crew]:
        """The clients of a block, started; whatever of them is left is stopped."""
        workers = self._workers(spec.cell.configuration.clients)
        name = f"s3bench-{secrets.token_hex(8)}"
        meeting = Meeting(self._dask, name, len(workers))
        tasks: list[ClientTask] = []
        try:
            for number, (part, worker) in enumerate(zip(split(spec), workers, strict=True)):
                order = Order(
                    number=number,
                    name=f"client {number} of {spec.cell.cell_id}, block {spec.block}",
                    meeting=name,
                    block=part.model_dump_json().encode(),
                    timeout_s=self._timeout_s,
                    elsewhere=self._elsewhere,
                )
                tasks.append(self._cluster.submit(order, worker))
            yield _Crew(workers, tasks, meeting)
        finally:
            # Tidying a cluster may fail in any way, and must not cost what was measured on it.
            with contextlib.suppress(Exception):
                self._stop(tasks, workers)
            with contextlib.suppress(Exception):
                meeting.close()

    def _workers(self, clients: int) -> list[str]:
        """The workers of a block's clients, able to measure."""
        url = self._cluster.recorder_url
        if url is None:
            with contextlib.suppress(TimeoutError):
                self._dask.wait_for_workers(clients, timeout=_WORKERS_WITHIN_S)
        chosen = places(workers_of(self._dask), clients)
        if len(chosen) < clients:
            raise _NoCrewError(
                f"the Dask cluster has {len(chosen)} threads for {clients} clients: start more workers, or "
                "give fewer clients"
            )
        if url is None:
            self._dask.run(take_over, HandedOver(self._place.environment), workers=chosen)
        elif unknown := set(chosen) - self._fit:
            if problem := why_unfit(self._dask, unknown, url):
                raise _NoCrewError(problem)
            self._fit |= unknown
        return chosen

    def _measure(self, spec: BlockSpec, crew: _Crew) -> BlockOutcome:
        start = self._start(crew)
        outcomes = [start.explained(number, one) for number, one in enumerate(self._outcomes(crew))]
        for outcome, worker in zip(outcomes, crew.workers, strict=True):
            moved_in_time(outcome.samples, -start.ahead_us(worker))
        if (start_us := start.start_us) is not None:
            is_late = max(late_by_ms(outcomes, start_us).values(), default=0) > LATE_MS
            self._more_lead = min(8.0, self._more_lead * 2) if is_late else max(1.0, self._more_lead / 2)
        return merge(spec, outcomes, start_us, start.apart_ms)

    def _start(self, crew: _Crew) -> _Start:
        """Give all clients a common start, or tell them that there is none."""
        clients = len(crew.tasks)
        within_s = min(_READY_WITHIN_S + _READY_WITHIN_S_EACH * clients, self._timeout_s / 2)
        # What takes time is done before they connect: connections that are idle for long are dropped.
        missing = crew.meeting.not_here(within_s, crew.has_one_ended)
        found, problem = self._clocks(crew)
        self._launch.settle()
        crew.meeting.go_on()
        missing = missing or crew.meeting.not_ready(within_s, crew.has_one_ended)
        if missing:
            crew.meeting.tell([StartSignal(why_not=GIVEN_UP)] * clients)
            late = frozenset(() if crew.has_one_ended() else missing)
            return _Start(clocks=found, missing=late, why_missing=f"it was not ready within {within_s:g} s")
        if problem:
            crew.meeting.tell([StartSignal(why_not=problem)] * clients)
            return _Start(clocks=found)
        lead_s = min(self._more_lead * (_LEAD_S + _LEAD_S_EACH * clients), _LONGEST_LEAD_S)
        start_us = (time.time_ns() + int(lead_s * 1e9)) // 1000
        start = _Start(start_us, found)
        crew.meeting.tell([StartSignal(start_us=start_us + start.ahead_us(one)) for one in crew.workers])
        return start

    def _clocks(self, crew: _Crew) -> tuple[Mapping[str, Clock], str]:
        """The clocks of the clients' hosts, and what is wrong with them."""
        if not self._elsewhere or crew.has_one_ended():
            return {}, ""
        found = clocks(self._dask, crew.workers)
        return found, why_apart(found, LATE_MS)

    def _outcomes(self, crew: _Crew) -> list[BlockOutcome]:
        """What became of each client; bounded in time, whatever happens to them."""
        found: dict[int, BlockOutcome] = {}
        waiting = dict(enumerate(crew.tasks))
        deadline_s = time.monotonic() + self._timeout_s + _AFTER_ITS_TIME_S
        while waiting:
            wait_for_one(self._dask, [task.future for task in waiting.values()], _LOOK_EVERY_S)
            ended = {number: _outcome(task) for number, task in waiting.items() if has_ended(task.future)}
            if not ended:
                gone = self._gone(crew, waiting, late=time.monotonic() >= deadline_s)
                ended = {number: _failed(reason) for number, reason in gone.items()}
            found |= ended
            waiting = {number: task for number, task in waiting.items() if number not in ended}
            with contextlib.suppress(Exception):  # a cluster that is lost, which is seen in the next turn
                crew.meeting.count_as_ended(ended)
        return [found[number] for number in range(len(crew.tasks))]

    def _gone(self, crew: _Crew, waiting: dict[int, ClientTask], *, late: bool) -> dict[int, str]:
        """Why clients that have not ended are not waited for any longer, by their numbers."""
        if problem := self._place.what_is_broken():
            return dict.fromkeys(waiting, f"{problem}; the client was stopped")
        if late:
            return dict.fromkeys(waiting, f"the client gave no answer within {self._timeout_s:g} s")
        try:
            alive = workers_of(self._dask)
        except Exception:  # noqa: BLE001 - however it was lost, what others brought back is kept
            return dict.fromkeys(waiting, _LOST)
        lost = [number for number in waiting if crew.workers[number] not in alive]
        for number in lost:
            waiting[number].record_death()
        return dict.fromkeys(lost, _DIED)

    def _stop(self, tasks: Sequence[ClientTask], workers: Sequence[str]) -> None:
        """Stop those that have not ended: the next block has the hosts for itself."""
        left = [task.future for task in tasks if not has_ended(task.future)]
        if not left:
            return
        give_up(left)
        deadline_s = time.monotonic() + _STOPPED_WITHIN_S
        while time.monotonic() < deadline_s:
            alive = set(workers) & set(workers_of(self._dask))
            if not alive or not any(self._dask.run(running_clients, workers=sorted(alive)).values()):
                return
            time.sleep(1)


class _NoCrewError(Exception):
    """Why there can be no clients."""


def _outcome(task: ClientTask) -> BlockOutcome:
    if has_died(task.future):
        task.record_death()
        return _failed(_DIED)
    if is_cancelled(task.future):
        return _failed(_LOST)
    try:
        return receive(task.payload())
    except WireError as error:
        return _failed(f"the client answered wrongly: {error}")
    except Exception as error:  # noqa: BLE001 - whatever happened to one client ends its block, not the run
        return _failed(f"the client could not be run: {type(error).__name__}: {error}")


def _failed(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)
