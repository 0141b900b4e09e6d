"""What every access path to whole objects must do; a new one is covered as soon as it stands in the registry.

Those that move files are covered by test_contract_files.py.
"""

import hashlib
import os
import threading
import time
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil
import pytest

from configs.access_paths import AccessPathConfig
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import AnyBucket, MountTarget, TargetConfig
from configs.workloads import BlobWrite
from tasks.access.protocol import ObjectPath, Upload
from tasks.access.registry import ADAPTERS, access_path
from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, SampleColumns
from tasks.lab.state import LabState
from tasks.venues.local import LocalVenue
from tasks.workloads.blob import BlobRead

VARIANTS = typing.get_args(typing.get_args(AccessPathConfig)[0])
PREFIX = "s3bench/contract/"
PAYLOAD = bytes(range(256)) * 300
RUN = RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01")
AWS_SHAPED_KINDS = ("bucket", "directory_bucket", "accelerated_bucket")


@dataclass(frozen=True)
class Way:
    """One access path to one kind of target, in one of the labs."""

    config: AccessPathConfig
    kind: str
    aws_shaped: bool

    def __str__(self) -> str:
        return f"{self.config.kind}-{self.kind}{'-by-aws-names' if self.aws_shaped else ''}"


def ways() -> list[Way]:
    """Every access path to objects with every kind of target that it serves."""
    able = [variant() for variant in VARIANTS if "objects" in variant.abilities]
    plain = [Way(config, kind, False) for config in able for kind in ("bucket", "mount")]
    by_aws_names = [Way(config, kind, True) for config in able for kind in AWS_SHAPED_KINDS]
    return [way for way in plain + by_aws_names if way.kind in way.config.serves]


def ways_to_try(quick: typing.Callable[[Way], bool]) -> list[typing.Any]:
    return [pytest.param(way, id=str(way), marks=() if quick(way) else pytest.mark.slow) for way in ways()]


# The lab's regional host is its slowest, and an ordinary bucket is tried without it as well.
@pytest.fixture(params=ways_to_try(lambda way: not (way.aws_shaped and way.kind == "bucket")), scope="module")
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(scope="module")
def target(
    way: Way,
    enter_lab: Callable[[bool], None],
    bucket_of_kind: Callable[[str, bool], AnyBucket],
    aws_shaped_lab: LabState,
) -> TargetConfig:
    """The target of a way; this process then has the environment of its lab."""
    enter_lab(way.aws_shaped)
    if way.kind != "mount":
        return bucket_of_kind(way.kind, way.aws_shaped)
    if aws_shaped_lab.mount_path is None:
        pytest.skip(aws_shaped_lab.mount_problem)
    return MountTarget(shows="bucket", path=aws_shaped_lab.mount_path)


@pytest.fixture(scope="module")
def access(way: Way, target: TargetConfig) -> Iterator[ObjectPath]:
    path = typing.cast("ObjectPath", access_path(way.config, target))
    path.connect(1)
    path.ready_for_writes(PREFIX)
    yield path
    if left := path.list_keys(PREFIX):
        path.delete(left)
    path.close()
    path.close()  # harmless when called again


def moves_nothing(access: ObjectPath) -> bool:
    return access.proof()["client"] == "none"


def test_every_configuration_variant_has_an_adapter_and_no_adapter_is_left_over() -> None:
    assert {variant.model_fields["kind"].default for variant in VARIANTS} == set(ADAPTERS)


def test_every_adapter_is_covered_by_this_contract_or_by_that_of_files() -> None:
    covered = [variant for variant in VARIANTS if {"objects", "files"} & set(variant.abilities)]
    assert {variant.model_fields["kind"].default for variant in covered} == set(ADAPTERS)


def test_every_kind_of_target_that_an_access_path_serves_is_tried() -> None:
    tried = {(way.config.kind, way.kind) for way in ways()}
    able = [variant() for variant in VARIANTS if "objects" in variant.abilities]
    assert tried == {(config.kind, kind) for config in able for kind in config.serves}


def test_what_is_written_can_be_read_listed_and_deleted(access: ObjectPath) -> None:
    prefix = f"{PREFIX}round/"
    keys = [f"{prefix}a.bin", f"{prefix}deep/er/b c+%é~[]#.bin"]
    for key in keys:
        access.ready_for_writes(key.rpartition("/")[0] + "/")
        access.answer(access.write(Upload(key, PAYLOAD)))
    assert sorted(access.list_keys(prefix)) == keys
    for key in keys:
        body, native = access.read(key)
        assert body == PAYLOAD
        assert access.answer(native).http_status in {200, None}
    assert access.sizes_below(prefix) == dict.fromkeys(keys, len(PAYLOAD))
    access.delete(keys)
    assert access.list_keys(prefix) == []


def test_an_overwritten_object_is_read_anew(access: ObjectPath) -> None:
    key = f"{PREFIX}again.bin"
    for payload in (PAYLOAD, PAYLOAD[::-1] + b"longer"):
        access.write(Upload(key, payload))
        assert access.read(key)[0] == payload


def test_an_object_of_no_bytes_is_one(access: ObjectPath) -> None:
    key = f"{PREFIX}empty.bin"
    access.write(Upload(key, b""))
    assert len(access.read(key)[0]) == 0
    assert access.sizes_below(PREFIX)[key] == 0


def test_it_proves_what_ran_without_credentials_and_names_its_cache_states(
    access: ObjectPath, aws_shaped_lab: LabState
) -> None:
    proof = access.proof()
    assert proof["client"]
    assert all(isinstance(value, str) for value in proof.values())
    assert aws_shaped_lab.access_key_id not in str(proof)
    assert aws_shaped_lab.secret_access_key.get_secret_value() not in str(proof)
    assert access.cache_states.single
    assert access.cache_states.unique


def test_a_missing_object_is_explained_by_kind(access: ObjectPath) -> None:
    if moves_nothing(access):
        pytest.skip("the no-op path has no missing objects")
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each client has an exception of its own
        access.read(f"{PREFIX}nowhere.bin")
    failure = access.failure(raised.value)
    assert failure.error in {"NoSuchKey", "ENOENT"}
    assert failure.http_status in {404, NULL}


def test_an_operation_that_fails_is_a_sample_among_the_good_ones(access: ObjectPath) -> None:
    if moves_nothing(access):
        pytest.skip("the no-op path has no missing objects")
    access.write(Upload(f"{PREFIX}there.bin", PAYLOAD))
    sha256 = hashlib.sha256(PAYLOAD).hexdigest()
    names = ["there.bin", "nowhere.bin", "a//b.bin", "x" * 1100, "there.bin"]
    objects = [DatasetObject(key=f"{PREFIX}{name}", size_bytes=len(PAYLOAD), sha256=sha256) for name in names]
    samples = SampleColumns()
    measure(BlobRead(access, objects, samples), samples, len(objects), warmup=0)
    assert list(samples.failures) == [1, 2, 3]
    assert all(0 < len(failure.error) < 40 for failure in samples.failures.values())
    assert NULL not in samples.integers["total_ns"]


def a_spec(way: Way, target: TargetConfig, iterations: int) -> BlockSpec:
    return BlockSpec(
        run=RUN,
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=way.config, target="t"),
            workload=BlobWrite(size=64),
            target=target,
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        write_prefix=f"{PREFIX}c/w/000/",
    )


def kill_the_worker_in_its_work(access: ObjectPath, before: set[int], *, moves: bool) -> None:
    """Wait until it has written something, or loaded its client where it moves nothing, and end it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        workers = [child for child in psutil.Process().children() if child.pid not in before]
        if workers and (_has_written(access) if moves else _has_loaded(workers[0])):
            workers[0].kill()
            return
        time.sleep(0.02)


def _has_written(access: ObjectPath) -> bool:
    return sum(key.startswith(f"{PREFIX}c/w/") for key in access.list_keys(PREFIX)) > 2


def _has_loaded(worker: psutil.Process) -> bool:
    return worker.cpu_times().user > 0.5


@pytest.mark.parametrize("way", ways_to_try(lambda way: not way.aws_shaped), indirect=True, scope="module")
def test_a_worker_that_is_killed_in_its_work_is_an_outcome_and_locks_nothing(
    way: Way, target: TargetConfig, access: ObjectPath
) -> None:
    venue = LocalVenue(os.environ, 60.0)
    before = {child.pid for child in psutil.Process().children()}
    moves = not moves_nothing(access)
    killer = threading.Thread(
        target=kill_the_worker_in_its_work, args=(access, before), kwargs={"moves": moves}
    )
    killer.start()
    outcome = venue.run(a_spec(way, target, 1_000_000))
    killer.join()
    assert outcome.status == "failed"
    assert "ended with signal 9" in outcome.reason
    assert len(outcome.samples) == 0
    again = venue.run(a_spec(way, target, 3))
    assert (again.status, again.reason, again.samples.failures) == ("measured", "", {})
