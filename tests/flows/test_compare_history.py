"""The flow `compare-history` over stored nights, on a real server."""

import base64
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect.client.schemas.objects import State
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    temporary_settings,
)

from configs.parameters import CompareParameters
from configs.run_record import CellRecord, RunIdentity, dt_of
from flows import compare_history as module
from flows.compare_history import compare_history
from tasks.results.changes import read_changes
from tasks.results.names import CHANGES_FOLDER, TOLD_NAME, changes_name
from tasks.results.store import open_store
from tasks.results.told import read_told
from tasks.results.writer import write_nightly, write_run
from tasks.stats.nights import nights_due
from tasks.venues.host_lock import host_lock
from tests.records import reads_summary, run_record

pytestmark = pytest.mark.slow

CRON = "30 2 * * *"
CONFIGURATIONS = ("boto3", "mount", "cli")
NIGHTS = 40
_RECORDED_WITHIN_S = 2.0
"""What a quiet server takes to record an event."""


@pytest.fixture(autouse=True)
def client_of(prefect_api_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process runs the flow, with a lock of its own."""
    monkeypatch.setenv("S3BENCH_LOCK", str(tmp_path / "host.lock"))
    settings = {
        PREFECT_API_URL: prefect_api_url,
        PREFECT_HOME: tmp_path / "prefect",
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    with temporary_settings(settings):
        yield


def write_night(results: Path, due_at: datetime, times_ns: dict[str, int]) -> None:
    """A whole run of a night."""
    store = open_store(results)
    run = RunIdentity(run_id=f"{due_at:%Y%m%dT%H%M%SZ}-{abs(hash(due_at)) % 2**32:08x}", dt=dt_of(due_at))
    write_nightly(store, run, [reads_summary(config_id, time_ns) for config_id, time_ns in times_ns.items()])
    cells = [CellRecord(config_id=one, workload_id="read", status="measured") for one in times_ns]
    started_at = due_at + timedelta(seconds=20)
    write_run(store, run_record(run, started_at, cells, schedule="nightly", scheduled_at=due_at))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Forty nights until today: the last but one is missing, and `mount` is slower since three nights."""
    now = datetime.now(UTC)
    due = nights_due(CRON, "UTC", now - timedelta(days=NIGHTS + 1), now)[-NIGHTS:]
    for number, due_at in enumerate(due):
        if number == NIGHTS - 2:
            continue
        wobble = 1 + 0.01 * (number % 5)
        slower = 1.5 if number >= NIGHTS - 4 else 1.0
        times_ns = {one: round(1e7 * wobble * (slower if one == "mount" else 1)) for one in CONFIGURATIONS}
        write_night(tmp_path / "results", due_at, times_ns)
    return tmp_path / "results"


def compared(results: Path, **parameters: object) -> State[Any]:
    given = CompareParameters(results=str(results), **parameters)  # type: ignore[arg-type] # of a test's choice
    state: State[Any] = compare_history(given, return_state=True)
    return state


def events_of(api_url: str, state: State[Any], wanted: int) -> list[str]:
    """What a flow run told about nights and series, when the server has recorded as much."""
    run = f"prefect.flow-run.{state.state_details.flow_run_id}"
    told = {"event": {"prefix": ["s3bench.night", "s3bench.regression"]}, "any_resource": {"id": [run]}}
    deadline = time.monotonic() + 20
    time.sleep(0 if wanted else _RECORDED_WITHIN_S)
    while True:
        found = httpx.post(f"{api_url}/events/filter", json={"filter": told}).json()["events"]
        if len(found) >= wanted or time.monotonic() > deadline:
            return sorted(f"{one['event']} {one['resource']['prefect.resource.id']}" for one in found)
        time.sleep(0.2)


def artifact_of(api_url: str, state: State[Any]) -> str:
    run = {"flow_run_id": {"any_": [str(state.state_details.flow_run_id)]}}
    (found,) = httpx.post(f"{api_url}/artifacts/filter", json={"artifacts": run}).json()
    assert found["key"] == "s3bench-history"
    return str(found["data"])


def test_gaps_and_changes_are_shown_each_time_and_told_once(results: Path, prefect_api_url: str) -> None:
    first = compared(results)
    missing = nights_due(CRON, "UTC", datetime.now(UTC) - timedelta(days=9), datetime.now(UTC))[-2]
    assert first.is_completed()
    assert first.message == "39 of 40 nights of nightly have a run; changes: 2 slower, 0 faster; told of 2"
    assert events_of(prefect_api_url, first, 2) == [
        f"s3bench.night.missed s3bench.night.nightly.{missing:%Y-%m-%d}",
        "s3bench.regression.found s3bench.cell.mount.read",
    ]
    page = artifact_of(prefect_api_url, first)
    assert f"1 night missing: {missing:%Y-%m-%d}" in page
    assert page.index("1 night missing") < page.index("## Changes")
    change = r"\| mount/read read \| p50 \| \w+ \| fast \| 1\.\d\d, slower \| 10\.\d \| 15\.\d \|"
    assert re.search(change, page)
    (picture,) = re.findall(r"data:image/svg\+xml;base64,([^)]+)\)", page)
    assert base64.b64decode(picture).startswith(b"<svg")
    told = read_told(open_store(results))
    assert told is not None
    assert {(one.what, one.name) for one in told} == {("night", "nightly"), ("change", "mount/read read")}
    kept = read_changes(open_store(results), "nightly")
    assert [(one.name, one.statistic, one.method, one.status) for one in kept] == [
        ("mount/read read", statistic, "fast rule", "watching") for statistic in ("p50", "p90")
    ]
    second = compared(results)
    assert second.message == "39 of 40 nights of nightly have a run; changes: 2 slower, 0 faster"
    assert "1 night missing" in artifact_of(prefect_api_url, second)
    assert events_of(prefect_api_url, second, 0) == []


def test_what_the_server_did_not_take_is_told_the_next_time(
    results: Path, prefect_api_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "tell_of_regression", lambda *_: False)
        assert compared(results).message.endswith("told of 1")
    again = compared(results)
    assert again.message.endswith("told of 1")
    assert events_of(prefect_api_url, again, 1) == ["s3bench.regression.found s3bench.cell.mount.read"]


def test_somebody_is_told_also_where_the_table_of_changes_cannot_be_read(
    results: Path, prefect_api_url: str
) -> None:
    path = results / changes_name("nightly")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    state = compared(results)
    assert state.is_failed()
    assert f"{path} is damaged: move it away or restore it" in (state.message or "")
    assert len(events_of(prefect_api_url, state, 2)) == 2
    assert read_told(open_store(results)) is not None


@pytest.mark.parametrize("folder", ["nightly", "runs"])
def test_a_damaged_night_is_named_and_the_others_are_compared_and_told(
    results: Path, prefect_api_url: str, folder: str
) -> None:
    path = sorted((results / "v1" / folder).rglob("*.parquet"))[3]
    path.write_bytes(b"damaged")
    state = compared(results)
    assert state.is_failed()
    assert f"NOT READ: {path} is damaged: move it away or restore it" in (state.message or "")
    assert len(events_of(prefect_api_url, state, 2)) >= 2
    assert read_changes(open_store(results), "nightly")


def test_where_what_was_told_is_damaged_people_are_told_again_and_it_is_left_as_it_is(
    results: Path, prefect_api_url: str
) -> None:
    path = results / TOLD_NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    state = compared(results)
    assert state.is_failed()
    assert f"{path} is damaged: move it away or restore it" in (state.message or "")
    assert len(events_of(prefect_api_url, state, 2)) == 2
    assert path.read_bytes() == b"damaged"
    assert read_changes(open_store(results), "nightly")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cron": "61 2 * * *"}, "schedule '61 2 * * *': bad minute: give five fields"),
        ({"timezone": "Mars/Base"}, "time zone 'Mars/Base': there is none of that name"),
    ],
)
def test_bad_input_ends_as_failed_with_its_message(
    tmp_path: Path, parameters: dict[str, object], message: str
) -> None:
    state: State[Any] = compared(tmp_path / "none", **parameters)
    assert state.is_failed()
    assert message in (state.message or "")
    assert "Traceback" not in (state.message or "")


def test_a_store_without_a_scheduled_run_is_nothing_to_tell_of(tmp_path: Path, prefect_api_url: str) -> None:
    state = compared(tmp_path / "empty")
    assert state.message == f"no run of the schedule nightly in {tmp_path / 'empty'} yet"
    assert open_store(tmp_path / "empty").names(CHANGES_FOLDER) == []
    assert events_of(prefect_api_url, state, 0) == []
    assert "A night counts from the first run" in artifact_of(prefect_api_url, state)


def test_it_does_not_run_beside_a_measurement(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAIT_FOR_HOST_S", 0.0)
    with host_lock("a run of suite lab", 0.0, lambda _: None):
        state = compared(results)
    assert state.is_failed()
    assert "a run of suite lab is measuring on this host" in (state.message or "")
