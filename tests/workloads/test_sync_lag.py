"""The lag between a mount and its bucket, on the lab's own mount: it writes back 2 s after close."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from configs.access_paths import MountIo
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget, MountTarget
from configs.workloads import SyncLag as SyncLagConfig
from tasks.access import bucket_io
from tasks.access.mount_io import MountIoPath
from tasks.access.protocol import Upload
from tasks.access.s3_client import control_client
from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, SampleColumns
from tasks.lab.rclone import WRITE_BACK_S
from tasks.lab.state import LabState
from tasks.venues.block import run_block
from tasks.workloads.sync_lag import SeenByGet, SeenByList, SeenByOpen, SyncLag

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "s3bench/runs/20260101T020000Z-00000000/mount/lag/"
SIZE = 100_000


@pytest.fixture
def mounted(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> MountTarget:
    """The lab's mount, and its settings in this process's environment, as in a measuring process."""
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    return MountTarget(shows="bucket", path=lab.mount_path)


@pytest.fixture
def shown(lab: LabState) -> BucketTarget:
    return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)


@pytest.fixture
def client(mounted: MountTarget, shown: BucketTarget) -> "S3Client":  # noqa: ARG001 - its environment
    return control_client(shown, os.environ)


@pytest.fixture
def access(mounted: MountTarget) -> Iterator[MountIoPath]:
    path = MountIoPath(MountIo(), mounted)
    path.connect(1)
    yield path
    path.close()


def a_workload(seen_by: str, **settings: object) -> SyncLagConfig:
    given = {"size": SIZE, "seen_by": seen_by, "poll_interval_ms": 20, "iterations": 2, **settings}
    return SyncLagConfig.model_validate(given)


def a_spec(mounted: MountTarget, shown: BucketTarget, workload: SyncLagConfig) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="mount",
            workload_id="lag",
            configuration=Configuration(access_path=MountIo(), target="mount"),
            workload=workload,
            target=mounted,
            shown=shown,
        ),
        block=0,
        iterations=workload.iterations,
        warmup=workload.warmup,
        seed=1,
        write_prefix=f"{PREFIX}{workload.seen_by}/",
    )


@pytest.mark.parametrize(
    ("seen_by", "least_s", "most_s"),
    [("get", WRITE_BACK_S, WRITE_BACK_S + 1.5), ("open", 0.1, 3.5), ("ls", 0.1, 3.5)],
)
def test_a_write_on_one_side_is_seen_on_the_other_after_the_mounts_own_delay(  # noqa: PLR0913, PLR0917
    mounted: MountTarget,
    shown: BucketTarget,
    client: "S3Client",
    seen_by: str,
    least_s: float,
    most_s: float,
) -> None:
    """Written back after 2 s; what was listed is believed for 1 s by rclone, and 1 s more by the kernel."""
    outcome = run_block(a_spec(mounted, shown, a_workload(seen_by)))
    assert (outcome.status, outcome.reason) == ("measured", "")
    samples = outcome.samples
    assert samples.failures == {}
    assert list(samples.integers["size_bytes"]) == [SIZE, SIZE]
    assert list(samples.integers["retries"]) == ([0, 0] if seen_by == "get" else [NULL, NULL])
    assert len(set(samples.keys)) == 2
    for lag_ns in samples.integers["total_ns"]:
        assert least_s * 1e9 <= lag_ns <= most_s * 1e9, lag_ns
    left = bucket_io.sizes_below(client, shown.bucket, PREFIX)
    assert left == {}, "what was written is removed from the side that wrote it"


@pytest.mark.parametrize("seen_by", ["get", "open", "ls"])
def test_what_is_not_seen_in_time_is_a_failed_operation_with_the_time_waited(
    mounted: MountTarget, shown: BucketTarget, client: "S3Client", seen_by: str
) -> None:
    workload = a_workload(seen_by, timeout_s=0.25, poll_interval_ms=100, iterations=1)
    spec = a_spec(mounted, shown, workload)
    if seen_by != "get":  # nothing appears on a mount of something else
        elsewhere = shown.model_copy(update={"bucket": f"not-mounted-{seen_by}"})
        client.create_bucket(Bucket=elsewhere.bucket)
        spec = spec.model_copy(update={"cell": spec.cell.model_copy(update={"shown": elsewhere})})
    outcome = run_block(spec)
    assert outcome.status == "measured"
    assert [failure.error for failure in outcome.samples.failures.values()] == ["NotSeenInTime"]
    message = outcome.samples.failures[0].message
    assert "not seen whole after 0.25" in message
    assert message.endswith("and 4 looks"), "at 0, 100 and 200 ms, and at the time-out itself"
    assert 0.25e9 <= outcome.samples.integers["total_ns"][0] < 0.6e9
    assert bucket_io.sizes_below(client, spec.cell.bucket.bucket, PREFIX) == {}


class _Timed(SeenByOpen):
    """Notes when the write ended, and when the first look began."""

    def write(self, upload: Upload) -> None:
        super().write(upload)
        self.written_ns = time.perf_counter_ns()

    def look(self, key: str, size_bytes: int) -> bytes | None:
        self.began_ns = time.perf_counter_ns()
        return b"x" * size_bytes


def test_the_clock_starts_within_microseconds_of_the_end_of_the_write(
    access: MountIoPath, client: "S3Client", shown: BucketTarget
) -> None:
    direction = _Timed(access, client, shown.bucket)
    samples, gaps_ns = SampleColumns(), []
    direction.ready(f"{PREFIX}gap/")
    for _ in range(20):
        operation = SyncLag(access, direction, f"{PREFIX}gap/", b"y" * SIZE, a_workload("open"))
        measure(operation, samples, 1, 0)
        gaps_ns.append(direction.began_ns - direction.written_ns)
        direction.remove(operation.written)
    assert sorted(gaps_ns)[10] < 50_000, gaps_ns
    assert {failure.error for failure in samples.failures.values()} == {"WrongBytes"}


def test_half_an_object_and_half_a_file_are_not_seen_yet(
    access: MountIoPath, client: "S3Client", shown: BucketTarget, mounted: MountTarget
) -> None:
    key = f"{PREFIX}half/a.bin"
    access.ready_for_writes(f"{PREFIX}half/")
    for direction in (
        SeenByGet(access, client, shown.bucket),
        SeenByOpen(access, client, shown.bucket),
        SeenByList(access, client, shown.bucket, mounted),
    ):
        assert direction.look(key, SIZE) is None
    access.write(Upload(key, b"half"))
    bucket_io.put(client, shown.bucket, key, b"half")
    assert SeenByGet(access, client, shown.bucket).look(key, SIZE) is None
    assert SeenByGet(access, client, shown.bucket).look(key, 4) == b"half"
    assert SeenByOpen(access, client, shown.bucket).look(key, SIZE) is None
    assert SeenByList(access, client, shown.bucket, mounted).look(key, SIZE) is None
    assert SeenByList(access, client, shown.bucket, mounted).look(key, 4) == b""
    access.delete([key])


def test_other_bytes_behind_a_listed_name_are_an_error(
    access: MountIoPath, client: "S3Client", shown: BucketTarget, mounted: MountTarget
) -> None:
    direction = SeenByList(access, client, shown.bucket, mounted)
    operation = SyncLag(access, direction, f"{PREFIX}other/", b"y" * 4, a_workload("ls"))
    samples = SampleColumns()
    samples.grow(2, "sync_lag")
    access.ready_for_writes(f"{PREFIX}other/")
    access.write(Upload(f"{PREFIX}other/a.bin", b"n" * 4))
    operation.check(samples, 0, f"{PREFIX}other/a.bin", b"")
    operation.check(samples, 1, f"{PREFIX}other/missing.bin", b"")
    assert [samples.failures[row].error for row in (0, 1)] == ["WrongBytes", "NotReadable"]
    access.delete([f"{PREFIX}other/a.bin"])


def test_an_unexpected_error_of_a_look_is_the_samples_error(
    mounted: MountTarget, access: MountIoPath, client: "S3Client"
) -> None:
    nowhere = SeenByGet(access, client, "no-such-bucket")
    operation = SyncLag(access, nowhere, f"{PREFIX}wrong/", b"y", a_workload("get", iterations=1))
    access.ready_for_writes(f"{PREFIX}wrong/")
    samples = SampleColumns()
    measure(operation, samples, 1, 0)
    nowhere.remove(operation.written)
    assert samples.failures[0].error == "NoSuchBucket"
    assert samples.integers["http_status"][0] == 404
    folder = mounted.path_of(f"{PREFIX}wrong/000000.bin")
    folder.mkdir()
    by_open = SeenByOpen(access, client, "unused")
    with pytest.raises(IsADirectoryError):
        by_open.look(f"{PREFIX}wrong/000000.bin", 1)
    folder.rmdir()
