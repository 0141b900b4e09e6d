"""A store of a year: 365 nights of 40 cells with 1,000 samples each, by the real schema and encoding.

Files are written without fsync, which would take most of the time and changes no byte of them.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from configs.run_record import CellRecord, Environment, RunIdentity, RunRecord, Timing
from tasks.results.example_nights import last_night
from tasks.results.names import samples_name
from tasks.results.schema import SAMPLES
from tasks.results.store import Store
from tasks.results.writer import encoded, write_nightly, write_run
from tasks.stats.summaries import distribution
from tasks.stats.summary_types import Summary

NIGHTS: Final = 365
SAMPLES_PER_CELL: Final = 1_000
WARMUPS: Final = 10
CELLS: Final = tuple((f"config-{config}", f"read-{workload}") for config in range(8) for workload in range(5))
ROWS: Final = NIGHTS * len(CELLS) * SAMPLES_PER_CELL
BLOCKS: Final = 10
SIZE_BYTES: Final = 65_536


def nights() -> list[date]:
    """A year, whose last night is the latest that is over."""
    last = last_night(datetime.now(UTC))
    return [last - timedelta(days=ago) for ago in reversed(range(NIGHTS))]


def write_year(store: Store) -> None:
    """Write all files that the runs of a year leave."""
    noise = np.random.default_rng(1)
    same, keys = _same_in_every_cell(), _keys()
    for number, night in enumerate(nights()):
        due_at = datetime(night.year, night.month, night.day, 2, 30, tzinfo=UTC)
        run = RunIdentity(run_id=f"{due_at:%Y%m%dT%H%M%SZ}-{number:08x}", dt=f"{night}")
        summaries = []
        started_us = int(due_at.timestamp() * 1e6)
        for place, (config_id, workload_id) in enumerate(CELLS):
            typical_ns = 2e7 * (1 + place / 10) * noise.lognormal(0, 0.03)
            total_ns = (typical_ns * noise.lognormal(0, 0.25, SAMPLES_PER_CELL)).astype(np.int64)
            key = keys.take(pa.array(noise.permutation(SAMPLES_PER_CELL)))
            ids = {"run_id": run.run_id, "config_id": config_id, "workload_id": workload_id}
            table = _cell(same | _constants(ids) | _times(started_us, total_ns) | {"object_key": key})
            path = Path(store.location, samples_name(run, config_id, workload_id))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded(table))
            summaries.append(_summary(config_id, workload_id, total_ns))
        write_nightly(store, run, summaries)
        write_run(store, _record(run, due_at))


def _same_in_every_cell() -> dict[str, pa.Array]:
    rows = np.arange(SAMPLES_PER_CELL)
    per_block = SAMPLES_PER_CELL // BLOCKS
    nulls = {field.name: pa.nulls(SAMPLES_PER_CELL, field.type) for field in SAMPLES}
    return (
        nulls
        | _constants({"operation": "read", "outcome": "ok"})
        | _constants({"worker": 0, "http_status": 200, "retries": 0, "size_bytes": SIZE_BYTES})
        | {
            "warmup": pa.array(rows % per_block < WARMUPS // BLOCKS),
            "block": pa.array((rows // per_block).astype(np.int32)),
            "seq": pa.array(rows % per_block),
        }
    )


def _constants(values: "dict[str, str] | dict[str, int]") -> dict[str, pa.Array]:
    return {
        name: pa.repeat(pa.scalar(value, SAMPLES.field(name).type), SAMPLES_PER_CELL)
        for name, value in values.items()
    }


def _keys() -> pa.Array:
    fingerprint = hashlib.sha256(b"blobs").hexdigest()[:16]
    return pa.array([f"s3bench/datasets/blobs/{fingerprint}/{i:06d}.bin" for i in range(SAMPLES_PER_CELL)])


def _times(first_us: int, total_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> dict[str, pa.Array]:
    lasted_us = total_ns // 1000 + 300
    started_us = first_us + np.cumsum(lasted_us) - lasted_us
    return {
        "started_us": pa.array(started_us),
        "started_at": pa.array(started_us // 1000).cast(SAMPLES.field("started_at").type),
        "ttfb_ns": pa.array((total_ns * 0.7).astype(np.int64)),
        "total_ns": pa.array(total_ns),
    }


def _cell(columns: dict[str, pa.Array]) -> pa.Table:
    return pa.table([columns[name] for name in SAMPLES.names], schema=SAMPLES)


def _summary(
    config_id: str, workload_id: str, total_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> Summary:
    counted = total_ns.reshape(BLOCKS, -1)[:, WARMUPS // BLOCKS :].ravel()
    times = distribution(np.sort(counted))
    return Summary(config_id, workload_id, "read", "total_ns", WARMUPS, 0, times, None, None, SIZE_BYTES)


def _record(run: RunIdentity, due_at: datetime) -> RunRecord:
    environment = Environment(
        python="3",
        kernel="6",
        machine="x86_64",
        cpu_model="none",
        cpu_count=2,
        memory_bytes=2**33,
        packages={"boto3": "1.44.8"},
        git_commit="0" * 40,
    )
    return RunRecord(
        **run.model_dump(),
        suite="year",
        suite_sha256="ab" * 32,
        lab=False,
        seed=1,
        blocks=BLOCKS,
        baseline=CELLS[0][0],
        started_at=due_at,
        ended_at=due_at + timedelta(minutes=30),
        cells=tuple(_cell_records()),
        datasets=(),
        environment=environment,
        harness=None,
        timing=Timing(server_start_ms=0, prepare_ms=0, measure_ms=1_800_000, wall_ms=1_800_000),
        schedule="nightly",
        scheduled_at=due_at,
        synthetic=True,
    )


def _cell_records() -> Iterator[CellRecord]:
    for config_id, workload_id in CELLS:
        asked = {
            "access_path.kind": "boto3_api",
            "workload.kind": "blob_read",
            "workload.concurrency": "1",
            "target.kind": "bucket",
            "target.region": "us-east-1",
        }
        yield CellRecord(
            config_id=config_id,
            workload_id=workload_id,
            status="measured",
            cache_state="none",
            proof={"client": "none: synthetic"},
            parameters=asked,
        )
