"""Events reach a real server, and one that does not answer costs a few seconds and one line."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest
from prefect import flow
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    temporary_settings,
)

from configs.run_record import CellRecord, Night
from flows import run_events
from flows.run_events import (
    Happening,
    tell,
    tell_alive,
    tell_of_completed_night,
    tell_of_failed_cell,
    tell_of_night_without_run,
    tell_of_regression,
    told_patiently,
)
from tasks.stats.nights import NightCoverage, NightState
from tasks.stats.panels import SeriesKey
from tasks.stats.regressions import Change

DUE = datetime(2026, 11, 29, 2, 30, tzinfo=UTC)
SERIES = SeriesKey("boto3", "read", "read", "")
CHANGE = Change(SERIES, "total_ns", "p50", DUE, DUE, 1.31, 10_000_000, 13_100_000, 28)
CELL = CellRecord(config_id="mount", workload_id="read", status="failed", reason="no mount there")


@pytest.fixture
def client_of(tmp_path: Path) -> Iterator[None]:
    with temporary_settings({PREFECT_HOME: tmp_path, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("client_of")
def test_every_event_names_its_resource_what_a_message_needs_and_the_flow_run(prefect_api_url: str) -> None:
    @flow
    def telling() -> tuple[bool, ...]:
        return (
            tell_of_failed_cell("20261129T023004Z-1a2b3c4d", CELL),
            tell_of_completed_night(Night(schedule="nightly", scheduled_at=DUE), "run-1", 2),
            tell_of_night_without_run(
                "nightly", NightCoverage(DUE, NightState.MISSING, None), "s3://bucket/results"
            ),
            tell_of_regression("nightly", CHANGE, "results"),
            tell_of_regression("nightly", Change(None, *_rest_of(CHANGE)), "results"),
            tell_alive("lab 2026-11-29"),
        )

    with temporary_settings({PREFECT_API_URL: prefect_api_url}):
        state = telling(return_state=True)
        assert state.result() == (True,) * 6
    run_id = str(state.state_details.flow_run_id)
    events = told_by(prefect_api_url, run_id)
    assert {(event["event"], event["resource"]["prefect.resource.id"]) for event in events} == {
        ("s3bench.cell.failed", "s3bench.cell.mount.read"),
        ("s3bench.night.completed", "s3bench.night.nightly.2026-11-29"),
        ("s3bench.night.missed", "s3bench.night.nightly.2026-11-29"),
        ("s3bench.regression.found", "s3bench.cell.boto3.read"),
        ("s3bench.regression.found", "s3bench.history.nightly"),
        ("s3bench.run.alive", f"prefect.flow-run.{run_id}"),
    }
    by_resource = {event["resource"]["prefect.resource.id"]: event for event in events}
    assert by_resource["s3bench.cell.mount.read"]["payload"] == {
        "run_id": "20261129T023004Z-1a2b3c4d",
        "cell": "mount/read",
        "reason": "no mount there",
    }
    slower = by_resource["s3bench.cell.boto3.read"]["payload"]
    assert (slower["ratio"], slower["before_ms"], slower["after_ms"]) == ("1.31", "10.0", "13.1")
    flow_runs = [one["prefect.resource.role"] for one in by_resource["s3bench.history.nightly"]["related"]]
    assert flow_runs == ["flow-run"]


def _rest_of(change: Change) -> tuple[object, ...]:
    return tuple(getattr(change, name) for name in change.__slots__[1:])


def told_by(api_url: str, flow_run_id: str) -> list[dict[str, dict[str, str]]]:
    """The events of ours that a flow run told, when the server has recorded them."""
    wanted = {"event": {"prefix": ["s3bench."]}, "any_resource": {"id": [f"prefect.flow-run.{flow_run_id}"]}}
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = httpx.post(f"{api_url}/events/filter", json={"filter": wanted}).json()["events"]
        if len(found) >= 6:
            return found
        time.sleep(0.2)
    pytest.fail(f"only {found}")


@pytest.mark.usefixtures("client_of")
def test_a_server_that_is_not_there_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
    with temporary_settings({PREFECT_API_URL: url}), caplog.at_level(logging.WARNING, "s3bench.events"):
        assert not tell(Happening.RUN_ALIVE, "s3bench.run.x", "run x")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "s3bench.events"]
    assert line.startswith("s3bench.run.alive of run x could not be told: ConnectError")
    assert "\n" not in line


@pytest.mark.usefixtures("client_of")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n"])
def test_a_server_that_hangs_or_is_busy_is_asked_once(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_events, "_TIMEOUT_S", 0.3)
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:  # the test has ended
                    return
                asked.append(connection.recv(65_536))
                if answer:
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{server.getsockname()[1]}/api"}):
            began = time.monotonic()
            assert not tell(Happening.RUN_ALIVE, "s3bench.run.x", "run x")
            assert time.monotonic() - began < 5
        server.shutdown(socket.SHUT_RDWR)
    assert len(asked) == 1


@pytest.mark.usefixtures("client_of")
def test_without_an_address_no_server_is_started_only_to_be_told() -> None:
    with temporary_settings({PREFECT_API_URL: None}):
        assert not tell(Happening.RUN_ALIVE, "s3bench.run.x", "run x")


def test_what_is_no_flow_run_gives_no_sign_of_life() -> None:
    assert not tell_alive("run x")


def test_what_the_server_does_not_take_is_told_again_and_the_rest_after_it() -> None:
    answers, order = {"first": [False, True], "second": [False, True], "third": [True]}, list[str]()

    def told(name: str) -> bool:
        order.append(name)
        return answers[name].pop(0)

    assert told_patiently([partial(told, name) for name in answers], (0.0, 0.0)) == 0
    assert order == ["first", "first", "second", "second", "third"]


def test_a_server_that_stays_away_is_not_waited_for_again_for_each_event() -> None:
    attempts = iter(range(10))
    assert told_patiently([lambda: next(attempts) > 100] * 5, (0.0, 0.0)) == 5
    assert next(attempts) == 3
    assert told_patiently([], (60.0,)) == 0
