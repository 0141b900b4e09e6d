"""A first request is made by a fresh client each time, told apart by stage, and verified as any read."""

import hashlib

import pytest

from configs.access_paths import Boto3Api
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import AcceleratedBucketTarget, AnyBucket, DirectoryBucketTarget
from configs.workloads import FirstRequest
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.protocol import Upload
from tasks.kernel.samples import NULL, OPERATIONS, SampleColumns
from tasks.lab.state import LAB_ZONES, LabState
from tasks.venues.block import run_block
from tasks.workloads.first_request import measure_first_requests

PAYLOAD = b"\x00\x01first bytes\xff"
KEY = "s3bench/first-request/k.bin"


def a_spec(target: AnyBucket, sha256: str, iterations: int = 3) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=Boto3Api(), target="t"),
            workload=FirstRequest(dataset="d", iterations=30, warmup=1),
            target=target,
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        objects=(DatasetObject(key=KEY, size_bytes=len(PAYLOAD), sha256=sha256),),
    )


def measure_at(target: AnyBucket, sha256: str = hashlib.sha256(PAYLOAD).hexdigest()) -> SampleColumns:
    access = Boto3ApiPath(Boto3Api(), target)
    access.connect(1)
    access.write(Upload(KEY, PAYLOAD))
    samples = SampleColumns()
    measure_first_requests(a_spec(target, sha256), access, samples)
    access.delete([KEY])
    access.close()
    return samples


@pytest.fixture(autouse=True)
def _reached_by_amazons_names(aws_environment: dict[str, str]) -> None:
    """Every test here."""


@pytest.fixture
def directory(aws_shaped_lab: LabState) -> DirectoryBucketTarget:
    bucket = f"{aws_shaped_lab.bucket}--{LAB_ZONES[0]}--x-s3"
    return DirectoryBucketTarget(bucket=bucket, region=aws_shaped_lab.region)


@pytest.fixture
def accelerated(aws_shaped_lab: LabState) -> AcceleratedBucketTarget:
    return AcceleratedBucketTarget(bucket=aws_shaped_lab.bucket, region=aws_shaped_lab.region)


def test_every_operation_connects_and_has_a_session_of_its_own(directory: DirectoryBucketTarget) -> None:
    samples = measure_at(directory)
    assert {OPERATIONS[kind] for kind in samples.operation} == {"first_read"}
    assert samples.failures == {}
    assert list(samples.warmup) == [1, 0, 0]
    for stage in ("connect_ns", "tls_ns", "session_ns"):
        assert all(value > 1.9e6 for value in samples.integers[stage])  # the lab adds 2 ms to each


def test_the_stages_are_the_known_delays_of_the_lab(accelerated: AcceleratedBucketTarget) -> None:
    # 8 ms each for the connection, the handshake and the request, which all come before the first byte.
    samples = measure_at(accelerated).integers
    assert min(samples["connect_ns"]) < 16e6  # of three, since a busy machine adds to a time
    for row in range(3):
        assert samples["connect_ns"][row] >= 8e6
        assert samples["tls_ns"][row] >= 8e6
        assert samples["ttfb_ns"][row] >= samples["connect_ns"][row] + samples["tls_ns"][row] + 8e6
        assert samples["total_ns"][row] >= samples["ttfb_ns"][row]
    assert samples.get("session_ns") is None or set(samples["session_ns"]) == {NULL}


def test_other_bytes_than_were_prepared_are_an_error(accelerated: AcceleratedBucketTarget) -> None:
    samples = measure_at(accelerated, sha256=hashlib.sha256(b"other").hexdigest())
    assert [failure.error for failure in samples.failures.values()] == ["WrongBytes"] * 3
    assert all(value > 0 for value in samples.integers["ttfb_ns"])


def test_the_proof_is_of_the_whole_block(accelerated: AcceleratedBucketTarget) -> None:
    access = Boto3ApiPath(Boto3Api(), accelerated)
    access.connect(1)
    access.write(Upload(KEY, PAYLOAD))
    outcome = run_block(a_spec(accelerated, hashlib.sha256(PAYLOAD).hexdigest()))
    access.delete([KEY])
    access.close()
    assert (outcome.status, outcome.reason) == ("measured", "")
    assert outcome.proof is not None
    assert (outcome.proof["requests_in_block"], outcome.proof["connections_in_block"]) == ("4", "4")
