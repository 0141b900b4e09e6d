"""Where a series began anew, because a cell means something else than the night before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tasks.results.marks import NightEnvironment

COUNTS: Final = {"files": "files", "records": "records", "size_bytes": "bytes"}
"""What an operation holds, and how it is called."""
_SERIES: Final = ("config_id", "workload_id", "operation")


@dataclass(frozen=True, slots=True)
class Redefinition:
    """From a night on a cell means something else, so that its series begins anew."""

    cell_id: str
    since_at: datetime
    what: str
    """What is unlike the night before: `workload.size: 65536 → 131072`."""


def redefinitions(nightly: pa.Table, nights: Mapping[str, NightEnvironment]) -> tuple[Redefinition, ...]:
    """Where a cell's operation means something else than the night before, by the time since when.

    Args:
        nightly: rows of `history.HISTORY`.
        nights: in what each run was measured, by its id.
    """
    return tuple(_redefinitions(nightly, nights))


def _redefinitions(nightly: pa.Table, nights: Mapping[str, NightEnvironment]) -> Iterator[Redefinition]:
    whole = nightly.filter(pc.equal(nightly["stage"], "total_ns")).sort_by("scheduled_at")
    last: dict[tuple[str, str, str], dict[str, Any]] = {}
    told: set[tuple[str, str, str]] = set()
    for row in whole.select([*_SERIES, *COUNTS, "run_id", "meaning", "scheduled_at"]).to_pylist():
        series = (row["config_id"], row["workload_id"], row["operation"])
        before, last[series] = last.get(series), row
        cell = (*series[:2], row["run_id"])
        if before is None or before["meaning"] == row["meaning"] or cell in told:
            continue
        told.add(cell)  # once for all operations of the cell
        was, now = nights[before["run_id"]], nights[row["run_id"]]
        yield Redefinition(
            f"{series[0]}/{series[1]}",
            row["scheduled_at"],
            _unlike(was, now, series[:2]) or _held(before, row),
        )


def _unlike(was: NightEnvironment, now: NightEnvironment, cell: tuple[str, str]) -> str:
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
    parts = (f"{row[name]:,} {noun}" for name, noun in COUNTS.items() if row[name] is not None)
    return ", ".join(parts) or "no one number of bytes"
