import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from pydantic import ByteSize

from configs.datasets import Blobs, CloudTrailGenerated
from configs.errors import UserError
from configs.manifest import Manifest
from tasks.datasets.blobs import blob_bytes
from tasks.datasets.prepare import prepare_dataset

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Prepare = Callable[..., Manifest]
Keys = Callable[[str], set[str]]
OWN = "team/bench/datasets/logs/"
MANIFEST = "team/bench/datasets/logs.manifest.json"
SMALL = Blobs(size=ByteSize(100), unique_count=3)
LOOKED_AT = ["GetObject", "ListObjectsV2"]


def test_a_listing_of_the_dataset_is_its_manifest_and_nothing_else(
    prepare: Prepare, keys_below: Keys
) -> None:
    manifest = prepare(CloudTrailGenerated(files=20, records=100))
    assert manifest.prefix == OWN
    assert keys_below(OWN) == {item.key for item in manifest.objects}
    assert keys_below("") == {*keys_below(OWN), MANIFEST}
    assert [item.key for item in manifest.objects] == sorted(keys_below(OWN))


def test_a_prepared_dataset_is_only_looked_at(prepare: Prepare, requests_made: list[str]) -> None:
    first = prepare(SMALL)
    requests_made.clear()
    assert prepare(SMALL) == first
    assert requests_made == LOOKED_AT


def test_the_manifest_goes_first_and_comes_back_last(prepare: Prepare, requests_made: list[str]) -> None:
    prepare(SMALL)
    requests_made.clear()
    prepare(SMALL.model_copy(update={"seed": 1}))
    assert requests_made == ["GetObject", "DeleteObjects", *["PutObject"] * 4, "ListObjectsV2", "PutObject"]


@pytest.mark.parametrize("change", ["missing", "shorter", "stray", "damaged manifest", "no manifest"])
def test_any_difference_is_repaired(
    prepare: Prepare,
    s3_client: "S3Client",
    bucket: str,
    keys_below: Keys,
    change: str,
) -> None:
    first = prepare(SMALL)
    victim = first.objects[0].key
    match change:
        case "missing":
            s3_client.delete_object(Bucket=bucket, Key=victim)
        case "shorter":
            s3_client.put_object(Bucket=bucket, Key=victim, Body=b"short")
        case "stray":
            s3_client.put_object(Bucket=bucket, Key=f"{OWN}unique/stray.bin", Body=b"stray")
        case "damaged manifest":
            s3_client.put_object(Bucket=bucket, Key=MANIFEST, Body=b'{"dataset": ')
        case "no manifest":
            s3_client.delete_object(Bucket=bucket, Key=MANIFEST)
    assert prepare(SMALL) == first
    assert keys_below("") == {*(item.key for item in first.objects), MANIFEST}


def test_another_configuration_replaces_the_dataset(prepare: Prepare, keys_below: Keys) -> None:
    before = prepare(SMALL)
    after = prepare(CloudTrailGenerated(files=2, records=9))
    assert before.fingerprint != after.fingerprint
    assert keys_below(OWN) == {item.key for item in after.objects}


def test_nothing_outside_the_dataset_is_touched(
    prepare: Prepare, s3_client: "S3Client", bucket: str, keys_below: Keys
) -> None:
    others = {
        "team/bench/datasets/logs-2/single.bin",
        "team/bench/datasets/logs.txt",
        "team/bench/datasets/other.manifest.json",
        "team/bench/samples/one.parquet",
        "other/datasets/logs/single.bin",
    }
    for key in others:
        s3_client.put_object(Bucket=bucket, Key=key, Body=b"theirs")
    first = prepare(SMALL)
    tampered = first.model_copy(
        update={
            "objects": (
                *first.objects,
                first.objects[0].model_copy(update={"key": "other/datasets/logs/single.bin"}),
            )
        }
    )
    s3_client.put_object(Bucket=bucket, Key=MANIFEST, Body=tampered.model_dump_json().encode())
    prepare(SMALL.model_copy(update={"unique_count": 1}))
    assert keys_below("") == {*others, MANIFEST, f"{OWN}single.bin", f"{OWN}unique/000000.bin"}
    bodies = {s3_client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in others}
    assert bodies == {b"theirs"}


def test_an_interrupted_preparation_is_not_taken_for_a_whole_one(
    prepare: Prepare, s3_client: "S3Client", bucket: str
) -> None:
    first = prepare(SMALL)

    def interrupt(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(SMALL.model_copy(update={"seed": 1}), progress=interrupt)
    # Keys and sizes are those of the first dataset again, but some bytes are of the second.
    assert prepare(SMALL) == first
    again = s3_client.get_object(Bucket=bucket, Key=f"{OWN}single.bin")["Body"].read()
    assert again == blob_bytes(SMALL.seed, "single.bin", 100)


def test_an_object_that_did_not_arrive_is_noticed_before_the_manifest_is_written(
    prepare: Prepare, s3_client: "S3Client", bucket: str, keys_below: Keys
) -> None:
    def lose(done: int, total: int) -> None:
        if done == total:
            s3_client.delete_object(Bucket=bucket, Key=f"{OWN}single.bin")

    with pytest.raises(UserError, match=r"logs/single.bin at http.* has not arrived after 100 bytes"):
        prepare(SMALL, progress=lose)
    assert MANIFEST not in keys_below("")


def test_progress_counts_every_object_once(prepare: Prepare) -> None:
    calls: list[tuple[int, int]] = []
    prepare(SMALL, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_missing_bucket_is_named(s3_client: "S3Client") -> None:
    with pytest.raises(
        UserError, match=r"s3://no-such-bucket/.*127\.0\.0\.1.*NoSuchBucket.*create the bucket"
    ):
        prepare_dataset(s3_client, "no-such-bucket", "p", "logs", SMALL, source_client=s3_client)


def client_of(endpoint_url: str) -> "S3Client":
    client: S3Client = boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        region_name="us-east-1",
        aws_access_key_id="testkey",
        aws_secret_access_key="testsecret",
        config=Config(connect_timeout=3, retries={"total_max_attempts": 1}),
    )
    return client


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_a_dead_endpoint_is_named_quickly() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    client = client_of(url)
    started = time.perf_counter()
    with pytest.raises(UserError, match=rf"at {url}: .*check that the endpoint is right"):
        prepare_dataset(client, "any", "p", "logs", SMALL, source_client=client)
    assert time.perf_counter() - started < 5


@pytest.fixture
def read_only_server(tmp_path: Path) -> Iterator[str]:
    """A server that lists and reads but refuses to write, as one with a full disk does."""
    (tmp_path / "bucket").mkdir()
    url = f"127.0.0.1:{free_port()}"
    rclone = str(Path(sys.executable).with_name("rclone"))
    command = [
        rclone,
        "serve",
        "s3",
        "--read-only",
        "--addr",
        url,
        "--auth-key",
        "testkey,testsecret",
        str(tmp_path),
    ]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    host, _, port = url.partition(":")
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    break
            time.sleep(0.05)
        yield f"http://{url}"
    finally:
        server.terminate()
        server.wait(10)


def test_a_server_that_cannot_write_is_named_and_no_manifest_remains(read_only_server: str) -> None:
    client = client_of(read_only_server)
    started = time.perf_counter()
    with pytest.raises(
        UserError, match=rf"cannot write s3://bucket/p/datasets/logs/.* at {read_only_server}"
    ):
        prepare_dataset(
            client,
            "bucket",
            "p",
            "logs",
            SMALL.model_copy(update={"unique_count": 500}),
            source_client=client,
        )
    assert time.perf_counter() - started < 10
    assert "Contents" not in client.list_objects_v2(Bucket="bucket")
