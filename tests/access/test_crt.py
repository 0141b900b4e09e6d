"""What the CRT engine, which shows nothing of itself, lets be done and known before and after the clock."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from configs.access_paths import TransferManager
from configs.targets import BucketTarget, DirectoryBucketTarget
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.protocol import AccessPath, FileTransfer
from tasks.kernel.errors import LabelError
from tasks.lab.state import LAB_BUCKET, LAB_REGION, LAB_ZONES

BUCKET = BucketTarget(bucket=LAB_BUCKET, region=LAB_REGION)
DIRECTORY = DirectoryBucketTarget(bucket=f"{LAB_BUCKET}--{LAB_ZONES[0]}--x-s3", region=LAB_REGION)
Start = Callable[..., TransferManagerPath]


@pytest.fixture
def start(
    aws_environment: dict[str, str],  # noqa: ARG001 - is set by it
    connect: Callable[[AccessPath], None],
    release_the_crt: Callable[[], None],
) -> Iterator[Start]:
    """Connects to a target by the CRT."""
    made: list[TransferManagerPath] = []

    def start(target: BucketTarget | DirectoryBucketTarget, threads: int = 1) -> TransferManagerPath:
        made.append(TransferManagerPath(TransferManager(engine="crt", threads=threads), target))
        connect(made[-1])
        return made[-1]

    yield start
    for path in made:
        path.close()
    release_the_crt()


def open_connections(environment: dict[str, str]) -> set[int]:
    """The local ports of this process's connections to the lab's proxy."""
    port = int(environment["HTTPS_PROXY"].rpartition(":")[2])
    return {
        each.laddr.port
        for each in psutil.Process().net_connections("tcp")
        if each.raddr and each.raddr.port == port and each.status == psutil.CONN_ESTABLISHED
    }


def test_the_crt_has_more_connections_than_one_before_its_first_sample(
    start: Start, aws_environment: dict[str, str]
) -> None:
    """As many as its requests overlap: surely two of 20 that each wait for the slowest host of the lab."""
    before = open_connections(aws_environment)
    path = start(BUCKET, threads=20)
    deadline = time.monotonic() + 4  # one that its request did not wait for is opened all the same
    while len(open_connections(aws_environment) - before) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(open_connections(aws_environment) - before) >= 2
    assert path.proof()["connections"].startswith("up to 20 before the first sample")


def test_what_the_crt_does_not_show_is_told_as_not_shown(start: Start) -> None:
    proof = start(DIRECTORY).proof()
    assert proof["host"] == f"{DIRECTORY.bucket}.s3express-{LAB_ZONES[0]}.{LAB_REGION}.amazonaws.com"
    assert proof["host_seen_by"].startswith("the requests that boto3 hands to the CRT")
    assert proof["signing_name"] == "not shown by the CRT"
    assert proof["session"] == "asked for; not shown by the CRT"


def test_a_transfer_by_the_crt_to_another_host_in_the_middle_of_a_block_fails_it(
    start: Start, tmp_path: Path
) -> None:
    path = start(BUCKET)
    (tmp_path / "file").write_bytes(b"x")
    elsewhere = DIRECTORY.model_copy(update={"prefix": "s3bench/crt"})
    path._target = elsewhere  # as if boto3 had turned to another bucket by itself
    path.upload(FileTransfer("s3bench/crt/k", tmp_path / "file"))
    path.delete(["s3bench/crt/k"])
    path._target = BUCKET
    with pytest.raises(LabelError, match=r"requests go to .*s3express"):
        path.proof()


def test_a_client_that_is_closed_takes_no_note_of_the_next(start: Start) -> None:
    first = start(BUCKET)
    watch = first._crt
    first.close()
    assert "s3express" in start(DIRECTORY).proof()["host"]
    assert watch is not None
    assert list(watch.hosts) == [f"{BUCKET.bucket}.s3.{LAB_REGION}.amazonaws.com"]
