"""The flows as a server runs them: what a person sees, and that nothing of Prefect happens within a block."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from flows import lateness
from tasks.venues.host_lock import host_lock
from tests.served import Json, Served, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SUITE = """\
name: small
lab: true
blocks: 10
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
configurations:
  boto3-lab: {access_path: {kind: boto3_api}, target: bucket}
  mount-lab: {access_path: {kind: mount_io}, target: mount}
datasets:
  blobs: {kind: blobs, size: 64 KiB, unique_count: 1}
workloads:
  read: {kind: blob_read, dataset: blobs, iterations: 1212, warmup: 12}
  write: {kind: blob_write, size: 64 KiB, iterations: 612, warmup: 12}
"""
WITHOUT_KEYS = """\
name: without-keys
targets: {bucket: {kind: bucket, bucket: some-bucket, region: us-east-1, endpoint_url: "http://127.0.0.1:9"}}
configurations: {boto3: {access_path: {kind: boto3_api}, target: bucket}}
datasets: {blobs: {kind: blobs, size: 64 KiB}}
workloads: {read: {kind: blob_read, dataset: blobs}}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as host:
        (host.suites / "small.yaml").write_text(SUITE, encoding="utf-8")
        lying = SUITE.replace("name: small", "name: lying").replace("fuse.rclone", "nfs4")
        (host.suites / "lying.yaml").write_text(lying.replace("blocks: 10", "blocks: 1"), encoding="utf-8")
        (host.suites / "without-keys.yaml").write_text(WITHOUT_KEYS, encoding="utf-8")
        host.start()
        yield host


@pytest.fixture(scope="module")
def whole(host: Served) -> Json:
    """A whole run of the small suite."""
    return host.run("benchmark", suite="small", in_lab=False)


def run_id_of(run: Json) -> str:
    return re.findall(r"\d{8}T\d{6}Z-[0-9a-f]{8}", run["state"]["message"])[0]


def query(host: Served, sql: str, run_id: str) -> list[tuple[object, ...]]:
    source = f"read_parquet('{host.results}/v1/samples/*/*/{run_id}.*.parquet')"
    return duckdb.connect().execute(sql.replace("SAMPLES", source)).fetchall()


def test_no_byte_to_or_from_the_server_flows_within_a_block(host: Served, whole: Json) -> None:
    blocks = query(
        host,
        "SELECT min(started_us), max(started_us + total_ns // 1000) FROM SAMPLES "
        "WHERE started_us IS NOT NULL GROUP BY config_id, workload_id, block ORDER BY 1",
        run_id_of(whole),
    )
    assert len(blocks) == 40
    flow_processes = {pid for _, pid, piece in host.proxy.pieces if b"/artifacts/" in piece}
    assert len(flow_processes) == 1
    moments_us = sorted(when for when, pid, _ in host.proxy.pieces if pid in flow_processes)
    begin_us, end_us = blocks[0][0], blocks[-1][1]
    between = [when for when in moments_us if begin_us < when < end_us]
    assert between, "the run was too short to be told of in the middle"
    assert [(when, block) for when in moments_us for block in blocks if block[0] <= when <= block[1]] == []
    talkative = [one for one in host.proxy.connections if one.pid in flow_processes and one.is_websocket]
    assert talkative, "events go through one"
    assert not any(
        one.opened_us < block[1] and one.closed_us > block[0] for one in talkative for block in blocks
    )


def test_a_whole_run_says_what_it_measured_in_its_name_its_state_and_its_log(
    host: Served, whole: Json
) -> None:
    assert whole["state_name"] == "Completed"
    assert whole["state"]["message"] == f"run {run_id_of(whole)}: 4 cells measured"
    named = re.fullmatch(r"small (\d{4}-\d\d-\d\d) seed (\d+)", whole["name"])
    assert named is not None
    printed = host.s3bench("report", "--run", run_id_of(whole))
    assert re.search(rf"^Seed +{named[2]} *$", printed, re.MULTILINE)
    assert re.search(rf"^Night +{named[1]} *$", printed, re.MULTILINE)
    lines = host.lines(whole["id"])
    assert {level for level, _ in lines} == {20}
    texts = [text for _, text in lines]
    for told in ("preparing blobs: 1 of 2", "measuring: 0 of 40", whole["state"]["message"]):
        assert any(text.startswith(told) for text in texts), texts
    assert len(texts) < 25
    assert not any(re.search(r"\w+\(.*=|<.* at 0x|Traceback", text) for text in texts), texts


def test_a_whole_run_shows_its_summary_its_files_and_its_progress(host: Served, whole: Json) -> None:
    summary = host.artifact(whole["id"], "s3bench-summary")["data"]
    assert summary.count("data:image/svg+xml;base64,") >= 4
    printed = host.s3bench("report", "--run", run_id_of(whole))
    p50 = re.search(r"^read +boto3-lab +(\S+)", printed, re.MULTILINE)
    assert p50 is not None
    assert f"| read | boto3-lab | {p50[1]} |" in summary
    files = host.artifact(whole["id"], "s3bench-files")["data"]
    (sql,) = re.findall(r"```sql\n(.*?)```", files, re.DOTALL)
    rows = duckdb.connect().execute(sql).fetchall()
    assert [row[:2] for row in rows] == [
        (config, workload) for config in ("boto3-lab", "mount-lab") for workload in ("read", "write")
    ]
    progress = host.artifact(whole["id"], "s3bench-progress")
    assert float(progress["data"]) == 100.0
    assert progress["description"] == "measuring: 40 of 40"
    assert json.loads(host.artifact(whole["id"], "s3bench-skipped")["data"]) == []


def test_failed_cells_are_named_in_the_state_the_table_and_an_event_each(host: Served) -> None:
    run = host.run("benchmark", suite="lying", in_lab=False)
    if "skipped" in run["state"]["message"]:
        pytest.skip("no mount can be made here")
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "CellsFailed")
    failed = ["mount-lab/read", "mount-lab/write"]
    assert run["state"]["message"].endswith(f"2 cells measured, 2 failed: {', '.join(failed)}")
    rows = json.loads(host.artifact(run["id"], "s3bench-skipped")["data"])
    assert [(row["cell"], row["status"]) for row in rows] == [(cell, "failed") for cell in failed]
    assert all("the target says nfs4" in row["reason"] for row in rows)

    def told() -> list[str]:
        return sorted(
            event["resource"]["prefect.resource.name"] for event in host.events("s3bench.cell.failed")
        )

    host.wait(lambda: told() == failed, 20, "the events of failed cells")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"suite": "small", "only": ["aws-cli"]}, "no configuration aws-cli in suite small"),
        ({"suite": "without-keys"}, "Unable to locate credentials"),
        ({"suite": "small", "settings": ["blocks=x"]}, "blocks"),
    ],
)
def test_what_a_person_can_mend_is_told_once_and_without_a_traceback(
    host: Served, given: Json, says: str
) -> None:
    run = host.run("benchmark", in_lab=False, **given)
    assert (run["state_type"], run["state_name"]) == ("FAILED", "Failed")
    assert says in run["state"]["message"]
    lines = host.lines(run["id"])
    assert [text for level, text in lines if level > 20] == [run["state"]["message"]]
    assert not any("Traceback" in text for _, text in lines)


@pytest.mark.parametrize("deployment", ["benchmark", "prepare-datasets"])
def test_a_busy_host_is_refused_where_that_is_asked_for_and_its_holder_named(
    host: Served, deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_LOCK", host.environment["S3BENCH_LOCK"])
    with host_lock("a test that measures", 0.0, str):
        run = host.run(deployment, suite="small", in_lab=False, when_busy="refuse")
    assert run["state_type"] == "FAILED"
    assert run["state"]["message"].startswith("a test that measures is measuring on this host")


def test_preparing_alone_says_what_is_there(host: Served) -> None:
    run = host.run("prepare-datasets", suite="small", in_lab=False)
    assert run["state_type"] == "COMPLETED"
    assert run["state"]["message"] == "suite small: 1 datasets are there, 131,072 bytes"
    assert re.fullmatch(r"small \d{4}-\d\d-\d\d", run["name"])


def scheduled(moment: datetime) -> Json:
    return {"type": "SCHEDULED", "state_details": {"scheduled_time": moment.isoformat()}}


def test_a_scheduled_run_that_comes_too_late_is_skipped_with_the_reason(host: Served) -> None:
    moment = datetime.now(UTC) - timedelta(minutes=190)
    tags = ("auto-scheduled",)
    late = host.create("benchmark", state=scheduled(moment), tags=tags, suite="small", in_lab=False)
    run = host.ended(late["id"])
    assert (run["state_type"], run["state_name"]) == ("COMPLETED", "SkippedStale")
    assert "3 h 10 min late, where 180 minutes are allowed" in run["state"]["message"]
    by_hand = host.create("prepare-datasets", state=scheduled(moment), suite="small", in_lab=False)
    assert host.ended(by_hand["id"])["state_name"] == "Completed"


def test_a_scheduled_run_is_stored_as_its_night_and_its_end_is_told(host: Served) -> None:
    moment = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(minutes=1)
    due = host.create(
        "benchmark",
        state=scheduled(moment),
        tags=("auto-scheduled",),
        suite="small",
        in_lab=False,
        only=["boto3-lab"],
        settings=[
            "blocks=1",
            "workloads.read.iterations=12",
            "workloads.read.warmup=2",
            "workloads.write=null",
        ],
        seed=77,
        skip_when_late_minutes=1440,
    )
    run = host.ended(due["id"])
    assert run["state_name"] == "Completed", run["state"]["message"]
    assert run["name"] == f"small {moment:%Y-%m-%d} seed 77"
    runs = f"read_parquet('{host.results}/v1/runs/dt={moment:%Y-%m-%d}/{run_id_of(run)}.parquet')"
    sql = "SELECT schedule, epoch_ms(scheduled_at) FROM "
    stored = duckdb.connect().execute(sql + runs).fetchall()
    assert stored == [("schedule", int(moment.timestamp() * 1000))]  # it was no schedule that made it

    def told() -> list[str]:
        return [event["payload"]["run_id"] for event in host.events("s3bench.night.completed")]

    host.wait(lambda: told() == [run_id_of(run)], 20, "the event of the night")


def test_the_runs_that_the_nightly_schedule_makes_know_their_night(host: Served) -> None:
    def made() -> list[Json]:
        return host.ask(
            "flow_runs",
            flow_runs={
                "tags": {"all_": ["auto-scheduled", "s3bench"]},
                "state": {"name": {"any_": ["Scheduled"]}},
            },
            flows={"name": {"any_": ["benchmark"]}},
        )

    host.wait(made, 60, "scheduled runs")
    for row in made():
        night = lateness.night_of(lateness.FlowRun.model_validate(row))
        assert night is not None
        assert night.schedule == "nightly"
        assert f"{night.scheduled_at:%H:%M}" == "02:30"
    assert lateness.night_of(lateness.FlowRun.model_validate(made()[0] | {"run_count": 2})) is None
