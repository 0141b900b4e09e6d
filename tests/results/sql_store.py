"""A store for the tests of SQL, made by the real writers, with everything in it that a query could trip over.

The schedule `nightly` measures boto3, rust and mount each night at 02:30:

* 5 January in the local lab, on all other nights not;
* 6 January twice, since the first run had a failed cell, and with rust asked otherwise than later;
* 7 January with so many errors of rust that it has survivors only, beside a run by hand;
* 8 January with a failed cell of mount; 9 January not at all;
* 10 January by a run that landed after the month was compacted, and one of whose cells landed before;
* 1 February with so many errors of rust that nobody knows its p99, and 3 February; 2 February a run that
  never ended.

Another schedule, `demo`, is synthetic. January is compacted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from configs.run_record import CellRecord, Night, RunIdentity, RunRecord
from tasks.results.compaction import compact_month, finished_months
from tasks.results.names import changes_name, costs_name
from tasks.results.schema import CHANGES, COSTS, SAMPLES
from tasks.results.store import Store, open_store
from tasks.results.writer import encoded, write_cell, write_nightly, write_run
from tasks.stats.summaries import summarise
from tests.records import run_record

SCHEDULE = "nightly"
CONFIGS = ("boto3", "mount", "rust")
SINCE, UNTIL = "2026-01-01", "2026-02-28"
READS, FEWER_READS, SCANS, WARMUPS = 400, 360, 20, 5
"""The fewer ones are those of mount: of so many there is no p99."""
COMPACTED_ON = date(2026, 2, 20)
LATE = "20260110T023000Z-0000000a"
UNFINISHED = "20260202T023000Z-0000000b"


@dataclass(frozen=True)
class Written:
    """One run of the store, with the samples that it wrote."""

    record: RunRecord
    samples: pa.Table


@dataclass(frozen=True)
class SqlStore:
    root: Path
    store: Store
    runs: dict[str, Written]
    """Those that came to their end, by run id."""

    @property
    def counted(self) -> list[Written]:
        """The runs that count for the nights of the schedule, in the order of the nights."""
        ids = ("05T023000Z-00000001", "06T034000Z-00000003", "07T023000Z-00000004", "08T023000Z-00000006")
        ended = [*(f"202601{one}" for one in ids), LATE, "20260201T023000Z-0000000c"]
        return [self.runs[one] for one in (*ended, "20260203T023000Z-0000000d")]


def written_store(root: Path) -> SqlStore:
    store = open_store(root)
    runs = {}
    for record, errors in _records():
        first = record.cells[:1] if record.run_id == LATE else record.cells
        runs[record.run_id] = _write(store, record, errors, first)
    unfinished = _record(date(2026, 2, 2), UNFINISHED)
    _write(store, unfinished, 0, unfinished.cells[:2])
    compact_month(store, "2026-01", finished_months(store, COMPACTED_ON, 7).landing["2026-01"])
    runs[LATE] = _write(store, runs[LATE].record, 0)
    _write_changes(store)
    return SqlStore(root, store, runs)


def _records() -> Iterator[tuple[RunRecord, int]]:
    """The runs that end, each with how many reads of rust fail."""
    yield _record(date(2026, 1, 5), "20260105T023000Z-00000001", lab=True), 0
    failed = _record(date(2026, 1, 6), "20260106T023000Z-00000002", failed="mount")
    yield failed, 0
    yield _record(date(2026, 1, 6), "20260106T034000Z-00000003"), 3
    yield _record(date(2026, 1, 7), "20260107T023000Z-00000004"), 40
    by_hand = _record(date(2026, 1, 7), "20260107T120000Z-00000005")
    yield by_hand.model_copy(update={"schedule": None, "scheduled_at": None}), 0
    yield _record(date(2026, 1, 8), "20260108T023000Z-00000006", failed="mount"), 0
    yield _record(date(2026, 1, 10), LATE), 0
    yield _record(date(2026, 2, 1), "20260201T023000Z-0000000c"), 20
    yield _record(date(2026, 2, 3), "20260203T023000Z-0000000d"), 0
    synthetic = _record(date(2026, 2, 3), "20260203T050000Z-0000000e")
    yield synthetic.model_copy(update={"schedule": "demo", "synthetic": True}), 0


def _record(night: date, run_id: str, *, lab: bool = False, failed: str = "") -> RunRecord:
    due_at = datetime(night.year, night.month, night.day, 2, 30, tzinfo=UTC)
    started_at = datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    kind = {"rust": "another" if night <= date(2026, 1, 6) else "any"}
    cells = [
        CellRecord(
            config_id=config_id,
            workload_id=workload_id,
            status="failed" if (config_id, workload_id) == (failed, "read-1k") else "measured",
            reason="the mount is gone" if config_id == failed else "",
            parameters={"access_path.kind": kind.get(config_id, "any"), "workload.size": "1024"},
        )
        for workload_id in ("read-1k", "scan")
        for config_id in CONFIGS
    ]
    cells.append(CellRecord(config_id="mount", workload_id="write-1k", status="skipped", reason="no 'fuse'"))
    return run_record(
        RunIdentity(run_id=run_id, dt=Night(schedule=SCHEDULE, scheduled_at=due_at).dt),
        started_at,
        cells,
        lab=lab,
        schedule=SCHEDULE,
        scheduled_at=due_at,
    )


def _write(
    store: Store, record: RunRecord, errors: int, cells: tuple[CellRecord, ...] | None = None
) -> Written:
    """Write a run; with some of its cells alone it has not come to its end."""
    tables = []
    for cell in cells or record.cells:
        table = pa.Table.from_pylist(list(_rows(record, cell, errors)), schema=SAMPLES)
        write_cell(store, record, cell.config_id, cell.workload_id, table)
        tables.append(table)
    samples = pa.concat_tables(tables)
    if len(tables) == len(record.cells):
        write_nightly(store, record, summarise(samples))
        store.put(costs_name(record), encoded(pa.Table.from_pylist(_costs(record), schema=COSTS)))
        write_run(store, record)
    return Written(record, samples)


def _rows(record: RunRecord, cell: CellRecord, errors: int) -> Iterator[dict[str, object]]:
    ids = {"run_id": record.run_id, "config_id": cell.config_id, "workload_id": cell.workload_id}
    if cell.status != "measured":
        outcome, error = ("skipped", None) if cell.status == "skipped" else ("error", "CellFailed")
        yield {**ids, "outcome": outcome, "warmup": False, "error": error, "message": cell.reason}
    if cell.status == "skipped":
        return
    failing = errors if cell.config_id == "rust" else 0
    random = np.random.default_rng(int(record.run_id[-8:], 16) * 10 + CONFIGS.index(cell.config_id))
    slower = 1 + CONFIGS.index(cell.config_id) / 4
    if cell.workload_id == "read-1k":
        reads = FEWER_READS if cell.config_id == "mount" else READS
        times = (slower * random.lognormal(16, 0.3, WARMUPS + reads)).astype(int).tolist()
        for place, time in enumerate(times):
            fails = failing > 0 and (place == 0 or place >= len(times) - failing)  # the first is a warm-up
            yield {**ids, **_operation(record, place, "read", time, fails)}
        return
    for place, time in enumerate((slower * random.lognormal(19, 0.2, WARMUPS + SCANS)).astype(int).tolist()):
        stages = {"list_ns": time // 10, "read_ns": time // 2, "files": 3, "records": 60}
        yield {**ids, **_operation(record, place, "scan", time), **stages}
        yield {**ids, **_operation(record, place, "scan_file", time // 3), "read_ns": time // 6, "files": 1}


def _operation(
    record: RunRecord, place: int, operation: str, time_ns: int, is_error: bool = False
) -> dict[str, object]:
    started_at = record.started_at + timedelta(milliseconds=10 * place)
    return {
        "operation": operation,
        "outcome": "error" if is_error else "ok",
        "error": "SlowDown" if is_error else None,
        "message": "Please reduce your request rate" if is_error else None,
        "http_status": 503 if is_error else 200,
        "warmup": place < WARMUPS,
        "block": place % 5,
        "worker": 0,
        "seq": place // 5,
        "started_at": started_at,
        "started_us": int(started_at.timestamp() * 1e6),
        "size_bytes": 1024,
        "total_ns": time_ns,
    }


def _costs(record: RunRecord) -> list[dict[str, object]]:
    """A known price of boto3 and rust, and none of a mount."""
    return [
        {
            "run_id": record.run_id,
            "config_id": cell.config_id,
            "workload_id": cell.workload_id,
            "operations": READS + WARMUPS,
            "get_requests": None if cell.config_id == "mount" else READS + WARMUPS,
            "usd": None if cell.config_id == "mount" else 0.25,
            "usd_per_million_operations": None if cell.config_id == "mount" else 0.4,
            "unknown": "requests of a mount are not known" if cell.config_id == "mount" else None,
            "prices_as_of": "2026-07-01",
        }
        for cell in record.cells
        if cell.status == "measured"
    ]


def _write_changes(store: Store) -> None:
    since_at = datetime(2026, 1, 8, 2, 30, tzinfo=UTC)
    change = {
        "schedule": SCHEDULE,
        "config_id": "rust",
        "workload_id": "read-1k",
        "operation": "read",
        "stage": "total_ns",
        "statistic": "p50",
        "direction": "slower",
        "status": "confirmed",
        "since_dt": "2026-01-08",
        "since_at": since_at,
        "known_at": since_at + timedelta(days=2),
        "ratio": 1.3,
        "noise": 0.03,
        "before_ns": 9_000_000,
        "after_ns": 11_700_000,
        "nights_before": 3,
        "nights_after": 3,
        "method": "fast",
        "version": "1",
        "settings_json": "{}",
    }
    shared = change | {"config_id": None, "workload_id": None, "operation": None, "since_dt": "2026-02-01"}
    shared["since_at"] = since_at + timedelta(days=24)
    rows = pa.Table.from_pylist([change, shared], schema=CHANGES)
    store.put(changes_name(SCHEDULE), encoded(rows), replace=True)
