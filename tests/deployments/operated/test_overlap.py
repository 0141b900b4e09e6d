"""Two measurements never overlap on a host, whoever starts them, and the second says whom it waits for."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from tests.deployments.operated.host import QUICK, Host, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOME_SECONDS = {"settings": ["blocks=4", "workloads.read.iterations=3200"]}
HOLDER = re.compile(r"a flow run of suite night \(process \d+\)")


def measured_us(host: Host) -> list[tuple[int, int]]:
    """From the first operation of each of its runs to the end of the last, by the clock of this machine."""
    spans = []
    for run in host.stored_runs():
        rows = [row for row in run.samples(["started_us", "total_ns"]).to_pylist() if row["total_ns"]]
        ends = [row["started_us"] + row["total_ns"] // 1000 for row in rows]
        spans.append((min(row["started_us"] for row in rows), max(ends)))
    return spans


def assert_no_overlap(*hosts: Host) -> None:
    spans = sorted(span for host in hosts for span in measured_us(host))
    assert len(spans) >= 2
    for (_, ended_us), (began_us, _) in pairwise(spans):
        assert ended_us <= began_us


def log_of(host: Host, flow_run_id: str) -> str:
    wanted = {"logs": {"flow_run_id": {"any_": [flow_run_id]}}, "limit": 200}
    return "\n".join(line["message"] for line in host.ask("POST", "/logs/filter", wanted))


@pytest.fixture
def measuring(host: Host) -> str:
    """A run that measures for some seconds more."""
    flow_run_id = host.run(**SOME_SECONDS)
    wait_until(host.blocks_kept, 60)
    return flow_run_id


@pytest.fixture(scope="module")
def neighbour(host: Host, new_host: Callable[..., Host]) -> Iterator[Host]:
    """Another operator's server and serve on the same machine: only the machine's lock is the same."""
    neighbour = new_host(S3BENCH_LOCK=host.environment["S3BENCH_LOCK"])
    try:
        neighbour.start()
        yield neighbour
    finally:
        neighbour.close()


def test_a_second_run_of_the_deployment_waits_and_then_runs(host: Host, measuring: str) -> None:
    second = host.run(**QUICK)
    seen = set()
    while host.flow_run(measuring)["state"]["type"] == "RUNNING":
        seen.add(host.flow_run(second)["state"]["type"])
        time.sleep(0.5)
    assert seen == {"SCHEDULED"}
    assert host.ended(measuring)[0] == "Completed"
    assert host.ended(second, 120)[0] == "Completed"
    assert_no_overlap(host)


def test_the_command_waits_for_a_run_of_the_deployment_and_says_so(
    host: Host, measuring: str, tmp_path: Path
) -> None:
    command = [Path(sys.executable).with_name("s3bench"), "run", "night", "--set", "blocks=2"]
    command += [
        "--set",
        "workloads.read.iterations=16",
        "--lab",
        host.lab,
        "--results",
        host.folder / "results",
    ]
    told = tmp_path / "told"
    with told.open("w") as file:
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env=host.environment | {"PREFECT_API_URL": host.api_url},
            stdout=file,
            stderr=file,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, told.read_text()
    assert re.search(f"waiting for {HOLDER.pattern}, which is measuring on this host", told.read_text())
    assert host.ended(measuring)[0] == "Completed"
    assert_no_overlap(host)


def test_a_run_of_another_server_waits_for_the_host_and_says_for_whom(
    host: Host, neighbour: Host, measuring: str
) -> None:
    waits = neighbour.run(**QUICK)
    wait_until(lambda: HOLDER.search(log_of(neighbour, waits)), 40)
    assert neighbour.ended(waits, 120)[0] == "Completed"
    assert host.ended(measuring)[0] == "Completed"
    assert_no_overlap(host, neighbour)


def test_a_run_that_shall_not_wait_is_refused_and_names_the_holder(
    host: Host, neighbour: Host, measuring: str
) -> None:
    state, message = neighbour.ended(neighbour.run(when_busy="refuse"))
    assert state == "Failed"
    assert HOLDER.search(message)
    assert "is measuring on this host" in message
    assert host.ended(measuring)[0] == "Completed"


def test_runs_that_were_missed_end_as_skipped_and_the_punctual_one_is_measured(host: Host) -> None:
    deployment = host.ask("GET", "/deployments/name/benchmark/benchmark")
    runs_before = len(host.stored_runs())
    now = datetime.now(UTC)

    def scheduled(at: datetime) -> str:
        state = {"type": "SCHEDULED", "state_details": {"scheduled_time": at.isoformat()}}
        parameters = {"parameters": deployment["parameters"]["parameters"] | QUICK}
        wanted = {"state": state, "parameters": parameters, "tags": ["auto-scheduled"]}
        return str(host.ask("POST", f"/deployments/{deployment['id']}/create_flow_run", wanted)["id"])

    missed = [scheduled(now - timedelta(days=days)) for days in (3, 2, 1)]
    punctual = scheduled(now)
    for flow_run_id in missed:
        state, message = host.ended(flow_run_id, 120)
        assert state == "SkippedStale"
        assert "late" in message
    assert host.ended(punctual, 120)[0] == "Completed"
    assert len(host.stored_runs()) == runs_before + 1
