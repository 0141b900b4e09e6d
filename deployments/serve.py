"""`python -m deployments.serve`: registers the deployments and runs what is due, until it is stopped.

Before that it brings the server's view of this host into line: a run that the server believes alive although
nothing on this host runs it is set Crashed, and what it left is tidied.

Prefect starts every flow run by importing this module again, hence the last line.
"""

import os
import sys
import time
from typing import TYPE_CHECKING, Final

import httpx

from configs.errors import UserError
from deployments.catalogue import FLOW_RUNS_AT_ONCE, TAG, Deployed, Operation, deployments
from deployments.environment import client_environment

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

_SERVER_WITHIN_S: Final = 120.0
_ASK_AGAIN_S: Final = 0.5


def serve_deployments(operation: Operation) -> None:
    """Serve until a signal ends it.

    Raises:
        UserError: if no server answers, or a deployment cannot be registered.
    """
    os.environ.update(client_environment(operation))
    _wait_for_server(os.environ["PREFECT_API_URL"])
    # Prefect reads its settings when it is imported, so only now.
    from prefect import serve  # noqa: PLC0415

    from deployments.alarms import register  # noqa: PLC0415
    from deployments.reaper import reap  # noqa: PLC0415

    for line in (*reap(operation), *register(operation)):
        print(line, flush=True)
    served = [_runner_deployment(deployed) for deployed in deployments(operation)]
    # Schedules go on while this process is down, so that a night without a run shows.
    serve(*served, pause_on_shutdown=False, limit=FLOW_RUNS_AT_ONCE)


def _runner_deployment(deployed: Deployed) -> "RunnerDeployment":
    from importlib import import_module  # noqa: PLC0415

    from prefect.client.schemas.objects import (  # noqa: PLC0415
        ConcurrencyLimitConfig,
        ConcurrencyLimitStrategy,
    )
    from prefect.deployments.runner import RunnerDeployment  # noqa: PLC0415
    from prefect.flows import EntrypointType  # noqa: PLC0415
    from prefect.schedules import Cron  # noqa: PLC0415

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


def _wait_for_server(api_url: str) -> None:
    """A server takes half a minute for its first start, and both are started at once."""
    deadline = time.monotonic() + _SERVER_WITHIN_S
    while True:
        try:
            httpx.get(f"{api_url.rstrip('/')}/health", timeout=5, trust_env=False).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if time.monotonic() >= deadline:
                raise UserError(f"no Prefect server answers at {api_url} ({error}): start it") from error
            time.sleep(_ASK_AGAIN_S)
        else:
            return


def main() -> None:
    """Serve; bad settings end with status 2 and one message."""
    from deployments.commands import told  # noqa: PLC0415

    with told():
        serve_deployments(Operation())


if __name__ == "__main__":
    main()
    sys.exit(0)
