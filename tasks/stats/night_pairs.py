"""Two configurations over the nights of a schedule: one value a night of each, as the table `nightly` has it.

A night counts where both were measured and no more than 5 % of the operations of either failed. Nights of
which a cell meant something else (see `HISTORY`) are never joined: the latest meaning of each configuration
counts, and how many nights had another one is told.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tasks.kernel.samples import BESIDES
from tasks.stats.likeness import COUNTS, Likeness, too_many_failed
from tasks.stats.paths import LeftOut, Pairing, PathComparison, Side, compared
from tasks.stats.quantiles import nearest_rank
from tasks.stats.summary_types import PERCENT_OF, Quantile

if TYPE_CHECKING:
    from datetime import datetime

    from tasks.stats.summary_types import Statistic

_QUANTILES: Final = ("p50", "p90", "p99")

NIGHT_COLUMNS: Final = (
    "scheduled_at",
    "run_id",
    "config_id",
    "workload_id",
    "operation",
    "stage",
    "meaning",
    "n",
    "errors",
    "avg_ns",
    *(f"{name}{bound}_ns" for name in _QUANTILES for bound in ("", "_low", "_high")),
    *(name for name, _ in COUNTS),
)
"""The columns of the nightly table that are read here."""

_Row = Mapping[str, Any]
"""One row of the table: a night of a cell."""


def compare_by_night(
    nightly: pa.Table, workload_id: str, config_ids: tuple[str, str], likeness: Likeness
) -> PathComparison:
    """Two configurations of a workload over many nights.

    Args:
        nightly: rows of scheduled runs alone, of one for each night, with `NIGHT_COLUMNS` at least.
        workload_id: of both.
        config_ids: whose statistics are divided, and by whose.
        likeness: what is known of their cells in the latest night of both.
    """
    rows = _rows(nightly, workload_id, config_ids)
    latest = [_of_latest_meaning(rows[config_id]) for config_id in config_ids]
    good = [
        [row for row in each if row["n"] and not too_many_failed(row["n"], row["errors"])] for each in latest
    ]
    common = {_night(row) for row in good[0]} & {_night(row) for row in good[1]}
    mine, theirs = ([row for row in each if _night(row) in common] for each in good)
    left_out = [
        one
        for config_id, every, of_meaning, counted in zip(config_ids, rows.values(), latest, good, strict=True)
        for one in _left_out(config_id, every, of_meaning, counted, common)
    ]
    operation = str(mine[-1]["operation"]) if mine else ""
    pairing = Pairing(*config_ids, workload_id, operation, "night", len(common), tuple(left_out))
    if reason := _why_not(pairing, latest, (mine, theirs), likeness):
        return PathComparison(pairing, (), reason)
    return compared(pairing, _side(mine), _side(theirs))


def last_nights(nightly: pa.Table, workload_id: str, config_ids: tuple[str, str]) -> dict[str, str]:
    """The run of the latest night of each of both, whose record tells what its cell was asked."""
    rows = _rows(nightly, workload_id, config_ids)
    return {config_id: str(each[-1]["run_id"]) for config_id, each in rows.items() if each}


def _rows(nightly: pa.Table, workload_id: str, config_ids: tuple[str, str]) -> dict[str, list[_Row]]:
    """The nights of whole operations of each configuration, by time."""
    wanted = pc.and_(
        pc.and_(pc.equal(nightly["stage"], "total_ns"), pc.equal(nightly["workload_id"], workload_id)),
        pc.is_in(nightly["config_id"], value_set=pa.array(config_ids)),
    )
    table = nightly.select(list(NIGHT_COLUMNS)).filter(wanted).sort_by("scheduled_at")
    rows = [row for row in table.to_pylist() if row["operation"] not in BESIDES]
    return {config_id: [row for row in rows if row["config_id"] == config_id] for config_id in config_ids}


def _of_latest_meaning(rows: Sequence[_Row]) -> list[_Row]:
    if not rows:
        return []
    means = (rows[-1]["operation"], rows[-1]["meaning"])
    return [row for row in rows if (row["operation"], row["meaning"]) == means]


def _stands_for_its_night(row: _Row) -> bool:
    return bool(row["n"]) and not too_many_failed(row["n"], row["errors"])


def _left_out(
    config_id: str,
    every: Sequence[_Row],
    of_meaning: Sequence[_Row],
    counted: Sequence[_Row],
    common: "set[datetime]",
) -> list[LeftOut]:
    """The nights of a configuration that were not paired, by why they were not."""
    nights = [{_night(row) for row in rows} for rows in (every, of_meaning, counted)]
    found = (
        (nights[0] - nights[1], "its cell meant something else"),
        (nights[1] - nights[2], "more than 5 % of its operations failed"),
        (nights[2] - common, "the other one has no such night"),
    )
    return [LeftOut(config_id, len(missing), why) for missing, why in found if missing]


def _why_not(
    pairing: Pairing,
    latest: Sequence[Sequence[_Row]],
    paired: tuple[Sequence[_Row], Sequence[_Row]],
    likeness: Likeness,
) -> str:
    """Why the two must not be compared; empty where they may be."""
    for side, rows in enumerate(latest):
        if not rows:
            return likeness.no_operation(side)
    mine, theirs = (rows[-1] for rows in latest)
    if mine["operation"] != theirs["operation"]:
        return likeness.unlike("operations", mine["operation"], theirs["operation"])
    for name, noun in COUNTS:
        if mine[name] != theirs[name]:
            return likeness.unlike(noun, _count(mine[name]), _count(theirs[name]))
    config_ids = (pairing.config_id, pairing.other_id)
    if reason := likeness.why_asked_otherwise(pairing.workload_id, config_ids):
        return reason
    return "" if paired[0] else "no night has successful operations of both"


def _side(rows: Sequence[_Row]) -> Side:
    columns: dict[Statistic, str] = {"p50": "p50_ns", "p90": "p90_ns", "p99": "p99_ns", "mean": "avg_ns"}
    return Side(
        operations={place: row["n"] for place, row in enumerate(rows)},
        n=sum(row["n"] for row in rows),
        errors=sum(row["errors"] for row in rows),
        values_ns={
            statistic: {place: float(row[column]) for place, row in enumerate(rows)}
            for statistic, column in columns.items()
        },
        own={statistic: _of_median_night(rows, column) for statistic, column in columns.items()},
    )


def _of_median_night(rows: Sequence[_Row], column: str) -> tuple[float, Quantile | None]:
    """The figure of the night that is in the middle by it: measured, as a mean of quantiles is not."""
    ascending = sorted(rows, key=lambda row: row[column])
    night = ascending[nearest_rank(len(ascending), 50) - 1]
    name = column.removesuffix("_ns")
    if name not in PERCENT_OF:
        return float(night[column]), None
    bounds = (night[f"{name}_low_ns"], night[f"{name}_high_ns"])
    return float(night[column]), Quantile(night[column], *bounds)


def _night(row: _Row) -> "datetime":
    moment: datetime = row["scheduled_at"]
    return moment


def _count(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"
