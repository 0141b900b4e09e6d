"""The nights of a schedule over many runs: which runs there were, and the figures of those that ended.

Two small files of each run are read, its own row and its quantiles: no sample. They are fetched by a few
threads, because a request to S3 takes longer than what it brings (a year of 40 cells, see the tests).

A run by hand is no night, and has none of its figures in the history: it may have measured in the afternoon,
or two minutes after another.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

import pyarrow as pa
from pydantic import ValidationError

from configs.run_record import CellRecord, Environment, RunIdentity
from tasks.results.marks import EnvironmentMark, NightEnvironment, environment_marks
from tasks.results.names import NIGHTLY_FOLDER, nightly_name
from tasks.results.reader import DamagedError, StoredRun, list_runs, refuse_newer, table_of
from tasks.results.redefinitions import COUNTS, Redefinition, redefinitions
from tasks.results.schema import NIGHTLY, RUNS
from tasks.results.store import Store
from tasks.results.writer import CELLS_JSON
from tasks.stats.nights import NightRun, NightState, counting

__all__ = ["HISTORY", "EnvironmentMark", "History", "Redefinition", "read_history"]

_FETCHED_AT_ONCE: Final = 8
"""Fewer than the ten connections that a client of boto3 keeps."""
_MOMENT: Final = pa.timestamp("ms", tz="UTC")
_RUN_COLUMNS: Final = (
    "run_id",
    "schema_version",
    "status",
    "suite",
    "suite_sha256",
    "lab",
    "started_at",
    "cells_json",
    "environment_json",
    "schedule",
    "scheduled_at",
    "synthetic",
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
class History:
    """What a store knows of the nights of a schedule."""

    runs: tuple[NightRun, ...]
    """Those of the schedule, and those that did not come to their end, of which no schedule is known."""
    nightly: pa.Table
    """Rows of `HISTORY`, of the one run of each night that counts; cells that failed have none."""
    redefinitions: tuple[Redefinition, ...]
    marks: tuple[EnvironmentMark, ...]
    """What changed of the environment between nights that count."""
    unread: tuple[str, ...]
    """Files that could not be read, in words: what they hold is missing here."""
    synthetic: bool
    """Whether a run of the schedule was made up, and not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """The row of a run of the schedule."""

    stored: StoredRun
    night: NightRun
    schedule: str
    synthetic: bool
    within: NightEnvironment

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
        redefinitions=redefinitions(nightly, {run.stored.run_id: run.within for run in runs}),
        marks=environment_marks(sorted((run.within for run in wanted), key=lambda night: night.at)),
        unread=tuple(unread),
        synthetic=any(run.synthetic for run in runs),
    )


def _fetched(
    items: Sequence[_Item], read: "Callable[[_Item], _Found]", unread: list[str]
) -> "list[_Found | None]":
    """What was read of each item, in their order; none of one that is damaged, which is told."""

    def careful(item: _Item) -> "_Found | None":
        try:
            return read(item)
        except DamagedError as error:
            unread.append(str(error))
            return None

    with ThreadPoolExecutor(_FETCHED_AT_ONCE) as pool:
        return list(pool.map(careful, items))


def _read_table(run: StoredRun, name: str, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    return table_of(run.store.get(name), f"{run.store.location}/{name}", schema, columns)


def _read_run(stored: StoredRun, schedule: str) -> _Run | None:
    """A run of the schedule; none of another one, or by hand."""
    name = stored.record_name or ""
    try:
        (row,) = _read_table(stored, name, RUNS, _RUN_COLUMNS).to_pylist()
        refuse_newer(row, f"{stored.store.location}/{name}")
        cells = CELLS_JSON.validate_json(str(row["cells_json"])) if row["schedule"] == schedule else ()
        environment = Environment.model_validate_json(str(row["environment_json"]))
    except (ValidationError, ValueError) as error:  # the second: not one row
        raise DamagedError(f"{stored.store.location}/{name} holds no run record: {error}") from error
    if row["schedule"] != schedule or row["scheduled_at"] is None:
        return None
    state = NightState.FAILED_CELLS if row["status"] == "failed" else NightState.COMPLETE
    night = NightRun(stored.run_id, row["started_at"], row["scheduled_at"], state)
    by_id = {(cell.config_id, cell.workload_id): cell for cell in cells}
    suite = (row["suite"], row["suite_sha256"], row["lab"])
    within = NightEnvironment(row["scheduled_at"], *suite, environment, by_id)
    return _Run(stored, night, schedule, bool(row["synthetic"]), within)


def _unended(stored: StoredRun) -> NightRun:
    """Of a run without a row its id alone says when it began."""
    started_at = datetime.strptime(stored.run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return NightRun(stored.run_id, started_at, None, NightState.INCOMPLETE)


def _read_nightly(run: _Run) -> pa.Table:
    """The rows of the cells that were measured to their end."""
    table = _read_table(run.stored, run.nightly_name, NIGHTLY, NIGHTLY.names)
    ids = list(zip(table["config_id"].to_pylist(), table["workload_id"].to_pylist(), strict=True))
    counts = zip(*(table[name].to_pylist() for name in COUNTS), strict=True)
    asked = {key: _hash(cell, run) for key, cell in run.within.cells.items() if cell.status == "measured"}
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
    yield "suite", run.within.suite
    yield "suite_sha256", run.within.suite_sha256
    yield "lab", run.within.lab


def _type(name: str) -> pa.DataType:
    return HISTORY.field(name).type


def _hash(cell: CellRecord, run: _Run) -> str:
    asked = json.dumps([run.within.lab, run.within.host, cell.parameters], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:16]
