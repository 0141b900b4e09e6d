"""Files that were moved are verified after the clock: a lost, short or changed one is an error."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from configs.access_paths import AccessPathConfig, S5cmd, TransferManager
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import FileDownload as FileDownloadConfig
from configs.workloads import FileUpload as FileUploadConfig
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.protocol import Answer, FileTransfer
from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, OPERATIONS, SampleColumns
from tasks.venues.block import run_block
from tasks.workloads.file_transfer import FileUpload, measure_downloads, measure_uploads, write_random_file

PREFIX = "s3bench/file-transfer/"
WRITE_PREFIX = f"{PREFIX}up/"
SIZE = 100_001


class Watched(TransferManagerPath):
    """The real client, of which tests see every transfer and spoil some."""

    def __init__(self, target: BucketTarget) -> None:
        super().__init__(TransferManager(), target)
        self.transfers: list[FileTransfer] = []
        self.spoil: dict[int, Path | bytes | None] = {}
        """By number: another file that is uploaded, or what a downloaded file holds; None: no file."""

    def upload(self, transfer: FileTransfer) -> object:
        number = len(self.transfers)
        self.transfers.append(transfer)
        other = self.spoil.get(number, transfer.path)
        assert isinstance(other, Path)
        return super().upload(FileTransfer(transfer.key, other))

    def download(self, transfer: FileTransfer) -> object:
        number = len(self.transfers)
        self.transfers.append(transfer)
        assert not transfer.path.exists()
        answer = super().download(transfer)
        body = self.spoil.get(number, b"")
        if body is None:
            transfer.path.unlink()
        elif isinstance(body, bytes) and body:
            transfer.path.write_bytes(body)
        return answer


@pytest.fixture(scope="module")
def connected(target: BucketTarget) -> Iterator[Watched]:
    path = Watched(target)
    path.connect(1)
    yield path
    path.close()


@pytest.fixture
def access(connected: Watched) -> Iterator[Watched]:
    """The same connection for all tests, with nothing of the test before."""
    path = connected
    path.transfers, path.spoil = [], {}
    yield path
    path.delete(path.list_keys(PREFIX))


def a_spec(
    workload: FileUploadConfig | FileDownloadConfig,
    scratch: Path,
    target: BucketTarget,
    objects: tuple[DatasetObject, ...] = (),
    access_path: AccessPathConfig | None = None,
) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=access_path or TransferManager(), target="t"),
            workload=workload,
            target=target,
        ),
        block=0,
        iterations=workload.iterations,
        warmup=workload.warmup,
        seed=7,
        objects=objects,
        write_prefix=WRITE_PREFIX,
        scratch_folder=scratch,
    )


def an_upload(**settings: object) -> FileUploadConfig:
    return FileUploadConfig.model_validate({"size": SIZE, "iterations": 4, "warmup": 1, **settings})


def a_download(**settings: object) -> FileDownloadConfig:
    return FileDownloadConfig.model_validate({"dataset": "d", "iterations": 4, "warmup": 1, **settings})


def prepared(access: Watched, folder: Path, count: int) -> tuple[DatasetObject, ...]:
    """Objects in the bucket, each of bytes of its own."""
    objects = []
    for number in range(count):
        body = random.Random(number).randbytes(SIZE)
        (folder / "made").write_bytes(body)
        key = f"{PREFIX}{number}.bin"
        TransferManagerPath.upload(access, FileTransfer(key, folder / "made"))
        objects.append(DatasetObject(key=key, size_bytes=SIZE, sha256=hashlib.sha256(body).hexdigest()))
    (folder / "made").unlink()
    return tuple(objects)


def test_every_upload_has_a_key_of_its_own_and_nothing_is_left(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    samples = SampleColumns()
    cost = measure_uploads(a_spec(an_upload(), tmp_path, target), access, samples)
    assert samples.failures == {}
    assert list(samples.warmup) == [1, 0, 0, 0]
    assert {OPERATIONS[kind] for kind in samples.operation} == {"upload"}
    assert list(samples.integers["size_bytes"]) == [SIZE] * 4
    assert list(samples.integers["http_status"]) == [200] * 4
    keys = [transfer.key for transfer in access.transfers]
    assert samples.keys == keys
    assert len(set(keys)) == 4
    assert all(key.startswith(WRITE_PREFIX) for key in keys)
    assert access.list_keys(WRITE_PREFIX) == []
    assert cost.wall_ns > sum(samples.integers["total_ns"])


def test_the_file_is_made_of_the_seed_s_random_bytes(tmp_path: Path) -> None:
    size = 40_000_003  # more than two chunks
    sha256 = write_random_file(tmp_path / "a", size, seed=1)
    assert (tmp_path / "a").stat().st_size == size
    assert hashlib.sha256((tmp_path / "a").read_bytes()).hexdigest() == sha256
    assert write_random_file(tmp_path / "b", size, seed=1) == sha256
    assert write_random_file(tmp_path / "c", 1000, seed=2) != write_random_file(tmp_path / "d", 1000, seed=3)


def test_an_upload_of_another_size_is_an_error(access: Watched, target: BucketTarget, tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"short")
    access.spoil[1] = tmp_path / "short"
    samples = SampleColumns()
    measure_uploads(a_spec(an_upload(), tmp_path, target), access, samples)
    assert {row: failure.error for row, failure in samples.failures.items()} == {1: "WrongLength"}


def test_an_upload_of_other_bytes_of_the_same_size_is_an_error_and_is_removed(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    (tmp_path / "other").write_bytes(b"x" * SIZE)
    access.spoil[3] = tmp_path / "other"
    samples = SampleColumns()
    measure_uploads(a_spec(an_upload(), tmp_path, target), access, samples)
    assert {row: failure.error for row, failure in samples.failures.items()} == {3: "WrongBytes"}
    assert access.list_keys(WRITE_PREFIX) == []


def test_an_upload_that_fails_is_a_sample_and_the_others_are_verified(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    access.spoil[3] = tmp_path / "nowhere"
    samples = SampleColumns()
    measure_uploads(a_spec(an_upload(), tmp_path, target), access, samples)
    assert {row: failure.error for row, failure in samples.failures.items()} == {3: "FileNotFoundError"}
    assert NULL not in samples.integers["total_ns"]
    assert access.list_keys(WRITE_PREFIX) == []


def test_uploads_before_a_block_broke_off_are_looked_at_and_removed(
    access: Watched, target: BucketTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short").write_bytes(b"short")
    access.spoil[1] = tmp_path / "short"
    answers = iter([Answer()] * 3)
    monkeypatch.setattr(Watched, "answer", lambda *_: next(answers))
    samples = SampleColumns()
    with pytest.raises(StopIteration):
        measure_uploads(a_spec(an_upload(), tmp_path, target), access, samples)
    errors = {row: failure.error for row, failure in samples.failures.items()}
    assert errors == {1: "WrongLength", 3: "NotVerified"}
    assert access.list_keys(WRITE_PREFIX) == [access.transfers[3].key], "left for the clean-up of the run"


def test_the_services_error_is_told_where_boto3_wraps_it(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    access._target = target.model_copy(update={"bucket": "gone-since-then"})
    samples = SampleColumns()
    operation = FileUpload(access, WRITE_PREFIX, tmp_path / "file", SIZE)
    write_random_file(tmp_path / "file", SIZE, seed=1)
    measure(operation, samples, 1, warmup=0)
    access._target = target
    failure = samples.failures[0]
    assert (failure.error, failure.http_status, failure.retries) == ("NoSuchBucket", 404, 0)


def test_unique_downloads_take_another_object_to_a_new_file_each_time(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    objects = prepared(access, tmp_path, 4)
    samples = SampleColumns()
    spec = a_spec(a_download(read_mode="unique"), tmp_path, target, objects)
    measure_downloads(spec, access, samples)
    assert samples.failures == {}
    assert {OPERATIONS[kind] for kind in samples.operation} == {"download"}
    assert list(samples.integers["size_bytes"]) == [SIZE] * 4
    assert [samples.keys[index] for index in samples.object_key] == [item.key for item in objects]
    assert len({transfer.path for transfer in access.transfers}) == 4
    assert list(tmp_path.iterdir()) == []


def test_downloads_that_are_wrong_are_errors_of_their_kinds(
    access: Watched, target: BucketTarget, tmp_path: Path
) -> None:
    access.spoil = {0: b"short", 1: b"x" * SIZE, 2: None}
    samples = SampleColumns()
    spec = a_spec(a_download(), tmp_path, target, prepared(access, tmp_path, 1))
    measure_downloads(spec, access, samples)
    assert {row: failure.error for row, failure in samples.failures.items()} == {
        0: "WrongLength",
        1: "WrongBytes",
        2: "NoFile",
    }
    assert list(samples.integers["size_bytes"]) == [5, SIZE, NULL, SIZE]
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_is_a_process_tells_its_start_up_in_the_same_block(
    target: BucketTarget, tmp_path: Path
) -> None:
    spec = a_spec(an_upload(iterations=5), tmp_path, target, access_path=S5cmd())
    outcome = run_block(spec)
    assert (outcome.status, outcome.samples.failures) == ("measured", {})
    samples = outcome.samples
    assert [OPERATIONS[kind] for kind in samples.operation] == ["start_up"] * 3 + ["upload"] * 5
    assert list(samples.warmup) == [0, 0, 0, 1, 0, 0, 0, 0]
    assert list(samples.object_key) == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert min(samples.integers["total_ns"]) > 0
    assert min(samples.integers["user_ns"]) >= 0
    assert "page cache" in outcome.cache_state


def test_there_are_no_more_start_ups_than_transfers(target: BucketTarget, tmp_path: Path) -> None:
    outcome = run_block(a_spec(an_upload(iterations=1, warmup=0), tmp_path, target, access_path=S5cmd()))
    assert [OPERATIONS[kind] for kind in outcome.samples.operation] == ["start_up", "upload"]
