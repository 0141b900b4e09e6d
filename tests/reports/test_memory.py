"""A million samples of one cell, from the store to the page, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from configs.run_record import RunIdentity
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store
from tasks.results.writer import write_cell

ROWS = 1_000_000
RUN = RunIdentity(run_id="20260101T020000Z-1a2b3c4d", dt="2026-01-01")

REPORT = """
import json, sys
import tasks.reports.html as page
from tasks.reports.view import REPORT_COLUMNS, build_report
from tasks.results.reader import read_run
from tasks.results.store import open_store
from tasks.stats.series import SERIES_COLUMNS
from tasks.stats.summaries import summarise

def peak_mib():
    # Not ru_maxrss: it keeps what the process that started this one held, across fork and exec.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024

imported_mib = peak_mib()
run = read_run(open_store(sys.argv[1]), None)
summaries = [summary for cell in run.cells(SERIES_COLUMNS) for summary in summarise(cell)]
report = build_report(run.record, run.run_id, run.samples(REPORT_COLUMNS))
text = page.render_html(report)
facts = {"n": summaries[0].distribution.n, "same": tuple(summaries) == report.summaries}
print(json.dumps(facts | {"page": len(text), "added_mib": peak_mib() - imported_mib}))
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Five blocks of reads by 64 threads, an object each; one in a hundred failed in its own words."""
    noise = np.random.default_rng(1)
    total_ns = (1e6 * noise.lognormal(0, 0.3, ROWS)).astype(np.int64)
    place = np.arange(ROWS)
    failed = place % 100 == 99
    columns: dict[str, pa.Array] = {
        "run_id": pa.repeat(RUN.run_id, ROWS),
        "config_id": pa.repeat("boto3", ROWS),
        "workload_id": pa.repeat("read_1k", ROWS),
        "operation": pa.repeat("read", ROWS),
        "outcome": pa.array(np.where(failed, "error", "ok")),
        "error": pa.array(np.where(failed, "SlowDown", ""), mask=~failed),
        "message": pa.array(np.char.add("slow down, request ", place.astype(str)), mask=~failed),
        "object_key": pa.array(np.char.add("s3bench/blobs/1k/", place.astype(str))),
        "warmup": pa.array(place < 100),
        "block": pa.array((place // (ROWS // 5)).astype(np.int32)),
        "worker": pa.array((place % 64).astype(np.int32)),
        "started_us": pa.array(1_767_232_800_000_000 + 20 * place),
        "size_bytes": pa.array(np.full(ROWS, 1024)),
        "read_ns": pa.array(total_ns - 200),
        "total_ns": pa.array(total_ns),
    }
    nothing = {field.name: pa.nulls(ROWS, field.type) for field in SAMPLES}
    table = pa.table({name: columns.get(name, nothing[name]) for name in SAMPLES.names}, schema=SAMPLES)
    write_cell(open_store(tmp_path), RUN, "boto3", "read_1k", table)
    return tmp_path


@pytest.mark.slow
def test_a_million_samples_are_summarised_and_reported_in_300_mib(
    stored: Path, pytestconfig: pytest.Config
) -> None:
    """On top of the imports; plain text and all columns took 900 MiB."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, stored],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(done.stdout)
    assert facts["same"]
    assert facts["n"] == 990_000 - 99
    assert facts["page"] > 10_000
    assert facts["added_mib"] < 300, facts
