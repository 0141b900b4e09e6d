"""What a run's record says of its datasets: the same data in several buckets once, with every prefix."""

from pathlib import Path

from configs.loading import parse_suite
from configs.manifest import DatasetObject, LocalTree, Manifest
from configs.run_record import RunIdentity
from tasks.venues.accounting import dataset_records
from tasks.venues.session import SessionPlan

SUITE = """\
name: own
targets:
  one: {kind: bucket, bucket: my-bucket, prefix: team/one}
  two: {kind: bucket, bucket: my-bucket, prefix: two}
datasets:
  blobs: {kind: blobs, size: 64}
  tree: {kind: file_tree, files: 1, mean_size: 64}
configurations:
  one: {access_path: {kind: boto3_api}, target: one}
  two: {access_path: {kind: boto3_api}, target: two}
  cli: {access_path: {kind: aws_cli}, target: one, workloads: [up]}
workloads:
  read: {kind: blob_read, dataset: blobs}
  up: {kind: tree_upload, dataset: tree}
"""
OBJECT = DatasetObject(key="k", size_bytes=64, sha256="0" * 64)


def manifest_at(prefix: str) -> Manifest:
    one = OBJECT.model_copy(update={"key": f"{prefix}k"})
    return Manifest(dataset="blobs", prefix=prefix, fingerprint="", seed=1, objects=(one,))


def test_a_dataset_is_named_once_with_the_prefixes_that_it_was_read_from() -> None:
    plan = SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        suite=parse_suite(SUITE, "own.yaml"),
        suite_sha256="",
        seed=1,
        manifests={
            ("two", "blobs"): manifest_at("two/datasets/blobs/"),
            ("one", "blobs"): manifest_at("team/one/datasets/blobs/"),
        },
        obstacles={},
        scratch=Path("unused"),
        trees={"tree": LocalTree(folder=Path("unused"), objects=(OBJECT,))},
    )
    tree, blobs = dataset_records(plan)
    assert (blobs.name, blobs.prefixes) == ("blobs", ("team/one/datasets/blobs/", "two/datasets/blobs/"))
    assert (tree.name, tree.prefixes) == ("tree", ())
    assert "my-bucket" not in blobs.model_dump_json()
