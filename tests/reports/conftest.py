"""A made-up run whose true differences are known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from configs.manifest import LeftOut
from configs.run_record import (
    CellRecord,
    DatasetRecord,
    Environment,
    HarnessCost,
    RunRecord,
    Timing,
)
from tasks.results.schema import SAMPLES

RUN_ID = "20260101T020000Z-1a2b3c4d"
START_US = 1_767_232_800_000_000

Row = dict[str, object]


@dataclass
class Run:
    """Samples and record of a run, to be changed by a test before it is reported."""

    record: RunRecord
    rows: list[Row] = field(default_factory=list)

    @property
    def samples(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, schema=SAMPLES)

    def operations(
        self, config_id: str, workload_id: str, operation: str, times_ms: list[float], **values: object
    ) -> list[Row]:
        """Rows of one operation for each time, spread over five blocks; they are not added yet."""
        unset = dict.fromkeys(self.rows[0])
        return [
            unset
            | _row(config_id, workload_id, operation, block=place % 5, total_ns=int(time_ms * 1e6))
            | values
            for place, time_ms in enumerate(times_ms)
        ]

    @staticmethod
    def many(time_ms: float, count: int = 100) -> list[float]:
        """Times of which p50 is `time_ms`, and p50's interval is narrow."""
        return [time_ms + (place - count / 2) * 1e-5 for place in range(count)]

    def with_cells(self, **parameters: dict[str, str]) -> None:
        """Cells of the rows, measured, with parameters by `config__workload`."""
        seen = dict.fromkeys((str(row["config_id"]), str(row["workload_id"])) for row in self.rows)
        cells = tuple(
            CellRecord(
                config_id=config_id,
                workload_id=workload_id,
                status="measured",
                parameters=parameters.get(f"{config_id}__{workload_id}", {}),
            )
            for config_id, workload_id in seen
        )
        self.record = self.record.model_copy(update={"cells": cells, "baseline": next(iter(seen))[0]})


def _row(config_id: str, workload_id: str, operation: str, **values: object) -> Row:
    return {
        "run_id": RUN_ID,
        "config_id": config_id,
        "workload_id": workload_id,
        "operation": operation,
        "outcome": "ok",
        "warmup": False,
        "block": 0,
        "worker": 0,
        **values,
    }


def _reads(config_id: str, workload_id: str, p50_ns: float, size_bytes: int, n: int = 105) -> list[Row]:
    noise = np.random.default_rng([len(config_id), size_bytes])
    return [
        _row(
            config_id,
            workload_id,
            "read",
            warmup=i % 21 == 0,
            block=i // 21,
            seq=i,
            started_us=START_US + i,
            size_bytes=size_bytes,
            total_ns=int(p50_ns * noise.lognormal(0, 0.25) * (20 if noise.random() < 0.02 else 1)),
        )
        for i in range(n)
    ]


def _scans(config_id: str, list_ns: int, read_ns: int) -> list[Row]:
    noise = np.random.default_rng(len(config_id))
    rows = []
    for i in range(10):
        stages = [int(mean * noise.lognormal(0, 0.1)) for mean in (list_ns, read_ns, 90_000_000, 160_000_000)]
        names = ("list_ns", "read_ns", "gunzip_ns", "parse_ns")
        times = dict(zip(names, stages, strict=True))
        counts = {"files": 55, "records": 2900, "size_bytes": 421_346}
        total_ns = sum(stages) + 5_000_000
        rows.append(
            _row(config_id, "scan_staged", "scan", block=i // 2, **counts, **times, total_ns=total_ns)
        )
        each = {name: value // 55 for name, value in times.items() if name != "list_ns"}
        rows += [
            _row(config_id, "scan_staged", "scan_file", block=i // 2, **each, total_ns=sum(each.values()))
            for _ in range(3)
        ]
    return rows


def _record() -> RunRecord:
    configs = ("boto3_standard", "mount_rclone", "cli_cp")
    cells = [
        CellRecord(
            config_id=config_id,
            workload_id=workload_id,
            status="measured",
            cache_state="nothing but the server's page cache"
            if config_id != "mount_rclone"
            else "kernel page cache",
            proof={"host": "127.0.0.1", "client": "botocore 1.43"},
        )
        for workload_id in ("read_64k", "read_16m", "scan_staged")
        for config_id in configs[:2]
    ]
    cells.append(
        CellRecord(
            config_id="cli_cp",
            workload_id="read_64k",
            status="skipped",
            reason="the AWS CLI is not installed; install it with `pip install awscli` and run again",
        )
    )
    start = datetime.fromtimestamp(START_US / 1e6, UTC)
    return RunRecord(
        run_id=RUN_ID,
        dt="2026-01-01",
        suite="lambda_s3_files",
        suite_sha256="ab" * 32,
        lab=True,
        seed=20_260_101,
        blocks=5,
        baseline="boto3_standard",
        started_at=start,
        ended_at=start + timedelta(seconds=95),
        cells=tuple(cells),
        datasets=(
            DatasetRecord(
                name="logs",
                kind="cloudtrail_copied",
                objects=55,
                records=2900,
                size_bytes=421_346,
                source="../logs",
                left_out=(LeftOut(reason="a truncated gzip file", count=1, example="AWSLogs/x.json.gz"),),
            ),
            DatasetRecord(name="small", kind="blobs", objects=106, records=0, size_bytes=6_946_816, seed=7),
        ),
        environment=Environment(
            python="3.11.7",
            kernel="Linux 6.1",
            machine="x86_64",
            cpu_model="Some processor",
            cpu_count=2,
            memory_bytes=8 * 2**30,
            packages={"boto3": "1.43.1", "botocore": "1.43.1"},
            git_commit="0123456789abcdef+dirty",
        ),
        harness=HarnessCost(
            timer_resolution_ns=41, timed_nothing_ns=83, loop_gap_ns=213_400, cpu_share=0.374
        ),
        timing=Timing(server_start_ms=8_200, prepare_ms=12_400, measure_ms=61_000, wall_ms=95_300),
    )


@pytest.fixture
def run() -> Run:
    """Two configurations, three workloads, a failure now and then, and a skipped cell; a lab run."""
    rows = [
        *_reads("boto3_standard", "read_64k", 24_800_000, 65_536),
        *_reads("mount_rclone", "read_64k", 2_000_000, 65_536),
        *_reads("boto3_standard", "read_16m", 179_700_000, 16_777_216),
        *_reads("mount_rclone", "read_16m", 1_776_200_000, 16_777_216),
        *_scans("boto3_standard", 310_000_000, 8_373_000_000),
        *_scans("mount_rclone", 15_000_000, 347_000_000),
    ]
    for row in rows[3:6]:
        row |= {
            "outcome": "error",
            "error": "SlowDown",
            "http_status": 503,
            "message": "Please reduce your request rate. <script>alert('x')</script> [red]",
        }
    return Run(_record(), rows)


@pytest.fixture
def add_cell() -> Callable[[str, str], list[Row]]:
    """Rows of one more cell of reads: 525 samples."""
    return lambda config_id, workload_id: _reads(config_id, workload_id, 5e6, 65_536, n=525)
