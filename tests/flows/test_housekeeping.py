"""Housekeeping, end to end: a real Prefect server, a real lab, files that are really damaged."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import ByteSize

from configs.datasets import Blobs
from configs.run_record import RunIdentity
from configs.targets import BucketTarget
from tasks.access.s3_client import control_client
from tasks.datasets.prepare import prepare_dataset
from tasks.lab.local_lab import running_lab
from tasks.results.compaction import finished_months
from tasks.results.names import monthly_name, samples_name
from tasks.results.samples import skipped_table
from tasks.results.store import open_store
from tasks.results.writer import write_cell
from tasks.venues.host_lock import host_lock
from tasks.venues.places import lab_environment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("suite_file")]

HOUSEKEEPING = """\
import json, sys
from configs.parameters import HousekeepingParameters
from flows.housekeeping import housekeeping
state = housekeeping(HousekeepingParameters.model_validate_json(sys.argv[1]), return_state=True)
print(json.dumps({"type": state.type.value, "message": state.message}))
"""
MONTHS = ("2026-01", "2026-02")


@dataclass(frozen=True)
class Ending:
    """How a housekeeping ended, and what it said on the way."""

    type: str
    message: str
    log: str


@pytest.fixture
def tidy(tmp_path: Path, environment: dict[str, str], prefect_api_url: str) -> Callable[..., Ending]:
    """Runs the flow in a folder of its own, as a deployment does; keyword arguments are its parameters."""

    def run(script: str = HOUSEKEEPING, **parameters: str | int) -> Ending:
        answer = subprocess.run(
            [sys.executable, "-c", script, json.dumps({"suite": "small.yaml", **parameters})],
            cwd=tmp_path,
            env=environment | {"PREFECT_API_URL": prefect_api_url},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        return Ending(**json.loads(answer.stdout.splitlines()[-1]), log=answer.stderr)

    return run


Tidy = Callable[..., Ending]


@pytest.fixture
def two_months(tmp_path: Path) -> Path:
    """A night of two finished months each, and one of this month."""
    store = open_store(tmp_path / "results")
    for night in (*(date.fromisoformat(f"{month}-03") for month in MONTHS), datetime.now(UTC).date()):
        run = RunIdentity(run_id=f"{night:%Y%m%d}T020000Z-1a2b3c4d", dt=f"{night}")
        write_cell(store, run, "mount", "read", skipped_table(run, "mount", "read", "no /dev/fuse"))
    return tmp_path / "results"


def months_in(results: Path) -> list[str]:
    return open_store(results).names("v1/samples_monthly")


def artifact(api_url: str) -> Mapping[str, str]:
    answer = httpx.get(f"{api_url}/artifacts/s3bench-housekeeping/latest", trust_env=False)
    return answer.raise_for_status().json()  # type: ignore[no-any-return]


def test_finished_months_are_compacted_and_a_damaged_one_is_named_and_keeps_no_other_waiting(
    tidy: Tidy, two_months: Path, prefect_api_url: str
) -> None:
    run = RunIdentity(run_id="20260103T020000Z-1a2b3c4d", dt="2026-01-03")
    path = two_months / samples_name(run, "mount", "read")
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    first = tidy(unused_datasets="leave")
    assert first.type == "FAILED"
    assert first.message.startswith(
        "months: 1 compacted, 1 left; datasets: none; 2026-01 was left as it is: "
    )
    assert f"{path.name} is damaged: move it away or restore it" in first.message
    assert "Traceback" not in first.log
    assert months_in(two_months) == [monthly_name("2026-02")]
    shown = artifact(prefect_api_url)
    assert "TO BE LOOKED AT: 2026-01 was left as it is" in shown["data"]
    assert "- **2026-02**: what was done compacted; landing files 1; rows 1; bytes " in shown["data"]

    path.write_bytes(whole)
    second = tidy(unused_datasets="leave")
    assert (second.type, second.message) == (
        "COMPLETED",
        "months: 1 compacted, 1 unchanged; datasets: none",
    )
    assert months_in(two_months) == [monthly_name(month) for month in MONTHS]
    assert artifact(prefect_api_url)["description"] == second.message


def prepare_in_lab(folder: Path, names: list[str]) -> Path:
    """Datasets that were prepared two months ago, and the folder in which the lab keeps them."""
    with running_lab(folder / ".lab") as lab:
        target = BucketTarget(bucket="s3bench-lab", endpoint_url=lab.endpoint_url)
        client = control_client(target, lab_environment(lab))
        for name in names:
            blobs = Blobs(size=ByteSize(100), unique_count=2)
            prepare_dataset(client, "s3bench-lab", "s3bench", name, blobs, source_client=client)
    datasets = folder / ".lab" / "s3" / "s3bench-lab" / "s3bench" / "datasets"
    before = (datetime.now(UTC) - timedelta(days=60)).timestamp()
    for path in datasets.glob("*.manifest.json"):
        os.utime(path, (before, before))
    return datasets


def test_unused_datasets_are_listed_and_removed_only_when_that_is_wanted(
    tidy: Tidy, tmp_path: Path, prefect_api_url: str
) -> None:
    datasets = prepare_in_lab(tmp_path, ["blobs", "old-blobs"])
    (datasets / "old-blobs" / "notes.txt").write_text("mine")
    listed = tidy()
    assert (listed.type, listed.message) == ("COMPLETED", "months: none; datasets: 1 kept, 1 listed")
    assert len(list((datasets / "old-blobs").rglob("*.bin"))) == 3
    shown = artifact(prefect_api_url)["data"]
    assert "the suite uses it" in shown
    removed = tidy(unused_datasets="remove")
    assert removed.message == "months: none; datasets: 1 kept, 1 removed"
    assert [path.name for path in (datasets / "old-blobs").rglob("*") if path.is_file()] == ["notes.txt"]
    assert not (datasets / "old-blobs.manifest.json").exists()
    assert len(list((datasets / "blobs").rglob("*.bin"))) == 3


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"suite": "no-such-suite"}, "no-such-suite: no such suite; give the path of a YAML file"),
        ({"results": "s3://"}, "give a folder, or s3://BUCKET/PREFIX"),
        ({"results": "small.yaml"}, "a file stands where a folder is wanted"),
    ],
)
def test_bad_input_ends_at_once_with_a_message_and_no_traceback(
    tidy: Tidy, parameters: dict[str, str], told: str
) -> None:
    ending = tidy(**parameters)
    assert ending.type == "FAILED"
    assert told in ending.message
    assert "Traceback" not in ending.log


def test_a_busy_host_is_left_alone_and_its_holder_named(
    tidy: Tidy, two_months: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_LOCK", environment["S3BENCH_LOCK"])
    with host_lock("a run of suite nightly", 0, print):
        ending = tidy(when_busy="refuse")
    assert ending.type == "FAILED"
    assert "a run of suite nightly is measuring on this host" in ending.message
    assert months_in(two_months) == []
    assert finished_months(open_store(two_months), datetime.now(UTC).date(), 7).landing.keys() == {*MONTHS}


PASSING = """\
import json, sys
from botocore.exceptions import EndpointConnectionError
from prefect import flow
from configs.errors import UserError
from tasks.patience import patient
from tasks.results.local_store import LocalStore
from tasks.tidy import compact
from tasks.venues.launch import Launch
from tasks.results.compaction import finished_months
from datetime import date
from pathlib import Path

class FarStore(LocalStore):
    calls, failures = 0, 0

    def get(self, name):
        self.calls += 1
        if self.calls <= self.failures:
            raise UserError("no network: wait") from EndpointConnectionError(endpoint_url="http://far")
        return super().get(name)

@flow
def compacting(failures: int):
    store = FarStore(Path("results"))
    store.failures = failures
    landing = finished_months(store, date(2026, 4, 1), 7).landing["2026-01"]
    return patient(compact, Launch(retry_after_s=(0.1, 0.1)))(store, "2026-01", landing)

outcomes = [compacting(99), compacting(2)]
print(json.dumps({"type": "", "message": " ".join(outcome.action for outcome in outcomes)}))
"""


@pytest.mark.usefixtures("two_months")
def test_a_network_that_comes_back_is_waited_for_and_one_that_does_not_is_told(tidy: Tidy) -> None:
    ending = tidy(PASSING)
    assert ending.message == "left compacted"
    assert ending.log.count("Retry 1/2") == 2
    assert ending.log.count("Retry 2/2") == 2
    assert "Traceback" not in ending.log
