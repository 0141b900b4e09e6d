"""Each way in which a bucket would not be measured as its target says is told with what to do."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.stub import Stubber

from configs.lab_marker import LAB_MARKER
from configs.targets import AcceleratedBucketTarget, AnyBucket, BucketTarget, DirectoryBucketTarget
from tasks.doctor import buckets
from tasks.doctor.buckets import checks_of_bucket
from tasks.doctor.findings import Finding

Stubbed = Callable[..., tuple[Any, Stubber]]
PLAIN = BucketTarget(bucket="some-bucket", region="us-east-1")
FAST = AcceleratedBucketTarget(bucket="some-bucket", region="us-east-1")
EXPRESS = DirectoryBucketTarget(bucket="logs--use1-az4--x-s3", region="us-east-1")


@pytest.fixture
def s3(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> Stubber:
    client, stub = stubbed("s3")
    monkeypatch.setattr(buckets, "control_client", lambda *_: client)
    return stub


def found(target: AnyBucket, *, is_behind_s3_files: bool = False) -> dict[str, Finding]:
    checks = checks_of_bucket(target, {}, in_lab=False, is_behind_s3_files=is_behind_s3_files)
    return {finding.check: finding for finding in checks}


def answers(stub: Stubber, *, region: str = "us-east-1", late: timedelta = timedelta()) -> None:
    """A bucket that is as it should be, but for what the arguments say."""
    date = format_datetime(datetime.now(UTC) + late, usegmt=True)
    stub.add_response(
        "head_bucket", {"BucketRegion": region, "ResponseMetadata": {"HTTPHeaders": {"date": date}}}
    )
    stub.add_client_error("get_object", "NoSuchKey", http_status_code=404)
    stub.add_response("list_objects_v2", {})


@pytest.mark.parametrize(
    ("target", "status", "told", "fix"),
    [
        (PLAIN, "404", "there is no bucket some-bucket at ", "create it, or correct its name"),
        (
            PLAIN,
            "403",
            " refuses these credentials (403)",
            "use credentials of this endpoint that may s3:ListB",
        ),
        (EXPRESS, "403", " refuses these credentials (403)", "let these credentials s3express:CreateSession"),
        (
            PLAIN,
            "400",
            " takes no request with these credentials (400)",
            "sign in again if they have expired",
        ),
    ],
)
def test_a_bucket_that_does_not_answer_is_told_by_its_bare_status(
    s3: Stubber, target: AnyBucket, status: str, told: str, fix: str
) -> None:
    s3.add_client_error("head_bucket", status, http_status_code=int(status))
    (finding,) = found(target).values()
    assert (finding.verdict, finding.check) == ("wrong", "answers")
    assert told in finding.found
    assert finding.fix.startswith(fix)


def test_a_bucket_of_another_region_is_told_with_its_region(s3: Stubber) -> None:
    s3.add_client_error(
        "head_bucket",
        "301",
        http_status_code=301,
        response_meta={"HTTPHeaders": {"x-amz-bucket-region": "eu-west-1"}},
    )
    finding = found(PLAIN)["answers"]
    assert (finding.verdict, finding.fix) == ("wrong", "write region: eu-west-1 for the target")
    assert "lies in eu-west-1 (301)" in finding.found


def test_a_bucket_to_which_the_client_was_sent_on_is_told_as_well(s3: Stubber) -> None:
    answers(s3, region="eu-west-1")
    finding = found(PLAIN)["answers"]
    assert (finding.verdict, finding.fix) == ("wrong", "write region: eu-west-1 for the target")
    assert finding.found == "it lies in eu-west-1, but the target says us-east-1"


@pytest.mark.parametrize(
    ("late", "verdict"),
    [(timedelta(), "right"), (timedelta(seconds=60), "warning"), (timedelta(minutes=20), "wrong")],
)
def test_a_clock_that_is_off_is_told_before_requests_are_refused(
    s3: Stubber, late: timedelta, verdict: str
) -> None:
    answers(s3, late=late)
    assert found(PLAIN)["clock"].verdict == verdict


def test_credentials_that_may_list_and_not_read_are_wrong(s3: Stubber) -> None:
    s3.add_response("head_bucket", {"BucketRegion": "us-east-1", "ResponseMetadata": {"HTTPHeaders": {}}})
    s3.add_client_error("get_object", "AccessDenied", http_status_code=403)
    s3.add_response("list_objects_v2", {})
    finding = found(PLAIN)["reads"]
    assert finding.verdict == "wrong"
    assert "AccessDenied" in finding.found


def test_what_killed_runs_left_is_a_warning_with_the_command_that_removes_it(s3: Stubber) -> None:
    s3.add_response("head_bucket", {"BucketRegion": "us-east-1", "ResponseMetadata": {"HTTPHeaders": {}}})
    s3.add_client_error("get_object", "NoSuchKey", http_status_code=404)
    prefix = "s3bench/runs/20261130T151035Z-ca218154/"
    s3.add_response("list_objects_v2", {"CommonPrefixes": [{"Prefix": prefix}]})
    finding = found(PLAIN)["prefix"]
    assert finding.verdict == "warning"
    assert finding.fix.endswith(f"aws s3 rm --recursive s3://some-bucket/{prefix}")


@pytest.mark.parametrize(
    ("answer", "verdict", "told"),
    [
        ({"Status": "Enabled"}, "right", "enabled, as S3 Files needs it"),
        ({"Status": "Suspended"}, "wrong", "suspended; S3 Files needs it"),
        ({}, "wrong", "never enabled; S3 Files needs it"),
        (None, "unknown", "cannot ask for versioning: AccessDenied"),
    ],
)
def test_s3_files_needs_versioning(
    s3: Stubber, answer: dict[str, str] | None, verdict: str, told: str
) -> None:
    answers(s3)
    if answer is None:
        s3.add_client_error("get_bucket_versioning", "AccessDenied", http_status_code=403)
    else:
        s3.add_response("get_bucket_versioning", answer)
    finding = found(PLAIN, is_behind_s3_files=True)["versioning"]
    assert (finding.verdict, finding.found.startswith(told)) == (verdict, True)
    assert finding.fix or verdict == "right"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [({"Status": "Enabled"}, "right"), ({"Status": "Suspended"}, "wrong"), ({}, "wrong"), (None, "unknown")],
)
def test_acceleration_that_is_not_switched_on_is_told(
    s3: Stubber,
    stubbed: Stubbed,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, str] | None,
    verdict: str,
) -> None:
    answers(s3)
    client, stub = stubbed("s3")
    monkeypatch.setattr("tasks.venues.acceleration.control_client", lambda *_: client)
    if answer is None:
        stub.add_client_error("get_bucket_accelerate_configuration", "AccessDenied", http_status_code=403)
    else:
        stub.add_response("get_bucket_accelerate_configuration", answer)
    finding = found(FAST)["acceleration"]
    assert finding.verdict == verdict


def test_a_directory_bucket_is_told_with_its_zone(s3: Stubber) -> None:
    answers(s3)
    finding = found(EXPRESS)["answers"]
    assert (finding.verdict, finding.found) == ("right", "in us-east-1, zone use1-az4")


def test_an_endpoint_that_nobody_listens_on_is_wrong() -> None:
    nobody = BucketTarget(bucket="some-bucket", region="us-east-1", endpoint_url="http://127.0.0.1:9")
    credentials = {LAB_MARKER: "1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    checks = list(checks_of_bucket(nobody, credentials, in_lab=True, is_behind_s3_files=False))
    assert [(finding.verdict, finding.check) for finding in checks] == [("wrong", "answers")]
    assert "check that the endpoint is right and answers" in checks[0].found
