"""Runs that the server believes alive although nothing on this host runs them are set Crashed.

Prefect leaves a run Running for ever where the process that started it died with it (measured for 79 minutes).
Whether something still measures is told by the host's lock, which the kernel frees however its holder dies.
"""

from deployments.catalogue import Operation, deployments
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType
from prefect.states import Crashed

from configs.errors import UserError
from tasks.venues.host_lock import host_lock

_ALIVE = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_NAME = "the reaper of deployments.serve"


def reap(operation: Operation) -> tuple[str, ...]:
    """Set such runs Crashed, and say so in a line each; none while something is measured."""
    try:
        with host_lock(_NAME, wait_s=0.0, on_wait=lambda _: None):
            return _reap_with_host(operation)
    except UserError as busy:
        return (f"no run was reaped: {busy}",)


def _reap_with_host(operation: Operation) -> tuple[str, ...]:
    names = [deployed.name for deployed in deployments(operation)]
    told = []
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=names)),
            flow_run_filter=FlowRunFilter(
                state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_ALIVE))
            ),
        )
        for run in runs:
            state = Crashed(message="No process on this host ran it any more when serving began again.")
            client.set_flow_run_state(run.id, state, force=True)
            told.append(f"{run.name} was {run.state_name} but nothing ran it: set Crashed")
    return tuple(told)
