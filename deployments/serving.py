"""Registers the deployments with the server, and runs what is due in processes of their own.

It is what `prefect.serve` does, but for a server that is away for a while.
"""

import asyncio
from functools import partial
from importlib import import_module
from typing import Final

from prefect._internal import _observation_delivery
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.runner import Runner, _scheduled_run_poller
from prefect.schedules import Cron
from prefect.types.entrypoint import EntrypointType
from prefect.utilities.services import critical_service_loop

from deployments.catalogue import FLOW_RUNS_AT_ONCE, TAG, Deployed, Operation, deployments
from deployments.commands import say, server_faults
from deployments.environment import api_url
from deployments.reaper import keep_reaping
from deployments.set_alarms import set_alarms

_POLLS_WITHOUT_ANSWER: Final = 120
"""Each takes 5 s or more: after ten minutes this command ends, and is started again."""


def serve_deployments(operation: Operation) -> None:
    """Serve until a signal ends it.

    Raises:
        ServerNotReadyError: the server is away, or not well.
        UserError: it refuses a deployment.
    """
    # Schedules go on while this process is down, so that a night without a run shows.
    runner = Runner(pause_on_shutdown=False, limit=FLOW_RUNS_AT_ONCE)
    set_alarms(operation)
    with server_faults(api_url(operation)):
        for deployed in deployments(operation):
            runner.add_deployment(_runner_deployment(deployed))
            due = ", ".join(f"{plan.slug} at `{plan.cron}` {plan.timezone}" for plan in deployed.schedules)
            say(f"serving {deployed.name}: {due or 'by hand'}")
    _outlast_server()
    keep_reaping(operation)
    asyncio.run(runner.start())


def _runner_deployment(deployed: Deployed) -> RunnerDeployment:
    return RunnerDeployment.from_flow(
        getattr(import_module(deployed.module), deployed.function),
        name=deployed.name,
        description=deployed.description,
        parameters=deployed.default_parameters,
        schedules=[Cron(plan.cron, timezone=plan.timezone, slug=plan.slug) for plan in deployed.schedules],
        concurrency_limit=ConcurrencyLimitConfig(
            limit=FLOW_RUNS_AT_ONCE, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE
        ),
        tags=[TAG],
        entrypoint_type=EntrypointType.MODULE_PATH,
    )


def _outlast_server() -> None:
    """Go on asking a server that is away, and be able to cancel once it is there again.

    Prefect 3.9 gives up for good after three polls in a row without an answer: serving, and that a run can be
    cancelled. A server restarts slower than that.
    """
    patient = partial(critical_service_loop, consecutive=_POLLS_WITHOUT_ANSWER)
    for module in (_observation_delivery, _scheduled_run_poller):
        setattr(module, critical_service_loop.__name__, patient)
