"""The samples of one run as one series of columns per cell and operation: what all figures are made from.

One column after the other is turned into numpy and shared out, so that a million samples never exist twice
as a whole, and only what figures need of them stays. Rejected: sorting the table by cell, which copies all
of it, and filtering it once for each cell, which reads a million rows as often as there are cells.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.kernel.samples import NULL, OPERATIONS, STAGES
from tasks.stats.throughput import Crew, Moved, Together, moved_by_clients, moved_by_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_KEY: Final = ("workload_id", "config_id", "operation")
_COUNTS: Final = ("files", "records", "size_bytes")

SERIES_COLUMNS: Final = (
    *_KEY,
    "outcome",
    "warmup",
    "block",
    "worker",
    "started_us",
    "cold",
    *_COUNTS,
    *STAGES,
)
"""The columns of the samples table that `split` reads."""


@dataclass(frozen=True, slots=True)
class Series:
    """One operation of one cell. Row i of every column is one successful operation that is no warm-up.

    `block` is shaped (n,). `stage_ns` has one column (n,) of nanoseconds for each stage that happened at
    all; `NULL` stands where it did not.
    """

    config_id: str
    workload_id: str
    operation: str
    warmups: int
    """Warm-up operations, successful or not."""
    errors: int
    """Failed operations that were no warm-up."""
    block: "NDArray[np.int32]"
    stage_ns: "Mapping[str, NDArray[np.int64]]"
    counts: "Mapping[str, tuple[int, ...]]"
    """The unlike values of files, records and size_bytes, ascending; `NULL` stands where there was none."""
    cold: frozenset[bool | None]
    """The cache states that its samples claim; None is no claim."""
    together: Together | None
    """None where one thread did it all, and no configuration of the workload has several clients."""

    @property
    def n(self) -> int:
        """Successful operations that count."""
        return len(self.block)

    def times_ns(self, stage: str = "total_ns") -> "NDArray[np.int64]":
        """The times of a stage in ascending order, in nanoseconds; empty where it never happened."""
        column = self.stage_ns.get(stage)
        return np.empty(0, np.int64) if column is None else np.sort(column[column != NULL])

    def common(self, count: str) -> int | None:
        """The value of `files`, `records` or `size_bytes`, None where operations differ or have none."""
        values = self.counts[count]
        return values[0] if len(values) == 1 and values[0] != NULL else None


class _Key(NamedTuple):
    workload_id: str
    config_id: str
    operation: str


class _Part(NamedTuple):
    """The rows of one series: indices, shaped (n,), of those that count and of all, and how many do not."""

    key: _Key
    rows: "NDArray[np.intp]"
    every: "NDArray[np.intp]"
    warmups: int
    errors: int


def split(
    samples: "pa.Table", crews: "Mapping[tuple[str, str], Crew] | None" = None, *, crews_known: bool = True
) -> list[Series]:
    """Every series of a run or of a part of it, by workload, configuration and operation.

    Rows of cells that were skipped or failed as a whole belong to no series: see `failures`.

    Args:
        samples: the columns `SERIES_COLUMNS` at least; text may be dictionary-encoded.
        crews: who measured, by workload and configuration: all cells of the workloads that have cells of
            several clients.
        crews_known: whether those are all: else nobody knows whether workers were threads, whose warm-ups
            count, or clients, which waited for one another, and what they moved together is not told.
    """
    # Arrow keeps what it needed for unpacking files: a tenth of all memory that a report takes.
    pa.default_memory_pool().release_unused()
    parts = _parts(samples)
    blocks = [column.astype(np.int32) for column in _shared_out(samples["block"], parts)]
    together = _together(samples, parts, crews or {}) if crews_known else _unknown(samples, parts)
    cold = [np.unique(column).tolist() for column in _shared_out(samples["cold"], parts)]
    counts: list[dict[str, tuple[int, ...]]] = [{} for _ in parts]
    stage_ns: list[dict[str, NDArray[np.int64]]] = [{} for _ in parts]
    for name in _COUNTS:
        for mine, column in zip(counts, _shared_out(samples[name], parts), strict=True):
            mine[name] = tuple(np.unique(column).tolist())
    for stage in STAGES:
        if samples[stage].null_count == len(samples):
            continue  # most stages happen in few workloads: no memory for what is not there
        for times, column in zip(stage_ns, _shared_out(samples[stage], parts), strict=True):
            if (column != NULL).any():
                times[stage] = column
    return [
        Series(
            config_id=part.key.config_id,
            workload_id=part.key.workload_id,
            operation=part.key.operation,
            warmups=part.warmups,
            errors=part.errors,
            block=blocks[place],
            stage_ns=stage_ns[place],
            counts=counts[place],
            cold=frozenset(None if claim == NULL else bool(claim) for claim in cold[place]),
            together=together[place],
        )
        for place, part in enumerate(parts)
    ]


def _together(
    samples: "pa.Table", parts: list[_Part], crews: "Mapping[tuple[str, str], Crew]"
) -> list[Together | None]:
    """What the threads of each series moved together, in the order of the series."""
    if not crews and not pc.max(samples["worker"]).as_py():
        return [None] * len(parts)  # mostly so: no memory for columns that tell nothing more
    whole = Moved(*(_integers(samples[name]) for name in Moved._fields))
    moved_bytes = np.where(_booleans(pc.equal(samples["outcome"], "ok")), whole.size_bytes, 0)
    whole = whole._replace(size_bytes=moved_bytes)
    warmup = _booleans(samples["warmup"])
    found: list[Together | None] = []
    for part in parts:
        crew = crews.get((part.key.workload_id, part.key.config_id))
        if not len(part.rows):
            found.append(None)
        elif crew is not None:
            found.append(moved_by_clients(whole.of(part.every[~warmup[part.every]]), crew))
        else:
            moved = whole.of(part.every)
            threads = len(np.unique(moved.worker))
            found.append(Together(threads, moved_by_threads(moved)) if threads > 1 else None)
    return found


def _unknown(samples: "pa.Table", parts: list[_Part]) -> list[Together | None]:
    """Where nobody knows who measured: how many did, and nothing of what they moved."""
    if not pc.max(samples["worker"]).as_py():
        return [None] * len(parts)
    worker = _integers(samples["worker"])
    workers = [len(np.unique(worker[part.every])) if len(part.rows) else 0 for part in parts]
    return [Together(number, ()) if number > 1 else None for number in workers]


def is_timed(samples: "pa.Table") -> "pa.ChunkedArray":
    """Which rows are one operation each, shaped (rows,): neither skipped nor a whole cell's failure."""
    known = pc.is_in(samples["operation"], value_set=pa.array(OPERATIONS))
    measured = pc.is_in(samples["outcome"], value_set=pa.array(["ok", "error"]))
    return pc.and_(pc.and_(known, measured), pc.is_valid(samples["block"]))


def _parts(samples: "pa.Table") -> list[_Part]:
    """The rows of every series, in the order of the series."""
    code, keys = _codes(samples)
    ok = _booleans(pc.equal(samples["outcome"], "ok"))
    warmup = _booleans(samples["warmup"])
    parts = []
    for value, key in keys.items():
        mine = code == value
        counted = mine & ~warmup
        parts.append(
            _Part(
                key,
                rows=np.flatnonzero(counted & ok),
                every=np.flatnonzero(mine),
                warmups=int(np.count_nonzero(mine & warmup)),
                errors=int(np.count_nonzero(counted & ~ok)),
            )
        )
    return sorted(
        parts,
        key=lambda part: (part.key.workload_id, part.key.config_id, OPERATIONS.index(part.key.operation)),
    )


def _codes(samples: "pa.Table") -> "tuple[NDArray[np.int32], dict[int, _Key]]":
    """A number for the cell and operation of each row, −1 for none, and what each number stands for."""
    code = np.zeros(len(samples), np.int32)
    names = []
    for part in _KEY:
        column = samples[part].dictionary_encode().unify_dictionaries().combine_chunks()
        names.append(column.dictionary.to_pylist())
        code = code * len(names[-1]) + column.indices.fill_null(0).to_numpy()
    code[~_booleans(is_timed(samples))] = -1
    found = np.unique(code[code >= 0])
    places = np.unravel_index(found, [len(labels) for labels in names]) if len(found) else ()
    keys = zip(
        *([labels[i] for i in place] for labels, place in zip(names, places, strict=False)), strict=True
    )
    return code, {int(value): _Key(*key) for value, key in zip(found, keys, strict=True)}


def _shared_out(column: "pa.ChunkedArray", parts: list[_Part]) -> "list[NDArray[np.int64]]":
    """A column of integers or booleans by series, `NULL` where it is null."""
    whole = _integers(column)
    return [whole[part.rows] for part in parts]


def _integers(column: "pa.ChunkedArray") -> "NDArray[np.int64]":
    """A column of integers or booleans, `NULL` where it is null."""
    filled: NDArray[np.int64] = column.cast("int64").fill_null(NULL).to_numpy()
    return filled


def _booleans(column: "pa.ChunkedArray") -> "NDArray[np.bool_]":
    """A column of booleans, false where it is null."""
    filled: NDArray[np.bool_] = column.fill_null(False).to_numpy()
    return filled
