"""Puts the samples of a finished month into one file, beside the files that it was made of, which stay.

A year of 40 configurations is 14,600 small files, and a query over all of them is paid by the request. The
month's file has the same rows, sorted by configuration, workload, night and run, then by block and `seq`,
which counts within a block. No row group holds rows of two configurations, so that a query of one reads
little. It is written whole with one `put`: a reader has the old file or the new one.

Nothing is kept before it was read back and compared with its sources, row by row. Memory holds one row group
and the finished file, never the month's rows. The file names its sources with their sizes and hashes:

* the same names and sizes again: nothing is fetched but the month's file, which is read through;
* others were added, or have another size: the month is written anew;
* some are gone: it is left as it is, since rows that stand nowhere else would be lost with it.

Rejected: DuckDB's `COPY`, which held 4 GB for a year, and writes in place.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import NonNegativeInt, ValidationError

from configs.base import Model
from configs.errors import UserError
from tasks.results.reader import table_of
from tasks.results.schema import (
    MONTHLY_FOLDER,
    SAMPLES,
    SAMPLES_FOLDER,
    SAMPLES_MONTHLY,
    SAMPLES_NAME,
    monthly_name,
)
from tasks.results.store import Store
from tasks.results.writer import parquet_writer

CONTENTS_KEY: Final = b"s3bench.contents"
"""What the file says of itself, as JSON, in the metadata of its footer."""

GROUP_ROWS: Final = 262_144
"""A row group is closed by the file that brings it to so many rows: 55 MB in memory."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_TEXTS: Final = tuple(field.name for field in SAMPLES_MONTHLY if field.type == pa.string())
_AS_WRITTEN: Final = pa.schema(
    [field.with_type(_TEXT) if field.name in _TEXTS else field for field in SAMPLES_MONTHLY]
)


class Source(Model):
    """One file that a month was made of."""

    name: str
    size_bytes: NonNegativeInt
    sha256: str
    rows: NonNegativeInt


class Contents(Model):
    """What the file of a month holds, said in its own metadata."""

    format_version: Literal[1] = 1
    month: str
    rows: NonNegativeInt
    total_ns: int
    """The sum of that column, which any engine can check."""
    sources: tuple[Source, ...]
    """In the order of their rows."""

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each source by its name."""
        return {source.name: source.size_bytes for source in self.sources}


@dataclass(frozen=True, slots=True)
class FinishedMonths:
    """The months that are over, and what lies among the samples and belongs to none."""

    landing: Mapping[str, Mapping[str, int]]
    """By month, oldest first: the names of its landing files with their sizes."""
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
    reason: str = ""
    """Why it was left, or compacted anew."""


def finished_months(store: Store, today: date, after_days: int) -> FinishedMonths:
    """The months that ended `after_days` ago or earlier, with the files that runs wrote in them.

    Args:
        store: Where the results lie.
        today: The UTC date.
        after_days: How long a month is left alone: a run may begin on its last day, and end or be repaired
            later.

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
        UserError: if a source is damaged, is not one of our files, is gone or changes meanwhile, or if what
            was written does not read back as its sources. The month's file is then as it was before.
    """
    ordered = _in_order(store, landing)
    name = monthly_name(month)
    stored = _stored(store, month)
    held = None if stored is None else _whole_contents(stored)
    if stored is not None and held is not None and held.sizes == landing:
        return MonthOutcome(month, "unchanged", len(landing), held.rows, len(stored))
    if held is not None and (gone := sorted(held.sizes.keys() - landing.keys())):
        raise UserError(
            f"{store.location}/{gone[0]}{_and_more(gone)} was put into {name} before, and is gone: put it "
            f"back, or delete {name} if its rows are to go, since they stand nowhere else"
        )
    reason = "" if stored is None else _why_anew(held, landing)
    written, contents = _written(store, month, ordered)
    _compare(store, written, contents)
    if written != stored:
        store.put(name, written, replace=True)
    action: Literal["compacted", "compacted anew"] = "compacted" if stored is None else "compacted anew"
    return MonthOutcome(month, action, len(landing), contents.rows, len(written), reason)


def _month_of(name: str) -> str | None:
    """The month whose folder a file lies in; none where no readable date stands in its path."""
    partition = name.removeprefix(f"{SAMPLES_FOLDER}/").partition("/")[0]
    try:
        night = date.fromisoformat(partition.removeprefix("dt="))
    except ValueError:
        return None
    return f"{night:%Y-%m}" if partition == f"dt={night}" else None


def _end_of(month: str) -> date:
    """The first day after it."""
    return (date.fromisoformat(f"{month}-28") + timedelta(days=4)).replace(day=1)


def _in_order(store: Store, names: Iterable[str]) -> list[str]:
    """Landing files in the order of their rows in the month's file."""

    def place(name: str) -> tuple[str, ...]:
        match = SAMPLES_NAME.fullmatch(name)
        if match is None:
            raise UserError(
                f"{store.location}/{name} is not one of our files: move it away, because every query over "
                "the folder reads it too"
            )
        return match.group("config_id", "workload_id", "dt", "run_id")

    return sorted(names, key=place)


def _stored(store: Store, month: str) -> bytes | None:
    """The month's file as it lies there."""
    name = monthly_name(month)
    names = store.names(f"{MONTHLY_FOLDER}/month={month}")
    foreign = [other for other in names if other != name]
    if foreign:
        raise UserError(
            f"{store.location}/{foreign[0]}{_and_more(foreign)} is not one of our files: move it away, "
            "because every query over the folder reads it too"
        )
    return store.get(name) if names else None


def _whole_contents(stored: bytes) -> Contents | None:
    """What the file of a month says that it holds, if it does; none where it is damaged or not ours."""
    try:
        file = _opened(stored)
        contents = Contents.model_validate_json((file.metadata.metadata or {})[CONTENTS_KEY])
        groups = [file.read_row_group(number, ["total_ns"]) for number in range(file.num_row_groups)]
    except (pa.ArrowException, OSError, KeyError, ValidationError):
        return None
    rows, total_ns = sum(map(len, groups)), sum(map(_total_ns, groups))
    return contents if (rows, total_ns) == (contents.rows, contents.total_ns) else None


def _why_anew(held: Contents | None, landing: Mapping[str, int]) -> str:
    if held is None:
        return "its file was damaged, or was not one of ours"
    added = sorted(landing.keys() - held.sizes.keys())
    changed = sorted(name for name, size in held.sizes.items() if landing.get(name) != size)
    told = (("added", added), ("changed", changed))
    return "; ".join(f"{what} since: {names[0]}{_and_more(names)}" for what, names in told if names)


def _written(store: Store, month: str, ordered: Sequence[str]) -> tuple[bytes, Contents]:
    """The file of a month, not yet kept anywhere."""
    sink = io.BytesIO()
    sources, total_ns = [], 0
    with parquet_writer(sink, _AS_WRITTEN) as writer:
        group: list[pa.Table] = []
        for name in ordered:
            stored, table = _landing_file(store, name)
            sha256 = hashlib.sha256(stored).hexdigest()
            sources.append(Source(name=name, size_bytes=len(stored), sha256=sha256, rows=len(table)))
            total_ns += _total_ns(table)
            if group and not _go_together(group, table):
                _close(writer, group)
            if len(table):
                group.append(_with_night(_sorted(table), name))
        _close(writer, group)
        rows = sum(source.rows for source in sources)
        contents = Contents(month=month, rows=rows, total_ns=total_ns, sources=tuple(sources))
        writer.add_key_value_metadata({CONTENTS_KEY: contents.model_dump_json().encode()})
    return sink.getvalue(), contents


def _landing_file(store: Store, name: str) -> tuple[bytes, pa.Table]:
    """A landing file and its rows, which must be of the run and the cell that its name says."""
    stored = store.get(name)
    table = table_of(stored, f"{store.location}/{name}", SAMPLES, SAMPLES.names)
    match = SAMPLES_NAME.fullmatch(name)
    for column, wanted in (match.groupdict() if match else {}).items():
        if column != "dt" and pc.unique(table[column]).to_pylist() not in ([], [wanted]):
            raise UserError(
                f"{store.location}/{name} holds rows of another {column}: move it away, or restore it"
            )
    return stored, table


def _total_ns(table: pa.Table) -> int:
    return int(pc.sum(table["total_ns"]).as_py() or 0)


def _sorted(table: pa.Table) -> pa.Table:
    """By block and by `seq`, which counts within a block; equal ones stay in the order of the file."""
    return table.take(pc.sort_indices(table, [("block", "ascending"), ("seq", "ascending")]))


def _with_night(table: pa.Table, name: str) -> pa.Table:
    night = pa.array([name.removeprefix(f"{SAMPLES_FOLDER}/dt=")[:10]])
    nights = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(table)), night)
    return table.add_column(0, "dt", nights)


def _go_together(group: Sequence[pa.Table], table: pa.Table) -> bool:
    """Whether a table still goes into the row group."""
    config_ids = {part["config_id"][0].as_py() for part in (group[-1], table) if len(part)}
    return len(config_ids) == 1 and sum(map(len, group)) < GROUP_ROWS


def _close(writer: pq.ParquetWriter, group: list[pa.Table]) -> None:
    """Write what was gathered as one row group, and begin another."""
    if group:
        table = pa.concat_tables(group).unify_dictionaries().cast(_AS_WRITTEN)
        writer.write_table(table, row_group_size=len(table))
        group.clear()


def _compare(store: Store, written: bytes, contents: Contents) -> None:
    """Read everything again, the file and its sources, and refuse any difference."""
    where = f"{store.location}/{monthly_name(contents.month)}"
    unlike = "nothing was kept: try again, and look for faults of this machine's memory or disk if it stays"
    if _whole_contents(written) != contents:
        raise UserError(f"{where} would hold other rows than it was made of; {unlike}")
    groups = _groups(written)
    group = SAMPLES_MONTHLY.empty_table()
    for source in contents.sources:
        stored, table = _landing_file(store, source.name)
        if hashlib.sha256(stored).hexdigest() != source.sha256:
            raise UserError(f"{store.location}/{source.name} changed while it was read: try again")
        if not len(group) and len(table):
            group = next(groups)
        part, group = group.slice(0, len(table)), group.slice(len(table))
        wanted = _with_night(_sorted(table), source.name)
        for column in SAMPLES_MONTHLY:
            # One column at a time: text that is written out takes several times the memory.
            if not part[column.name].cast(column.type).equals(wanted[column.name].cast(column.type)):
                raise UserError(f"{where} would differ from {source.name} in {column.name}; {unlike}")


def _groups(written: bytes) -> Iterator[pa.Table]:
    file = _opened(written)
    for number in range(file.num_row_groups):
        yield file.read_row_group(number)


def _opened(stored: bytes) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(stored), read_dictionary=_TEXTS, page_checksum_verification=True)


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
