"""What only Amazon's host names reach is looked at before a run: acceleration, and endpoints in the way."""

import logging
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber

from configs.loading import parse_suite
from configs.run_record import RunIdentity
from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget
from tasks.lab.state import AWS_SHAPED_VARIABLES_TO_UNSET, LAB_ZONES, LabState
from tasks.reports.progress import LineReporter
from tasks.venues.acceleration import _acceleration, endpoint_in_the_way, what_hinders
from tasks.venues.obstacles import obstacles_of
from tasks.venues.places import Place
from tasks.venues.session import SessionPlan

ACCELERATED = AcceleratedBucketTarget(bucket="bbb", region="eu-west-1")
DIRECTORY = DirectoryBucketTarget(bucket="b--euw1-az1--x-s3", region="eu-west-1")


def refuse_notes(message: str) -> None:
    pytest.fail(message)


def test_an_accelerated_bucket_and_a_directory_bucket_are_not_hindered(
    aws_shaped_lab: LabState, aws_environment: dict[str, str]
) -> None:
    region, bucket = aws_shaped_lab.region, aws_shaped_lab.bucket
    accelerated = AcceleratedBucketTarget(bucket=bucket, region=region)
    directory = DirectoryBucketTarget(bucket=f"{bucket}--{LAB_ZONES[0]}--x-s3", region=region)
    assert what_hinders(accelerated, aws_environment, refuse_notes) == ""
    assert what_hinders(directory, aws_environment, refuse_notes) == ""


def test_a_bucket_whose_acceleration_was_never_enabled_is_told_with_the_command(
    aws_shaped_lab: LabState, aws_environment: dict[str, str]
) -> None:
    target = AcceleratedBucketTarget(bucket=f"{aws_shaped_lab.bucket}-plain", region=aws_shaped_lab.region)
    reason = what_hinders(target, aws_environment, refuse_notes)
    assert "was never enabled: enable it with `aws s3api put-bucket-accelerate-configuration" in reason
    assert "20 minutes" in reason


def test_an_answer_that_cannot_be_had_is_noted_and_left_to_the_run(
    aws_shaped_lab: LabState, aws_environment: dict[str, str]
) -> None:
    notes: list[str] = []
    environment = aws_environment | {"AWS_ACCESS_KEY_ID": "another"}
    target = AcceleratedBucketTarget(bucket=aws_shaped_lab.bucket, region=aws_shaped_lab.region)
    assert what_hinders(target, environment, notes.append) == ""
    assert len(notes) == 1
    assert "could not be asked, its requests will tell" in notes[0]


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration file of a user who has no lab."""
    for name in (*AWS_SHAPED_VARIABLES_TO_UNSET, "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(name, value)
    file = tmp_path / "config"
    file.touch()
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    return file


@pytest.mark.parametrize("target", [ACCELERATED, DIRECTORY], ids=lambda target: target.kind)
@pytest.mark.usefixtures("own_settings")
def test_nothing_is_in_the_way_where_no_endpoint_is_set(
    target: AcceleratedBucketTarget | DirectoryBucketTarget,
) -> None:
    assert endpoint_in_the_way(target) == ""


@pytest.mark.parametrize("target", [ACCELERATED, DIRECTORY], ids=lambda target: target.kind)
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9",
        "https://s3.eu-west-1.amazonaws.com",
        "https://bucket.vpce-1a2b3c4d-5e6f.s3.eu-west-1.vpce.amazonaws.com",
    ],
    ids=["own", "amazon", "vpc"],
)
@pytest.mark.usefixtures("own_settings")
def test_an_endpoint_in_the_environment_is_told_with_what_to_do(
    target: AcceleratedBucketTarget | DirectoryBucketTarget,
    name: str,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(name, url)
    reason = endpoint_in_the_way(target)
    assert reason.startswith(f"an endpoint is set, {url}, and a target of kind {target.kind} is")
    assert "unset AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_S3" in reason


@pytest.mark.parametrize(
    "text",
    [
        "[default]\nendpoint_url = http://127.0.0.1:9\n",
        "[default]\nservices = here\n[services here]\ns3 =\n  endpoint_url = http://127.0.0.1:9\n",
    ],
    ids=["of-all-services", "of-s3"],
)
def test_an_endpoint_in_a_profile_is_told(own_settings: Path, text: str) -> None:
    own_settings.write_text(text)
    assert "take endpoint_url out of the profile" in endpoint_in_the_way(DIRECTORY)


@pytest.mark.usefixtures("own_settings")
def test_an_endpoint_that_clients_were_told_to_ignore_hinders_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert endpoint_in_the_way(DIRECTORY) == ""


def test_a_suspended_acceleration_is_told() -> None:
    # The lab has none; a stub stands in for the one answer.
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    with Stubber(client) as stub:
        stub.add_response("get_bucket_accelerate_configuration", {"Status": "Suspended"})
        assert "Transfer Acceleration of bbb is suspended: enable it" in _acceleration(
            client, "bbb", refuse_notes
        )


def test_only_the_cells_that_reach_the_target_fail_and_before_anything_is_measured(
    aws_shaped_lab: LabState, aws_environment: dict[str, str]
) -> None:
    suite = parse_suite(
        f"""
name: s
targets:
  fast: {{kind: accelerated_bucket, bucket: {aws_shaped_lab.bucket}-plain, region: {aws_shaped_lab.region}}}
configurations:
  nothing: {{access_path: {{kind: noop}}, target: fast}}
  boto3: {{access_path: {{kind: boto3_api}}, target: fast}}
workloads:
  write: {{kind: blob_write, size: 64}}
""",
        "s.yaml",
    )
    plan = SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        suite=suite,
        suite_sha256="",
        seed=1,
        manifests={},
        obstacles={},
        scratch=Path("unused"),
    )
    place = Place(suite, aws_environment, {}, Path("unused"))
    found = obstacles_of(plan, place, LineReporter(logging.getLogger("test").info))
    assert list(found) == ["boto3/write"]
    assert found["boto3/write"].status == "failed"
    assert "was never enabled" in found["boto3/write"].reason
