"""Blocks of each access path against a faulty server: each fault hits one operation, between good ones."""

import hashlib
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from botocore.retries.standard import ExponentialBackoff

from configs.access_paths import AccessPathConfig, AwsCli, Boto3Api, Obstore, S5cmd, TransferManager
from configs.block import BlockSpec
from configs.lab_delays import Delays
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobRead, BlobWrite, FileDownload, FileUpload
from tasks.kernel.samples import NULL, OPERATIONS, SampleColumns
from tasks.lab.aws_shaped import start_aws_shaped
from tasks.lab.state import LabFolder, LabState
from tasks.venues.block import run_block
from tasks.venues.local import LocalVenue
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.faults.document import Told
from tests.faults.fault_proxy import FaultProxy, running_proxy
from tests.faults.server_faults import Faulty

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PREFIX = "s3bench/faults/"
GOOD = "good.bin"
BODY = random.Random(1).randbytes(100_000)
PART_BYTES = 8 * 1024**2
PATHS: Mapping[str, AccessPathConfig] = {
    "boto3_api": Boto3Api(connect_timeout_s=1, read_timeout_s=0.2, max_attempts=2),
    "obstore": Obstore(connect_timeout_s=1, read_timeout_s=0.2, max_attempts=2),
    "boto3_transfer": TransferManager(threads=2),
    "aws_cli": AwsCli(),
    "s5cmd": S5cmd(),
    "crt": TransferManager(engine="crt", threads=1),
}


@dataclass(frozen=True)
class Sample:
    """One operation, as it is recorded."""

    told: Told
    key: str
    size_bytes: int | None
    message: str


@dataclass(frozen=True)
class Bench:
    """A lab, a faulty proxy before its server, and a folder for files that are moved."""

    lab: LabState
    """AWS-shaped where clients come by Amazon's host names, and so through the proxy of such a lab."""
    proxy: FaultProxy
    scratch: Path

    @property
    def target(self) -> BucketTarget:
        url = None if self.lab.aws_shaped else self.proxy.endpoint_url
        return BucketTarget(bucket=self.lab.bucket, endpoint_url=url, region=self.lab.region)

    def environment(self) -> dict[str, str]:
        """The lab's, and one retry for the clients that take that from it."""
        environment = lab_environment(self.lab, aws_shaped=self.lab.aws_shaped is not None)
        return environment | {"AWS_RETRY_MODE": "standard", "AWS_MAX_ATTEMPTS": "2"}


@contextmanager
def bench(lab: LabState, client: "S3Client", folder: Path, *, aws_shaped: bool) -> Iterator[Bench]:
    """A faulty proxy before the lab's server and, where it is wanted, one for Amazon's names before that."""
    with running_proxy(client) as proxy:
        if not aws_shaped:
            yield Bench(lab, proxy, folder)
            return
        faulty = lab.model_copy(update={"endpoint_url": proxy.endpoint_url})
        shaped = start_aws_shaped(LabFolder(folder / "lab"), faulty, Delays(delays=()))
        try:
            yield Bench(lab.model_copy(update={"aws_shaped": shaped}), proxy, folder)
        finally:
            shaped.proxy.end(5)


def measured(bench: Bench, spec: BlockSpec) -> BlockOutcome:
    """A block in this process, with botocore's waits before its retries cut short."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in bench.environment().items():
            patch.setenv(name, value)
        patch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.01)
        return run_block(spec)


def stopped(bench: Bench, spec: BlockSpec, timeout_s: float) -> BlockOutcome:
    """A block in a process of its own, which is stopped after some time."""
    return LocalVenue(bench.environment(), timeout_s).run(spec)


def reads(bench: Bench, path: str, faults: Mapping[str, Faulty], client: "S3Client") -> BlockSpec:
    """A read of an object of its own for each fault, and a read of a good one after it."""
    sha256 = hashlib.sha256(BODY).hexdigest()
    objects = []
    for number, (name, fault) in enumerate(faults.items()):
        key = f"{number:06d}.bin"
        bench.proxy.rules.append(fault.rule(name, key))
        for each in (key, GOOD):
            client.put_object(Bucket=bench.lab.bucket, Key=f"{PREFIX}{each}", Body=BODY)
            objects.append(DatasetObject(key=f"{PREFIX}{each}", size_bytes=len(BODY), sha256=sha256))
    kind = BlobRead if "objects" in PATHS[path].abilities else FileDownload
    workload = kind(dataset="d", read_mode="unique", iterations=len(objects), warmup=0)
    return _spec(bench, path, workload, objects=tuple(objects))


def writes(bench: Bench, path: str, faults: Mapping[str, Faulty], size_bytes: int = len(BODY)) -> BlockSpec:
    """A write for each fault, and a good one after it."""
    for number, (name, fault) in enumerate(faults.items()):
        bench.proxy.rules.append(fault.rule(name, f"{2 * number:06d}.bin"))
    kind = BlobWrite if "objects" in PATHS[path].abilities else FileUpload
    return _spec(bench, path, kind(size=size_bytes, iterations=2 * len(faults), warmup=0))


def samples_of(outcome: BlockOutcome) -> list[Sample]:
    """All operations of a block but its start-ups."""
    columns = outcome.samples
    return [
        _sample(columns, row) for row, kind in enumerate(columns.operation) if OPERATIONS[kind] != "start_up"
    ]


def _sample(columns: SampleColumns, row: int) -> Sample:
    def value(name: str) -> int | None:
        found = columns.integers[name][row] if name in columns.integers else NULL
        return None if found == NULL else found

    failure, key = columns.failures.get(row), columns.object_key[row]
    return Sample(
        told=Told(failure.error if failure else "", value("http_status"), value("retries")),
        key=columns.keys[key] if key >= 0 else "",
        size_bytes=value("size_bytes"),
        message=failure.message if failure else "",
    )


def _spec(
    bench: Bench,
    path: str,
    workload: BlobRead | BlobWrite | FileDownload | FileUpload,
    objects: tuple[DatasetObject, ...] = (),
) -> BlockSpec:
    configuration = Configuration(access_path=PATHS[path], target="t")
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=configuration,
            workload=workload,
            target=bench.target,
        ),
        block=0,
        iterations=workload.iterations,
        warmup=0,
        seed=1,
        objects=objects,
        write_prefix=f"{PREFIX}up/",
        scratch_folder=bench.scratch,
    )
