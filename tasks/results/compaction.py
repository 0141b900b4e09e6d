"""Puts the samples of a finished month into one file, beside the files that it was made of, which stay.

A year of 40 configurations is 14,600 small files, and a query over all of them is paid by the request. The
month's file is written whole with one `put`: a reader has the old one or the new one. Nothing is kept before
it was read back and compared with its sources, row by row. Memory holds the finished file, one row group and
one landing file, never the month's rows. The file names its sources with their sizes and hashes:

* the same names and sizes again: nothing is fetched but the month's file, which is read through;
* others were added, or have another size: the month is written anew;
* some are gone: it is left as it is, since their rows stand nowhere else.

Rejected: DuckDB's `COPY`, which held 4 GB for a year and writes in place. Rejected: fetching every landing
file again to compare its hash, which would be a request for each on every look; a stored file is never
overwritten, and other content has another size.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from configs.errors import UserError
from tasks.results.monthly import (
    Contents,
    MonthWriter,
    RowReader,
    Source,
    in_order,
    sum_of_times,
    whole_contents,
)
from tasks.results.names import MONTHLY_FOLDER, SAMPLES_FOLDER, SAMPLES_NAME, monthly_name
from tasks.results.reader import table_of
from tasks.results.schema import SAMPLES, SAMPLES_MONTHLY
from tasks.results.store import Store

_NOT_OURS: Final = "is not one of our files: move it away, because every query over the folder reads it too"
_NOTHING_KEPT: Final = (
    "nothing was kept: try again, and look for faults of this machine's memory or disk if it stays"
)


@dataclass(frozen=True, slots=True)
class FinishedMonths:
    """The months that are over, and what lies among the samples and belongs to none."""

    landing: Mapping[str, Mapping[str, int]]
    """By month, oldest first: the names of its landing files with their sizes in bytes."""
    strays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MonthOutcome:
    """What was done for a month."""

    month: str
    action: Literal["compacted", "compacted anew", "unchanged", "left"]
    files: int
    """How many landing files there are."""
    rows: int = 0
    """In the month's file; 0 where it was left."""
    size_bytes: int = 0
    """Of the month's file; 0 where it was left."""
    reason: str = ""
    """Why it was left, or compacted anew."""


def finished_months(store: Store, today: date, after_days: int) -> FinishedMonths:
    """The months that ended at least `after_days` ago, with the files that runs wrote in them.

    Args:
        store: Where the results lie.
        today: The UTC date.
        after_days: How long a month is left alone: a run of its last night may still go on, or be repaired.

    Raises:
        UserError: if the store cannot be listed.
    """
    landing: dict[str, dict[str, int]] = {}
    strays = []
    for name, size_bytes in store.sizes(SAMPLES_FOLDER).items():
        month = _month_of(name)
        if month is None:
            strays.append(name)
        elif today - _end_of(month) >= timedelta(days=after_days):
            landing.setdefault(month, {})[name] = size_bytes
    return FinishedMonths(dict(sorted(landing.items())), tuple(strays))


def compact_month(store: Store, month: str, landing: Mapping[str, int]) -> MonthOutcome:
    """Make the file of a month hold what its landing files hold.

    Args:
        store: Where both lie.
        month: Such as `2026-01`.
        landing: The names of all its landing files with their sizes, as `finished_months` found them.

    Raises:
        UserError: if a file is damaged, is not one of ours, is gone or changes meanwhile, or if what was
            written does not read back as its sources. The month's file is then as it was before.
    """
    ordered = _in_order(store, landing)
    name = monthly_name(month)
    stored = _stored(store, month)
    held = None if stored is None else _contents_of(store, name, month, stored)
    if stored is not None and held is not None and held.sizes == landing:
        return MonthOutcome(month, "unchanged", len(landing), held.rows, len(stored))
    if held is not None and (gone := sorted(held.sizes.keys() - landing.keys())):
        raise UserError(
            f"{store.location}/{gone[0]}{_and_more(gone)} was put into {name} before, and is gone: put it "
            f"back, or delete {name} if its rows are to go, since they stand nowhere else"
        )
    written, contents = _written(store, month, ordered)
    _refuse_unlike(store, written, contents)
    if written != stored:
        store.put(name, written, replace=True)
    action: Literal["compacted", "compacted anew"] = "compacted" if held is None else "compacted anew"
    reason = "" if held is None else _what_changed(held.sizes, landing)
    return MonthOutcome(month, action, len(landing), contents.rows, len(written), reason)


def _month_of(name: str) -> str | None:
    """The month whose folder a file lies in; none where no readable date stands in its path."""
    partition = name.removeprefix(f"{SAMPLES_FOLDER}/").partition("/")[0]
    try:
        night = date.fromisoformat(partition.removeprefix("dt="))
    except ValueError:
        return None
    is_one = partition == f"dt={night}" and night.year < date.max.year  # no day comes after the last month
    return f"{night:%Y-%m}" if is_one else None


def _end_of(month: str) -> date:
    """The first day after it."""
    return (date.fromisoformat(f"{month}-28") + timedelta(days=4)).replace(day=1)


def _in_order(store: Store, names: Iterable[str]) -> list[str]:
    """Landing files in the order of their rows in the month's file."""

    def place(name: str) -> tuple[str, ...]:
        match = SAMPLES_NAME.fullmatch(name)
        if match is None:
            raise UserError(f"{store.location}/{name} {_NOT_OURS}")
        return match.group("config_id", "workload_id", "dt", "run_id")

    return sorted(names, key=place)


def _stored(store: Store, month: str) -> bytes | None:
    """The month's file as it lies there; none where it was not made yet."""
    name = monthly_name(month)
    names = store.names(f"{MONTHLY_FOLDER}/month={month}")
    for foreign in names:
        if foreign != name:
            raise UserError(f"{store.location}/{foreign} {_NOT_OURS}")
    return store.get(name) if names else None


def _contents_of(store: Store, name: str, month: str, stored: bytes) -> Contents:
    """What the month's file holds. One that cannot be read may have rows that stand nowhere else."""
    contents = whole_contents(stored)
    if contents is None or contents.month != month:
        raise UserError(
            f"{store.location}/{name} is damaged, or was not made by this version: restore it, or move it "
            "away to have it made anew of the landing files that are there"
        )
    return contents


def _what_changed(held: Mapping[str, int], landing: Mapping[str, int]) -> str:
    added = sorted(landing.keys() - held.keys())
    changed = sorted(name for name, size in held.items() if landing[name] != size)
    told = (("added", added), ("changed", changed))
    return "; ".join(f"{what} since: {names[0]}{_and_more(names)}" for what, names in told if names)


def _written(store: Store, month: str, ordered: Sequence[str]) -> tuple[bytes, Contents]:
    """The file of a month, not yet kept anywhere."""
    with MonthWriter() as writer:
        taken = [_taken_in(store, name, writer) for name in ordered]
        contents = Contents(
            month=month,
            rows=sum(source.rows for source, _ in taken),
            total_ns=sum(total_ns for _, total_ns in taken),
            sources=tuple(source for source, _ in taken),
        )
        return writer.finish(contents), contents


def _taken_in(store: Store, name: str, writer: MonthWriter) -> tuple[Source, int]:
    """Add a landing file, and give what it is and the sum of its times; nothing of it stays in memory."""
    stored, rows = _landing_file(store, name)
    writer.add(in_order(rows, name))
    return _source(name, stored, rows), sum_of_times(rows)


def _source(name: str, stored: bytes, rows: pa.Table) -> Source:
    sha256 = hashlib.sha256(stored).hexdigest()
    return Source(name=name, size_bytes=len(stored), sha256=sha256, rows=len(rows))


def _landing_file(store: Store, name: str) -> tuple[bytes, pa.Table]:
    """A landing file and its rows, which must be of the run and the cell that its name says."""
    stored = store.get(name)
    rows = table_of(stored, f"{store.location}/{name}", SAMPLES, SAMPLES.names)
    match = SAMPLES_NAME.fullmatch(name)
    for column, wanted in (match.groupdict() if match else {}).items():
        if column != "dt" and pc.unique(rows[column]).to_pylist() not in ([], [wanted]):
            raise UserError(
                f"{store.location}/{name} holds rows of another {column}: move it away, or restore it"
            )
    return stored, rows


def _refuse_unlike(store: Store, written: bytes, contents: Contents) -> None:
    """Read everything again, what was written and its sources, and compare every value."""
    where = f"{store.location}/{monthly_name(contents.month)}"
    if whole_contents(written) != contents:
        raise UserError(
            f"{where} would not hold as many rows as its sources, or other times: {_NOTHING_KEPT}"
        )
    rows_written = RowReader(written)
    for source in contents.sources:
        differing = _first_unlike(store, source, rows_written)
        if differing:
            raise UserError(f"{where} would not have the {differing} of {source.name}: {_NOTHING_KEPT}")


def _first_unlike(store: Store, source: Source, rows_written: RowReader) -> str:
    """Read a source again, and name the first column in which what was written differs; empty for none."""
    stored, rows = _landing_file(store, source.name)
    if _source(source.name, stored, rows) != source:
        raise UserError(f"{store.location}/{source.name} changed while it was read: try again")
    wanted = in_order(rows, source.name)
    for part in rows_written.next(len(wanted)):
        for field in SAMPLES_MONTHLY:  # one at a time: text that is written out takes much memory
            column = wanted[field.name].slice(0, len(part)).cast(field.type)
            if not part[field.name].cast(field.type).equals(column):
                return str(field.name)
        wanted = wanted.slice(len(part))
    return ""


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
