"""The lag between a mount and its bucket, on the lab's own mount: it writes back 2 s after close."""

import errno
import os
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

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
from tasks.kernel.samples import NULL, Failure, SampleColumns
from tasks.lab.rclone import WRITE_BACK_S
from tasks.lab.state import LabState
from tasks.venues.block import run_block
from tasks.workloads import sync_lag
from tasks.workloads.sync_lag import NotSeenInTimeError, SeenByGet, SeenByList, SeenByOpen, SyncLag

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


@pytest.mark.parametrize(("seen_by", "least_s"), [("get", WRITE_BACK_S / 2), ("open", 0.0), ("ls", 0.0)])
def test_a_write_on_one_side_is_seen_on_the_other_after_the_mounts_own_delay(
    mounted: MountTarget, shown: BucketTarget, client: "S3Client", seen_by: str, least_s: float
) -> None:
    """Written back after 2 s. What was listed is believed for up to 2 s, by rclone and by the kernel.

    A loaded machine may spend some of that before the clock starts, and any time on top.
    """
    outcome = run_block(a_spec(mounted, shown, a_workload(seen_by)))
    assert (outcome.status, outcome.reason) == ("measured", "")
    samples = outcome.samples
    assert samples.failures == {}
    assert list(samples.integers["size_bytes"]) == [SIZE, SIZE]
    assert list(samples.integers["retries"]) == ([0, 0] if seen_by == "get" else [NULL, NULL])
    assert len(set(samples.keys)) == 2
    for lag_ns in samples.integers["total_ns"]:
        assert lag_ns > least_s * 1e9, lag_ns
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
    told = re.search(r"not seen whole after ([\d.]+) s and (\d+) look", outcome.samples.failures[0].message)
    assert told is not None
    assert float(told[1]) >= 0.25
    assert outcome.samples.integers["total_ns"][0] >= 0.25e9
    assert bucket_io.sizes_below(client, spec.cell.bucket.bucket, PREFIX) == {}


class _SlowMotion:
    """Stands in for the module `time`: it passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def perf_counter(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s


class _Unseen(SeenByOpen):
    """Notes when it was asked to look, in milliseconds; a look takes the time that it is given."""

    def __init__(self, access: MountIoPath, client: "S3Client", bucket: str, timer: _SlowMotion) -> None:
        super().__init__(access, client, bucket)
        self.timer = timer
        self.look_takes_s = 0.0
        self.looked_ms: list[int] = []

    def look(self, key: str, size_bytes: int) -> bytes | None:
        self.looked_ms.append(round(1000 * (self.timer.now_s - 1000)))
        self.timer.now_s += self.look_takes_s
        return None


@pytest.mark.parametrize(
    ("look_takes_s", "looks_ms", "waited"),
    [(0.0, [0, 100, 200, 250], "0.250"), (0.13, [0, 200], "0.330"), (0.3, [0], "0.300")],
)
def test_looks_begin_at_multiples_of_the_interval_and_the_last_at_the_time_out(  # noqa: PLR0913, PLR0917
    access: MountIoPath,
    client: "S3Client",
    shown: BucketTarget,
    monkeypatch: pytest.MonkeyPatch,
    look_takes_s: float,
    looks_ms: list[int],
    waited: str,
) -> None:
    timer = _SlowMotion()
    monkeypatch.setattr(sync_lag, "time", timer)
    direction = _Unseen(access, client, shown.bucket, timer)
    direction.look_takes_s = look_takes_s
    workload = a_workload("open", timeout_s=0.25, poll_interval_ms=100)
    operation = SyncLag(access, direction, PREFIX, b"y", workload)
    with pytest.raises(NotSeenInTimeError) as raised:
        operation.timed("k")
    assert direction.looked_ms == looks_ms
    looks = "1 look" if len(looks_ms) == 1 else f"{len(looks_ms)} looks"
    assert str(raised.value) == f"k: not seen whole after {waited} s and {looks}"


class _FailsOnce(SeenByOpen):
    """Its second write fails."""

    writes = 0
    error: Exception = OSError(errno.EIO, "Input/output error")

    def write(self, upload: Upload) -> None:
        self.writes += 1
        if self.writes == 2:
            raise self.error
        super().write(upload)

    def look(self, key: str, size_bytes: int) -> bytes | None:
        return bucket_io.get_if_there(self._client, self._bucket, key)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (
            OSError(errno.EIO, "Input/output error"),
            Failure("EIO", "not written: [Errno 5] Input/output error"),
        ),
        (
            ClientError(
                {"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": 503}},  # type: ignore[typeddict-item]
                "PutObject",
            ),
            Failure(
                "SlowDown",
                "not written: An error occurred (SlowDown) when calling the PutObject operation: Unknown",
                http_status=503,
            ),
        ),
    ],
)
def test_a_write_that_fails_is_one_error_sample_and_the_next_is_measured(
    access: MountIoPath, client: "S3Client", shown: BucketTarget, error: Exception, failure: Failure
) -> None:
    direction = _FailsOnce(access, client, shown.bucket)
    direction.error = error
    direction.ready(f"{PREFIX}fails/")
    operation = SyncLag(access, direction, f"{PREFIX}fails/", b"y" * 10, a_workload("open"))
    samples = SampleColumns()
    measure(operation, samples, 3, 0)
    direction.remove(operation.written)
    assert samples.failures == {1: failure}
    assert NULL not in samples.integers["total_ns"]
    assert len(operation.written) == 3


def test_what_cannot_be_removed_at_the_end_takes_nothing_from_the_block(
    mounted: MountTarget, shown: BucketTarget, client: "S3Client", monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(*_: object) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(SeenByOpen, "remove", remove)
    workload = a_workload("open", iterations=1)
    outcome = run_block(a_spec(mounted, shown, workload))
    assert (outcome.status, outcome.reason, outcome.samples.failures) == ("measured", "", {})
    bucket_io.delete(client, shown.bucket, outcome.samples.keys)


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


def test_the_retries_of_all_looks_are_counted_where_the_last_one_fails(
    access: MountIoPath, client: "S3Client", shown: BucketTarget
) -> None:
    direction = SeenByGet(access, client, shown.bucket)
    operation = SyncLag(access, direction, f"{PREFIX}busy/", b"y", a_workload("get"))
    samples = SampleColumns()
    samples.grow(1, "sync_lag")
    direction.retries = 5
    answer = {"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": 503, "RetryAttempts": 1}}
    error = ClientError(answer, "GetObject")  # type: ignore[arg-type]
    samples.fail(0, operation.explain(samples, 0, "k", error))
    assert samples.failures[0].error == "SlowDown"
    assert (samples.integers["http_status"][0], samples.integers["retries"][0]) == (503, 5)
