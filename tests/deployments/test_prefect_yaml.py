"""`deployments/prefect.yaml` says the same as the catalogue, for work pools."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
from ruamel.yaml import YAML

from deployments.catalogue import FLOW_RUNS_AT_ONCE, TAG, WORK_POOLS, Operation, deployments
from deployments.environment import CLIENT_SETTINGS
from tasks.lab.prefect_server import NO_TELEMETRY

FILE = Path(__file__).resolve().parents[2] / "deployments" / "prefect.yaml"
VALUES = {
    "S3BENCH_HOME": "/opt/here",
    "S3BENCH_RESULTS": "s3://my-bucket/results",
    "S3BENCH_LAB": "/var/lib/lab",
    "S3BENCH_TIMEZONE": "Europe/Berlin",
    "S3BENCH_NIGHTLY_SUITE": "nightly",
    "S3BENCH_NIGHTLY_TARGETS": "/etc/targets.yaml",
    "S3BENCH_NIGHTLY_CRON": "5 3 * * *",
    "S3BENCH_COMPARE_CRON": "5 7 * * *",
    "S3BENCH_HOUSEKEEPING_CRON": "5 9 * * 0",
}
PLACEHOLDER = re.compile(r"\{\{ \$(\w+) \}\}")


@pytest.fixture
def operation(monkeypatch: pytest.MonkeyPatch) -> Operation:
    """What the operator has set, and what an instance that measures its own targets differs in."""
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    return Operation(nightly_in_lab=False)


@pytest.fixture
def deployed() -> dict[str, dict[str, Any]]:
    """The deployments of the file by their names, with the operator's values as Prefect puts them in."""
    text = PLACEHOLDER.sub(lambda found: VALUES[found[1]], FILE.read_text())
    found = YAML(typ="safe").load(text)["deployments"]
    return {one["name"]: one for one in cast("list[dict[str, Any]]", found)}


def test_it_has_every_deployment_of_the_catalogue_once_for_each_pool(
    operation: Operation, deployed: dict[str, dict[str, Any]]
) -> None:
    expected = {
        f"{one.name}{suffix}": (one.entrypoint, pool)
        for one in deployments(operation)
        for pool, suffix in WORK_POOLS.items()
    }
    assert {name: (one["entrypoint"], one["work_pool"]["name"]) for name, one in deployed.items()} == expected


def test_it_has_the_same_schedules_limits_tags_and_parameters(
    operation: Operation, deployed: dict[str, dict[str, Any]]
) -> None:
    for one in deployments(operation):
        schedules = [
            {"slug": plan.slug, "cron": plan.cron, "timezone": plan.timezone} for plan in one.schedules
        ]
        for suffix in WORK_POOLS.values():
            there = deployed[one.name + suffix]
            assert there["schedules"] == schedules
            assert there["concurrency_limit"] == {"limit": FLOW_RUNS_AT_ONCE, "collision_strategy": "ENQUEUE"}
            assert there["tags"] == [TAG]
            given = there["parameters"]["parameters"]
            assert type(one.parameters).model_validate(given) == one.parameters


def test_flow_runs_of_pools_have_the_same_settings_as_those_that_are_served(
    deployed: dict[str, dict[str, Any]],
) -> None:
    without = {"PREFECT_RUNNER_POLL_FREQUENCY"}  # of what starts runs
    expected = {name: value for name, value in CLIENT_SETTINGS.items() if name not in without} | NO_TELEMETRY
    expected |= {name: VALUES[name] for name in ("S3BENCH_RESULTS", "S3BENCH_LAB")}
    for one in deployed.values():
        assert one["work_pool"]["job_variables"]["env"] == expected


def test_a_variable_that_is_missing_stops_the_deploying() -> None:
    used = set(PLACEHOLDER.findall(FILE.read_text()))
    (step,) = YAML(typ="safe").load(FILE)["build"]
    checked = step["prefect.deployments.steps.run_shell_script"]["script"]
    assert used == set(VALUES) == set(re.findall(r"\$(\w+)", checked))
    assert used <= {f"S3BENCH_{name.upper()}" for name in Operation.model_fields}
