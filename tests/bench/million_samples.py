"""Measures many no-op reads as one cell, stores them, and prints peaks of memory.

Usage: million_samples.py FOLDER [SAMPLES BLOCKS THREADS], of which a million, five and one are usual.

The worker's peak is read from /proc while it is still there, since a waited-for child only tells a figure
that it may have inherited.
"""

import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

import psutil

from configs.access_paths import NoOp
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobRead
from tasks.results.samples import samples_table
from tasks.results.store import open_store
from tasks.results.writer import write_cell
from tasks.venues.local import LocalVenue

RUN = RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01")
worker_peak_mib = 0.0


def spec(block: int, iterations: int, threads: int) -> BlockSpec:
    """One block of the cell."""
    return BlockSpec(
        run=RUN,
        cell=Cell(
            config_id="noop",
            workload_id="read",
            configuration=Configuration(access_path=NoOp(), target="t"),
            workload=BlobRead(dataset="d", iterations=iterations, concurrency=threads),
            target=BucketTarget(bucket="unused"),
        ),
        block=block,
        iterations=iterations,
        warmup=threads,
        seed=1,
        objects=(DatasetObject(key="k", size_bytes=0, sha256=hashlib.sha256(b"").hexdigest()),),
    )


def peak_mib(pid: int) -> float:
    """The high-water mark of a process's resident memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def watch_workers() -> None:
    """Remember the largest worker for as long as this process lives."""
    global worker_peak_mib  # noqa: PLW0603 - a script of one function that watches
    while True:
        for child in psutil.Process().children():
            try:
                worker_peak_mib = max(worker_peak_mib, peak_mib(child.pid))
            except (OSError, IndexError):
                continue  # it has ended
        time.sleep(0.02)


def main(folder: Path, samples: int = 1_000_000, blocks: int = 5, threads: int = 1) -> None:
    """Measure, store, and print the facts as JSON."""
    threading.Thread(target=watch_workers, daemon=True).start()
    venue = LocalVenue(os.environ, timeout_s=300)
    measured = [
        (block, venue.run(spec(block, samples // blocks, threads)).samples) for block in range(blocks)
    ]
    write_cell(open_store(folder), RUN, "noop", "read", samples_table(RUN, "noop", "read", measured))
    (file,) = folder.rglob("*.parquet")
    facts = {
        "samples": sum(len(columns) for _, columns in measured),
        "worker_mib": worker_peak_mib,
        "recorder_mib": peak_mib(os.getpid()),
        "bytes_per_sample": file.stat().st_size / samples,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
