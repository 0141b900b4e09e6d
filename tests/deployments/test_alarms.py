"""Alarms are tried on a real server with a real receiver, with seconds instead of hours."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import psutil
import pytest
from prefect import flow
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.events.actions import DoNothing
from prefect.events.schemas.automations import Automation, AutomationCore, EventTrigger
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    temporary_settings,
)
from prefect.states import Completed, Failed, Running

from configs.errors import UserError
from configs.run_record import CellRecord, Night
from deployments.alarms import NAMES, RUN_FELL_SILENT, register
from deployments.catalogue import TAG, Operation
from deployments.environment import own_api_url, server_environment
from deployments.reaper import reap
from flows.run_events import (
    DIED,
    Happening,
    tell,
    tell_of_completed_night,
    tell_of_failed_cell,
    tell_of_night_without_run,
    tell_of_regression,
)
from tasks.lab.prefect_server import PrefectServer, free_port, running_server
from tasks.stats.nights import NightCoverage, NightState
from tasks.stats.panels import SeriesKey
from tasks.stats.regressions import Change

if TYPE_CHECKING:
    from conftest import Receiver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

WINDOW_S = 12
"""A server takes no window below ten seconds."""
LOOKED_AT_WITHIN_S = 25.0
"""After its end, that is: a server looks every five seconds, and this one may be busy."""
DUE = datetime(2026, 11, 29, 2, 30, tzinfo=UTC)
RUN_ID = "20261129T023004Z-1a2b3c4d"
CELL = CellRecord(config_id="mount-lab", workload_id="read", status="failed", reason='no "mount" there')


@pytest.fixture
def client(prefect_api: str) -> Iterator[SyncPrefectClient]:
    """A client of the server, whose automations are all removed at the end."""
    assert prefect_api
    with get_client(sync_client=True) as found:
        yield found
        for automation in found.read_automations():
            found.delete_automation(automation.id)


@pytest.fixture
def running(client: SyncPrefectClient) -> Callable[[], UUID]:
    """Makes flow runs of a deployment of `benchmark`, which are Running."""

    return lambda: begun(client, "lab 2026-11-29 seed 7")


def begun(client: SyncPrefectClient, name: str) -> UUID:
    flow_id = client.create_flow_from_name("benchmark")
    deployment_id = client.create_deployment(flow_id=flow_id, name="benchmark", tags=[TAG])
    run = client.create_flow_run_from_deployment(deployment_id, name=name)
    client.set_flow_run_state(run.id, Running(), force=True)
    return run.id


@contextmanager
def a_server_of(operation: Operation) -> Iterator[tuple[PrefectServer, SyncPrefectClient]]:
    """The host's own, and a client of it, which is this process too."""
    settings = {
        PREFECT_API_URL: own_api_url(operation),
        PREFECT_HOME: operation.data / "clients",
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    environment = server_environment(operation)
    with (
        running_server(operation.data / "prefect", operation.port, environment) as server,
        temporary_settings(settings),
        get_client(sync_client=True) as client,
    ):
        yield server, client


def state_of(client: SyncPrefectClient, run_id: UUID) -> str:
    return client.read_flow_run(run_id).state_name or ""


def ours(client: SyncPrefectClient) -> dict[str, Automation]:
    return {automation.name: automation for automation in client.read_automations()}


@pytest.mark.usefixtures("client")
def test_a_message_says_what_happened_what_to_do_and_where_to_look(
    receiver: "Receiver", prefect_api: str
) -> None:
    @flow(name="benchmark")
    def telling() -> None:
        change = Change(
            SeriesKey("boto3", "read", "read", ""),
            "total_ns",
            "p50",
            DUE,
            DUE,
            1.31,
            10_000_000,
            13_100_000,
            28,
        )
        assert tell_of_failed_cell(RUN_ID, CELL)
        assert tell_of_regression("nightly", change, "s3://bucket/results")
        assert tell_of_night_without_run("nightly", NightCoverage(DUE, NightState.MISSING, None), "results")

    register(Operation(alert_webhook=receiver.url))
    state: State[None] = telling(return_state=True)
    link = f"{prefect_api.removesuffix('/api')}/runs/flow-run/{state.state_details.flow_run_id}"
    assert receiver.wait_for("cell mount-lab/read failed") == (
        f'Cell mount-lab/read failed in run {RUN_ID}: no "mount" there\n'
        "Mend what the reason names; the next run measures this cell again.\n" + link
    )
    slower = receiver.wait_for("boto3/read read is slower since 2026-11-29")
    assert "p50 of boto3/read read is 1.31 times what it was" in slower
    assert "10.0 ms before, 13.1 ms since (fast rule)" in slower
    assert "Look at the artifact s3bench-history" in slower
    assert "Results: s3://bucket/results" in slower
    missed = receiver.wait_for("night of 2026-11-29: missing")
    assert "The run of schedule nightly that was due at 2026-11-29T02:30:00+00:00 is missing.\n" in missed
    assert "the gap stays" in missed
    assert slower.endswith(link)
    assert len(receiver.messages) == 3


def test_a_run_of_a_deployment_that_ends_badly_is_told_and_another_flow_is_not(
    client: SyncPrefectClient, running: Callable[[], UUID], receiver: "Receiver"
) -> None:
    @flow(name="of-somebody-else")
    def fails() -> None:
        raise ValueError("not ours")

    register(Operation(alert_webhook=receiver.url))
    fails(return_state=True)
    client.set_flow_run_state(running(), Completed(), force=True)
    client.set_flow_run_state(running(), Failed(message="the bucket is gone"), force=True)
    text = receiver.wait_for("benchmark Failed")
    assert "Flow run lab 2026-11-29 seed 7 of benchmark is Failed: the bucket is gone" in text
    assert "/runs/flow-run/" in text
    assert len(receiver.messages) == 1


def test_a_death_is_told_once_by_a_server_that_saw_the_run_begin_and_by_one_that_died_too(
    tmp_path: Path, receiver: "Receiver", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    operation = Operation(data=tmp_path, port=free_port(), alert_webhook=receiver.url)
    with a_server_of(operation) as (server, client):
        register(operation)
        begun(client, "seen")
        assert len(reap(operation)) == 1
        receiver.wait_for("benchmark Crashed")
        begun(client, "unseen")
        time.sleep(3)  # until the server has looked at the events of that
        psutil.Process(server.pid).kill()
    with a_server_of(operation):
        assert len(reap(operation)) == 1
        receiver.wait_for("benchmark Crashed", n=2)
    texts = [message["text"] for message in receiver.messages]
    assert [text.split()[2] for text in texts] == ["seen", "unseen"]
    assert all(f"is Crashed: {DIED}" in text for text in texts)


@pytest.mark.usefixtures("client")
def test_the_dead_mans_switch_is_silent_while_nights_are_completed_and_counts_from_the_start(
    receiver: "Receiver",
) -> None:
    register(Operation(alert_webhook=receiver.url, nights_apart_s=WINDOW_S))
    about = f"no night of nightly was completed for {WINDOW_S} seconds"
    text = receiver.wait_for(about, WINDOW_S + LOOKED_AT_WITHIN_S)
    assert "There was none since this alarm was set." in text
    until = time.monotonic() + 2 * WINDOW_S + 5
    while time.monotonic() < until:  # longer than two windows, with a night in each half of one
        assert tell_of_completed_night(Night(schedule="nightly", scheduled_at=DUE), RUN_ID, 0)
        assert tell_of_completed_night(Night(schedule="weekly", scheduled_at=DUE), "of-another", 0)
        time.sleep(WINDOW_S / 2)
    assert len(receiver.about(about)) == 1
    text = receiver.wait_for(about, WINDOW_S + LOOKED_AT_WITHIN_S, n=2)
    assert f"The last was {RUN_ID}, of the night of 2026-11-29." in text


def test_a_run_that_falls_silent_is_set_crashed_and_told_and_one_that_ended_is_left(
    client: SyncPrefectClient, running: Callable[[], UUID], receiver: "Receiver"
) -> None:
    register(Operation(alert_webhook=receiver.url), silent_after_s=WINDOW_S)
    silent, ending, never_told = running(), running(), running()
    until = time.monotonic() + 2 * WINDOW_S
    while time.monotonic() < until:
        for run_id in (silent, ending):
            assert tell(Happening.RUN_ALIVE, f"prefect.flow-run.{run_id}", "a run")
        time.sleep(WINDOW_S / 3)
    assert (state_of(client, silent), state_of(client, ending)) == ("Running", "Running")
    client.set_flow_run_state(ending, Completed())
    text = receiver.wait_for("benchmark Crashed", WINDOW_S + LOOKED_AT_WITHIN_S)
    assert state_of(client, silent) == "Crashed"
    assert f"No sign of life for {WINDOW_S} s: its process has died, or cannot reach the server." in text
    assert (state_of(client, ending), state_of(client, never_told)) == ("Completed", "Running")
    assert len(receiver.messages) == 1


def test_registering_again_changes_nothing_so_that_no_count_begins_anew(
    client: SyncPrefectClient, receiver: "Receiver"
) -> None:
    operation = Operation(alert_webhook=receiver.url)
    assert register(operation) == tuple(f"automation created: {name}" for name in NAMES)
    before = client.request("POST", "/automations/filter", json={}).json()
    assert register(operation) == ()
    assert client.request("POST", "/automations/filter", json={}).json() == before


def test_what_changed_is_updated_and_what_somebody_switched_off_stays_off(
    client: SyncPrefectClient, receiver: "Receiver"
) -> None:
    register(Operation(alert_webhook=receiver.url))
    switched_off = ours(client)["s3bench: no night was completed"]
    client.pause_automation(switched_off.id)
    lines = register(Operation(alert_webhook=receiver.url, nights_apart_s=40 * 3600))
    assert lines == ("automation updated: s3bench: no night was completed",)
    found = ours(client)[switched_off.name]
    assert (found.id, found.enabled) == (switched_off.id, False)
    assert "40 hours" in found.description


def test_where_nobody_is_to_be_told_only_silent_runs_are_ended_and_that_is_said(
    client: SyncPrefectClient, receiver: "Receiver"
) -> None:
    theirs = AutomationCore(
        name="s3bench: of the operator",
        trigger=EventTrigger(expect={"s3bench.cell.failed"}),
        actions=[DoNothing()],
    )
    client.create_automation(theirs)
    register(Operation(alert_webhook=receiver.url))
    *removed, said = register(Operation())
    assert set(ours(client)) == {RUN_FELL_SILENT, "s3bench: of the operator"}
    assert len(removed) == len(NAMES) - 1
    assert said.startswith("alarms are sent to nobody: set S3BENCH_ALERT_BLOCK")


def test_the_address_that_alarms_go_to_is_not_shown_and_goes_with_its_setting(
    client: SyncPrefectClient, receiver: "Receiver"
) -> None:
    register(Operation(alert_webhook=receiver.url))
    blocks = client.request("POST", "/block_documents/filter", json={})
    assert "s3bench-alarms" in blocks.text
    assert receiver.url not in blocks.text
    assert receiver.url not in client.request("POST", "/automations/filter", json={}).text
    assert tell_of_failed_cell(RUN_ID, CELL)
    receiver.wait_for("cell mount-lab/read failed")
    register(Operation())
    assert "s3bench-alarms" not in client.request("POST", "/block_documents/filter", json={}).text


def test_a_host_without_alarms_leaves_those_of_a_shared_server(
    client: SyncPrefectClient, receiver: "Receiver", monkeypatch: pytest.MonkeyPatch
) -> None:
    register(Operation(alert_webhook=receiver.url))
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.com/api")
    (said,) = register(Operation())
    assert said.endswith("alarms go to whom another host of this server has named")
    assert set(ours(client)) == set(NAMES)
    assert tell_of_failed_cell(RUN_ID, CELL)
    receiver.wait_for("cell mount-lab/read failed")


@pytest.mark.usefixtures("client")
def test_an_operators_own_block_is_used_and_one_that_is_none_is_named(receiver: "Receiver") -> None:
    register(Operation(alert_webhook=receiver.url))  # which makes a block
    register(Operation(alert_block="custom-webhook/s3bench-alarms"))
    assert tell_of_failed_cell(RUN_ID, CELL)
    receiver.wait_for("cell mount-lab/read failed")
    for address in ("slack-webhook/none", "nonsense", "custom-webhook/"):
        with pytest.raises(UserError, match=f"S3BENCH_ALERT_BLOCK={address}: the server has no such block"):
            register(Operation(alert_block=address))
    Webhook(url="http://127.0.0.1:9/").save("no-notification", overwrite=True)
    with pytest.raises(UserError, match="that is no notification block: give <type>/<name>"):
        register(Operation(alert_block="webhook/no-notification"))
