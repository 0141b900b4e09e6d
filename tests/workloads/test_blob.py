"""What was read is verified after the clock: other bytes, fewer bytes and lost writes are errors."""

import hashlib
import time
import zlib

import pytest

from configs.access_paths import NoOp
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobWrite as BlobWriteConfig
from tasks.access.noop import NoOpPath
from tasks.access.protocol import Upload
from tasks.kernel.loop import measure
from tasks.kernel.samples import SampleColumns
from tasks.workloads.blob import BlobRead, BlobWrite, measure_writes, verify_and_remove

PAYLOAD = b"\x00\x01random bytes\xff"


@pytest.fixture
def access() -> NoOpPath:
    path = NoOpPath(NoOp(), BucketTarget(bucket="unused"))
    path.write(Upload("k", PAYLOAD))
    return path


def an_object(payload: bytes, key: str = "k") -> DatasetObject:
    return DatasetObject(key=key, size_bytes=len(payload), sha256=hashlib.sha256(payload).hexdigest())


def read(access: NoOpPath, *objects: DatasetObject, count: int = 1) -> SampleColumns:
    samples = SampleColumns()
    measure(BlobRead(access, objects, samples), samples, count, warmup=0)
    return samples


def test_the_prepared_bytes_are_no_error(access: NoOpPath) -> None:
    samples = read(access, an_object(PAYLOAD))
    assert samples.failures == {}
    assert list(samples.integers["size_bytes"]) == [len(PAYLOAD)]


def test_a_short_read_is_recorded_as_an_error_with_the_size_that_came(access: NoOpPath) -> None:
    samples = read(access, an_object(PAYLOAD + b"!"))
    assert samples.failures[0].error == "WrongLength"
    assert samples.failures[0].message == f"k: {len(PAYLOAD)} bytes came, {len(PAYLOAD) + 1} were prepared"
    assert samples.integers["size_bytes"][0] == len(PAYLOAD)


def test_other_bytes_of_the_same_length_are_an_error(access: NoOpPath) -> None:
    samples = read(access, an_object(PAYLOAD[::-1]))
    assert samples.failures[0].error == "WrongBytes"


def test_unique_reads_take_another_object_each_time(access: NoOpPath) -> None:
    for key in ("a", "b", "c"):
        access.write(Upload(key, PAYLOAD))
    samples = read(access, *(an_object(PAYLOAD, key) for key in ("a", "b", "c")), count=3)
    assert [samples.keys[index] for index in samples.object_key] == ["a", "b", "c"]


def a_write_spec(iterations: int, concurrency: int) -> BlockSpec:
    workload = BlobWriteConfig(size=64, iterations=iterations, warmup=0, concurrency=concurrency)
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=NoOp(), target="t"),
            workload=workload,
            target=BucketTarget(bucket="unused"),
        ),
        block=0,
        iterations=iterations,
        warmup=0,
        seed=1,
        write_prefix="p/runs/r/",
    )


@pytest.mark.parametrize("threads", [1, 4])
def test_every_write_has_a_key_of_its_own_below_the_prefix_and_is_gone_afterwards(
    access: NoOpPath, threads: int
) -> None:
    samples = SampleColumns()
    measure_writes(a_write_spec(30, threads), access, samples)
    assert len(set(samples.keys)) == 30
    assert all(key.startswith("p/runs/r/") for key in samples.keys)
    assert samples.failures == {}
    assert access.list_keys("") == ["k"]  # the object of somebody else is still there


def test_a_write_that_is_not_there_afterwards_is_an_error(access: NoOpPath) -> None:
    samples = SampleColumns()
    spec = a_write_spec(3, 1)
    prefix = spec.write_prefix
    measure(BlobWrite(access, prefix, 64, seed=1), samples, count=3, warmup=0)
    access._written[f"{prefix}000001.bin"] = b"short"
    del access._written[f"{prefix}000002.bin"]
    access._written[f"{prefix}000002.bin.other"] = b""
    verify_and_remove(spec, access, samples, 64)  # the no-op path cannot delete what is not there: no matter
    assert {row: failure.error for row, failure in samples.failures.items()} == {
        1: "WrongLength",
        2: "NotFoundAfterWrite",
    }


def test_many_writes_are_looked_at_once_and_not_one_by_one(
    access: NoOpPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def sizes_below(path: NoOpPath, prefix: str) -> dict[str, int]:
        asked.append(prefix)
        return {key: len(payload) for key, payload in path._written.items()}

    monkeypatch.setattr(NoOpPath, "sizes_below", sizes_below)
    samples = SampleColumns()
    measure_writes(a_write_spec(3000, 4), access, samples)
    assert asked == ["p/runs/r/"]
    assert samples.failures == {}


@pytest.mark.parametrize(("left_s", "removed"), [(3600, 2500), (-1, 1000)])
def test_when_the_time_is_up_the_rest_is_left_for_the_clean_up_of_the_run(
    access: NoOpPath, left_s: int, removed: int
) -> None:
    samples = SampleColumns()
    measure(BlobWrite(access, "p/runs/r/", 64, seed=1), samples, count=2500, warmup=0)
    deadline_ns = time.perf_counter_ns() + left_s * 10**9
    spec = a_write_spec(2500, 1).model_copy(update={"deadline_ns": deadline_ns})
    verify_and_remove(spec, access, samples, 64)
    assert samples.failures == {}
    assert len(access.list_keys("p/runs/r/")) == 2500 - removed


def test_payloads_do_not_compress(access: NoOpPath) -> None:
    payload = BlobWrite(access, "p/", 65_536, seed=1).prepare(0).payload
    assert len(zlib.compress(payload)) > 65_536
