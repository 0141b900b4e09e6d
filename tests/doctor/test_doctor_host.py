"""What of this host would let a run fail or mislead: credentials, zone, region, clients, mounts, results."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from configs.loading import parse_suite
from configs.suite import Suite
from configs.targets import MountTarget
from tasks.access.zones import NOT_TOLD
from tasks.doctor import host, mounts, results
from tasks.doctor.findings import Finding
from tasks.doctor.host import (
    clients_of_this_host,
    credentials_of_this_host,
    region_of_this_host,
    zone_of_this_host,
)
from tasks.doctor.mounts import checks_of_mount
from tasks.doctor.results import checks_of_results
from tasks.lab.state import LabState
from tasks.results.s3_store import S3Store
from tests.mounts import own_mount

Stubbed = Callable[..., tuple[Any, Stubber]]
SUITE = """\
name: s
targets:
  b: {kind: bucket, bucket: some-bucket, region: us-east-1}
  far: {kind: bucket, bucket: far-bucket, region: eu-west-1}
  express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1, zone: same}
venues:
  f: {kind: lambda, function: f, region: eu-west-1}
configurations:
  here: {access_path: {kind: boto3_api}, target: b}
  there: {access_path: {kind: boto3_api}, target: far, venue: f}
  express: {access_path: {kind: boto3_api}, target: express}
workloads:
  write: {kind: blob_write, size: 64, iterations: 20, warmup: 5}
"""


@pytest.fixture
def suite() -> Suite:
    return parse_suite(SUITE, "s.yaml")


@pytest.fixture
def sts(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> tuple[boto3.Session, Stubber]:
    """A session with credentials, whose client of STS is stubbed."""
    client, stub = stubbed("sts")
    session = boto3.Session(aws_access_key_id="k", aws_secret_access_key="s")
    monkeypatch.setattr(session, "client", lambda *_, **__: client)
    return session, stub


def test_credentials_are_told_by_whose_they_are_without_the_account(
    sts: tuple[boto3.Session, Stubber],
) -> None:
    session, stub = sts
    arn = "arn:aws:sts::123456789012:assumed-role/measuring/i-1"
    stub.add_response("get_caller_identity", {"Arn": arn, "Account": "123456789012", "UserId": "u"})
    finding = credentials_of_this_host(session)
    assert (finding.verdict, finding.found) == ("right", "assumed-role/measuring/i-1, found by explicit")


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidClientTokenId", "SignatureDoesNotMatch"])
def test_credentials_that_are_refused_are_wrong(sts: tuple[boto3.Session, Stubber], code: str) -> None:
    session, stub = sts
    stub.add_client_error("get_caller_identity", code, http_status_code=403)
    finding = credentials_of_this_host(session)
    assert (finding.verdict, finding.found) == ("wrong", f"the service refuses them ({code})")
    assert "aws configure" in finding.fix


def test_an_sts_that_cannot_answer_leaves_it_unknown(sts: tuple[boto3.Session, Stubber]) -> None:
    session, stub = sts
    stub.add_client_error("get_caller_identity", "ServiceUnavailable", http_status_code=503)
    assert credentials_of_this_host(session).verdict == "unknown"


def test_no_credentials_are_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    finding = credentials_of_this_host(boto3.Session())
    assert (finding.verdict, finding.found) == ("wrong", "none are found")


def test_a_zone_that_a_target_claims_and_nobody_can_check_is_a_warning(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "client_zone_id", lambda _: NOT_TOLD)
    finding = zone_of_this_host(boto3.Session(), suite)
    assert finding.verdict == "warning"
    assert "the zone which express says" in finding.found
    monkeypatch.setattr(host, "client_zone_id", lambda _: "use1-az4")
    assert zone_of_this_host(boto3.Session(), suite).verdict == "right"


def test_only_what_this_host_measures_must_lie_in_its_region(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "client_region", lambda _: "us-east-1")
    (finding,) = region_of_this_host(boto3.Session(), suite)
    assert finding.verdict == "right", "the bucket of eu-west-1 is the function's"
    monkeypatch.setattr(host, "client_region", lambda _: "eu-west-1")
    (finding,) = region_of_this_host(boto3.Session(), suite)
    assert finding.verdict == "warning"
    assert finding.found.startswith("eu-west-1, and b in us-east-1, express in us-east-1: ")
    monkeypatch.setattr(host, "client_region", lambda _: NOT_TOLD)
    assert list(region_of_this_host(boto3.Session(), suite)) == []


def test_a_boto3_that_does_not_know_what_the_suite_needs_is_wrong(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    (finding,) = clients_of_this_host(suite)
    assert finding.verdict == "right"
    monkeypatch.setattr(host, "_knows_direct_reads", lambda: False)
    (finding,) = clients_of_this_host(suite)
    assert finding.verdict == "wrong"
    assert "does not know how Lambda reads S3 Files (since botocore 1.43.86)" in finding.found


def mount_checks(target: MountTarget, **how: Any) -> dict[str, Finding]:
    return {finding.check: finding for finding in checks_of_mount(target, "s3bench", writes=True, **how)}


def test_a_mount_is_looked_at_as_a_run_proves_it(lab: LabState) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    checks = mount_checks(MountTarget(shows="b", path=lab.mount_path, fstype="fuse.rclone"))
    assert {name: finding.verdict for name, finding in checks.items()} == {
        "mounted": "right",
        "writes": "right",
    }
    other = mount_checks(MountTarget(shows="b", path=lab.mount_path, fstype="nfs4"))
    assert other["mounted"].verdict == "wrong"
    assert "fuse.rclone" in other["mounted"].found


def test_a_folder_is_no_mount(tmp_path: Path) -> None:
    checks = mount_checks(MountTarget(shows="b", path=tmp_path))
    assert [(one.verdict, one.check) for one in checks.values()] == [("wrong", "mounted")]
    assert "nothing is mounted at" in checks["mounted"].found


def test_a_mount_that_hangs_is_told_and_not_waited_for(lab: LabState, tmp_path: Path) -> None:
    with own_mount(lab, tmp_path) as mounted:
        mounted.stop_answering()
        began_s = time.monotonic()
        finding = mount_checks(MountTarget(shows="b", path=mounted.path), limit_s=0.2)["mounted"]
        assert time.monotonic() - began_s < 2
    assert (finding.verdict, "does not answer within 0.2 s" in finding.found) == ("wrong", True)


@pytest.mark.parametrize(
    ("change", "check", "verdict"),
    [
        ({}, "direct reads", "right"),
        ({"direct_s3_reads": "off"}, "direct reads", "warning"),
        ({"efs_utils": "3.0.0"}, "efs-utils", "warning"),
        ({"efs_utils": "3.1.1"}, "efs-utils", "warning"),
        ({"efs_utils": "3.2.0"}, "efs-utils", "right"),
        ({"efs_utils": "not told"}, "efs-utils", "unknown"),
    ],
)
def test_how_s3_files_is_mounted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], check: str, verdict: str
) -> None:
    proof = {
        "mount_type": "nfs4",
        "mount_source": "127.0.0.1:/",
        "mount_options": "rw",
        "file_system_id": "fs-0123456789abcdef0",
        "access_point": "fsap-0123456789abcdef0",
        "direct_s3_reads": "on",
        "efs_utils": "3.2.0",
    }
    monkeypatch.setattr(mounts, "_proof_of", lambda *_: proof | change)
    target = MountTarget(shows="b", path=tmp_path, file_system_id="fs-0123456789abcdef0")
    assert mount_checks(target)[check].verdict == verdict


def test_a_mount_without_the_right_to_write_is_wrong_where_the_suite_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    finding = mounts._writing(MountTarget(shows="b", path=tmp_path), "s3bench")
    assert finding.verdict == "wrong"
    assert f"this user may not write at {tmp_path}" in finding.found


def results_checks(location: str, *, writes: bool = True) -> dict[str, Finding]:
    return {finding.check: finding for finding in checks_of_results(location, writes=writes)}


def test_a_results_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    checks = results_checks(str(tmp_path / "a" / "b"))
    assert [one.verdict for one in checks.values()] == ["right", "right"]
    assert list(tmp_path.iterdir()) == []
    assert results_checks(str(tmp_path), writes=False)["writes"].verdict == "unknown"


def test_a_results_folder_that_cannot_be_written_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    checks = results_checks(str(tmp_path / "file" / "results"))
    assert "wrong" in {one.verdict for one in checks.values()}


def test_a_results_server_that_ignores_if_none_match_is_a_warning(
    s3_endpoint_url: str, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    finding = results_checks(f"s3://{bucket}/results")["writes"]
    assert finding.verdict == "warning"
    assert finding.found.startswith("the server ignores If-None-Match")


def is_empty(stub: Stubber) -> None:
    """The answers to the listings of runs and of samples."""
    for _ in range(2):
        stub.add_response("list_objects_v2", {})


@pytest.fixture
def store(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> Stubber:
    """A results store on Amazon S3 with nothing in it."""
    client, stub = stubbed("s3")
    made = S3Store("some-bucket", "results")
    monkeypatch.setattr(made, "_client", client)
    monkeypatch.setattr(results, "open_store", lambda _: made)
    is_empty(stub)
    return stub


def test_amazons_own_answer_to_a_second_writer_is_right(store: Stubber) -> None:
    store.add_response("put_object", {})
    store.add_client_error("put_object", "PreconditionFailed", http_status_code=412)
    store.add_response("delete_object", {})
    finding = results_checks("s3://some-bucket/results")["writes"]
    assert (finding.verdict, finding.found) == (
        "right",
        "a file was written and removed; If-None-Match is honoured",
    )


def test_a_store_that_may_not_be_written_is_wrong_and_one_that_may_not_be_cleaned_a_warning(
    store: Stubber,
) -> None:
    store.add_client_error("put_object", "AccessDenied", http_status_code=403)
    assert results_checks("s3://some-bucket/results")["writes"].verdict == "wrong"
    is_empty(store)
    store.add_response("put_object", {})
    store.add_client_error("put_object", "PreconditionFailed", http_status_code=412)
    store.add_client_error("delete_object", "AccessDenied", http_status_code=403)
    finding = results_checks("s3://some-bucket/results")["writes"]
    assert finding.verdict == "warning"
    assert "could not be removed, as no run needs to" in finding.found
