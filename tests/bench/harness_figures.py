"""Figures of the harness: what the loop adds, whether it times as a hand-written loop does, what it holds."""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from figures import Figure, figure

from configs.access_paths import Boto3Api, NoOp
from configs.manifest import DatasetObject
from configs.targets import BucketTarget
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.noop import NoOpPath
from tasks.kernel.loop import measure
from tasks.kernel.samples import SampleColumns
from tasks.lab.local_lab import running_lab
from tasks.workloads.blob import BlobRead

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PROJECT_ROOT = Path(__file__).resolve().parents[2]
EMPTY = DatasetObject(key="k", size_bytes=0, sha256=hashlib.sha256(b"").hexdigest())
NOWHERE = BucketTarget(bucket="unused")


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
    yield Figure("loop_overhead", extra, "µs per sample over the bare loop", "<= 2", extra <= 2)
    yield Figure("loop_overhead_ratio", statistics.median(ratios), "times the bare loop", "none", holds=True)


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
    rounds, a_round, payload = 80, 25, os.urandom(65_536)
    with running_lab(folder / "lab") as lab:
        os.environ.update(lab.environment())
        client: S3Client = boto3.client("s3", endpoint_url=lab.endpoint_url)
        client.put_object(Bucket=lab.bucket, Key="bench/64kib.bin", Body=payload)
        item = DatasetObject(
            key="bench/64kib.bin", size_bytes=len(payload), sha256=hashlib.sha256(payload).hexdigest()
        )
        target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
        access = Boto3ApiPath(Boto3Api(), target)
        access.connect(1)
        samples = SampleColumns()
        read = BlobRead(access, [item], samples)
        by_hand_ns: list[int] = []
        for number in range(rounds):
            # Turns swap places, so that neither always runs behind the other.
            if number % 2:
                measure(read, samples, a_round, warmup=0)
            by_hand_ns += _gets_by_hand(client, lab.bucket, item.key, a_round)
            if not number % 2:
                measure(read, samples, a_round, warmup=0)
    ratio = statistics.median(samples.integers["total_ns"]) / statistics.median(by_hand_ns)
    yield Figure(
        "get_parity", ratio, "our p50 by the hand-written p50", "0.98 to 1.02", 0.98 <= ratio <= 1.02
    )


def _gets_by_hand(client: "S3Client", bucket: str, key: str, count: int) -> list[int]:
    elapsed_ns = []
    for _ in range(count):
        before_ns = time.perf_counter_ns()
        body = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        elapsed_ns.append(time.perf_counter_ns() - before_ns)
        del body  # here, as a careful hand would: else the next read pays for it
    return elapsed_ns


@figure
def million_samples(folder: Path) -> Iterator[Figure]:
    """One cell of a million samples, measured in worker processes, received, and stored by one process."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("million_samples.py"), folder],
        env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(done.stdout)
    for name in ("worker_mib", "recorder_mib"):
        yield Figure(f"million_samples_{name}", facts[name], "MiB at the peak", "< 300", facts[name] < 300)
    size = facts["bytes_per_sample"]
    yield Figure("million_samples_on_disk", size, "bytes per no-op sample", "<= 16", size <= 16)
