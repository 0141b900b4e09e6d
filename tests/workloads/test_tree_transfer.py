"""A tree that was moved is compared file by file after the clock: a missing or a changed one is an error."""

import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from configs.access_paths import AccessPathConfig, AwsCli, S5cmd
from configs.block import BlockSpec
from configs.datasets import FileTree
from configs.manifest import DatasetObject, LocalTree
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import TreeDownload as TreeDownloadConfig
from configs.workloads import TreeUpload as TreeUploadConfig
from tasks.access.protocol import TreeTransfer
from tasks.access.s5cmd_cli import S5cmdPath
from tasks.datasets.file_tree import local_tree
from tasks.kernel.samples import OPERATIONS, SampleColumns
from tasks.venues.block import run_block
from tasks.venues.wire import BlockOutcome
from tasks.workloads import tree_transfer
from tasks.workloads.tree_transfer import measure_tree_downloads, measure_tree_uploads

PREFIX = "s3bench/tree-transfer/"
WRITE_PREFIX = f"{PREFIX}up/"
READ_PREFIX = f"{PREFIX}down/"
SMALL = FileTree.model_validate({"files": 12, "mean_size": 5_000, "seed": 1})


class Watched(S5cmdPath):
    """The real client; after a transfer a test does what it likes with what arrived."""

    def __init__(self, target: BucketTarget) -> None:
        super().__init__(S5cmd(), target)
        self.transfers: list[TreeTransfer] = []
        self.spoil: Callable[[TreeTransfer], object] = lambda _: None

    def upload_tree(self, transfer: TreeTransfer) -> object:
        self.transfers.append(transfer)
        assert self.list_keys(transfer.prefix) == []
        answer = super().upload_tree(transfer)
        self.spoil(transfer)
        return answer

    def download_tree(self, transfer: TreeTransfer) -> object:
        self.transfers.append(transfer)
        assert list(transfer.folder.iterdir()) == []
        answer = super().download_tree(transfer)
        self.spoil(transfer)
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
    path.transfers, path.spoil = [], lambda _: None
    yield path
    deadline_s = time.monotonic() + 10
    while (left := path.list_keys(PREFIX)) and time.monotonic() < deadline_s:
        path.delete(left)  # the lab's server may put a file back that it was still writing
    assert path.list_keys(PREFIX) == []


@pytest.fixture
def tree(tmp_path: Path) -> LocalTree:
    return local_tree(SMALL, tmp_path / "trees")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def a_spec(
    workload: TreeUploadConfig | TreeDownloadConfig,
    target: BucketTarget,
    scratch: Path,
    tree: LocalTree,
    access_path: AccessPathConfig | None = None,
) -> BlockSpec:
    uploads = isinstance(workload, TreeUploadConfig)
    in_bucket = tuple(
        DatasetObject(key=f"{READ_PREFIX}{item.key}", size_bytes=item.size_bytes, sha256=item.sha256)
        for item in tree.objects
    )
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=access_path or S5cmd(), target="t"),
            workload=workload,
            target=target,
        ),
        block=0,
        iterations=workload.iterations,
        warmup=workload.warmup,
        seed=7,
        objects=tree.objects if uploads else in_bucket,
        read_prefix=READ_PREFIX,
        write_prefix=WRITE_PREFIX,
        scratch_folder=scratch,
        tree_folder=tree.folder if uploads else None,
    )


@pytest.fixture
def upload(
    access: Watched, target: BucketTarget, scratch: Path, tree: LocalTree
) -> Callable[[], SampleColumns]:
    """Does two tree uploads."""

    def run() -> SampleColumns:
        samples = SampleColumns()
        spec = a_spec(TreeUploadConfig(dataset="d", iterations=2), target, scratch, tree)
        measure_tree_uploads(spec, access, samples)
        return samples

    return run


@pytest.fixture
def download(
    access: Watched, target: BucketTarget, scratch: Path, tree: LocalTree
) -> Callable[[], SampleColumns]:
    """Puts the tree into the bucket and does two tree downloads."""
    S5cmdPath.upload_tree(access, TreeTransfer(READ_PREFIX, tree.folder))

    def run() -> SampleColumns:
        samples = SampleColumns()
        spec = a_spec(TreeDownloadConfig(dataset="d", iterations=2), target, scratch, tree)
        measure_tree_downloads(spec, access, samples)
        return samples

    return run


def errors_of(samples: SampleColumns) -> list[str]:
    """Kind and message of what failed, but in start-ups."""
    return [f"{failure.error}: {failure.message}" for failure in samples.failures.values()]


def test_every_tree_goes_up_to_a_prefix_of_its_own_and_nothing_is_left(
    upload: Callable[[], SampleColumns], access: Watched
) -> None:
    samples = upload()
    assert errors_of(samples) == []
    assert [OPERATIONS[kind] for kind in samples.operation] == ["start_up"] * 2 + ["upload_tree"] * 2
    assert list(samples.integers["files"])[2:] == [12, 12]
    assert list(samples.integers["size_bytes"])[2:] == [60_000, 60_000]
    assert len({transfer.prefix for transfer in access.transfers}) == 2
    assert all(transfer.prefix.startswith(WRITE_PREFIX) for transfer in access.transfers)
    assert access.list_keys(WRITE_PREFIX) == []


def test_a_file_that_did_not_arrive_is_an_error_that_names_it(
    upload: Callable[[], SampleColumns], access: Watched, tree: LocalTree
) -> None:
    lost = tree.objects[3].key
    access.spoil = lambda transfer: access.delete([f"{transfer.prefix}{lost}"])
    assert errors_of(upload()) == [
        f"WrongTree: below {WRITE_PREFIX}00000{number}/: 1 missing, such as {lost}" for number in range(2)
    ]
    assert access.list_keys(WRITE_PREFIX) == []


def test_a_key_too_many_and_one_of_another_size_are_errors(
    upload: Callable[[], SampleColumns], access: Watched, tree: LocalTree
) -> None:
    def spoil(transfer: TreeTransfer) -> None:
        for name in ("aaa", tree.objects[0].key):
            access._client().put_object(
                Bucket=access._target.bucket, Key=f"{transfer.prefix}{name}", Body=b"x"
            )

    access.spoil = spoil
    samples = upload()
    assert "1 too many, such as aaa; 1 of another size" in errors_of(samples)[0]
    assert list(samples.integers["files"])[2:] == [13, 13]


def test_other_bytes_of_the_same_size_are_an_error(
    upload: Callable[[], SampleColumns], access: Watched, tree: LocalTree
) -> None:
    def spoil(transfer: TreeTransfer) -> None:
        for item in tree.objects:
            body = b"x" * item.size_bytes
            access._client().put_object(
                Bucket=access._target.bucket, Key=f"{transfer.prefix}{item.key}", Body=body
            )

    access.spoil = spoil
    assert [error.partition(":")[0] for error in errors_of(upload())] == ["WrongBytes", "WrongBytes"]


@pytest.mark.parametrize("asked", ["sizes_below", "sha256_of"])
def test_a_verification_that_gets_no_answer_is_one_error_sample_and_the_block_goes_on(
    upload: Callable[[], SampleColumns],
    access: Watched,
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = getattr(access, asked)

    def spoil(_: TreeTransfer) -> None:
        def fails_once(*_: object) -> None:
            monkeypatch.setattr(access, asked, real)
            raise ConnectionError("reset")

        access.spoil = lambda _: None
        monkeypatch.setattr(access, asked, fails_once)

    access.spoil = spoil
    samples = upload()
    assert errors_of(samples) == [f"NotVerified: below {WRITE_PREFIX}000000/: ConnectionError: reset"]
    assert [OPERATIONS[kind] for kind in samples.operation][2:] == ["upload_tree"] * 2


def test_a_tree_that_cannot_be_deleted_is_a_good_sample(
    upload: Callable[[], SampleColumns], access: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(*_: object) -> None:
        raise ConnectionError("reset")

    with monkeypatch.context() as patch:
        patch.setattr(access, "delete", delete)
        samples = upload()
    assert errors_of(samples) == []
    assert list(samples.integers["files"])[2:] == [12, 12]


def test_every_file_was_read_just_before_a_tree_goes_up(
    access: Watched,
    target: BucketTarget,
    scratch: Path,
    tree: LocalTree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(tree_transfer, "read_through", read.extend)
    spec = a_spec(TreeUploadConfig(dataset="d", iterations=2), target, scratch, tree)
    operation = tree_transfer.TreeUpload(access, spec)
    operation.prepare(0)
    assert sorted(read) == sorted(tree.folder / item.key for item in tree.objects)


def test_every_tree_comes_down_to_an_empty_folder_that_is_removed(
    download: Callable[[], SampleColumns], access: Watched, scratch: Path
) -> None:
    samples = download()
    assert errors_of(samples) == []
    assert [OPERATIONS[kind] for kind in samples.operation] == ["start_up"] * 2 + ["download_tree"] * 2
    assert list(samples.integers["files"])[2:] == [12, 12]
    assert list(samples.integers["size_bytes"])[2:] == [60_000, 60_000]
    assert len({transfer.folder for transfer in access.transfers}) == 2
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            lambda path: path.unlink(),
            "WrongTree: below s3bench/tree-transfer/down/: 1 missing, such as logs/",
        ),
        (
            lambda path: path.write_bytes(b"x"),
            "WrongTree: below s3bench/tree-transfer/down/: 1 of another size",
        ),
        (lambda path: path.with_name("z").write_bytes(b"x"), "1 too many, such as logs/z"),
        (
            lambda path: path.write_bytes(b"x" * path.stat().st_size),
            "WrongBytes: s3bench/tree-transfer/down/logs/",
        ),
    ],
)
def test_a_tree_that_came_down_otherwise_is_an_error(
    download: Callable[[], SampleColumns],
    access: Watched,
    scratch: Path,
    change: Callable[[Path], object],
    error: str,
) -> None:
    access.spoil = lambda transfer: change(min((transfer.folder / "logs").iterdir()))
    found = errors_of(download())
    assert len(found) == 2
    assert all(error in message for message in found)
    assert list(scratch.iterdir()) == []


def test_a_tree_that_fails_half_way_is_a_sample_with_what_came(
    download: Callable[[], SampleColumns], access: Watched, scratch: Path
) -> None:
    def spoil(transfer: TreeTransfer) -> None:
        min((transfer.folder / "logs").iterdir()).unlink()
        access._runner.run([access._program, "cp", "no-such-file", "s3://no-such-bucket/"])

    access.spoil = spoil
    samples = download()
    assert [error.partition(":")[0] for error in errors_of(samples)] == ["ExitStatus1", "ExitStatus1"]
    assert list(samples.integers["files"])[2:] == [11, 11]
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("config", [AwsCli(), AwsCli(tree_command="cp"), S5cmd()], ids=str)
def test_the_tree_of_experiment_e3_goes_up_and_down_in_the_lab(
    config: AccessPathConfig, target: BucketTarget, scratch: Path, tmp_path: Path
) -> None:
    tree = local_tree(FileTree(scale=0.02), tmp_path / "trees")
    outcomes: list[BlockOutcome] = []
    for workload in (TreeUploadConfig, TreeDownloadConfig):
        if workload is TreeDownloadConfig:
            path = S5cmdPath(S5cmd(), target)
            path.connect(1)
            path.upload_tree(TreeTransfer(READ_PREFIX, tree.folder))
            path.close()
        spec = a_spec(workload(dataset="d", iterations=1), target, scratch, tree, config)
        outcomes.append(run_block(spec))
    for outcome in outcomes:
        assert (outcome.status, outcome.reason, outcome.samples.failures) == ("measured", "", {})
        assert list(outcome.samples.integers["files"])[-1] == 242
        assert list(outcome.samples.integers["size_bytes"])[-1] == 242 * 354_541
    up_s, down_s = (outcome.samples.integers["total_ns"][-1] / 1e9 for outcome in outcomes)
    print(f"{typing.cast('AwsCli', config).kind}: up {up_s:.2f} s, down {down_s:.2f} s")  # noqa: T201 - a figure
