"""What a suite may say of Lambda functions, and what it means for its cells."""

from pathlib import Path

import pytest

from configs.errors import UserError
from configs.loading import load_suite, parse_suite
from configs.suite import Suite

SUITE = """\
name: s
blocks: 2
targets:
  b: {kind: bucket, bucket: some-bucket, region: ap-northeast-1}
venues:
  in_vpc: {kind: lambda, function: s3bench-in-vpc, region: ap-northeast-1, memory_mb: 512, vpc: true}
configurations:
  here: {access_path: {kind: boto3_api}, target: b}
  there: {access_path: {kind: boto3_api}, target: b, venue: in_vpc}
workloads:
  write: {kind: blob_write, size: 64, iterations: 20, warmup: 4}
"""


def suite_with(*changes: tuple[str, str]) -> Suite:
    text = SUITE
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong, 1)
    return parse_suite(text, "s.yaml")


def mistake_of(*changes: tuple[str, str]) -> str:
    with pytest.raises(UserError) as raised:
        suite_with(*changes)
    return str(raised.value)


def test_a_cell_has_the_venue_of_its_configuration_and_none_on_this_host() -> None:
    here, there = suite_with().cells()
    assert here.venue is None
    assert there.venue is not None
    assert (there.venue.function, there.venue.memory_mb) == ("s3bench-in-vpc", 512)


def test_a_venue_makes_another_series_by_what_it_claims_and_not_by_where_it_is() -> None:
    here, there = suite_with().cells()
    assert not [name for name in here.asked if name.startswith("venue.")]
    assert {name: value for name, value in there.asked.items() if name.startswith("venue.")} == {
        "venue.kind": "lambda",
        "venue.memory_mb": "512",
        "venue.vpc": "True",
    }
    elsewhere = suite_with(("s3bench-in-vpc, region: ap-northeast-1", "another, region: eu-west-1"))
    assert elsewhere.cells()[1].asked == there.asked


def test_a_suite_without_venues_is_what_it_was_before_there_were_any() -> None:
    plain = parse_suite(
        "name: s\ntargets: {b: {kind: bucket, bucket: some-bucket}}\n"
        "configurations: {c: {access_path: {kind: noop}, target: b}}\n"
        "workloads: {w: {kind: blob_write, size: 64}}\n",
        "s.yaml",
    )
    assert plain.sha256 == "137fcec3257fa34ed02370dcf533d585563a36033f7a61754aad93222f65e7f0"
    assert suite_with().sha256 != suite_with(("512", "1024")).sha256


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            "venue: in_vpc",
            "venue: in_vcp",
            "s.yaml:9: configurations.there.venue: 'in_vcp' is not among the venues: local, in_vpc",
        ),
        ("  in_vpc: {", "  local: {", "s.yaml:6: venues.local: local is this host"),
        ("kind: lambda", "kind: lambada", "s.yaml:6: venues.in_vpc.kind: Input should be 'lambda'"),
        ("memory_mb: 512", "memory_mb: 127", "s.yaml:6: venues.in_vpc.memory_mb: Input should be greater"),
        (
            "memory_mb: 512",
            "memory: 512",
            "s.yaml:6: venues.in_vpc.memory: unknown key; did you mean 'memory_mb'?",
        ),
        ("function: s3bench-in-vpc, ", "", "s.yaml:6: venues.in_vpc.function: this key is missing"),
        ("vpc: true}", "vpc: true, endpoint_url: 'ftp://x'}", "s.yaml:6: venues.in_vpc.endpoint_url: "),
    ],
)
def test_a_mistake_is_named_with_its_line(right: str, wrong: str, told: str) -> None:
    assert told in mistake_of((right, wrong))


def test_only_venues_of_a_configuration_are_used() -> None:
    suite = suite_with(("venue: in_vpc", "venue: local"))
    assert suite.used_venues() == {}
    assert set(suite_with().used_venues()) == {"in_vpc"}


@pytest.mark.parametrize(
    ("access_path", "workload", "reason"),
    [
        ("{kind: aws_cli}", "{kind: file_upload, size: 64}", "a Lambda function has no program for aws_cli"),
        ("{kind: s5cmd}", "{kind: file_upload, size: 64}", "a Lambda function has no program for s5cmd"),
        (
            "{kind: boto3_transfer, engine: crt}",
            "{kind: file_upload, size: 64}",
            "Lambda has no CRT engine for boto3",
        ),
        ("{kind: boto3_transfer}", "{kind: file_upload, size: 64}", ""),
        ("{kind: noop}", "{kind: blob_write, size: 64}", ""),
        ("{kind: obstore}", "{kind: blob_write, size: 64}", ""),
    ],
)
def test_what_cannot_run_in_lambda_is_skipped_there_and_says_why(
    access_path: str, workload: str, reason: str
) -> None:
    suite = suite_with(
        ("there: {access_path: {kind: boto3_api}", f"there: {{access_path: {access_path}"),
        ("here: {access_path: {kind: boto3_api}", f"here: {{access_path: {access_path}"),
        ("{kind: blob_write, size: 64, iterations: 20, warmup: 4}", workload),
    )
    here, there = suite.cells()
    assert here.unsupported == ""
    assert there.unsupported.startswith(reason)
    assert bool(there.unsupported) == bool(reason)


def test_a_lag_between_both_sides_of_a_mount_is_measured_on_this_host_alone() -> None:
    suite = suite_with(
        ("region: ap-northeast-1}", "region: ap-northeast-1}\n  m: {kind: mount, shows: b, path: /mnt/b}"),
        (
            "there: {access_path: {kind: boto3_api}, target: b",
            "there: {access_path: {kind: mount_io}, target: m",
        ),
        ("write: ", "lag: {kind: sync_lag, size: 64, seen_by: get, timeout_s: 9}\n  write: "),
    )
    reasons = {cell.cell_id: cell.unsupported for cell in suite.cells()}
    assert reasons["there/lag"].startswith("sync_lag needs this host")
    assert reasons["there/write"] == ""


def test_null_in_an_overlay_takes_a_venue_out(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    (tmp_path / "s.yaml").write_text(SUITE.replace("venue: in_vpc", "venue: local"))
    (tmp_path / "lab" / "s.yaml").write_text("venues: {in_vpc: null}\n")
    assert load_suite(str(tmp_path / "s.yaml"), in_lab=True).venues == {}
