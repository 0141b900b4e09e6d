"""Runs that the server believes alive although they have died on this host are set Crashed.

Prefect leaves a run Running for ever where what started it died with it (measured for 79 minutes). Which runs
are alive is told by `tasks/venues/presence.py`, and for those that had not come so far by where they were
served: nothing on this host runs what it served to its own server before serving begins. Runs of which this
host knows nothing, on a server that others use too, are left alone.
"""

import contextlib
import threading
from typing import Final

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed

from deployments.catalogue import TAG, Operation, deployments
from deployments.commands import say
from deployments.environment import api_url, serves_own
from flows.run_events import DIED, tell_of_death
from tasks.venues.presence import Presence, forget, presences

_ALIVE: Final = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_EVERY_S: Final = 15.0


def reap(operation: Operation) -> tuple[str, ...]:
    """Set the runs that died here Crashed, before anything is served; a line for each that is alive there."""
    with get_client(sync_client=True) as client:
        told = [line for dead in _dead(operation) if (line := _settle(client, dead))]
        return (*told, *(_settle_unknown(client, operation, run) for run in _alive_runs(client, operation)))


def keep_reaping(operation: Operation) -> None:
    """Do so every now and then, in a thread: the server may be away when the end of a run is to be told."""
    threading.Thread(target=_keep_reaping, args=(operation,), name="reaper", daemon=True).start()


def _keep_reaping(operation: Operation) -> None:
    pause, seen = threading.Event(), list[Presence]()
    while not pause.wait(_EVERY_S):
        dead = _dead(operation)
        try:
            # Prefect tells of most deaths itself, within a second, and so before the second look.
            for one in dead:
                if one in seen:
                    with get_client(sync_client=True) as client:
                        if line := _settle(client, one):
                            say(line)
        except (httpx.HTTPError, OSError):  # the server is away: later
            continue
        seen = dead


def _dead(operation: Operation) -> list[Presence]:
    return [one for one in presences(api_url(operation)) if not one.is_alive]


def _settle(client: SyncPrefectClient, dead: Presence) -> str:
    """Tell the server of a death; empty where it knew."""
    line = ""
    with contextlib.suppress(ObjectNotFound):
        run = client.read_flow_run(dead.flow_run_id)
        if _is_of(run, dead):
            line = _end(client, run)
    forget(dead.flow_run_id)
    return line


def _is_of(run: FlowRun, dead: Presence) -> bool:
    """Whether the server believes alive what died: somebody may have started the run again meanwhile."""
    if run.state is None:
        return False
    since = run.state.timestamp
    return run.state.is_cancelling() or (run.state.is_running() and since <= dead.began_at)


def _end(client: SyncPrefectClient, run: FlowRun) -> str:
    was = run.state_name
    state: State[None]
    if run.state_type == StateType.CANCELLING:
        state = Cancelled(message="It was being cancelled when the process that ran it died.")
    else:
        state = Crashed(message=DIED)
    client.set_flow_run_state(run.id, state, force=True)
    if state.is_crashed():
        tell_of_death(run, client.read_flow(run.flow_id).name)
    return f"{run.name} was {was}, but nothing runs it any more: set {state.name}"


def _alive_runs(client: SyncPrefectClient, operation: Operation) -> list[FlowRun]:
    names = [deployed.name for deployed in deployments(operation)]
    alive = FlowRunFilterState(type=FlowRunFilterStateType(any_=_ALIVE))
    # A name alone may be that of somebody else's deployment on a server that others use too.
    return client.read_flow_runs(
        flow_filter=FlowFilter(name=FlowFilterName(any_=list(names))),
        deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=list(names))),
        flow_run_filter=FlowRunFilter(state=alive, tags=FlowRunFilterTags(all_=[TAG])),
    )


def _settle_unknown(client: SyncPrefectClient, operation: Operation, run: FlowRun) -> str:
    here = next((one for one in presences(api_url(operation)) if one.flow_run_id == run.id), None)
    if here is not None:
        return f"{run.name} is {run.state_name}: by process {here.pid}: it is left alone"
    if serves_own(operation) and run.work_pool_name is None:
        return _end(client, run)
    return f"{run.name} is {run.state_name}, but not on this host: it is left alone"
