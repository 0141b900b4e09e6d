"""Each kind of bucket takes its own names only, and an access path only the targets that it serves."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.errors import UserError
from configs.loading import parse_suite
from configs.targets import AcceleratedBucketTarget, BucketTarget, DirectoryBucketTarget, MountTarget

SUITE = """
version: 1
name: s
lab: aws-shaped
blocks: 1
targets:
  b: {kind: bucket, bucket: s3bench-lab}
  x: {kind: directory_bucket, bucket: s3bench-lab--apne1-az4--x-s3}
  m: {kind: mount, shows: x}
configurations:
  api: {access_path: {kind: boto3_api}, target: x}
  cli: {access_path: {kind: aws_cli}, target: x}
  mnt: {access_path: {kind: mount_io}, target: m}
datasets:
  d: {kind: blobs, size: 64}
  t: {kind: file_tree, scale: 0.01}
workloads:
  read: {kind: blob_read, dataset: d}
  up: {kind: file_upload, size: 64}
  tree: {kind: tree_download, dataset: t}
  lag: {kind: sync_lag, size: 64, seen_by: get, timeout_s: 10}
"""


@pytest.mark.parametrize(
    ("kind", "name", "complaint"),
    [
        (BucketTarget, "logs--apne1-az4--x-s3", "write kind: directory_bucket"),
        (BucketTarget, "Logs", "is no bucket name"),
        (DirectoryBucketTarget, "logs", "is no directory bucket"),
        (DirectoryBucketTarget, "lo.gs--apne1-az4--x-s3", "is no directory bucket"),
        (AcceleratedBucketTarget, "my.logs", "has a dot in its name"),
        (AcceleratedBucketTarget, "logs--apne1-az4--x-s3", "Transfer Acceleration serves none"),
        (AcceleratedBucketTarget, "-logs", "is no bucket name"),
    ],
)
def test_a_name_of_another_kind_is_refused(kind: type[BucketTarget], name: str, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        kind(bucket=name)


@pytest.mark.parametrize("zone_id", ["apne1-az4", "usw2-lax1-az1"])
def test_a_directory_bucket_knows_its_zone_also_a_local_one(zone_id: str) -> None:
    assert DirectoryBucketTarget(bucket=f"my-logs--{zone_id}--x-s3").zone_id == zone_id


def test_a_configuration_does_all_that_its_access_path_can_do() -> None:
    cells = parse_suite(SUITE, "s.yaml").cells()
    assert {cell.cell_id for cell in cells} == {"api/read", "cli/up", "cli/tree", "mnt/read", "mnt/lag"}


def test_a_cell_knows_its_bucket_also_behind_a_mount() -> None:
    cells = {cell.cell_id: cell for cell in parse_suite(SUITE, "s.yaml").cells()}
    assert cells["mnt/lag"].bucket == cells["api/read"].target


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        (
            "aws_cli}, target: x}",
            "aws_cli}, target: m}",
            "aws_cli reaches a bucket or a directory_bucket or an accelerated_bucket, but .* is a mount",
        ),
        (
            "shows: x}",
            "shows: x, path: /mnt/x}",
            "targets.m.path: the lab says where it is mounted: leave path out",
        ),
        (
            "shows: x}",
            "shows: x, root_prefix: s3bench/}",
            "targets.m.root_prefix: the lab mounts the whole bucket: leave root_prefix out",
        ),
        (
            "mount_io}, target: m}",
            "mount_io}, target: m, workloads: [up]}",
            r"mount_io cannot do 'up' \(file_upload\); it can do: read, lag",
        ),
        ("lab: aws-shaped", "lab: true", "the plain lab has no directory_bucket: write lab: aws-shaped"),
        (
            "bucket: s3bench-lab}",
            "bucket: tiny-bucket}",
            "targets.b.bucket: the lab has no bucket tiny-bucket: it has s3bench-lab, s3bench-lab-plain, ",
        ),
        ("lab: aws-shaped", "lab: false", "targets.x.region: say in which region"),
        ("tree_download, dataset: t", "tree_download, dataset: d", "'d' is not a dataset of a file tree"),
        (
            "up: {kind: file_upload, size: 64}",
            "up: {kind: first_request, dataset: t}",
            "'t' is not a dataset of b",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(right: str, wrong: str, complaint: str) -> None:
    assert right in SUITE
    with pytest.raises(UserError, match=complaint):
        parse_suite(SUITE.replace(right, wrong, 1), "s.yaml")


MOUNT_ON_AWS = """
name: s
targets:
  b: {kind: bucket, bucket: logs, prefix: team/s3bench}
  m:
    kind: mount
    shows: b
    path: /mnt/logs
    root_prefix: "team/"
configurations: {mnt: {access_path: {kind: mount_io}, target: m}}
workloads: {write: {kind: blob_write, size: 64}}
"""


@pytest.mark.parametrize(
    ("root_prefix", "refused"),
    [
        ("", False),
        ("team/", False),
        ("team/s3bench/", False),
        ("tea/", True),
        ("s3bench/", True),
        ("team/s3bench/datasets/", True),
    ],
)
def test_the_root_of_a_mount_must_hold_the_prefix_of_its_bucket(root_prefix: str, refused: bool) -> None:
    text = MOUNT_ON_AWS.replace('"team/"', f'"{root_prefix}"')
    if not refused:
        assert parse_suite(text, "s.yaml").cells()
        return
    with pytest.raises(
        UserError, match=r"^s\.yaml:9: targets\.m\.root_prefix: a mount .* does not show team/s3bench/"
    ):
        parse_suite(text, "s.yaml")


@pytest.mark.parametrize("root_prefix", ["", "team/"])
@pytest.mark.parametrize(
    "below", ["/etc/x", "a/../../etc/x", "..", "a//b", "./a", "a/.", "a/b//", "a\0b", ""]
)
def test_a_key_that_would_leave_a_mount_or_be_another_ones_file_has_no_path(
    root_prefix: str, below: str
) -> None:
    mount = MountTarget(shows="b", path=Path("/mnt/logs"), root_prefix=root_prefix)
    assert mount.path_of(f"{root_prefix}a/..b/c/") == Path("/mnt/logs/a/..b/c")
    with pytest.raises(ValueError, match="does not lie on a mount"):
        mount.path_of(f"{root_prefix}{below}")


@pytest.mark.parametrize(
    ("prefix", "refused"),
    [
        ("team/datasets/d", True),
        ("team/runs/mine", True),
        ("team/datasets", True),
        ("team/other", False),
        ("team/datasets-of-mine", False),
        ("team", False),
    ],
)
def test_nothing_of_ours_lies_among_the_data_or_the_runs_of_another_target(
    prefix: str, refused: bool
) -> None:
    text = MOUNT_ON_AWS.replace('"team/"', '""').replace(
        "  b: {kind: bucket, bucket: logs, prefix: team/s3bench}\n",
        "  b: {kind: bucket, bucket: logs, prefix: team}\n"
        f"  inner: {{kind: bucket, bucket: logs, prefix: {prefix}}}\n"
        f"  elsewhere: {{kind: bucket, bucket: other-logs, prefix: {prefix}}}\n",
    )
    if not refused:
        parse_suite(text, "s.yaml")
        return
    with pytest.raises(UserError) as raised:
        parse_suite(text, "s.yaml")
    assert f"targets.inner.prefix: {prefix} lies within the datasets or runs of target 'b'" in str(
        raised.value
    )
    assert "elsewhere" not in str(raised.value)
