"""A mount that hangs, dies, turns read-only or fills up ends a block in time, and costs no sample."""

import contextlib
import hashlib
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import psutil
import pytest

from configs.access_paths import MountIo
from configs.block import BlockSpec
from configs.manifest import DatasetObject, Manifest
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import MountTarget
from configs.workloads import BlobRead, BlobWrite
from tasks.access import cleanup
from tasks.access.cleanup import remove_run_from_mount
from tasks.datasets import visibility
from tasks.datasets.visibility import wait_until_visible
from tasks.kernel.samples import SampleColumns
from tasks.lab import rclone
from tasks.lab.state import LabState
from tasks.venues import local
from tasks.venues.local import LocalVenue
from tasks.venues.wire import BlockOutcome
from tests.mounts import OwnMount, own_mount

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RUN = "s3bench/runs/20260101T020000Z-00000000/"
ENDLESS = 10**6


@pytest.fixture
def mount(lab: LabState, tmp_path: Path) -> Iterator[OwnMount]:
    with own_mount(lab, tmp_path) as mounted:
        yield mounted


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_KILLED_WITHIN_S", 1.0)
    # Of a block of seconds a twentieth is too little for a busy machine.
    monkeypatch.setattr(local, "_GIVE_UP_AFTER", 0.7)


@pytest.fixture(scope="module")
def lab_client(lab: LabState) -> "S3Client":
    keys = lab.environment()
    return boto3.client(
        "s3",
        endpoint_url=lab.endpoint_url,
        region_name=lab.region,
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )


@pytest.fixture(scope="module")
def blob(lab: LabState, lab_client: "S3Client") -> DatasetObject:
    body, key = secrets.token_bytes(1000), f"s3bench/faults/{secrets.token_hex(4)}"
    lab_client.put_object(Bucket=lab.bucket, Key=key, Body=body)
    return DatasetObject(key=key, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest())


def a_spec(path: Path, workload: BlobRead | BlobWrite, *objects: DatasetObject) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=MountIo(), target="m"),
            workload=workload,
            target=MountTarget(shows="b", path=path),
        ),
        block=0,
        iterations=workload.iterations,
        warmup=0,
        seed=1,
        objects=objects,
        write_prefix=f"{RUN}c/w/000/",
    )


def reads(iterations: int = ENDLESS, concurrency: int = 1) -> BlobRead:
    return BlobRead(dataset="d", iterations=iterations, warmup=0, concurrency=concurrency)


def writes(iterations: int, size: int = 1000) -> BlobWrite:
    return BlobWrite(size=size, iterations=iterations, warmup=0)


def measured(spec: BlockSpec, timeout_s: float) -> BlockOutcome:
    return LocalVenue({"PATH": os.environ["PATH"]}, timeout_s).run(spec)


def errors_of(samples: SampleColumns) -> dict[str, int]:
    found: dict[str, int] = {}
    for failure in samples.failures.values():
        found[failure.error] = found.get(failure.error, 0) + 1
    return found


def once_used(path: Path, what: Callable[[], object]) -> threading.Thread:
    """Do something soon after a measuring process has first opened a file on a mount."""

    def watch() -> None:
        while not any(is_open_below(path, child.pid) for child in psutil.Process().children(recursive=True)):
            time.sleep(0.001)
        time.sleep(0.3)
        what()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def is_open_below(path: Path, pid: int) -> bool:
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if str(descriptor.readlink()).startswith(f"{path}/"):
                return True
    return False


def test_reads_that_hang_are_timed_out_and_those_before_them_are_kept(
    mount: OwnMount, blob: DatasetObject
) -> None:
    began_s = time.monotonic()
    watching = once_used(mount.path, mount.stop_answering)
    outcome = measured(a_spec(mount.path, reads(concurrency=4), blob), timeout_s=5.0)
    watching.join()
    assert time.monotonic() - began_s < 10
    assert outcome.status == "failed"
    assert "the block did not end within block_timeout_s and was stopped: " in outcome.reason
    assert "4 had not" in outcome.reason
    samples = outcome.samples
    assert len(samples) > 10, "those before were good"
    assert errors_of(samples) == {"TimedOut": 4}
    hung_ns = [samples.integers["total_ns"][row] for row in samples.failures]
    assert min(hung_ns) > 0.5e9, "their time so far is recorded"
    assert {samples.integers["worker"][row] for row in samples.failures} == {0, 1, 2, 3}
    assert outcome.proof is not None
    assert outcome.proof["mount_type"] == "fuse.rclone"


@pytest.mark.slow
def test_writes_before_one_that_hangs_are_not_taken_for_good_ones_since_nobody_looked_them_up(
    mount: OwnMount,
) -> None:
    watching = once_used(mount.path, mount.stop_answering)
    outcome = measured(a_spec(mount.path, writes(ENDLESS)), timeout_s=5.0)
    watching.join()
    found = errors_of(outcome.samples)
    assert found.pop("TimedOut") == 1
    assert found == {"NotVerified": len(outcome.samples) - 1}
    assert len(outcome.samples) > 10


def test_a_mount_that_does_not_answer_from_the_start_is_told(mount: OwnMount, blob: DatasetObject) -> None:
    mount.stop_answering()
    outcome = measured(a_spec(mount.path, reads(), blob), timeout_s=2.0)
    assert outcome.status == "failed"
    assert outcome.reason == "the client did not connect in time: its target does not answer"
    assert len(outcome.samples) == 0


@pytest.mark.slow
def test_a_process_that_cannot_be_killed_is_left_behind_with_what_it_had_measured(
    lab: LabState, tmp_path: Path
) -> None:
    """The kernel waits for a FUSE server that has taken a request, whatever happens to who asked."""
    with (
        own_server(lab, tmp_path / "data") as (server, endpoint_url, blob),
        own_mount(lab, tmp_path, endpoint_url=endpoint_url) as mounted,
    ):
        watching = once_used(mounted.path, lambda: server.send_signal(signal.SIGSTOP))
        outcome = measured(a_spec(mounted.path, reads(), blob), timeout_s=6.0)
        watching.join()
    assert outcome.status == "failed"
    assert "waits in the kernel and cannot be ended: mount its file system again" in outcome.reason
    assert errors_of(outcome.samples) == {"TimedOut": 1}
    assert len(outcome.samples) > 10


@contextlib.contextmanager
def own_server(lab: LabState, folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str, DatasetObject]]:
    """An S3 server that may be stopped, with one object in its bucket."""
    body = secrets.token_bytes(1000)
    (folder / lab.bucket).mkdir(parents=True)
    (folder / lab.bucket / "blob").write_bytes(body)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    keys = lab.environment()
    server = subprocess.Popen(
        [rclone.find_rclone(), "serve", "s3", f"--addr=127.0.0.1:{port}", folder],
        env=rclone.server_environment(keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"]),
        stderr=subprocess.DEVNULL,
    )
    try:
        sha256 = hashlib.sha256(body).hexdigest()
        yield server, f"http://127.0.0.1:{port}", DatasetObject(key="blob", size_bytes=1000, sha256=sha256)
    finally:
        server.kill()
        server.wait(10)


def test_every_read_of_a_mount_whose_server_died_is_an_error_of_its_own(
    mount: OwnMount, blob: DatasetObject
) -> None:
    watching = once_used(mount.path, mount.die)
    outcome = measured(a_spec(mount.path, reads(20_000), blob), timeout_s=30.0)
    watching.join()
    assert (outcome.status, len(outcome.samples)) == ("measured", 20_000)
    found = errors_of(outcome.samples)
    # What was being read at that moment may have ended in another way.
    assert found.pop("ENOTCONN") > 1000
    assert sum(found.values()) <= 1
    first_row = min(outcome.samples.failures)
    assert first_row > 10
    assert all(row in outcome.samples.failures for row in range(first_row, 20_000))


def test_a_read_only_mount_takes_no_write_and_says_so(lab: LabState, tmp_path: Path) -> None:
    with own_mount(lab, tmp_path, "--read-only") as mounted:
        outcome = measured(a_spec(mounted.path, writes(5)), timeout_s=20.0)
    assert outcome.status == "failed"
    assert "Read-only file system" in outcome.reason


@pytest.mark.slow
def test_every_write_to_a_mount_that_turned_read_only_is_an_error(mount: OwnMount) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system again as read-only")

    # `-i`: not by a helper of the file system's own, which may be missing. A mount is busy while one writes.
    command = ["/bin/mount", "-i", "-o", "remount,ro", str(mount.path)]

    def turn() -> None:
        while subprocess.run(command, check=False, capture_output=True).returncode != 0:
            time.sleep(0.003)

    watching = once_used(mount.path, turn)
    outcome = measured(a_spec(mount.path, writes(2000)), timeout_s=30.0)
    watching.join()
    assert (outcome.status, len(outcome.samples)) == ("measured", 2000)
    found = errors_of(outcome.samples)
    assert found.keys() == {"EROFS"}
    assert 10 < found["EROFS"] < 1980


def test_what_does_not_fit_on_a_mount_is_an_error_and_what_fitted_is_not(
    lab: LabState, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk of a few megabytes")
    cache = tmp_path / "small"
    cache.mkdir()
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", cache], check=True)
    try:
        with own_mount(lab, tmp_path, "--vfs-write-back=1h", cache=cache) as mounted:
            outcome = measured(a_spec(mounted.path, writes(12, 1_000_000)), timeout_s=60.0)
    finally:
        subprocess.run(["/bin/umount", "-l", cache], check=True)
    assert (outcome.status, len(outcome.samples)) == ("measured", 12)
    found = errors_of(outcome.samples)
    assert found.keys() <= {"EIO", "ENOSPC"}, "as rclone tells it"
    assert 4 <= sum(found.values()) <= 6


def test_looking_for_data_on_a_mount_that_hangs_ends_in_time(
    mount: OwnMount, blob: DatasetObject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "_ANSWERS_WITHIN_S", 0.5)
    mount.stop_answering()
    manifest = Manifest(dataset="d", prefix="s3bench/faults/", fingerprint="", seed=1, objects=(blob,))
    target = MountTarget(shows="b", path=mount.path)
    answer = wait_until_visible(target, manifest, 60, pytest.fail)
    assert answer == f"the mount at {mount.path} does not answer: no answer within 0.5 s: mount it again"


def test_cleaning_up_a_mount_that_hangs_ends_in_time(
    mount: OwnMount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "_ANSWERS_WITHIN_S", 0.5)
    mount.stop_answering()
    with pytest.raises(TimeoutError, match=r"no answer within 0.5 s"):
        remove_run_from_mount(MountTarget(shows="b", path=mount.path), RUN)
