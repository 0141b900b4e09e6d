import hashlib
import time
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import ByteSize

from configs.datasets import Blobs
from configs.manifest import Manifest
from tasks.datasets.blobs import blob_bytes, unique_name

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_blobs_arrive_as_the_manifest_says(
    prepare: Callable[..., Manifest], s3_client: "S3Client", bucket: str
) -> None:
    manifest = prepare(Blobs(size=ByteSize(1001), unique_count=3))
    assert [item.key.removeprefix("team/bench/datasets/logs/") for item in manifest.objects] == [
        "single.bin",
        "unique/000000.bin",
        "unique/000001.bin",
        "unique/000002.bin",
    ]
    for item in manifest.objects:
        body = s3_client.get_object(Bucket=bucket, Key=item.key)["Body"].read()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (1001, item.sha256)
        assert (item.size_bytes, item.records) == (1001, None)
    assert manifest.size_bytes == 4004


def test_every_blob_has_bytes_of_its_own_and_the_same_for_the_same_seed() -> None:
    names = [unique_name(index) for index in range(50)]
    first = [blob_bytes(1, name, 64) for name in names]
    assert len(set(first)) == len(names)
    assert first == [blob_bytes(1, name, 64) for name in names]
    assert not set(first) & {blob_bytes(2, name, 64) for name in names}


def test_the_bytes_of_a_seed_never_change() -> None:
    """Pins the generator: other bytes for the same configuration need a new FINGERPRINT_VERSION."""
    assert blob_bytes(1, "single.bin", 8).hex() == "13024fdd78acf160"


def test_no_compressor_shortens_a_blob() -> None:
    body = blob_bytes(1, "single.bin", 1_000_000)
    assert len(zlib.compress(body, 9)) >= len(body)


def test_a_blob_is_made_faster_than_a_network_could_carry_it() -> None:
    started = time.perf_counter()
    blob_bytes(1, "single.bin", 64 * 1024**2)
    assert time.perf_counter() - started < 2.0
