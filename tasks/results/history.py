"""The nights of a schedule over many runs: which runs there were, and the figures of those that ended.

Two small files of each run are read, its own row and its quantiles: no sample. They are fetched by a few
threads, because a request to S3 takes longer than what it brings (a year of 40 cells, see the tests).

A run by hand is no night, and has none of its figures in the history: it may have measured in the afternoon,
or two minutes after another.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from configs.errors import UserError
from configs.run_record import CellRecord, Environment, RunIdentity
from tasks.results.reader import StoredRun, list_runs, table_of
from tasks.results.schema import NIGHTLY, NIGHTLY_FOLDER, RUNS, nightly_name
from tasks.results.store import Store
from tasks.results.writer import CELLS_JSON
from tasks.stats.nights import NightRun, NightState, counting

_FETCHED_AT_ONCE: Final = 8
"""Fewer than the ten connections that a client of boto3 keeps."""
_MOMENT: Final = pa.timestamp("ms", tz="UTC")
_SERIES: Final = ("config_id", "workload_id", "operation")
_HOST: Final = ("cpu_model", "cpu_count", "machine")
"""Of the environment: what makes numbers of two machines another series."""
_COUNTS: Final = {"files": "files", "records": "records", "size_bytes": "bytes"}
"""What an operation holds, and how it is called."""
_RUN_COLUMNS: Final = (
    "run_id",
    "status",
    "suite",
    "suite_sha256",
    "lab",
    "started_at",
    "cells_json",
    "environment_json",
    "schedule",
    "scheduled_at",
)

HISTORY: Final = pa.schema(
    [
        ("dt", pa.string()),
        ("schedule", pa.string()),
        ("scheduled_at", _MOMENT),
        ("started_at", _MOMENT),
        ("suite", pa.string()),
        ("suite_sha256", pa.string()),
        ("lab", pa.bool_()),
        ("meaning", pa.string()),
        *NIGHTLY,
    ]
)
"""The rows of `NIGHTLY` of many nights with what is known of their runs.

`meaning` is equal where the rows of a cell may be compared: the suite asked the same of the cell, in the lab
or not, on a machine of the same kind, and an operation held as many files, records and bytes. The hash of the
suite is not part of it, since that also changes with other cells.
"""

_ENCODED: Final = pa.schema(
    [
        field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.type == pa.string() else field
        for field in HISTORY
    ]
)
"""The same as it is read: text that repeats takes little memory."""

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Redefinition:
    """From a night on a cell means something else, so that its series begins anew."""

    cell_id: str
    since_at: datetime
    what: str
    """What is unlike the night before: `workload.size: 65536 → 131072`."""


@dataclass(frozen=True, slots=True)
class History:
    """What a store knows of the nights of a schedule."""

    runs: tuple[NightRun, ...]
    """Those of the schedule, and those that did not come to their end, of which no schedule is known."""
    nightly: pa.Table
    """Rows of `HISTORY`, of the one run of each night that counts; cells that failed have none."""
    redefinitions: tuple[Redefinition, ...]
    unread: tuple[str, ...]
    """Files that could not be read, in words: what they hold is missing here."""


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """The row of a run of the schedule."""

    stored: StoredRun
    night: NightRun
    schedule: str
    suite: str
    suite_sha256: str
    lab: bool
    host: Mapping[str, str]
    """What of the machine numbers depend on, by the name of what it is."""
    cells: Mapping[tuple[str, str], CellRecord]

    @property
    def nightly_name(self) -> str:
        """The file of its quantiles."""
        return nightly_name(RunIdentity(run_id=self.stored.run_id, dt=self.stored.dt))


def read_history(store: Store, schedule: str, since_dt: str) -> History:
    """All nights of a schedule since a date.

    A file that is damaged is passed over and told; one that cannot be fetched is an error, since it may be
    there later.

    Args:
        store: where the runs lie.
        schedule: the slug of the schedule.
        since_dt: the first partition that is read.

    Raises:
        UserError: if the store cannot be listed, or a file cannot be fetched.
    """
    stored = [run for run in reversed(list_runs(store)) if run.dt >= since_dt]
    written = set(store.names(NIGHTLY_FOLDER))
    unread: list[str] = []
    rows = _fetched([run for run in stored if run.record_name], lambda run: _read_run(run, schedule), unread)
    runs = [run for run in rows if run is not None]
    counts = counting(run.night for run in runs)
    wanted = [run for run in runs if run.stored.run_id in counts]
    known = [run for run in wanted if run.nightly_name in written]
    unread += [f"{store.location}/{run.nightly_name} is not there" for run in wanted if run not in known]
    tables = _fetched(known, _read_nightly, unread)
    nightly = pa.concat_tables([_ENCODED.empty_table(), *(table for table in tables if table is not None)])
    return History(
        runs=(*(run.night for run in runs), *(_unended(run) for run in stored if run.record_name is None)),
        nightly=nightly.unify_dictionaries(),
        redefinitions=tuple(_redefinitions(nightly, runs)),
        unread=tuple(unread),
    )


def _fetched(
    items: Sequence[_Item], read: "Callable[[_Item], _Found]", unread: list[str]
) -> "list[_Found | None]":
    """What was read of each item, in their order; none of one that is damaged, which is told."""

    def careful(item: _Item) -> "_Found | None":
        try:
            return read(item)
        except _DamagedError as error:
            unread.append(str(error))
            return None

    with ThreadPoolExecutor(_FETCHED_AT_ONCE) as pool:
        return list(pool.map(careful, items))


class _DamagedError(Exception):
    """A file was fetched, and holds what cannot be read."""


def _read_table(run: StoredRun, name: str, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    content = run.store.get(name)
    try:
        return table_of(content, f"{run.store.location}/{name}", schema, columns)
    except UserError as error:
        raise _DamagedError(str(error)) from error


def _read_run(stored: StoredRun, schedule: str) -> _Run | None:
    """A run of the schedule; none of another one, or by hand."""
    name = stored.record_name or ""
    try:
        (row,) = _read_table(stored, name, RUNS, _RUN_COLUMNS).to_pylist()
        cells = CELLS_JSON.validate_json(str(row["cells_json"])) if row["schedule"] == schedule else ()
        environment = Environment.model_validate_json(str(row["environment_json"]))
    except (ValidationError, ValueError) as error:  # the second: not one row
        raise _DamagedError(f"{stored.store.location}/{name} holds no run record: {error}") from error
    if row["schedule"] != schedule or row["scheduled_at"] is None:
        return None
    state = NightState.FAILED_CELLS if row["status"] == "failed" else NightState.COMPLETE
    night = NightRun(stored.run_id, row["started_at"], row["scheduled_at"], state)
    by_id = {(cell.config_id, cell.workload_id): cell for cell in cells}
    host = {name: str(getattr(environment, name)) for name in _HOST}
    return _Run(stored, night, schedule, row["suite"], row["suite_sha256"], row["lab"], host, by_id)


def _unended(stored: StoredRun) -> NightRun:
    """Of a run without a row its id alone says when it began."""
    started_at = datetime.strptime(stored.run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return NightRun(stored.run_id, started_at, None, NightState.INCOMPLETE)


def _read_nightly(run: _Run) -> pa.Table:
    """The rows of the cells that were measured to their end."""
    table = _read_table(run.stored, run.nightly_name, NIGHTLY, NIGHTLY.names)
    ids = list(zip(table["config_id"].to_pylist(), table["workload_id"].to_pylist(), strict=True))
    counts = zip(*(table[name].to_pylist() for name in _COUNTS), strict=True)
    asked = {key: _hash(cell, run) for key, cell in run.cells.items() if cell.status == "measured"}
    columns = {name: pa.repeat(pa.scalar(value, _type(name)), len(ids)) for name, value in _constants(run)}
    columns["meaning"] = pa.array(
        [" ".join(map(str, (asked.get(key, ""), *held))) for key, held in zip(ids, counts, strict=True)]
    )
    columns |= {name: table[name] for name in NIGHTLY.names}
    measured = pa.array([key in asked for key in ids], pa.bool_())
    return pa.table(columns).select(HISTORY.names).cast(_ENCODED).filter(measured)


def _constants(run: _Run) -> Iterator[tuple[str, str | bool | datetime | None]]:
    yield "dt", run.stored.dt
    yield "schedule", run.schedule
    yield "scheduled_at", run.night.scheduled_at
    yield "started_at", run.night.started_at
    yield "suite", run.suite
    yield "suite_sha256", run.suite_sha256
    yield "lab", run.lab


def _type(name: str) -> pa.DataType:
    return HISTORY.field(name).type


def _hash(cell: CellRecord, run: _Run) -> str:
    asked = json.dumps([run.lab, run.host, cell.parameters], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]


def _redefinitions(nightly: pa.Table, runs: Iterable[_Run]) -> Iterator[Redefinition]:
    """Where a cell's operation means something else than the night before, by the time since when."""
    by_run = {run.stored.run_id: run for run in runs}
    whole = nightly.filter(pc.equal(nightly["stage"], "total_ns")).sort_by("scheduled_at")
    last: dict[tuple[str, str, str], dict[str, Any]] = {}
    told: set[tuple[str, str, str]] = set()
    for row in whole.select([*_SERIES, *_COUNTS, "run_id", "meaning", "scheduled_at"]).to_pylist():
        series = (row["config_id"], row["workload_id"], row["operation"])
        before, last[series] = last.get(series), row
        cell = (*series[:2], row["run_id"])
        if before is None or before["meaning"] == row["meaning"] or cell in told:
            continue
        told.add(cell)  # once for all operations of the cell
        was, now = by_run[before["run_id"]], by_run[row["run_id"]]
        yield Redefinition(
            f"{series[0]}/{series[1]}",
            row["scheduled_at"],
            _unlike(was, now, series[:2]) or _held(before, row),
        )


def _unlike(was: _Run, now: _Run, cell: tuple[str, str]) -> str:
    """What the suite asks otherwise, or of another machine; empty where it asks the same."""
    before = {**was.cells[cell].parameters, **was.host}
    after = {**now.cells[cell].parameters, **now.host}
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    parts = [f"{name}: {before.get(name, 'none')} → {after.get(name, 'none')}" for name in names]
    if was.lab != now.lab:
        parts.append("in the local lab from now on" if now.lab else "no longer in the local lab")
    return ", ".join(parts)


def _held(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return f"{after['operation']} held {_counted(before)} and holds {_counted(after)}"


def _counted(row: Mapping[str, Any]) -> str:
    parts = (f"{row[name]:,} {noun}" for name, noun in _COUNTS.items() if row[name] is not None)
    return ", ".join(parts) or "no one number of bytes"
