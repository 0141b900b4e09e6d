"""The history command over made-up nights: all of them, one cell, a bucket, and what it refuses."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from configs.run_record import CellRecord, RunIdentity, dt_of
from tasks.results.store import open_store
from tasks.results.writer import write_nightly, write_run
from tasks.stats.nights import nights_due
from tests.records import reads_summary, run_record

Command = Callable[..., "subprocess.CompletedProcess[str]"]

CRON = "0 1 * * *"
NIGHTS = 40


def write_nights(location: str, nights: int = NIGHTS) -> None:
    """`mount` is 1.5 times as slow in the latest five."""
    store, now = open_store(location), datetime.now(UTC)
    due = nights_due(CRON, "UTC", now - timedelta(days=nights + 1), now)[-nights:]
    for number, due_at in enumerate(due):
        run = RunIdentity(run_id=f"{due_at:%Y%m%dT%H%M%SZ}-{number:08x}", dt=dt_of(due_at))
        slower = 1.5 if number >= nights - 5 else 1.0
        times_ns = {
            one: round(1e7 * (1 + 0.01 * (number % 5)) * (slower if one == "mount" else 1))
            for one in ("boto3", "cli", "mount")
        }
        write_nightly(
            store, run, [reads_summary(config_id, time_ns) for config_id, time_ns in times_ns.items()]
        )
        cells = [CellRecord(config_id=one, workload_id="read", status="measured") for one in times_ns]
        write_run(store, run_record(run, due_at, cells, schedule="nightly", scheduled_at=due_at))


def test_one_cell_is_shown_with_its_levels(tmp_path: object, s3bench: Command) -> None:
    write_nights(f"{tmp_path}/results")
    answer = s3bench("history", "mount/read", "--cron", CRON, "--timezone", "UTC", COLUMNS="120")
    assert answer.returncode == 0, answer.stderr
    assert f"{NIGHTS} of {NIGHTS} nights of nightly have a run; changes: 2 slower, 0 faster" in answer.stdout
    rows = [line.split() for line in answer.stdout.splitlines()]
    (level,) = (row for row in rows if row[:1] == ["p90"] and row[5:7] == ["1.50,", "slower"])
    assert level[3:5] == ["5", "30.6"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("mount/write", "--cron", CRON),
            "no cell 'mount/write' in the nights of results: there is boto3/read,",
        ),
        (("--cron", "61 2 * * *"), "schedule '61 2 * * *': bad minute: give five fields"),
    ],
)
def test_what_is_not_there_ends_with_status_2_and_one_message(
    tmp_path: object, s3bench: Command, arguments: tuple[str, ...], message: str
) -> None:
    write_nights(f"{tmp_path}/results", nights=3)
    answer = s3bench("history", *arguments)
    assert (answer.returncode, len(answer.stderr.splitlines())) == (2, 1), answer.stderr
    assert message in answer.stderr


@pytest.mark.slow
def test_nights_in_a_bucket_are_shown_as_those_in_a_folder(
    tmp_path: object, s3bench: Command, bucket: str, s3_endpoint_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = {
        "AWS_ENDPOINT_URL": s3_endpoint_url,
        "AWS_ACCESS_KEY_ID": "testkey",
        "AWS_SECRET_ACCESS_KEY": "testsecret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in access.items():
        monkeypatch.setenv(name, value)
    shown = []
    for location in (f"s3://{bucket}/results", f"{tmp_path}/results"):
        write_nights(location)
        answer = s3bench("history", "--results", location, "--cron", CRON, **access)
        assert answer.returncode == 0, answer.stderr
        shown.append(answer.stdout.splitlines()[2:])
    assert shown[0] == shown[1]
    assert "What has changed, the latest first" in shown[0]


def test_a_folder_that_is_not_there_is_no_store_without_nights(s3bench: Command) -> None:
    for command in (("history",), ("athena", "duckdb")):
        answer = s3bench(*command, "--results", "nowhere")
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr == (
            "s3bench: nowhere: there is no such folder: name the one that holds the results\n"
        )
