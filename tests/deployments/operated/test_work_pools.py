"""A server with work pools, by `deployments/prefect.yaml`, and a worker of the pool of this host."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from deployments.catalogue import WORK_POOLS, Operation, deployments
from tests.deployments.operated.host import QUICK, Host, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def worker(pool_host: Host) -> Iterator["subprocess.Popen[bytes]"]:
    process = pool_host.begin("deployments.worker")
    yield process
    process.kill()
    process.wait()


def test_what_is_deployed_is_what_the_catalogue_says(pool_host: Host) -> None:
    found: dict[str, Any] = {one["name"]: one for one in pool_host.ask("POST", "/deployments/filter", {})}
    names = {f"{one.name}{suffix}" for one in deployments(Operation()) for suffix in WORK_POOLS.values()}
    assert set(found) == names
    for one in deployments(Operation()):
        for pool, suffix in WORK_POOLS.items():
            there = found[one.name + suffix]
            assert there["work_pool_name"] == pool
            assert there["entrypoint"] == one.entrypoint
            assert there["global_concurrency_limit"]["limit"] == 1
            assert there["concurrency_options"]["collision_strategy"] == "ENQUEUE"
            schedules = [
                (each["slug"], each["schedule"]["cron"], each["active"]) for each in there["schedules"]
            ]
            assert schedules == [(plan.slug, plan.cron, True) for plan in one.schedules]
            assert there["parameters"]["parameters"].get("results") in {None, f"{pool_host.folder}/results"}


def test_deploying_without_a_variable_is_refused_and_names_it(pool_host: Host) -> None:
    command = ["prefect", "--no-prompt", "deploy", "--prefect-file", "deployments/prefect.yaml"]
    refused = pool_host.command(
        *command, "--name", "benchmark-on-host", PREFECT_API_URL=pool_host.api_url, S3BENCH_HOME="/opt/here"
    )
    assert refused.returncode != 0
    assert "S3BENCH_TIMEZONE: unbound variable" in refused.stdout + refused.stderr


@pytest.mark.usefixtures("worker")
def test_a_run_through_the_worker_completes(pool_host: Host) -> None:
    flow_run_id = pool_host.run("benchmark/benchmark-on-host", **QUICK)
    state, message = pool_host.ended(flow_run_id)
    assert state == "Completed", message
    assert pool_host.stored_runs()[0].state == "complete"
    # One that has fallen silent is ended where nobody is to be told, too.
    set_here = [one["name"] for one in pool_host.ask("POST", "/automations/filter", {})]
    assert set_here == ["s3bench: a flow run fell silent"]
    assert pool_host.flow_run(flow_run_id)["work_pool_name"] == "s3bench-host"


def test_a_run_whose_worker_is_stopped_ends_crashed_and_keeps_what_it_measured(
    pool_host: Host, worker: "subprocess.Popen[bytes]"
) -> None:
    flow_run_id = pool_host.run("benchmark/benchmark-on-host")
    wait_until(pool_host.blocks_kept, 90)
    blocks = pool_host.blocks_kept()
    worker.terminate()
    assert worker.wait(60) == 0
    tidied = pool_host.command("deployments.tidy", PREFECT_API_URL=pool_host.api_url)  # as its unit does
    assert tidied.returncode == 0, tidied.stderr
    assert pool_host.ended(flow_run_id, 5)[0] == "Crashed"
    pool_host.wait_until_nothing_is_left()
    assert blocks <= pool_host.blocks_stored()
