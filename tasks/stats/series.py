"""The samples of one run as one series of columns per cell and operation: what all figures are made from.

The table is sorted by cell once, so that every series is a slice of numpy columns. Rejected: filtering the
table once for each cell, which reads a million rows as often as there are cells.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.kernel.samples import NULL, OPERATIONS, STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_KEY = ("workload_id", "config_id", "operation")
_COUNTS = ("files", "records", "size_bytes")


@dataclass(frozen=True, slots=True)
class Series:
    """One operation of one cell. Row i of every column is one successful operation that is no warm-up.

    `block` is shaped (n,). `stage_ns` has one column (n,) of nanoseconds for each stage that happened at
    all, `counts` one for each of files, records and size_bytes; `NULL` stands where there was none.
    """

    config_id: str
    workload_id: str
    operation: str
    warmups: int
    """Warm-up operations, successful or not."""
    errors: int
    """Failed operations that were no warm-up."""
    block: "NDArray[np.int64]"
    stage_ns: "Mapping[str, NDArray[np.int64]]"
    counts: "Mapping[str, NDArray[np.int64]]"
    cold: frozenset[bool | None]
    """The cache states that its samples claim; None is no claim."""

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
        column = self.counts[count]
        if len(column) == 0 or column[0] == NULL or (column != column[0]).any():
            return None
        return int(column[0])


def split(samples: "pa.Table") -> list[Series]:
    """Every series of a run, by workload, configuration and operation.

    Rows of cells that were skipped or failed as a whole belong to no series: see `failures`.
    """
    wanted = [*_KEY, "outcome", "warmup", "block", "cold", *_COUNTS, *STAGES]
    timed = samples.select(wanted).filter(is_timed(samples))
    keys = timed.group_by(list(_KEY)).aggregate([]).to_pylist()
    keys.sort(key=lambda key: (key["workload_id"], key["config_id"], OPERATIONS.index(key["operation"])))
    code = _codes(timed, keys)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(keys) + 1))
    columns = {name: _integers(timed[name])[order] for name in ("block", *_COUNTS, *STAGES)}
    ok = _integers(pc.equal(timed["outcome"], "ok"))[order] == 1
    warmup = _integers(timed["warmup"])[order] == 1
    cold = _integers(timed["cold"])[order]
    return [
        _series(
            key,
            {name: column[start:end] for name, column in columns.items()},
            ok[start:end],
            warmup[start:end],
            cold[start:end],
        )
        for key, start, end in zip(keys, starts[:-1], starts[1:], strict=True)
    ]


def is_timed(samples: "pa.Table") -> "pa.ChunkedArray":
    """Which rows are one operation each, shaped (rows,): neither skipped nor a whole cell's failure."""
    known = pc.is_in(samples["operation"], value_set=pa.array(OPERATIONS))
    measured = pc.is_in(samples["outcome"], value_set=pa.array(["ok", "error"]))
    return pc.and_(pc.and_(known, measured), pc.is_valid(samples["block"]))


def _codes(timed: "pa.Table", keys: list[dict[str, str]]) -> "NDArray[np.int64]":
    """For each row, the place of its cell and operation among the keys."""
    joined = pc.binary_join_element_wise(*(timed[part] for part in _KEY), "\0")
    wanted = pa.array(["\0".join(key[part] for part in _KEY) for key in keys], pa.string())
    return _integers(pc.index_in(joined, value_set=wanted))


def _integers(column: "pa.ChunkedArray") -> "NDArray[np.int64]":
    """A column of integers or booleans, `NULL` where it is null."""
    filled: NDArray[np.int64] = column.cast("int64").fill_null(NULL).to_numpy()
    return filled


def _series(
    key: dict[str, str],
    columns: dict[str, "NDArray[np.int64]"],
    ok: "NDArray[np.bool_]",
    warmup: "NDArray[np.bool_]",
    cold: "NDArray[np.int64]",
) -> Series:
    counted = ok & ~warmup
    chosen = {name: column[counted] for name, column in columns.items()}
    claims = np.unique(cold[counted]).tolist()
    return Series(
        config_id=key["config_id"],
        workload_id=key["workload_id"],
        operation=key["operation"],
        warmups=int(warmup.sum()),
        errors=int((~ok & ~warmup).sum()),
        block=chosen["block"],
        stage_ns={stage: chosen[stage] for stage in STAGES if (chosen[stage] != NULL).any()},
        counts={name: chosen[name] for name in _COUNTS},
        cold=frozenset(None if claim == NULL else bool(claim) for claim in claims),
    )
