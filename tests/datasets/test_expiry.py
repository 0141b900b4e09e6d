"""A dataset that nothing uses any more is listed or removed: its own objects, and nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber
from pydantic import ByteSize

from configs.datasets import Blobs
from configs.errors import UserError
from configs.loading import parse_suite
from configs.manifest import Manifest
from tasks.datasets.expiry import (
    DatasetOutcome,
    FoundDataset,
    bucket_ids_of_places,
    find_datasets,
    tend_dataset,
    used_datasets,
)
from tasks.datasets.prepare import prepare_dataset

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Keys = Callable[[str], set[str]]
SMALL = Blobs(size=ByteSize(100), unique_count=3)
AREA = "team/bench/datasets/"
LATER = datetime.now(UTC) + timedelta(days=40)
"""As seen from here everything was prepared long ago."""
DAY = timedelta(days=1)

SUITE = """\
name: two-ways
targets:
  plain: {kind: bucket, bucket: my-bucket, prefix: team/bench, region: us-east-1}
  fast: {kind: accelerated_bucket, bucket: my-bucket, prefix: team/bench, region: us-east-1}
  other: {kind: bucket, bucket: my-bucket, prefix: other, region: us-east-1}
  mount: {kind: mount, shows: other, path: /mnt/bucket}
configurations:
  plain: {access_path: {kind: boto3_api}, target: plain, workloads: [read-one]}
  fast: {access_path: {kind: boto3_api}, target: fast, workloads: [read-two]}
  mount: {access_path: {kind: mount_io}, target: mount, workloads: [read-two]}
datasets:
  one: {kind: blobs, size: 1 KiB}
  two: {kind: blobs, size: 1 KiB}
  three: {kind: blobs, size: 1 KiB}
workloads:
  read-one: {kind: blob_read, dataset: one}
  read-two: {kind: blob_read, dataset: two}
"""


def tend(client: "S3Client", dataset: FoundDataset, **changes: Any) -> DatasetOutcome:
    """Nobody has read anything, and everything is old, where a test does not say more."""
    options = {"last_read": lambda _name, _prefix: None, "unused_since": LATER, "remove": True}
    return tend_dataset(client, dataset, **{**options, **changes})


@dataclass(frozen=True)
class Area:
    """Where datasets lie in a real bucket."""

    client: "S3Client"
    bucket: str

    def prepare(self, name: str) -> Manifest:
        """Four objects of 100 bytes."""
        return prepare_dataset(self.client, self.bucket, "team/bench", name, SMALL, source_client=self.client)

    def put(self, key: str, body: bytes | str) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=body)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=key)

    def tend_the_only_one(self, *used: str, **changes: Any) -> DatasetOutcome:
        (dataset,) = find_datasets(self.client, self.bucket, "team/bench", used)
        return tend(self.client, dataset, **changes)


@pytest.fixture
def area(s3_client: "S3Client", bucket: str) -> Area:
    return Area(s3_client, bucket)


def test_a_removed_dataset_is_gone_and_what_is_beside_it_stays(area: Area, keys_below: Keys) -> None:
    for name in ("old", "old-too", "older"):
        area.prepare(name)
    others = [f"{AREA}readme.txt", f"{AREA}old.txt", "team/bench/runs/old/x", "team/old/x", "datasets/old/x"]
    for key in others:
        area.put(key, b"x")
    before = keys_below("")
    datasets = find_datasets(area.client, area.bucket, "team/bench", ())
    assert [dataset.name for dataset in datasets] == ["old", "old-too", "older"]
    outcome = tend(area.client, datasets[0])
    assert (outcome.address, outcome.action) == (f"s3://{area.bucket}/{AREA}old/", "removed")
    assert (outcome.objects, outcome.size_bytes) == (4, 400)
    gone = {key for key in before if key.startswith(f"{AREA}old/")} | {f"{AREA}old.manifest.json"}
    assert len(gone) == 5
    assert keys_below("") == before - gone


def test_the_manifest_goes_last_so_that_a_removal_goes_on_where_it_was_cut_off(
    area: Area, requests_made: list[str], keys_below: Keys
) -> None:
    manifest = area.prepare("old")
    area.delete(manifest.objects[0].key)  # as far as it came
    requests_made.clear()
    outcome = area.tend_the_only_one()
    deletes = ["DeleteObjects", "GetBucketVersioning"]  # the objects, then the manifest
    assert requests_made == ["ListObjectsV2", "GetObject", *deletes, *deletes]
    assert (outcome.action, outcome.objects) == ("removed", 3)
    assert keys_below("") == set()


def test_what_the_manifest_does_not_hold_or_not_so_stays_and_is_told(area: Area, keys_below: Keys) -> None:
    manifest = area.prepare("old")
    theirs = f"{AREA}old/notes.txt"
    changed = manifest.objects[1].key
    for key in (theirs, changed):
        area.put(key, b"somebody else's")
    outcome = area.tend_the_only_one()
    assert (outcome.action, outcome.objects) == ("removed", 3)
    assert "2 objects below it that it did not hold so stayed" in outcome.reason
    assert keys_below("") == {theirs, changed}


def test_a_listed_dataset_is_told_with_its_size_and_not_touched(area: Area, keys_below: Keys) -> None:
    area.prepare("old")
    before = keys_below("")
    outcome = area.tend_the_only_one(remove=False)
    assert (outcome.action, outcome.objects, outcome.size_bytes) == ("listed", 4, 400)
    assert f"no run is known to have read it since {LATER:%Y-%m-%d}" in outcome.reason
    assert keys_below("") == before


def test_a_dataset_that_is_used_or_was_read_or_prepared_lately_is_kept(area: Area) -> None:
    manifest = area.prepare("old")
    asked: list[tuple[str, str]] = []

    def last_read(name: str, prefix: str) -> datetime:
        asked.append((name, prefix))
        return LATER + DAY

    assert area.tend_the_only_one("old").reason == "the suite uses it"
    read = area.tend_the_only_one(last_read=last_read)
    assert (read.action, read.reason) == ("kept", f"a run read it on {LATER + DAY:%Y-%m-%d}")
    assert asked == [("old", manifest.prefix)]
    new = area.tend_the_only_one(unused_since=datetime.now(UTC) - DAY)
    assert (new.action, new.reason[:12]) == ("kept", "was prepared")
    assert area.tend_the_only_one(last_read=lambda _name, _prefix: LATER - DAY).action == "removed"


def test_copies_are_listed_and_never_removed(area: Area, keys_below: Keys) -> None:
    manifest = area.prepare("old")
    area.put(f"{AREA}old.manifest.json", manifest.model_copy(update={"seed": None}).model_dump_json())
    before = keys_below("")
    outcome = area.tend_the_only_one()
    assert outcome.action == "listed"
    assert "it is a copy whose source may be gone, and is never removed" in outcome.reason
    assert keys_below("") == before


def test_what_is_not_plainly_ours_is_left_and_told(area: Area, keys_below: Keys) -> None:
    manifest = area.prepare("old")
    key = f"{AREA}old.manifest.json"
    outside, upwards = (
        manifest.objects[0].model_copy(update={"key": key})
        for key in ("team/bench/runs/somebodys", f"{AREA}old/../../runs/somebodys")
    )
    for content, told in (
        ("{}", "gone, damaged, or not of this version"),
        (manifest.model_copy(update={"dataset": "new"}).model_dump_json(), "its manifest is that of"),
        (manifest.model_copy(update={"prefix": AREA}).model_dump_json(), f"its manifest is that of {AREA}"),
        (manifest.model_copy(update={"objects": (outside,)}).model_dump_json(), "damaged"),
        (manifest.model_copy(update={"objects": (upwards,)}).model_dump_json(), "damaged"),
    ):
        area.put(key, content)
        before = keys_below("")
        outcome = area.tend_the_only_one()
        assert outcome.action == "left"
        assert told in outcome.reason
        assert keys_below("") == before
    area.delete(key)
    assert "has no manifest of ours" in area.tend_the_only_one().reason
    assert len(keys_below(f"{AREA}old/")) == 4


def test_a_suite_uses_what_its_cells_read_by_whatever_target_they_reach_the_bucket() -> None:
    suite = parse_suite(SUITE, "two-ways.yaml")
    assert bucket_ids_of_places(suite, ["plain", "fast", "other"]) == ["fast", "other"]
    assert used_datasets(suite, "plain") == used_datasets(suite, "fast") == {"one", "two"}
    assert used_datasets(suite, "other") == {"two"}


@pytest.fixture
def stubbed() -> "Iterator[tuple[S3Client, Stubber]]":
    """A client that gets prepared answers, each to the very request that it was prepared for."""
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    with Stubber(client) as stub:
        yield client, stub


@pytest.fixture
def old(stubbed: "tuple[S3Client, Stubber]") -> FoundDataset:
    """A dataset of one object in a bucket that keeps versions, whose manifest is read first."""
    item = {"key": f"{AREA}old/a", "size_bytes": 1, "sha256": "0" * 64}
    manifest = Manifest.model_validate(
        {"dataset": "old", "prefix": f"{AREA}old/", "fingerprint": "f", "seed": 1, "objects": [item]}
    )
    dataset = FoundDataset("bucket", "old", f"{AREA}old/", {f"{AREA}old/a": 1}, LATER - DAY)

    class Body:
        def read(self) -> bytes:
            return manifest.model_dump_json().encode()

    stubbed[1].add_response("get_object", {"Body": Body()}, {"Bucket": "bucket", "Key": dataset.manifest_key})
    return dataset


def deletion_of(*objects: dict[str, str]) -> dict[str, object]:
    return {"Bucket": "bucket", "Delete": {"Objects": list(objects), "Quiet": True}}


def test_versions_of_its_own_keys_go_too_and_no_others(
    stubbed: "tuple[S3Client, Stubber]", old: FoundDataset
) -> None:
    client, stub = stubbed
    for key in (f"{AREA}old/a", old.manifest_key):
        own = {"Key": key, "VersionId": "1"}
        marker = {"Key": key, "VersionId": "2"}
        theirs = {"Key": f"{key}/notes.txt", "VersionId": "3"}
        prefix = old.manifest_key if key == old.manifest_key else old.prefix
        stub.add_response("delete_objects", {}, deletion_of({"Key": key}))
        stub.add_response("get_bucket_versioning", {"Status": "Enabled"})
        stub.add_response(
            "list_object_versions",
            {"Versions": [own, theirs], "DeleteMarkers": [marker]},
            {"Bucket": "bucket", "Prefix": prefix},
        )
        stub.add_response("delete_objects", {}, deletion_of(own, marker))
    outcome = tend(client, old)
    assert (outcome.action, outcome.objects) == ("removed", 1)
    stub.assert_no_pending_responses()


def test_versions_that_may_not_be_seen_are_told(
    stubbed: "tuple[S3Client, Stubber]", old: FoundDataset
) -> None:
    client, stub = stubbed
    for _ in range(2):
        stub.add_response("delete_objects", {})
        stub.add_client_error("get_bucket_versioning", "AccessDenied", http_status_code=403)
    outcome = tend(client, old)
    assert outcome.action == "removed"
    assert "older versions may be left, and billed" in outcome.reason
    assert "s3:GetBucketVersioning" in outcome.reason


def test_a_manifest_stays_while_an_object_may_not_be_deleted(
    stubbed: "tuple[S3Client, Stubber]", old: FoundDataset
) -> None:
    client, stub = stubbed
    stub.add_response("delete_objects", {"Errors": [{"Key": f"{AREA}old/a", "Code": "AccessDenied"}]})
    with pytest.raises(UserError, match=r"cannot delete .*AccessDenied"):
        tend(client, old)
    stub.assert_no_pending_responses()
