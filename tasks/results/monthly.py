"""The file of a finished month: how its row groups are made and read, and what it says of itself.

It has the rows of its landing files, sorted by configuration, workload, night and run, then by block and by
`seq`, which counts within a block. No row group holds rows of two configurations, so that a query of one
reads little.
"""

import io
import math
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import NonNegativeInt, ValidationError

from configs.base import Model
from tasks.results.names import SAMPLES_FOLDER
from tasks.results.schema import SAMPLES_MONTHLY
from tasks.results.writer import parquet_writer

CONTENTS_KEY: Final = b"s3bench.contents"
"""What the file says of itself, as JSON, in the metadata of its footer."""

GROUP_ROWS: Final = 262_144
"""A row group is closed by the landing file that brings it to so many rows: 55 MB in memory.

That file may bring more, up to twice as many; what is more than that becomes several groups.
"""

_READ_MOST: Final = frozenset({"total_ns"})
"""Of a year of 14.6 million rows p50 and p99 come 10 % sooner for it, and the files are 14 % larger."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_TEXTS: Final = tuple(field.name for field in SAMPLES_MONTHLY if field.type == pa.string())
_AS_WRITTEN: Final = pa.schema(
    [field.with_type(_TEXT) if field.name in _TEXTS else field for field in SAMPLES_MONTHLY]
)
"""Text as dictionaries: written out it takes several times the memory. The file is the same."""


class Source(Model):
    """One landing file that a month was made of."""

    name: str
    size_bytes: NonNegativeInt
    sha256: str
    rows: NonNegativeInt


class Contents(Model):
    """What the file of a month holds."""

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


class MonthWriter:
    """Makes the file of a month in memory, one row group at a time."""

    def __init__(self) -> None:
        self._sink = io.BytesIO()
        self._writer = parquet_writer(self._sink, _AS_WRITTEN, _READ_MOST)
        self._group: list[pa.Table] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, rows: pa.Table) -> None:
        """Take in the rows of one landing file, as `in_order` gives them."""
        if not len(rows):
            return
        if self._group and self._group[-1]["config_id"][-1].as_py() != rows["config_id"][0].as_py():
            self._close_group()
        self._group.append(rows)
        if sum(map(len, self._group)) >= GROUP_ROWS:
            self._close_group()

    def finish(self, contents: Contents) -> bytes:
        """Say what it holds, and give the whole file."""
        self._close_group()
        self._writer.add_key_value_metadata({CONTENTS_KEY: contents.model_dump_json().encode()})
        self._writer.close()
        return self._sink.getvalue()

    def _close_group(self) -> None:
        if self._group:
            table = pa.concat_tables(self._group).unify_dictionaries().cast(_AS_WRITTEN)
            self._group.clear()
            groups = 1 if len(table) <= 2 * GROUP_ROWS else math.ceil(len(table) / GROUP_ROWS)
            self._writer.write_table(table, row_group_size=math.ceil(len(table) / groups))


def in_order(rows: pa.Table, name: str) -> pa.Table:
    """The rows of a landing file with their night, by block and `seq`; equal ones stay as they were."""
    places = pc.sort_indices(rows, [("block", "ascending"), ("seq", "ascending")])
    # Most are in order. To take all rows of a million would also write out its columns of nulls.
    ordered = rows if places.equals(_counted_to(len(rows))) else rows.take(places)
    night = pa.array([name.removeprefix(f"{SAMPLES_FOLDER}/dt=").partition("/")[0]])
    nights = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), len(rows)), night)
    return ordered.add_column(0, "dt", nights)


def _counted_to(rows: int) -> pa.Array:
    return pa.array(np.arange(rows, dtype=np.uint64))


def sum_of_times(rows: pa.Table) -> int:
    """The sum of `total_ns`, nulls left out."""
    return int(pc.sum(rows["total_ns"]).as_py() or 0)


class RowReader:
    """Reads the rows of a month's file one after another, one row group at a time."""

    def __init__(self, stored: bytes) -> None:
        self._groups = _row_groups(stored)
        self._group = SAMPLES_MONTHLY.empty_table()

    def next(self, rows: int) -> Iterator[pa.Table]:
        """The next so many rows, in parts, each of one row group; the file must have them."""
        while rows:
            if not len(self._group):
                self._group = next(self._groups)
            part = self._group.slice(0, rows)
            self._group = self._group.slice(len(part))
            rows -= len(part)
            yield part


def _row_groups(stored: bytes) -> Iterator[pa.Table]:
    """The row groups of a month's file one after another, every checksum compared."""
    file = _opened(stored)
    for number in range(file.num_row_groups):
        yield file.read_row_group(number)


def whole_contents(stored: bytes) -> Contents | None:
    """What the file of a month says that it holds, if it does; none where it is damaged or not ours."""
    try:
        contents = Contents.model_validate_json((_opened(stored).metadata.metadata or {})[CONTENTS_KEY])
        rows = total_ns = 0
        for group in _row_groups(stored):
            rows, total_ns = rows + len(group), total_ns + sum_of_times(group)
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, ValidationError):
        return None
    return contents if (rows, total_ns) == (contents.rows, contents.total_ns) else None


def _opened(stored: bytes) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(stored), read_dictionary=_TEXTS, page_checksum_verification=True)
