"""Figures of the harness: what the loop adds, whether it times as a hand-written loop does, what it holds."""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import boto3
from figures import Figure, figure

from configs.access_paths import Boto3Api, NoOp, TransferManager
from configs.manifest import DatasetObject
from configs.targets import BucketTarget
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.noop import NoOpPath
from tasks.kernel.loop import Operation, measure
from tasks.kernel.samples import SampleColumns
from tasks.lab.local_lab import running_lab
from tasks.workloads.blob import BlobRead
from tasks.workloads.file_transfer import FileDownload

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PROJECT_ROOT = Path(__file__).resolve().parents[2]
EMPTY = DatasetObject(key="k", size_bytes=0, sha256=hashlib.sha256(b"").hexdigest())
NOWHERE = BucketTarget(bucket="unused")
MANY = 1_000_000


@figure
def loop_overhead(_folder: Path) -> Iterator[Figure]:
    """A no-op access path through the whole loop, against a bare loop with the same two clock readings."""
    count, extra_us, ratios = 50_000, [], []
    for _ in range(9):
        bare_ns = _bare_loop(NoOpPath(NoOp(), NOWHERE).read, count)
        samples = SampleColumns()
        cost = measure(BlobRead(NoOpPath(NoOp(), NOWHERE), [EMPTY], samples), samples, count, warmup=5)
        extra_us.append((cost.wall_ns - bare_ns) / count / 1000)
        ratios.append(cost.wall_ns / bare_ns)
    extra = statistics.median(extra_us)
    ratio = statistics.median(ratios)
    yield Figure("loop_overhead", ratio, "times the bare loop", "<= 12", ratio <= 12)
    yield Figure("loop_overhead_us", extra, "µs per sample over the bare loop", "none", holds=True)


def _bare_loop(read: Callable[[str], object], count: int) -> int:
    clock, elapsed_ns = time.perf_counter_ns, []
    started_ns = clock()
    for _ in range(count):
        before_ns = clock()
        read("k")
        elapsed_ns.append(clock() - before_ns)
    return clock() - started_ns


@figure
def get_parity(folder: Path) -> Iterator[Figure]:
    """p50 of a 64 KiB GET by us, against a hand-written boto3 loop, in turns on the same server."""
    with _lab_with_an_object(folder) as (client, target, item):
        access = Boto3ApiPath(Boto3Api(), target)
        access.connect(1)

        def by_hand() -> bytes:
            return client.get_object(Bucket=target.bucket, Key=item.key)["Body"].read()

        samples = SampleColumns()
        by_hand_ns = _in_turns(BlobRead(access, [item], samples), samples, by_hand, rounds=80)
        access.close()
    ratio = statistics.median(samples.integers["total_ns"]) / statistics.median(by_hand_ns)
    yield Figure(
        "get_parity", ratio, "our p50 by the hand-written p50", "0.98 to 1.02", 0.98 <= ratio <= 1.02
    )


@figure
def aws_runner_parity(folder: Path) -> Iterator[Figure]:
    """p50 of 1,000 downloads of 64 KiB by us, against those of AWS's own runner, in turns on the same server.

    The runner of awslabs/aws-crt-s3-benchmarks makes these calls for `boto3-classic` with files on disk
    (runners/s3-benchrunner-python/runner/boto3.py), here one after another.
    """
    with _lab_with_an_object(folder) as (client, target, item):
        access = TransferManagerPath(TransferManager(), target)
        access.connect(1)
        samples, file = SampleColumns(), folder / "by-hand.bin"
        by_hand_ns = _in_turns(
            FileDownload(access, [item], folder, samples),
            samples,
            lambda: client.download_file(target.bucket, item.key, str(file)),
            rounds=40,
            afterwards=file.unlink,
        )
        access.close()
    ratio = statistics.median(samples.integers["total_ns"]) / statistics.median(by_hand_ns)
    yield Figure(
        "aws_runner_parity", ratio, "our p50 by AWS's runner's", "0.97 to 1.03", 0.97 <= ratio <= 1.03
    )


@contextmanager
def _lab_with_an_object(folder: Path) -> "Iterator[tuple[S3Client, BucketTarget, DatasetObject]]":
    """The lab with one object of 64 KiB in it, and a client as a script makes it."""
    payload = os.urandom(65_536)
    with running_lab(folder / "lab") as lab, patch.dict(os.environ, lab.environment()):
        # A session of its own: boto3's default one keeps the credentials of the first figure's lab.
        client: S3Client = boto3.Session().client("s3", endpoint_url=lab.endpoint_url)
        client.put_object(Bucket=lab.bucket, Key="bench/64kib.bin", Body=payload)
        item = DatasetObject(
            key="bench/64kib.bin", size_bytes=len(payload), sha256=hashlib.sha256(payload).hexdigest()
        )
        yield client, BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region), item


def _in_turns(
    ours: Operation[Any, Any],
    samples: SampleColumns,
    by_hand: Callable[[], object],
    rounds: int,
    afterwards: Callable[[], object] = lambda: None,
) -> list[int]:
    """25 operations of each in a round; who begins changes, so that neither always runs behind the other."""
    elapsed_ns: list[int] = []
    for number in range(rounds):
        if number % 2:
            measure(ours, samples, 25, warmup=0)
        for _ in range(25):
            before_ns = time.perf_counter_ns()
            result = by_hand()
            elapsed_ns.append(time.perf_counter_ns() - before_ns)
            del result  # here, as a careful hand would: else the next read pays for it
            afterwards()
        if not number % 2:
            measure(ours, samples, 25, warmup=0)
    return elapsed_ns


@figure
def million_samples(folder: Path) -> Iterator[Figure]:
    """One cell of a million samples, measured in worker processes, received, and stored by one process."""
    facts = _memory_of(folder)
    for name in ("worker_mib", "recorder_mib"):
        yield Figure(f"million_samples_{name}", facts[name], "MiB at the peak", "< 300", facts[name] < 300)
    size = facts["bytes_per_sample"]
    yield Figure("million_samples_on_disk", size, "bytes per no-op sample", "<= 16", size <= 16)


@figure
def million_samples_of_64_threads(folder: Path) -> Iterator[Figure]:
    """The same by 64 threads in one block: what its process needs more than for a tenth of it."""
    few, many = (_memory_of(folder / str(samples), samples, 1, 64) for samples in (MANY // 10, MANY))
    peak = many["worker_mib"]
    yield Figure("million_samples_of_64_threads_mib", peak, "MiB at the peak", "< 300", peak < 300)
    more = (peak - few["worker_mib"]) * 2**20 / (many["samples"] - few["samples"])
    yield Figure("memory_per_sample", more, "bytes for each sample more", "<= 150", more <= 150)


def _memory_of(folder: Path, *options: int) -> dict[str, float]:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("million_samples.py"), folder, *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    facts: dict[str, float] = json.loads(done.stdout)
    return facts
