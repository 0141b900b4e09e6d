"""What every access path that moves files must do; a new one is covered once it stands in the registry."""

import contextlib
import hashlib
import random
import shlex
import sys
import threading
import time
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from configs.access_paths import AccessPathConfig, AwsCli, S5cmd, TransferManager
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import AnyBucket, BucketTarget
from configs.workloads import FileUpload
from tasks.access.protocol import AccessPath, FilePath, FileTransfer, TreePath, TreeTransfer
from tasks.access.registry import access_path
from tasks.kernel.loop import measure
from tasks.kernel.samples import SampleColumns
from tasks.lab.state import LabState
from tasks.venues.local import LocalVenue
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tasks.workloads.file_transfer import FileDownload, StartUp

VARIANTS = typing.get_args(typing.get_args(AccessPathConfig)[0])
ABLE = [variant() for variant in VARIANTS if "files" in variant.abilities]
PREFIX = "s3bench/contract-files/"
ODD_KEY = f"{PREFIX}deep er/b c+%41é~*?[1].bin"
PAYLOAD = random.Random(1).randbytes(300_000)
TREE = {"a.bin": b"a" * 1000, "b c/+%é.bin": b"b" * 70_000, "b c/.hidden": b"c"}


@dataclass(frozen=True)
class Way:
    """One access path to one kind of bucket, in one of the labs."""

    config: AccessPathConfig
    kind: str
    aws_shaped: bool

    def __str__(self) -> str:
        engine = getattr(self.config, "engine", "")
        return "-".join(filter(None, (self.config.kind, engine, self.kind, "by-aws-names" * self.aws_shaped)))


def ways() -> list[Way]:
    """Every access path to files with every kind of bucket that it serves, by both engines where it can."""
    plain = [Way(config, "bucket", False) for config in ABLE]
    by_aws_names = [Way(config, kind, True) for config in ABLE for kind in config.serves]
    crt = [Way(TransferManager(engine="crt"), kind, True) for kind in ("bucket", "directory_bucket")]
    return plain + by_aws_names + crt


def is_slow(way: Way) -> bool:
    """The AWS CLI takes half a second for anything: the ordinary tests try it where it differs most."""
    return isinstance(way.config, AwsCli) and way.aws_shaped and way.kind != "directory_bucket"


@pytest.fixture(
    scope="module",
    params=[pytest.param(way, marks=[pytest.mark.slow] if is_slow(way) else []) for way in ways()],
    ids=[str(way) for way in ways()],
)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture(scope="module")
def target(
    way: Way, enter_lab: Callable[[bool], None], bucket_of_kind: Callable[[str, bool], AnyBucket]
) -> AnyBucket:
    """The target of a way; this process then has the environment of its lab."""
    enter_lab(way.aws_shaped)
    return bucket_of_kind(way.kind, way.aws_shaped)


@pytest.fixture(scope="module")
def access(
    way: Way,
    target: AnyBucket,
    connect: Callable[[AccessPath], None],
    release_the_crt: Callable[[], None],
) -> Iterator[FilePath]:
    path = typing.cast("FilePath", access_path(way.config, target))
    connect(path)
    yield path
    path.delete(path.list_keys(PREFIX))
    path.close()
    path.close()  # harmless when called again
    release_the_crt()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file.bin"
    path.write_bytes(PAYLOAD)
    return path


def test_every_kind_of_target_that_an_access_path_serves_is_tried() -> None:
    tried = {(way.config.kind, way.kind) for way in ways()}
    assert tried == {(config.kind, kind) for config in ABLE for kind in config.serves}


def test_a_file_of_an_odd_key_comes_back_as_it_went(access: FilePath, file: Path, tmp_path: Path) -> None:
    went = access.answer(access.upload(FileTransfer(ODD_KEY, file)))
    assert access.sizes_below(PREFIX)[ODD_KEY] == len(PAYLOAD)
    assert access.sha256_of(ODD_KEY) == hashlib.sha256(PAYLOAD).hexdigest()
    came = access.answer(access.download(FileTransfer(ODD_KEY, tmp_path / "back.bin")))
    assert (tmp_path / "back.bin").read_bytes() == PAYLOAD
    for answer in (went, came):
        assert answer.http_status in {200, None}
        assert (answer.user_ns is not None) == access.has_start_up
    access.delete([ODD_KEY])
    assert ODD_KEY not in access.list_keys(PREFIX)


def test_a_file_has_its_name_when_its_download_ends(
    way: Way, access: FilePath, file: Path, tmp_path: Path
) -> None:
    """The CRT says that it has the bytes before it has renamed the file: once in many times it is seen."""
    if (getattr(way.config, "engine", ""), way.kind) != ("crt", "directory_bucket"):
        pytest.skip("one way by the CRT, and the one with the least delay, will do")
    access.upload(FileTransfer(f"{PREFIX}k", file))
    for number in range(60):
        access.download(FileTransfer(f"{PREFIX}k", tmp_path / f"{number}.bin"))
        assert (tmp_path / f"{number}.bin").stat().st_size == len(PAYLOAD)


def test_a_tree_comes_back_as_it_went(way: Way, access: FilePath, tmp_path: Path) -> None:
    if "trees" not in way.config.abilities:
        pytest.skip("moves single files")
    trees = typing.cast("TreePath", access)
    folder, back, prefix = tmp_path / "a tree", tmp_path / "back", f"{PREFIX}tree/"
    for name, body in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    back.mkdir()
    trees.upload_tree(TreeTransfer(prefix, folder))
    assert trees.sizes_below(prefix) == {f"{prefix}{name}": len(body) for name, body in TREE.items()}
    trees.download_tree(TreeTransfer(prefix, back))
    found = {str(path.relative_to(back)): path.read_bytes() for path in back.rglob("*") if path.is_file()}
    assert found == TREE


def test_a_missing_object_is_a_sample_with_a_short_kind_and_leaves_no_file(
    access: FilePath, tmp_path: Path
) -> None:
    missing = DatasetObject(key=f"{PREFIX}nowhere.bin", size_bytes=1, sha256="0" * 64)
    samples = SampleColumns()
    measure(FileDownload(access, [missing], tmp_path, samples), samples, 1, warmup=0)
    failure = samples.failures[0]
    assert failure.error in {"NotFound", "NoSuchKey"}
    assert (failure.http_status, samples.integers["http_status"][0]) == (404, 404)
    assert "nowhere.bin" in failure.message or "404" in failure.message
    assert samples.integers["total_ns"][0] > 0
    assert list(tmp_path.iterdir()) == []


def test_its_own_start_up_is_measured_where_it_has_one(access: FilePath) -> None:
    samples = SampleColumns()
    measure(StartUp(access), samples, 1, warmup=0)
    assert samples.failures == {}
    assert ("user_ns" in samples.integers) == access.has_start_up


def test_it_proves_what_ran_and_names_its_cache_states(access: FilePath, aws_shaped_lab: LabState) -> None:
    proof = access.proof()
    assert proof["client"]
    assert proof["host"]
    told = " ".join(proof.values())
    assert aws_shaped_lab.access_key_id not in told
    assert aws_shaped_lab.secret_access_key.get_secret_value() not in told
    for state in (access.cache_states.single, access.cache_states.unique, access.cache_states.write):
        assert "page cache" in state


def an_upload_block(config: AccessPathConfig, target: AnyBucket, scratch: Path) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=config, target="t"),
            workload=FileUpload(size=10_000),
            target=target,
        ),
        block=0,
        iterations=1,
        warmup=0,
        seed=1,
        write_prefix=f"{PREFIX}killed/",
        scratch_folder=scratch,
    )


def within(seconds: float, found: Callable[[], psutil.Process | None]) -> psutil.Process:
    """What is found by looking again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (process := found()) is not None:
            return process
        time.sleep(0.001)
    raise TimeoutError


def that_hangs_in_transfers(path: Path, program: Path) -> str:
    """A program that is like another one, but never ends once it is to move the block's file."""
    path.write_text(
        "#!/bin/sh\n"
        'case "$*" in *upload.bin*) while true; do sleep 1; done;; '
        f'*) exec {shlex.quote(str(program))} "$@";; esac\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return str(path)


def a_transfer_of(worker: psutil.Process) -> psutil.Process | None:
    """A program of the worker's in the middle of a transfer."""
    for child in worker.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "upload.bin" in " ".join(child.cmdline()):
                return child
    return None


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("config", [S5cmd(), pytest.param(AwsCli(), marks=pytest.mark.slow)], ids=str)
def test_a_killed_worker_takes_its_program_with_it(
    config: AwsCli | S5cmd, lab: LabState, tmp_path: Path
) -> None:
    program = Path(sys.executable).with_name(config.executable)
    hanging = that_hangs_in_transfers(tmp_path / config.executable, program)
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    outcomes: list[BlockOutcome] = []
    venue = LocalVenue(lab_environment(lab), 60.0)
    spec = an_upload_block(config.model_copy(update={"executable": hanging}), target, tmp_path)
    before = set(psutil.Process().children())
    measuring = threading.Thread(target=lambda: outcomes.append(venue.run(spec)))
    measuring.start()
    worker = within(20, lambda: next(iter(set(psutil.Process().children()) - before), None))
    try:
        transfer = within(20, lambda: a_transfer_of(worker))
    finally:
        worker.kill()
        measuring.join()
    assert outcomes[0].status == "failed"
    assert "signal 9" in outcomes[0].reason
    assert within(5, lambda: transfer if is_gone(transfer) else None) is transfer
