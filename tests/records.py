"""Records of runs and rows of summaries, of which a test names only what matters to it."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from configs.run_record import CellRecord, Environment, RunIdentity, RunRecord, Timing
from tasks.stats.summary_types import Distribution, Quantile, Summary

ENVIRONMENT: Final = Environment(
    python="3.11.7",
    kernel="6.1",
    machine="x86_64",
    cpu_model="Some processor",
    cpu_count=2,
    memory_bytes=2**33,
    packages={},
    git_commit="0" * 40,
)


def run_record(
    run: RunIdentity, started_at: datetime, cells: Iterable[CellRecord], **values: object
) -> RunRecord:
    """A run of five minutes in the local lab, with the first cell's configuration as its baseline."""
    cells = tuple(cells)
    known = {
        **run.model_dump(),
        "suite": "small",
        "suite_sha256": "ab" * 32,
        "lab": True,
        "seed": 1,
        "blocks": 5,
        "baseline": cells[0].config_id,
        "started_at": started_at,
        "ended_at": started_at + timedelta(minutes=5),
        "cells": cells,
        "datasets": (),
        "environment": ENVIRONMENT,
        "harness": None,
        "timing": Timing(server_start_ms=0, prepare_ms=0, measure_ms=9000, wall_ms=9000),
    }
    return RunRecord.model_validate(known | values)


def reads_summary(config_id: str, p50_ns: int) -> Summary:
    """100 reads of 1,024 bytes; their p90 is twice their p50, and of p99 no upper bound is known."""
    times = Distribution(
        n=100,
        min_ns=1,
        avg_ns=p50_ns,
        p50=Quantile(p50_ns, p50_ns, p50_ns),
        p90=Quantile(2 * p50_ns, p50_ns, 3 * p50_ns),
        p99=Quantile(3 * p50_ns, p50_ns, None),
        max_ns=3 * p50_ns,
    )
    return Summary(config_id, "read", "read", "total_ns", 5, 0, times, None, None, 1024)
