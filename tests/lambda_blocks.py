"""Blocks to be measured in a Lambda function, for tests."""

import secrets
from pathlib import Path

from configs.access_paths import AccessPathConfig, Boto3Api
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget, TargetConfig
from configs.venues import LambdaVenueConfig
from configs.workloads import BlobWrite, WorkloadConfig
from tasks.lab.state import LabState


class Context:
    """What Lambda's runtime hands to a handler."""

    function_name = "f"
    function_version = "$LATEST"
    memory_limit_in_mb = 512
    aws_request_id = "6bc28136-fa50-4a55-9e1a-27fbc5e5c2f2"

    def __init__(self, left_ms: int = 60_000) -> None:
        self.left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


def bucket_of(lab: LabState) -> BucketTarget:
    """The lab's bucket as a target."""
    return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)


def a_block(  # noqa: PLR0913 - what differs between the blocks of tests
    venue: LambdaVenueConfig,
    bucket: BucketTarget,
    *,
    access_path: AccessPathConfig | None = None,
    target: TargetConfig | None = None,
    workload: WorkloadConfig | None = None,
    objects: tuple[DatasetObject, ...] = (),
    iterations: int = 5,
    clients: int = 1,
    scratch_folder: Path | None = None,
) -> BlockSpec:
    """A block of a run of its own; small writes by boto3 where nothing else is asked for."""
    run_id = f"20260101T020000Z-{secrets.token_hex(4)}"
    return BlockSpec(
        run=RunIdentity(run_id=run_id, dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(
                access_path=access_path or Boto3Api(), target="t", venue="v", clients=clients
            ),
            workload=workload or BlobWrite(size=64, iterations=iterations, warmup=1),
            target=target or bucket,
            shown=None if target is None else bucket,
            venue=venue,
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        objects=objects,
        write_prefix=f"s3bench/runs/{run_id}/c/w/000/",
        scratch_folder=scratch_folder,
    )
