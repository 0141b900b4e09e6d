"""Reads runs back from a store: which there are, what each says of itself, and its samples.

Only names are listed to find a run, and only its own files are fetched. A run whose own row is missing
was killed or is still going on: it is listed as incomplete, with the samples that it has.

Text is read as dictionaries, as it is stored: a million samples of plain text take 290 MiB, of which most
is the same few names again and again.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from configs.errors import UserError
from configs.run_record import RUN_ID_PATTERN, Environment, HarnessCost, RunRecord, Timing
from tasks.results.names import RUN_NAME, RUNS_FOLDER, SAMPLES_FOLDER, SAMPLES_NAME
from tasks.results.schema import RUNS, SAMPLES, SCHEMA_VERSION
from tasks.results.store import Store
from tasks.results.writer import CELLS_JSON, DATASETS_JSON

_IDS_SHOWN: Final = 10
_NEWER: Final = "was written by a newer version of s3bench: upgrade this one to read it"
_NEXT_FOLDER: Final = f"v{SCHEMA_VERSION + 1}"
_PIECE_ROWS: Final = 65_536


class DamagedError(UserError):
    """A file was fetched and holds what cannot be read here, which waiting does not mend."""


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies in a store; what it holds is fetched when it is asked for.

    Whoever wrote a run makes one of the names that `write_cell` returned: nothing is then listed, so that
    whatever else lies in the store cannot keep a measured run from being completed.
    """

    store: Store = field(repr=False)
    run_id: str
    dt: str
    """The UTC date of the run's night: its partition."""
    record_name: str | None
    """The file of its own row; none where the run is incomplete."""
    sample_names: tuple[str, ...]
    """The files of its cells."""

    @cached_property
    def record(self) -> RunRecord | None:
        """What the run says of itself; none where it is incomplete.

        Raises:
            DamagedError: if the file is damaged.
            UserError: if it cannot be fetched.
        """
        if self.record_name is None:
            return None
        rows = _table(self.store, self.record_name, RUNS, RUNS.names).to_pylist()
        where = f"{self.store.location}/{self.record_name}"
        for row in rows:
            refuse_newer(row, where)
        try:
            return _record(self.dt, *rows)
        except (ValidationError, TypeError) as error:
            raise DamagedError(f"{where} holds no run record of this version: {error}") from error

    @property
    def state(self) -> Literal["complete", "failed", "incomplete", "damaged"]:
        """How it is listed: `failed` has a failed cell, `damaged` has a row that cannot be read."""
        try:
            record = self.record
        except UserError:
            return "damaged"
        if record is None:
            return "incomplete"
        return "failed" if record.failed_cells else "complete"

    def cells(self, columns: Sequence[str] = SAMPLES.names) -> Iterator[pa.Table]:
        """The samples of one cell after the other, so that only one of them need be held in memory.

        Args:
            columns: The columns of `SAMPLES` that are wanted. Text is dictionary-encoded.

        Raises:
            DamagedError: if a file is damaged.
            UserError: if one cannot be fetched.
        """
        for name in self.sample_names:
            yield _table(self.store, name, SAMPLES, columns)

    def samples(self, columns: Sequence[str] = SAMPLES.names) -> pa.Table:
        """All samples of this run, and of no other: what `cells` gives, as one table."""
        return _together(self.cells(columns), columns)

    def whole_samples(self, columns: Sequence[str] = SAMPLES.names) -> tuple[pa.Table, tuple[str, ...]]:
        """The samples of the files that can be read, and in words which are damaged.

        Raises:
            UserError: if a file cannot be fetched, since it may be there later.
        """
        unread: list[str] = []

        def whole() -> Iterator[pa.Table]:
            for name in self.sample_names:
                try:
                    yield _table(self.store, name, SAMPLES, columns)
                except DamagedError as error:
                    unread.append(str(error))

        return _together(whole(), columns), tuple(unread)


def list_runs(store: Store) -> tuple[StoredRun, ...]:
    """Every run in a store, newest first, the incomplete ones among them.

    Raises:
        UserError: if the store cannot be listed, or holds a Parquet file that is not one of ours.
    """
    records = {_ids(store, name, RUN_NAME): name for name in store.names(RUNS_FOLDER)}
    samples: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in store.names(SAMPLES_FOLDER):
        samples[_ids(store, name, SAMPLES_NAME)].append(name)
    return tuple(
        StoredRun(store, run_id, dt, records.get((run_id, dt)), tuple(samples.get((run_id, dt), ())))
        for run_id, dt in sorted(records.keys() | samples.keys(), reverse=True)
    )


def read_run(store: Store, run_id: str | None) -> StoredRun:
    """One run by its id, or the newest for none.

    Raises:
        UserError: if there is no such run, or no run at all.
    """
    if run_id is not None and re.fullmatch(RUN_ID_PATTERN, run_id) is None:
        raise UserError(f"{run_id!r} is no run id: one looks like 20260101T020000Z-1a2b3c4d")
    runs = list_runs(store)
    if not runs and store.names(_NEXT_FOLDER):
        raise UserError(f"what lies in {store.location} {_NEWER}")
    if not runs:
        raise UserError(f"no run in {store.location}: measure one first, or name the place that has them")
    for run in runs:
        if run_id in {None, run.run_id}:
            return run
    shown = ", ".join(run.run_id for run in runs[:_IDS_SHOWN])
    more = f" and {len(runs) - _IDS_SHOWN} older ones" if len(runs) > _IDS_SHOWN else ""
    raise UserError(f"no run {run_id} in {store.location}: it has {shown}{more}")


def _ids(store: Store, name: str, ours: re.Pattern[str]) -> tuple[str, str]:
    """The run id and the partition in the name of one of our files."""
    match = ours.fullmatch(name)
    if match is None or not _is_date(match["dt"]):
        raise UserError(
            f"{store.location}/{name} is not one of our files: move it away, because every query over "
            "the folder reads it too"
        )
    return match["run_id"], match["dt"]


def _is_date(dt: str) -> bool:
    try:
        return str(date.fromisoformat(dt)) == dt
    except ValueError:  # it has the form of one, such as 2026-02-30
        return False


def _together(tables: Iterable[pa.Table], columns: Sequence[str]) -> pa.Table:
    none = _as_read(SAMPLES).empty_table().select(columns)
    return pa.concat_tables([none, *tables]).unify_dictionaries()


def _table(store: Store, name: str, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    return table_of(store.get(name), f"{store.location}/{name}", schema, columns)


def table_of(stored: bytes, where: str, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """The wanted columns of a file, their checksums and the types of all columns compared.

    Raises:
        DamagedError: if it is damaged, or has other columns; `where` names it.
    """
    content = pa.BufferReader(stored)
    try:
        found = pq.read_schema(content)
        if len(found) > len(schema) and pa.schema(list(found)[: len(schema)]) == schema:
            raise DamagedError(f"{where} {_NEWER}")  # columns are added at the end only
        if not len(found) or found != pa.schema(list(schema)[: len(found)]):
            raise DamagedError(f"{where} has other columns than this version writes: move it away")
        texts = [field.name for field in found if field.type == pa.string()]
        file = pq.ParquetFile(content, read_dictionary=texts, page_checksum_verification=True)
        table = _with_later_columns(file.read(columns), schema, columns)
        table.validate(full=True)  # headers have no checksum: an index may point past its dictionary
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: a damaged column's name
        raise DamagedError(f"{where} is damaged: move it away or restore it ({error})") from error
    return _with_light_nulls(table)


def refuse_newer(row: Mapping[str, Any], where: str) -> None:
    """Refuse a run's row of a schema that this version does not know: its columns may mean something else.

    Raises:
        DamagedError: if it is one; `where` names the file.
    """
    if (row["schema_version"] or 0) > SCHEMA_VERSION:
        raise DamagedError(f"{where} {_NEWER}")


def _with_light_nulls(table: pa.Table) -> pa.Table:
    """The same table; columns that are null in every row share one small piece of memory each.

    Most stages happen in few workloads: of a million reads, eleven such columns took 90 MiB.
    """
    for place, column in enumerate(table.schema):
        if table[place].null_count == len(table) > 0 and not pa.types.is_dictionary(column.type):
            piece = pa.nulls(min(len(table), _PIECE_ROWS), column.type)
            whole, rest = divmod(len(table), len(piece))
            nulls = pa.chunked_array([*[piece] * whole, piece.slice(0, rest)], column.type)
            table = table.set_column(place, column, nulls)
    return table


def _with_later_columns(table: pa.Table, schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """The wanted columns, null where a file was written before they were added."""
    for column in _as_read(schema):
        if column.name in columns and column.name not in table.column_names:
            table = table.append_column(column, pa.nulls(len(table), column.type))
    return table.select(columns)


def _as_read(schema: pa.Schema) -> pa.Schema:
    """The schema with its text dictionary-encoded."""
    encoded = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(encoded) if field.type == pa.string() else field for field in schema])


def _record(dt: str, row: Mapping[str, object]) -> RunRecord:
    """The record that a row was made of."""
    nested = {
        "cells": CELLS_JSON.validate_json(str(row["cells_json"])),
        "datasets": DATASETS_JSON.validate_json(str(row["datasets_json"])),
        "environment": Environment.model_validate_json(str(row["environment_json"])),
        "harness": HarnessCost.model_validate_json(str(row["harness_json"])) if row["harness_json"] else None,
        "timing": Timing.model_validate({name: row[name] for name in Timing.model_fields}),
    }
    # A column that a file does not have yet is null, and stands for the model's default.
    scalars = {name: row[name] for name in RunRecord.model_fields if row.get(name) is not None}
    return RunRecord.model_validate({"dt": dt, **scalars, **nested})
