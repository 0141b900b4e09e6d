"""Which runs are set to an end when serving begins, and which are left alone, on a real server."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelling, Completed, Pending, Running, Scheduled

from deployments.catalogue import TAG, Operation
from deployments.reaper import reap

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
POOL = "a-pool"
HOLDER = """
import sys, time
from uuid import UUID
from tasks.venues.presence import announce
announce(UUID(sys.argv[1]), sys.argv[2])
print("here", flush=True)
time.sleep(60)
"""


@dataclass
class Runs:
    """Flow runs on a server, and the processes that run some of them."""

    client: SyncPrefectClient
    api_url: str
    processes: "list[subprocess.Popen[str]]"

    def make(self, *states: State, in_pool: bool = False, is_ours: bool = True) -> UUID:
        flow_id = self.client.create_flow_from_name("benchmark")
        name, pool = ("benchmark-on-host", POOL) if in_pool else ("benchmark", None)
        deployment_id = self.client.create_deployment(
            flow_id, name, work_pool_name=pool, tags=[TAG] if is_ours else None
        )
        run = self.client.create_flow_run_from_deployment(deployment_id)
        for state in states:
            self.client.set_flow_run_state(run.id, state, force=True)
        return run.id

    def give_process(self, flow_run_id: UUID, *, killed: bool) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(flow_run_id), self.api_url],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        if killed:
            process.kill()
            process.wait()
        self.processes.append(process)

    def state(self, flow_run_id: UUID) -> str:
        state = self.client.read_flow_run(flow_run_id).state
        assert state is not None
        return state.name


@pytest.fixture
def runs(prefect_api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(POOL)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
        made = Runs(client, prefect_api, [])
        yield made
        for process in made.processes:
            process.kill()
            process.wait()
        for run in client.read_flow_runs():
            client.delete_flow_run(run.id)


@pytest.fixture
def own(prefect_api: str) -> Operation:
    """An operator's settings for the host whose own server that is."""
    return Operation(port=urlsplit(prefect_api).port or 0)


def test_what_a_host_served_to_its_own_server_and_does_not_run_is_ended(runs: Runs, own: Operation) -> None:
    running, pending, scheduled = (runs.make(state) for state in (Running(), Pending(), Scheduled()))
    cancelling = runs.make(Running(), Cancelling())
    told = reap(own)
    assert [runs.state(one) for one in (running, pending, cancelling)] == ["Crashed", "Crashed", "Cancelled"]
    assert runs.state(scheduled) == "Scheduled"
    assert len(told) == 3
    assert reap(own) == ()


def test_a_run_of_somebody_elses_deployment_of_the_same_name_is_left_alone(
    runs: Runs, own: Operation
) -> None:
    theirs = runs.make(Running(), is_ours=False)
    assert reap(own) == ()
    assert runs.state(theirs) == "Running"


def test_a_run_whose_process_lives_is_left_alone_and_named(runs: Runs, own: Operation) -> None:
    alive = runs.make(Running())
    runs.give_process(alive, killed=False)
    (line,) = reap(own)
    assert runs.state(alive) == "Running"
    assert f"by process {runs.processes[0].pid}: it is left alone" in line


def test_runs_of_which_this_host_knows_nothing_are_left_alone_where_others_may_run_them(
    runs: Runs, own: Operation
) -> None:
    in_pool = runs.make(Running(), in_pool=True)
    assert reap(own) == ()
    of_another_host = runs.make(Running())
    told = reap(own.model_copy(update={"port": 1}))  # so that the server is not this host's own
    assert [runs.state(one) for one in (in_pool, of_another_host)] == ["Running", "Running"]
    assert all("not on this host: it is left alone" in line for line in told)


def test_a_run_that_died_on_this_host_is_ended_wherever_its_server_is(runs: Runs, own: Operation) -> None:
    in_pool = runs.make(Running(), in_pool=True)
    runs.give_process(in_pool, killed=True)
    (line,) = reap(own.model_copy(update={"port": 1}))
    assert runs.state(in_pool) == "Crashed"
    assert "nothing runs it any more: set Crashed" in line


def test_a_run_whose_end_the_server_knows_is_forgotten_without_a_word(
    runs: Runs, own: Operation, tmp_path: Path
) -> None:
    ended = runs.make(Completed())
    runs.give_process(ended, killed=True)
    assert reap(own) == ()
    assert runs.state(ended) == "Completed"
    assert not list((tmp_path / "state" / "flow-runs").iterdir())


def test_a_run_that_somebody_started_again_after_its_end_is_left_alone(runs: Runs, own: Operation) -> None:
    again = runs.make(Running())
    runs.give_process(again, killed=True)
    runs.client.set_flow_run_state(again, Running(), force=True)
    assert "left alone" in " ".join(reap(own.model_copy(update={"port": 1})))
    assert runs.state(again) == "Running"
