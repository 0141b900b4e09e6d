import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.stub import Stubber

from configs.datasets import CloudTrailCopied
from configs.errors import UserError
from configs.manifest import Manifest
from tasks.datasets.cloudtrail_copied import plan_copied
from tasks.datasets.plan import LeftOutError
from tasks.datasets.prepare import prepare_dataset

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Prepare = Callable[..., Manifest]
OWN = "team/bench/datasets/logs/"


def left_out(manifest: Manifest) -> dict[str, int]:
    return {item.reason: item.count for item in manifest.left_out}


def from_folder(folder: Path) -> CloudTrailCopied:
    return CloudTrailCopied(source=str(folder))


def upload(client: "S3Client", bucket: str, prefix: str, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            client.put_object(
                Bucket=bucket, Key=prefix + path.relative_to(folder).as_posix(), Body=path.read_bytes()
            )


def test_the_real_sample_is_copied_whole_from_its_folder(prepare: Prepare, sample: Path) -> None:
    manifest = prepare(from_folder(sample))
    assert (len(manifest.objects), manifest.records, manifest.size_bytes) == (55, 2_900, 421_346)
    assert left_out(manifest) == {"not named and placed like a CloudTrail log": 2}


def test_the_real_sample_is_copied_whole_from_a_bucket(
    prepare: Prepare, sample: Path, s3_client: "S3Client", bucket: str
) -> None:
    upload(s3_client, bucket, "trail/", sample)
    manifest = prepare(CloudTrailCopied(source=f"s3://{bucket}/trail"))
    assert (len(manifest.objects), manifest.records, manifest.size_bytes) == (55, 2_900, 421_346)


def test_copied_bytes_are_unchanged_and_keys_begin_at_awslogs(
    prepare: Prepare, folder: Path, log_key: Callable[[int], str], s3_client: "S3Client", bucket: str
) -> None:
    manifest = prepare(from_folder(folder))
    assert [item.key for item in manifest.objects] == [OWN + log_key(number) for number in (1, 2, 3)]
    assert [item.records for item in manifest.objects] == [1, 2, 3]
    body = s3_client.get_object(Bucket=bucket, Key=manifest.objects[1].key)["Body"].read()
    assert body == (folder / log_key(2)).read_bytes()


def test_a_folder_in_the_middle_of_the_layout_is_a_source(prepare: Prepare, folder: Path) -> None:
    manifest = prepare(from_folder(folder / "AWSLogs/123456789012/CloudTrail/us-east-1"))
    assert manifest.records == 6
    assert manifest.objects[0].key.startswith(f"{OWN}AWSLogs/123456789012/CloudTrail/us-east-1/2026/05/01/")


@pytest.mark.parametrize("prefix", ["", "a b", "été/日本", "100%", "%41", "p+q", "a&b=c?d#e"])
def test_any_characters_in_the_prefix_of_a_source_are_taken_as_they_are(
    prepare: Prepare, folder: Path, s3_client: "S3Client", bucket: str, prefix: str
) -> None:
    upload(s3_client, bucket, f"{prefix}/" if prefix else "", folder)
    assert prepare(CloudTrailCopied(source=f"s3://{bucket}/{prefix}")).records == 6


def test_more_logs_than_one_page_of_a_listing_are_all_found(
    prepare: Prepare, s3_client: "S3Client", bucket: str, many_logs: Path, requests_made: list[str]
) -> None:
    assert prepare(from_folder(many_logs)).records == 1_100
    requests_made.clear()
    assert prepare(from_folder(many_logs)).records == 1_100
    assert requests_made == ["GetObject", "ListObjectsV2", "ListObjectsV2"]
    source = CloudTrailCopied(source=f"s3://{bucket}/{OWN}")
    plan = plan_copied(source, lambda: s3_client, own_bucket="another", own_area="copy/")
    assert len(plan.items) == 1_100


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_thousand_logs_are_copied_counted_and_found_again(
    prepare: Prepare, log_key: Callable[[int], str], log_bytes: Callable[[int], bytes], tmp_path: Path
) -> None:
    (tmp_path / log_key(0)).parent.mkdir(parents=True)
    body = log_bytes(2)
    for number in range(10_000):
        (tmp_path / log_key(number)).write_bytes(body)
    first = prepare(from_folder(tmp_path))
    assert (len(first.objects), first.records, first.left_out) == (10_000, 20_000, ())
    assert prepare(from_folder(tmp_path)) == first


def test_whatever_is_no_whole_log_is_left_out_and_counted(
    prepare: Prepare, folder: Path, log_key: Callable[[int], str], log_bytes: Callable[[int], bytes]
) -> None:
    whole = log_bytes(50)
    content = {
        11: b"",
        12: whole[:-20],
        13: whole[:-20],
        14: b"plain text",
        15: gzip.compress(whole),
        16: gzip.compress(b"{"),
        17: gzip.compress(b"{}"),
        18: gzip.compress(b'{"Records": []}'),
    }
    for number, body in content.items():
        (folder / log_key(number)).write_bytes(body)
    digest = folder / log_key(19).replace("/CloudTrail/", "/CloudTrail-Digest/")
    digest.parent.mkdir(parents=True)
    digest.write_bytes(whole)
    (folder / "README.txt").write_text("logs", encoding="utf-8")
    manifest = prepare(from_folder(folder))
    assert (len(manifest.objects), manifest.records) == (4, 6)
    assert left_out(manifest) == {
        "CloudTrail-Digest file, not a log": 1,
        "JSON without a list of Records": 1,
        "bad JSON": 1,
        "damaged or cut-off gzip": 2,
        "empty (0 bytes)": 1,
        "gzipped twice": 1,
        "not gzip": 1,
        "not named and placed like a CloudTrail log": 1,
    }
    examples = {item.reason: item.example for item in manifest.left_out}
    assert examples["damaged or cut-off gzip"] == log_key(12)


def test_links_are_followed_only_inside_the_folder_and_pipes_not_at_all(
    prepare: Prepare,
    folder: Path,
    tmp_path: Path,
    log_key: Callable[[int], str],
    log_bytes: Callable[[int], bytes],
) -> None:
    outside = tmp_path / "outside.json.gz"
    outside.write_bytes(log_bytes(9))
    (folder / log_key(21)).symlink_to(outside)
    (folder / log_key(22)).symlink_to(folder / log_key(3))
    (folder / log_key(23)).symlink_to(folder / log_key(23))
    (folder / log_key(24)).symlink_to(tmp_path / "nowhere")
    (folder / "linked").symlink_to(folder / "AWSLogs")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / log_key(25))
    manifest = prepare(from_folder(folder))
    assert (len(manifest.objects), manifest.records) == (4, 9)
    assert left_out(manifest) == {
        "link that leads out of the folder": 2,
        "link that leads nowhere, or a file that is gone": 2,
        "link to a folder": 1,
        "no regular file": 1,
    }


def test_a_file_name_that_is_no_text_is_left_out(prepare: Prepare, folder: Path) -> None:
    with open(os.fsencode(folder) + b"/\xff\xfe", "wb"):  # noqa: PTH123  only a name in bytes can be such a name
        pass
    assert prepare(from_folder(folder)).left_out[0].example == "\\udcff\\udcfe"


def test_archived_objects_and_keys_of_folders_are_left_out(log_key: Callable[[int], str]) -> None:
    # The local server has no storage classes, so botocore's own stub answers here.
    client = boto3.client("s3", region_name="us-east-1")
    listed = [
        {"Key": "AWSLogs/", "Size": 0, "StorageClass": "STANDARD"},
        {"Key": log_key(1), "Size": 5, "StorageClass": "GLACIER"},
        {"Key": log_key(2), "Size": 5, "StorageClass": "DEEP_ARCHIVE"},
        {"Key": log_key(3), "Size": 5, "StorageClass": "GLACIER_IR"},
        {"Key": log_key(4), "Size": 5, "StorageClass": "INTELLIGENT_TIERING"},
    ]
    with Stubber(client) as stub:
        stub.add_response("list_objects_v2", {"Contents": listed})
        stub.add_client_error("get_object", "InvalidObjectState", http_status_code=403)
        plan = plan_copied(
            CloudTrailCopied(source="s3://archive"), lambda: client, own_bucket="own", own_area="p/"
        )
        assert [item.name for item in plan.items] == [log_key(3), log_key(4)]
        assert sorted(rejection.reason for rejection in plan.rejections) == [
            "archived",
            "archived",
            "folder's own key",
        ]
        with pytest.raises(LeftOutError, match="archived"):
            plan.items[1].make()


def test_what_is_gone_or_another_since_the_listing_is_counted_and_prepared_anew(
    folder: Path,
    s3_client: "S3Client",
    bucket: str,
    log_key: Callable[[int], str],
    log_bytes: Callable[[int], bytes],
) -> None:
    upload(s3_client, bucket, "trail/", folder)
    source = CloudTrailCopied(source=f"s3://{bucket}/trail")
    prepare = partial(prepare_dataset, s3_client, bucket, "team/bench", "logs", source)

    def after_listing(**_: object) -> None:
        s3_client.meta.events.unregister("after-call.s3.ListObjectsV2", after_listing)
        s3_client.delete_object(Bucket=bucket, Key=f"trail/{log_key(1)}")
        s3_client.put_object(Bucket=bucket, Key=f"trail/{log_key(2)}", Body=log_bytes(40))

    s3_client.meta.events.register("after-call.s3.ListObjectsV2", after_listing)
    first = prepare(source_client=s3_client)
    assert left_out(first) == {"gone since the listing": 1}
    assert first.records == 43
    again = prepare(source_client=s3_client)
    assert (again.records, again.left_out) == (43, ())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_left_out_and_a_closed_source_is_named(
    prepare: Prepare, folder: Path, log_key: Callable[[int], str]
) -> None:
    (folder / log_key(1)).chmod(0)
    (folder / "closed").mkdir(mode=0)
    manifest = prepare(from_folder(folder))
    assert manifest.records == 5
    assert left_out(manifest) == {"may not be read": 1, "folder that may not be listed": 1}
    with pytest.raises(UserError, match=r"cannot list the folder .*closed: Permission denied"):
        prepare(from_folder(folder / "closed"))


def test_the_same_log_below_two_prefixes_is_copied_once(
    prepare: Prepare, folder: Path, s3_client: "S3Client", bucket: str
) -> None:
    upload(s3_client, bucket, "trail/a/", folder)
    upload(s3_client, bucket, "trail/b/", folder)
    manifest = prepare(CloudTrailCopied(source=f"s3://{bucket}/trail/"))
    assert manifest.records == 6
    assert left_out(manifest) == {"second log of the same name": 3}


def test_a_neighbour_whose_name_only_begins_alike_is_no_part_of_the_source(
    prepare: Prepare, folder: Path, s3_client: "S3Client", bucket: str
) -> None:
    upload(s3_client, bucket, "trail/", folder)
    upload(s3_client, bucket, "trail-old/o/", folder)
    manifest = prepare(CloudTrailCopied(source=f"s3://{bucket}/trail"))
    assert (manifest.records, manifest.left_out) == (6, ())


def test_a_dataset_is_not_a_source_of_itself(
    prepare: Prepare, folder: Path, s3_client: "S3Client", bucket: str, requests_made: list[str]
) -> None:
    upload(s3_client, bucket, "trail/", folder)
    whole_bucket = CloudTrailCopied(source=f"s3://{bucket}")
    first = prepare(whole_bucket)
    assert first.records == 6
    requests_made.clear()
    assert prepare(whole_bucket) == first
    assert requests_made == ["ListObjectsV2", "GetObject", "ListObjectsV2"]
    upload(s3_client, bucket, "zone/", folder)
    assert left_out(prepare(whole_bucket)) == {
        "second log of the same name": 3,
        "written by this benchmark": 4,
    }


def test_a_source_inside_the_area_of_the_benchmark_is_taken_as_it_is(
    prepare: Prepare, folder: Path, s3_client: "S3Client", bucket: str
) -> None:
    upload(s3_client, bucket, "team/bench/kept/", folder)
    assert prepare(CloudTrailCopied(source=f"s3://{bucket}/team/bench/kept")).records == 6


def test_an_unchanged_source_is_not_read_again_and_a_changed_one_is(
    prepare: Prepare, folder: Path, log_key: Callable[[int], str], log_bytes: Callable[[int], bytes],
    requests_made: list[str],
) -> None:  # fmt: skip
    first = prepare(from_folder(folder))
    requests_made.clear()
    assert prepare(from_folder(folder)) == first
    assert requests_made == ["GetObject", "ListObjectsV2"]
    (folder / log_key(1)).write_bytes(log_bytes(7))
    (folder / log_key(3)).unlink()
    assert [item.records for item in prepare(from_folder(folder)).objects] == [7, 2]


def test_the_source_client_is_made_only_for_a_bucket(
    s3_client: "S3Client", bucket: str, folder: Path
) -> None:
    made: list[str] = []

    def make() -> "S3Client":
        made.append("client")
        return s3_client

    prepare_dataset(s3_client, bucket, "p", "logs", from_folder(folder), source_client=make)
    assert made == []
    upload(s3_client, bucket, "trail/", folder)
    prepare_dataset(
        s3_client, bucket, "p", "logs", CloudTrailCopied(source=f"s3://{bucket}/trail"), source_client=make
    )
    assert made == ["client"]
