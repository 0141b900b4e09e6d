"""Preparing and recording are tried again where the cause may pass; bad input and measuring never are."""

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_TO_API_ENABLED,
    temporary_settings,
)

from configs.datasets import Blobs
from configs.loading import parse_suite
from configs.run_record import RunIdentity, Timing
from tasks import publish as publishing
from tasks.kernel.samples import SampleColumns
from tasks.measure import measure
from tasks.patience import may_pass, patient
from tasks.prepare import prepare
from tasks.publish import Shown, show_artifact
from tasks.record import Circumstances, record
from tasks.reports.progress import LineReporter
from tasks.results.cells import EndedCell, store_cell
from tasks.results.reader import read_run
from tasks.results.store import open_store
from tasks.venues.accounting import environment
from tasks.venues.launch import Launch
from tasks.venues.places import Place
from tasks.venues.session import CellMeasurement, SessionPlan
from tests.served import Proxy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_prefect", "environment_of_s3")]

SUITE = """
name: s
targets: {{b: {{kind: bucket, bucket: {bucket}, endpoint_url: "{endpoint_url}", region: us-east-1}}}}
configurations: {{one: {{access_path: {{kind: boto3_api}}, target: b}}}}
datasets: {{blobs: {{kind: blobs, size: 64, unique_count: 1}}}}
workloads: {{read: {{kind: blob_read, dataset: blobs, iterations: 5, warmup: 0}}}}
"""


@pytest.fixture
def in_prefect(prefect_api_url: str, tmp_path: Path) -> Iterator[None]:
    """This process is a client of a real server."""
    settings = {
        PREFECT_API_URL: prefect_api_url,
        PREFECT_HOME: tmp_path,
        PREFECT_LOGGING_TO_API_ENABLED: False,  # a log belongs to a flow run, and here is none
    }
    with temporary_settings(settings):
        yield


@pytest.fixture
def environment_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


def test_preparing_is_tried_again_until_the_server_answers_and_is_whole_then(
    s3_endpoint_url: str, bucket: str, tmp_path: Path
) -> None:

    proxy = Proxy(
        httpx.URL(s3_endpoint_url).port or 0, refuse_first=2 * 4
    )  # four attempts of the client's own
    with contextlib.closing(proxy):
        suite = parse_suite(
            SUITE.format(bucket=bucket, endpoint_url=f"http://127.0.0.1:{proxy.port}"), "s.yaml"
        )
        place = Place(suite, {}, {}, tmp_path)
        launch = Launch(LineReporter(print), retry_after_s=(0.1, 0.2, 0.4))
        config = suite.datasets["blobs"]
        assert isinstance(config, Blobs)
        state = patient(prepare, launch)(place, "b", "blobs", config, launch, return_state=True)
    assert state.is_completed(), state.message
    assert len(state.result().objects) == 2
    assert attempts_at(state.state_details.task_run_id) == 3


def test_recording_is_tried_again_until_the_store_answers_and_the_run_is_whole_then(
    s3_endpoint_url: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    run = RunIdentity(run_id="20260101T020000Z-00000077", dt="2026-01-01")
    suite = parse_suite(SUITE.format(bucket=bucket, endpoint_url=s3_endpoint_url), "s.yaml")
    plan = SessionPlan(run, suite, "", 1, {}, {}, tmp_path)
    measurement = CellMeasurement(suite.cells()[0])
    samples = SampleColumns()
    samples.grow(3, "read")
    cell = EndedCell("one", "read", [(0, samples)], "measured")
    proxy = Proxy(httpx.URL(s3_endpoint_url).port or 0, refuse_first=4)  # the attempts of the client's own
    with contextlib.closing(proxy):
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
        measurement.stored_as = store_cell(open_store(f"s3://{bucket}/results"), run, cell)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        store = open_store(f"s3://{bucket}/results")
        now = datetime.now(UTC)
        timing = Timing(server_start_ms=0, prepare_ms=0, measure_ms=0, wall_ms=0)
        circumstances = Circumstances(now, now, timing, environment((measurement,)))
        launch = Launch(LineReporter(print), retry_after_s=(0.1, 0.2))
        state = patient(record, launch)(plan, store, (measurement,), circumstances, return_state=True)
        assert state.is_completed(), state.message
        assert read_run(store, run.run_id).state == "complete"
    assert attempts_at(state.state_details.task_run_id) == 2


def test_an_artifact_that_the_server_does_not_take_at_first_is_made_once(
    monkeypatch: pytest.MonkeyPatch, prefect_api_url: str
) -> None:
    def once_away(**_artifact: object) -> None:
        monkeypatch.undo()
        raise httpx.ConnectError("the server restarts")

    @flow
    def showing() -> None:
        launch = Launch(LineReporter(print), retry_after_s=(0.1,))
        for key in ("retried-first", "retried-second"):
            patient(show_artifact, launch)(Shown(key, "of a test", [{"cell": key}]))

    monkeypatch.setattr(publishing, "create_table_artifact", once_away)
    assert showing(return_state=True).is_completed()
    wanted = {"artifacts": {"key": {"like_": "retried-"}}}
    found = httpx.post(f"{prefect_api_url}/artifacts/filter", json=wanted).json()
    assert sorted(one["key"] for one in found) == ["retried-first", "retried-second"]


def test_bad_input_is_not_tried_again(s3_endpoint_url: str, tmp_path: Path) -> None:

    suite = parse_suite(SUITE.format(bucket="no-such-bucket", endpoint_url=s3_endpoint_url), "s.yaml")
    place = Place(suite, {}, {}, tmp_path)
    launch = Launch(LineReporter(print), retry_after_s=(0.1, 0.2))
    config = suite.datasets["blobs"]
    assert isinstance(config, Blobs)
    state = patient(prepare, launch)(place, "b", "blobs", config, launch, return_state=True)
    assert state.is_failed()
    assert "NoSuchBucket" in (state.message or "")
    assert attempts_at(state.state_details.task_run_id) == 1


def test_measuring_is_not_tried_again_whatever_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    suite = parse_suite(SUITE.format(bucket="bucket", endpoint_url="http://127.0.0.1:9"), "s.yaml")
    run = RunIdentity(run_id="20260101T020000Z-00000077", dt="2026-01-01")
    plan = SessionPlan(run, suite, "", 1, {}, {}, tmp_path)
    place = Place(suite, {}, {}, tmp_path)
    state = measure(plan, place, open_store(tmp_path), Launch(LineReporter(print)), return_state=True)
    assert state.is_failed()
    assert may_pass(state.data.result)
    assert attempts_at(state.state_details.task_run_id) == 1


def attempts_at(task_run_id: UUID | None) -> int:
    """How often a task run was begun, by what the server has recorded of it."""

    assert task_run_id is not None
    with get_client(sync_client=True) as client:
        for _ in range(100):
            with contextlib.suppress(ObjectNotFound):
                run = client.read_task_run(task_run_id)
                if run.state and run.state.is_final():
                    return run.run_count
            time.sleep(0.2)
    pytest.fail("the server has not recorded the task run")
