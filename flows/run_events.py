"""What happens to runs, nights and series, as events of the Prefect server, which automations answer.

An event is one POST that has ended when `tell` returns. Prefect's own `emit_event` hands it to a thread and a
websocket, which would go on working beside the next block that is measured.

`deployments/alarms.py` makes messages of these events: what it puts into words must stand in their payloads.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import Final
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import SettingsContext, get_settings_context
from prefect.events.schemas.events import Event, RelatedResource, Resource
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from configs.run_record import CellRecord, Night
from tasks.reports import wording
from tasks.stats.nights import NightCoverage
from tasks.stats.regressions import Change

_LOGGER: Final = logging.getLogger("s3bench.events")
_TIMEOUT_S: Final = 3.0
_FLOW_RUN: Final = "prefect.flow-run"

DIED: Final = "The process that ran it died, together with what had started it."
"""The message of the state of such a run, by which an alarm knows that its death is told as an event too."""
_UNTOLD_AFTER_S: Final = (1.0, 3.0, 10.0)

Payload = Mapping[str, str | int | float | None]


class Happening(StrEnum):
    """What can happen, by the name of its event."""

    CELL_FAILED = "s3bench.cell.failed"
    NIGHT_COMPLETED = "s3bench.night.completed"
    NIGHT_MISSED = "s3bench.night.missed"
    REGRESSION_FOUND = "s3bench.regression.found"
    RUN_ALIVE = "s3bench.run.alive"
    RUN_DIED = "s3bench.run.died"


def tell(
    happening: Happening,
    resource_id: str,
    resource_name: str,
    payload: Payload | None = None,
    related: Sequence[Mapping[str, str]] = (),
) -> bool:
    """Send one event to the Prefect server, and return whether it took it.

    An event that cannot be sent costs one line in the log, and at most a few seconds: it never stops a run.

    Args:
        happening: what happened.
        resource_id: to what: see `cell_resource`, `night_resource`, `history_resource`.
        resource_name: the same for people.
        payload: what a message about it needs.
        related: labels of further resources, each with `prefect.resource.id` and `prefect.resource.role`. The
            flow run that tells of it is always one of them, where there is one.
    """
    labels = {"prefect.resource.id": resource_id, "prefect.resource.name": resource_name}
    return _told(happening, Resource(labels), payload or {}, related)


def _told(
    happening: Happening, resource: Resource, payload: Payload, related: Sequence[Mapping[str, str]]
) -> bool:
    if not PREFECT_API_URL.value():  # the client would start a server of its own, which no automation watches
        _LOGGER.warning("%s of %s was not told: no PREFECT_API_URL is set", happening, resource.name)
        return False
    try:
        _send(
            Event(
                event=happening.value,
                resource=resource,
                related=[RelatedResource(dict(one)) for one in (*_this_flow_run(resource.id), *related)],
                payload=dict(payload),
            )
        )
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        what = " ".join(f"{type(error).__name__} {error}".split())
        _LOGGER.warning("%s of %s could not be told: %s", happening, resource.name, what)
        return False
    return True


def told_patiently(to_tell: Sequence[Callable[[], bool]], retry_after_s: Sequence[float]) -> int:
    """Tell one thing after another, waiting for a server that is away, and return how many it did not take.

    Args:
        to_tell: each tells of one thing, and returns whether the server took it.
        retry_after_s: how long to wait before each further attempt, of all together.
    """
    pauses_s = iter(retry_after_s)
    for number, one in enumerate(to_tell):
        while not one():
            pause_s = next(pauses_s, None)
            if pause_s is None:
                return len(to_tell) - number
            time.sleep(pause_s)
    return 0


def tell_of_failed_cell(run_id: str, cell: CellRecord) -> bool:
    """A cell of a run failed."""
    return tell(
        Happening.CELL_FAILED,
        cell_resource(cell.config_id, cell.workload_id),
        cell.cell_id,
        {"run_id": run_id, "cell": cell.cell_id, "reason": cell.reason},
    )


def tell_of_completed_night(night: Night, run_id: str, failed_cells: int) -> bool:
    """The run of a night has come to its end; a dead man's switch waits for this, night after night."""
    return tell(
        Happening.NIGHT_COMPLETED,
        night_resource(night.schedule, night.dt),
        f"{night.schedule} of {night.dt}",
        {
            "schedule": night.schedule,
            "dt": night.dt,
            "scheduled_at": night.scheduled_at.isoformat(),
            "run_id": run_id,
            "failed_cells": failed_cells,
        },
    )


def tell_of_night_without_run(schedule: str, night: NightCoverage, location: str) -> bool:
    """A night was due, and no run of it came to its end."""
    return tell(
        Happening.NIGHT_MISSED,
        night_resource(schedule, night.dt),
        f"{schedule} of {night.dt}",
        {
            "schedule": schedule,
            "dt": night.dt,
            "due_at": night.due_at.isoformat(),
            "state": night.state.value,
            "run_id": night.run_id,
            "results": location,
        },
    )


def tell_of_regression(schedule: str, change: Change, location: str) -> bool:
    """A series has become slower."""
    times = (change.before_ns, change.after_ns)
    before_ms, after_ms = (wording.NONE if one is None else wording.milliseconds(one) for one in times)
    series = change.series
    return tell(
        Happening.REGRESSION_FOUND,
        cell_resource(series.config_id, series.workload_id) if series else history_resource(schedule),
        change.name,
        {
            "series": change.name,
            "statistic": change.statistic,
            "stage": change.stage.removesuffix("_ns"),
            "since": change.since_dt,
            "ratio": wording.three_digits(change.ratio),
            "before_ms": before_ms,
            "after_ms": after_ms,
            "method": change.method,
            "schedule": schedule,
            "results": location,
        },
    )


def tell_alive(run_id: str) -> bool:
    """The flow run that calls this goes on; false where there is none.

    The event is one of the flow run itself, not of our run: that is the resource whose state an automation
    can change when it falls silent.
    """
    own = _own_id()
    if own is None:
        return False
    return tell(Happening.RUN_ALIVE, f"{_FLOW_RUN}.{own}", run_id, {"run_id": run_id})


def tell_of_death(run: FlowRun, flow_name: str) -> bool:
    """A flow run was set Crashed with the message `DIED`, and nothing that ran it is there to tell.

    A server that has just started holds the event of such a state back for a quarter of an hour: it waits for
    that of the state before, which a process of the server saw that died too.
    """
    related = [_related("flow", run.flow_id, flow_name)]
    if run.deployment_id is not None:
        related.append(_related("deployment", run.deployment_id, flow_name))
    dead = Resource(
        {
            "prefect.resource.id": f"{_FLOW_RUN}.{run.id}",
            "prefect.resource.name": run.name,
            # The alarm looks at this label, which the event of a state has too.
            "prefect.state-message": Happening.RUN_DIED.value,
        }
    )
    payload = {"name": run.name, "state": "Crashed", "message": DIED}
    told = partial(_told, Happening.RUN_DIED, dead, payload, related)
    return not told_patiently([told], _UNTOLD_AFTER_S)


def _related(kind: str, own_id: UUID, name: str) -> dict[str, str]:
    return {
        "prefect.resource.id": f"prefect.{kind}.{own_id}",
        "prefect.resource.role": kind,
        "prefect.resource.name": name,
    }


def cell_resource(config_id: str, workload_id: str) -> str:
    """The resource id of a cell."""
    return f"s3bench.cell.{config_id}.{workload_id}"


def night_resource(schedule: str, dt: str) -> str:
    """The resource id of a night of a schedule."""
    return f"s3bench.night.{schedule}.{dt}"


def history_resource(schedule: str) -> str:
    """The resource id of what all cells of a schedule have in common."""
    return f"s3bench.history.{schedule}"


def _send(event: Event) -> None:
    """One request, or two where the client asks for a token first; neither is tried again."""
    timeout = httpx.Timeout(_TIMEOUT_S)
    with without_retries(), get_client(sync_client=True, httpx_settings={"timeout": timeout}) as client:
        client.request("POST", "/events", json=[event.model_dump(mode="json")])


@contextmanager
def without_retries() -> Iterator[None]:
    """Let clients of Prefect send a request once.

    Prefect's own `temporary_settings` looks at all of its settings again, which takes 25 ms of the processor.
    """
    now = get_settings_context()
    client = now.settings.client.model_copy(update={"max_retries": 0})
    with SettingsContext(profile=now.profile, settings=now.settings.model_copy(update={"client": client})):
        yield


def _this_flow_run(resource_id: str) -> tuple[dict[str, str], ...]:
    own = _own_id()
    if own is None or resource_id == f"{_FLOW_RUN}.{own}":
        return ()
    labels = {"prefect.resource.id": f"{_FLOW_RUN}.{own}", "prefect.resource.role": "flow-run"}
    name = flow_run.get_name()
    return ({**labels, "prefect.resource.name": name} if name else labels,)


def _own_id() -> str | None:
    found = flow_run.get_id()
    return None if found is None else str(found)
