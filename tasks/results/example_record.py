"""What a run of an example store says of itself: that nothing ran, wherever a reader may look."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from configs.datasets import Blobs, CloudTrailGenerated
from configs.run_record import (
    CellRecord,
    DatasetRecord,
    Environment,
    HarnessCost,
    RunIdentity,
    RunRecord,
    Timing,
)
from configs.suite import Cell, Suite
from tasks.results.cells import EndedCell
from tasks.results.example_nights import SCHEDULE
from tasks.results.example_samples import LOG_BYTES, RECORDS

SYNTHETIC: Final = "synthetic"
_OLD_VERSION: Final = "0.11.0"
_VERSIONS: Final = {
    "boto3": "1.44.8",
    "botocore": "1.44.8",
    "s3transfer": "0.19.3",
    "awscrt": "0.38.1",
    "urllib3": "2.8.0",
    "obstore": "0.12.1",
}
_CLIENTS: Final = {
    "boto3_api": "boto3",
    "boto3_transfer": "s3transfer",
    "obstore": "obstore",
    "aws_cli": "the AWS CLI",
    "mount_io": "a mount",
}


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """What is to be told of a run."""

    run: RunIdentity
    suite: Suite
    seed: int
    has_new_version: bool
    scheduled_at: datetime
    started_at: datetime
    ended_us: int
    """Epoch microseconds."""


def example_record(of: ExampleRun, ended: Sequence[EndedCell]) -> RunRecord:
    """The record of a run.

    Args:
        of: which run.
        ended: its cells, in the order of the suite.
    """
    ended_at = datetime.fromtimestamp(of.ended_us // 1000 / 1000, UTC)
    wall_ms = int((ended_at - of.started_at).total_seconds() * 1000)
    versions = _VERSIONS if of.has_new_version else _VERSIONS | {"obstore": _OLD_VERSION}
    return RunRecord(
        **of.run.model_dump(),
        suite=of.suite.name,
        suite_sha256=of.suite.sha256,
        lab=False,
        seed=of.seed,
        blocks=of.suite.blocks,
        baseline=of.suite.baseline_config_id,
        started_at=of.started_at,
        ended_at=ended_at,
        cells=tuple(
            _cell_record(cell, one, versions) for cell, one in zip(of.suite.cells(), ended, strict=True)
        ),
        datasets=tuple(_datasets(of.suite)),
        environment=_environment(versions),
        harness=HarnessCost(timer_resolution_ns=40, timed_nothing_ns=80, loop_gap_ns=300_000, cpu_share=0.2),
        timing=Timing(server_start_ms=0, prepare_ms=0, measure_ms=wall_ms, wall_ms=wall_ms),
        schedule=SCHEDULE,
        scheduled_at=of.scheduled_at,
        synthetic=True,
    )


def _cell_record(cell: Cell, ended: EndedCell, versions: Mapping[str, str]) -> CellRecord:
    client = _CLIENTS[cell.configuration.access_path.kind]
    version = f" {versions[client]}" if client in versions else ""
    return CellRecord(
        config_id=cell.config_id,
        workload_id=cell.workload_id,
        status=ended.status,
        reason=ended.reason,
        cache_state=f"{SYNTHETIC}: nothing was read or written",
        proof={"client": f"{SYNTHETIC}: as {client}{version}", "host": f"{SYNTHETIC}: nothing was asked"},
        parameters=cell.asked,
    )


def _environment(versions: Mapping[str, str]) -> Environment:
    return Environment(
        python=SYNTHETIC,
        kernel=SYNTHETIC,
        machine=SYNTHETIC,
        cpu_model=SYNTHETIC,
        cpu_count=2,
        memory_bytes=8 * 2**30,
        packages=dict(versions),
        git_commit=SYNTHETIC,
    )


def _datasets(suite: Suite) -> Iterator[DatasetRecord]:
    """What the suite asks for."""
    for name, config in suite.datasets.items():
        files = records = size_bytes = 0
        if isinstance(config, Blobs):
            files = config.unique_count + 1
            size_bytes = files * int(config.size)
        elif isinstance(config, CloudTrailGenerated):
            files, records, size_bytes = config.files, RECORDS, LOG_BYTES
        yield DatasetRecord(
            name=name,
            kind=config.kind,
            objects=files,
            records=records,
            size_bytes=size_bytes,
            source=SYNTHETIC,
        )
