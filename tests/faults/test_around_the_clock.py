"""Faults outside the clock: before the first operation they end a cell, later ones cost no sample."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from configs.targets import BucketTarget
from tasks.access.s3_client import control_client
from tasks.lab.state import LabState
from tasks.venues.places import lab_environment
from tests.faults.blocks import Bench, bench, measured, reads, samples_of, writes
from tests.faults.broken_answers import gateway_page, refusal, silence
from tests.faults.fault_proxy import Rule
from tests.faults.server_faults import Faulty

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NOTHING = {"nothing": Faulty(silence, ())}
FAULTS = {"403": refusal(403, "AccessDenied"), "502": gateway_page}
EACH_FAULT = pytest.mark.parametrize("fault", ["403", pytest.param("502", marks=pytest.mark.slow)])
EACH_PATH = pytest.mark.parametrize(
    "path", ["boto3_api", pytest.param("boto3_transfer", marks=pytest.mark.slow)]
)


@pytest.fixture(scope="module")
def client(lab: LabState) -> Iterator["S3Client"]:
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    made = control_client(target, lab_environment(lab))
    yield made
    made.close()


@pytest.fixture
def one(lab: LabState, client: "S3Client", tmp_path: Path) -> Iterator[Bench]:
    with bench(lab, client, tmp_path, aws_shaped=False) as started:
        yield started


def hit(one: Bench, suffers: Callable[[str, str], bool], fault: str) -> None:
    one.proxy.rules.append(Rule(fault, FAULTS[fault], suffers))


def is_listing(method: str, path: str) -> bool:
    return method == "GET" and "list-type=2" in path


@pytest.mark.parametrize(
    "path",
    ["boto3_api", *(pytest.param(path, marks=pytest.mark.slow) for path in ("boto3_transfer", "s5cmd"))],
)
def test_a_bucket_that_does_not_answer_at_first_fails_the_cell_with_the_reason(
    path: str, one: Bench, client: "S3Client"
) -> None:
    hit(one, is_listing, "403")
    outcome = measured(one, reads(one, path, NOTHING, client))
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert "AccessDenied" in outcome.reason
    assert one.lab.bucket in outcome.reason


def test_the_asked_for_object_that_is_not_there_may_be_forbidden_and_nothing_else(
    one: Bench, client: "S3Client"
) -> None:
    hit(one, lambda _, path: "/nothing-" in path, "403")
    assert measured(one, reads(one, "obstore", NOTHING, client)).status == "measured"
    one.proxy.rules[0] = Rule("500", refusal(500, "InternalError"), one.proxy.rules[0].suffers)
    outcome = measured(one, reads(one, "obstore", NOTHING, client))
    assert outcome.status == "failed"
    assert "InternalError" in outcome.reason


@EACH_PATH
@EACH_FAULT
def test_writes_that_cannot_be_looked_up_are_samples_that_nobody_has_verified(
    path: str, fault: str, one: Bench
) -> None:
    hit(one, lambda method, asked: is_listing(method, asked) and "up%2F" in asked, fault)
    outcome = measured(one, writes(one, path, NOTHING))
    assert outcome.status == "measured"
    assert [sample.told.error for sample in samples_of(outcome)] == ["NotVerified"] * 2


@EACH_FAULT
def test_an_upload_that_cannot_be_read_back_is_not_verified_and_not_called_lost(
    fault: str, one: Bench
) -> None:
    hit(one, lambda method, path: method == "GET" and path.endswith("/000001.bin"), fault)
    samples = samples_of(measured(one, writes(one, "boto3_transfer", NOTHING)))
    assert [sample.told.error for sample in samples] == ["", "NotVerified"]


@pytest.mark.slow
@EACH_PATH
@EACH_FAULT
def test_objects_that_cannot_be_deleted_cost_no_sample(
    path: str, fault: str, one: Bench, client: "S3Client"
) -> None:
    hit(one, lambda method, asked: method == "POST" and "delete" in asked, fault)
    outcome = measured(one, writes(one, path, NOTHING))
    assert outcome.status == "measured"
    assert [sample.told.error for sample in samples_of(outcome)] == ["", ""]
    left = client.list_objects_v2(Bucket=one.lab.bucket, Prefix="s3bench/faults/up/")
    assert left["KeyCount"] == 2, "for the clean-up of the run"
    for item in left["Contents"]:
        client.delete_object(Bucket=one.lab.bucket, Key=item["Key"])
