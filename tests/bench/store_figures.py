"""Figures of reading: a year of 14.6 million samples, before and after compaction, and its whole report."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import duckdb
from figures import Figure, figure
from store_year import ROWS, write_year

from tasks.results.compaction import compact_month, finished_months
from tasks.results.names import MONTHLY_FOLDER, SAMPLES_FOLDER
from tasks.results.store import Store, open_store

_THREADS: Final = 2
_ROUNDS: Final = 7
_QUANTILES: Final = """\
SELECT dt, config_id, workload_id, operation, count(*) AS n,
  quantile_disc(total_ns, 0.5) AS p50_ns, quantile_disc(total_ns, 0.99) AS p99_ns
FROM {files}
WHERE outcome = 'ok' AND NOT warmup
GROUP BY ALL
"""
_REPORT: Final = """\
import json, resource, subprocess, sys, time
started_s = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
peak_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"s": time.monotonic() - started_s, "mib": peak_kib / 1024}))
"""
"""In a small process of its own: a child's peak begins with that of whoever started it."""


@figure
def year_of_samples(folder: Path) -> Iterator[Figure]:
    """Exact p50 and p99 by cell and night of a year, against what DuckDB needs at the least, and the report.

    The least is one plain file for each month of the same rows, as DuckDB writes it by itself; both are asked
    in turns, and the best of seven counts.
    """
    store = open_store(folder / "results")
    write_year(store)
    landing = f"read_parquet('{store.location}/{SAMPLES_FOLDER}/*/*/*.parquet', hive_partitioning = true)"
    found, landing_s = _best(landing)
    yield Figure("store_before_compaction", landing_s, "s for 14,600 files", "<= 6", landing_s <= 6)
    _compact(store)
    monthly = f"read_parquet('{store.location}/{MONTHLY_FOLDER}/*/*.parquet')"
    plain = f"read_parquet('{_plain_months(store, landing, folder)}/*.parquet')"
    if not found == _quantiles(monthly) == _quantiles(plain):
        message = "the three do not have the same quantiles"
        raise RuntimeError(message)
    ratio, monthly_s = _in_turns(monthly, plain)
    yield Figure(
        "store_after_compaction", ratio, "times DuckDB over plain monthly files", "<= 1.2", ratio <= 1.2
    )
    yield Figure("store_after_compaction_s", monthly_s, "s for 12 or 13 files", "none", holds=True)
    yield from _report(store, folder)


def _connection() -> duckdb.DuckDBPyConnection:
    """Without anything that an earlier query has read."""
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = 'UTC'; SET threads = {_THREADS}")
    return connection


def _best(files: str) -> "tuple[set[tuple[object, ...]], float]":
    """The quantiles, and the seconds that they take a connection that has read nothing: the best of three."""
    found: set[tuple[object, ...]] = set()
    best_s = float("inf")
    for _ in range(3):
        started_s = time.monotonic()
        found = _quantiles(files)
        best_s = min(best_s, time.monotonic() - started_s)
    return found, best_s


def _quantiles(files: str) -> "set[tuple[object, ...]]":
    rows = _connection().execute(_QUANTILES.format(files=files)).fetchall()
    if sum(row[4] for row in rows) != ROWS * 99 // 100:
        message = f"{files} has not the samples of a year"
        raise RuntimeError(message)
    return {(str(dt), *rest) for dt, *rest in rows}


def _compact(store: Store) -> None:
    """Every month, as if the last one had ended long ago."""
    later = datetime.now(UTC).date() + timedelta(days=60)
    for month, landing in finished_months(store, later, after_days=7).landing.items():
        compact_month(store, month, landing)


def _plain_months(store: Store, landing: str, folder: Path) -> Path:
    """The same rows, written by DuckDB with nothing said but where to."""
    plain = folder / "plain"
    plain.mkdir()
    connection = _connection()
    for path in sorted(Path(store.location, MONTHLY_FOLDER).iterdir()):
        month = path.name.removeprefix("month=")
        of_month = landing.replace("*/*/*.parquet", f"dt={month}-*/*/*.parquet")
        connection.execute(f"COPY (FROM {of_month}) TO '{plain}/{month}.parquet'")
    return plain


def _in_turns(ours: str, plain: str) -> tuple[float, float]:
    """Our best time by that of the plain files, and ours in seconds."""
    best_s = {ours: float("inf"), plain: float("inf")}
    connection = _connection()
    for number in range(_ROUNDS):
        for files in (ours, plain) if number % 2 else (plain, ours):
            started_s = time.monotonic()
            connection.execute(_QUANTILES.format(files=files)).fetchall()
            best_s[files] = min(best_s[files], time.monotonic() - started_s)
    return best_s[ours] / best_s[plain], best_s[ours]


def _report(store: Store, folder: Path) -> Iterator[Figure]:
    """The command as somebody types it."""
    page = folder / "report.html"
    command = [str(Path(sys.executable).with_name("s3bench")), "report", "--results", store.location]
    command += ["--html", str(page), "--nights", "365"]
    answer = subprocess.run(
        [sys.executable, "-c", _REPORT, *command],
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(answer.stdout)
    yield Figure("report_of_year_s", facts["s"], "s", "<= 30", facts["s"] <= 30)
    yield Figure("report_of_year_mib", facts["mib"], "MiB at the peak", "<= 1536", facts["mib"] <= 1536)
    size = page.stat().st_size / 1e6
    yield Figure("report_of_year_size", size, "MB", "< 2", size < 2)
