"""Task: one of several clients that measure a block at the same time, run by Prefect on a Dask cluster.

Prefect and Dask start the clients and bring back what they measured; nothing of Prefect happens in between.
Suites without such cells never load Dask.
"""

import contextlib
import contextvars
import logging
import tempfile
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext, SettingsContext
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL
from prefect.states import Crashed

from configs.block import BlockSpec
from configs.redaction import errors_without_secrets
from configs.suite import Suite
from tasks.kernel.samples import SampleColumns
from tasks.venues.client import Order, measure_as_client, refused
from tasks.venues.launch import Launch
from tasks.venues.local import LocalVenue
from tasks.venues.places import Place
from tasks.venues.session import SessionPlan, Venue
from tasks.venues.wire import BlockOutcome

if TYPE_CHECKING:
    from distributed import Future
    from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

Given = TypeVar("Given")

_CONNECT_WITHIN_S: Final = 10
_SENT_WITHIN_S: Final = 3.0


@task(cache_policy=NO_CACHE, persist_result=False, retries=0, task_run_name="{order.name}")
@errors_without_secrets()
def measure_client(order: Order) -> bytes:
    """Measure one client's part of a block where this task runs; returns its outcome in the wire format."""
    from tasks.venues.cluster import is_given_up  # noqa: PLC0415 - loads Dask
    from tasks.venues.meeting import ClientsMeeting  # noqa: PLC0415 - as above

    meeting = ClientsMeeting(order.meeting, order.number, order.timeout_s)
    # What is to be told of this task's start is sent now, which ends the threads that send it.
    EventsWorker.drain_all(timeout=_SENT_WITHIN_S)
    APILogWorker.drain_all(timeout=_SENT_WITHIN_S)
    if not meeting.arrive():
        return refused()
    return measure_as_client(order, meeting, is_given_up)


@contextlib.contextmanager
def venue_of(plan: SessionPlan, place: Place, launch: Launch) -> Iterator[Venue]:
    """The venue of what runs on hosts: this one, and for several clients a Dask cluster while the run lasts.

    A cluster that cannot be had fails those cells and no others.
    """
    alone = LocalVenue(place.environment, plan.suite.block_timeout_s, place.what_is_broken)
    clients = _most_clients(plan.suite, plan.obstacles)
    if clients == 1:
        yield alone
        return
    with contextlib.ExitStack() as held:
        try:
            runner = held.enter_context(_dask_runner(plan.dask_scheduler, clients))
            runner.logger.setLevel(logging.WARNING)  # it tells of a dashboard, and there is none
            dask = runner.client
        except (OSError, ValueError, RuntimeError) as error:
            which = plan.dask_scheduler or "of this run's own"
            yield _VenueOfOne(alone, f"the Dask cluster ({which}) cannot be used: {error}")
            return
        from tasks.venues.cluster import Cluster  # noqa: PLC0415 - loads Dask
        from tasks.venues.crew import VenueOfClients  # noqa: PLC0415 - as above

        url = None if plan.dask_scheduler is None else PREFECT_API_URL.value() or ""
        cluster = Cluster(dask, _Submitter(runner), url)
        yield VenueOfClients(alone, cluster, plan.suite.block_timeout_s, place, launch)


def _most_clients(suite: Suite, obstacles: Container[str]) -> int:
    """Of any cell that is going to be measured on hosts; those in Lambda are invocations."""
    measured = (cell for cell in suite.cells() if cell.cell_id not in obstacles and cell.venue is None)
    return max((cell.configuration.clients for cell in measured), default=1)


@contextlib.contextmanager
def _dask_runner(address: str | None, workers: int) -> "Iterator[DaskTaskRunner]":
    """Prefect's task runner, on the cluster at an address or on one of our own with as many workers."""
    import dask  # noqa: PLC0415 - takes a second that only suites with several clients need
    from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - as above

    from tasks.venues.cluster import QUIET, of_our_own, silence  # noqa: PLC0415 - as above

    silence()
    if address is not None:
        with DaskTaskRunner(address=address, client_kwargs={"timeout": _CONNECT_WITHIN_S}) as runner:
            yield runner
        return
    with (
        tempfile.TemporaryDirectory(prefix="s3bench-dask-", ignore_cleanup_errors=True) as folder,
        dask.config.set(QUIET | {"temporary-directory": folder}),
        DaskTaskRunner(cluster_kwargs=of_our_own(workers)) as runner,
    ):
        yield runner


@dataclass(frozen=True, slots=True)
class _VenueOfOne:
    """Measures blocks of one client, and says why no others can be."""

    alone: Venue
    why_not: str

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block."""
        if spec.cell.configuration.clients == 1:
            return self.alone.run(spec)
        return BlockOutcome("failed", SampleColumns(), self.why_not)


@dataclass(frozen=True, slots=True)
class _Submitter:
    """Starts clients as tasks of the running flow, each on the worker that was chosen for it."""

    runner: "DaskTaskRunner"

    def __call__(self, order: Order, worker: str) -> "_Submitted":
        """Start one client."""
        from tasks.venues.cluster import on_worker  # noqa: PLC0415 - loads Dask

        def submit() -> "PrefectDaskFuture[bytes]":
            with on_worker(worker):
                return self.runner.submit(measure_client, {"order": order})

        return _Submitted(_telling_nothing(submit))


@dataclass(frozen=True, slots=True)
class _Submitted:
    """One client, as Prefect knows it."""

    submitted: "PrefectDaskFuture[bytes]"

    @property
    def future(self) -> "Future[Any]":
        """What Dask knows of it."""
        return self.submitted.wrapped_future

    def payload(self) -> bytes:
        """What it sent when it had ended."""
        return self.submitted.result()

    def record_death(self) -> None:
        """Tell the server, which heard that it began and will hear nothing more."""
        with contextlib.suppress(Exception):  # a server that is lost, or has not yet recorded the task
            get_client(sync_client=True).set_task_run_state(
                self.submitted.task_run_id, Crashed(message="The Dask worker died."), force=True
            )


@flow(name="clients")
def _in_place_of_the_flow() -> None:
    """What a client is told of the flow that it belongs to: neither its code nor its parameters."""


def _telling_nothing(submit: Callable[[], Given]) -> Given:
    """Submit a task as one of the running flow, without the context of the task that submits it.

    Prefect sends the whole context to the worker, with the parameters of the flow and of the task: the place
    of a run holds credentials.
    """
    flow_context, settings_context = FlowRunContext.get(), SettingsContext.get()

    def submit_in_context() -> Given:
        with contextlib.ExitStack() as entered:
            if settings_context is not None:
                entered.enter_context(settings_context.model_copy())
            if flow_context is not None:
                reduced = {"flow": _in_place_of_the_flow, "parameters": {}}
                entered.enter_context(flow_context.model_copy(update=reduced))
            return submit()

    return contextvars.Context().run(submit_in_context)
