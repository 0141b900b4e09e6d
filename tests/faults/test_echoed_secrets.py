"""A server that repeats what it was sent: on no access path does a token or a signature get into a sample."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from configs.targets import BucketTarget
from tasks.access.s3_client import control_client
from tasks.lab.state import LabState
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.faults.blocks import PATHS, Bench, measured, samples_of, stopped, writes
from tests.faults.broken_answers import echo
from tests.faults.fault_proxy import running_proxy
from tests.faults.server_faults import Faulty

TOKEN = "pl4nted/+token=="  # noqa: S105 - of nothing
OTHER_PROGRAM = "pl4nted-for-another-program"
ECHOED = {"echo": Faulty(echo, ("PUT", "POST"))}


@dataclass(frozen=True)
class Tokened(Bench):
    """A bench whose clients have a session token, which the lab's server does not ask for."""

    def environment(self) -> dict[str, str]:
        planted = {"AWS_SESSION_TOKEN": TOKEN, "MY_TOKEN": OTHER_PROGRAM}
        return super().environment() | planted


def paths() -> list[Any]:
    """The one of boto3 takes a second; the others start programs, or the same client again."""
    return [
        pytest.param(path, marks=() if path == "boto3_api" else pytest.mark.slow)
        for path in PATHS
        if path != "crt"
    ]


def refused_write(lab: LabState, path: str, folder: Path, *, in_own_process: bool) -> BlockOutcome:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    client = control_client(target, lab_environment(lab))
    with running_proxy(client) as proxy:
        bench = Tokened(lab, proxy, folder)
        spec = writes(bench, path, ECHOED)
        outcome = stopped(bench, spec, 60) if in_own_process else measured(bench, spec)
    client.close()
    return outcome


@pytest.mark.parametrize("path", paths())
def test_a_server_that_repeats_its_request_puts_no_secret_into_a_sample(
    path: str, lab: LabState, tmp_path: Path
) -> None:
    outcome = refused_write(lab, path, tmp_path, in_own_process=path != "boto3_api")
    assert (outcome.status, outcome.reason) == ("measured", "")
    failed = [sample for sample in samples_of(outcome) if sample.told.error]
    assert [sample.told.error for sample in failed] == ["AccessDenied"]
    (message,) = (sample.message for sample in failed)
    if path != "obstore":  # which tells no more of an answer than its status
        assert "You sent" in message
        assert "***" in message
    for planted in (TOKEN, lab.access_key_id, "AWS4-HMAC-SHA256", "Credential=A", "SignedHeaders"):
        assert planted not in message
    assert "127.0.0.1" in message, "the host is no secret"
