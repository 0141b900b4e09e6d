"""The history of one cell: its levels with their dates, its latest nights, and what may explain them."""

from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from configs.errors import UserError
from tasks.reports import wording
from tasks.reports.document import Document, Section, Table
from tasks.reports.history_sections import changes_section, environment_section, redefinitions_section
from tasks.stats.panels import STAGE, STATISTICS
from tasks.stats.summary_types import Quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tasks.reports.history_view import HistoryView
    from tasks.stats.levels import Level, SeriesLevels
    from tasks.stats.panels import Panel, SeriesKey, Statistic

_LATEST_NIGHTS: Final = 14
_LINE_NIGHTS: Final = 60
_BARS: Final = "▁▂▃▄▅▆▇█"
_GAP: Final = "·"
_KEY: Final = ("config_id", "workload_id", "operation", "meaning")
_NEEDED: Final = {"p90": 36, "p99": 368}
"""As many samples a night needs for an upper bound of the quantile."""


def cell_document(view: "HistoryView", cell_id: str) -> Document:
    """The history of one cell.

    Args:
        view: a look back.
        cell_id: configuration and workload: `boto3/read-64kib`.

    Raises:
        UserError: if no night has the cell.
    """
    keys = [key for key in view.panel_of("p50").keys if key.cell_id == cell_id]
    if not keys:
        raise UserError(_unknown(view, cell_id))
    changes = [one for one in view.changes if one.series is None or one.series.cell_id == cell_id]
    return Document(
        title=wording.printable(f"{cell_id}, nights of {view.schedule} in {view.location}"),
        alerts=(*([wording.SYNTHETIC] if view.synthetic else []), *wording.not_read(view.unread)),
        facts=(("Nights", wording.printable(view.summary)),),
        sections=(
            *(_series_section(view, key) for key in _latest_first(view, keys)),
            changes_section(view, changes),
            *environment_section(mark for mark in view.marks if mark.is_of(cell_id)),
            *redefinitions_section(one for one in view.redefinitions if one.cell_id == cell_id),
        ),
        method=(),
    )


def _unknown(view: "HistoryView", cell_id: str) -> str:
    known = sorted({key.cell_id for key in view.panel_of("p50").keys})
    there = ", ".join(known) if known else f"none: no run of the schedule {view.schedule} ended yet"
    return f"no cell {cell_id!r} in the nights of {view.location}: there is {there}"


def _latest_first(view: "HistoryView", keys: "list[SeriesKey]") -> "list[SeriesKey]":
    """The series that go on before those that ended, because the cell then meant something else."""
    return sorted(keys, key=lambda key: (-_known(view.panel_of("p50"), key)[-1:].sum(), key))


def _known(panel: "Panel", key: "SeriesKey") -> "np.ndarray[tuple[int, ...], np.dtype[np.intp]]":
    """The columns in which a series has a value."""
    return np.flatnonzero(np.isfinite(panel.values_ns[panel.keys.index(key)]))


def _series_section(view: "HistoryView", key: "SeriesKey") -> Section:
    levels = {one.statistic: one for one in view.levels if one.key == key}
    sentences = [
        *_line(view.panel_of("p50"), key),
        *(
            f"{statistic} has no level: its bounds need {needed} samples a night."
            for statistic, needed in _NEEDED.items()
            if statistic not in levels
        ),
    ]
    left_out = view.panel_of("p50").left_out[key]
    if left_out:
        sentences.append(f"Left out: {left_out} nights of more than 5 % failed operations.")
    tables = (_levels_table(view, levels), _nights_table(view, key, levels.get("p50")))
    return Section(str(key), tuple(sentences), tables=tuple(table for table in tables if table.rows))


def _line(panel: "Panel", key: "SeriesKey") -> "Iterator[str]":
    """p50 of the latest nights as a line of bars; a night without a value is a dot."""
    known = _known(panel, key)
    if not len(known):
        return
    first = max(int(known[0]), int(known[-1]) + 1 - _LINE_NIGHTS)
    values_ns = panel.values_ns[panel.keys.index(key), first : known[-1] + 1]
    low, high = float(np.nanmin(values_ns)), float(np.nanmax(values_ns))
    bars = (
        _GAP if np.isnan(value) else _BARS[round((len(_BARS) - 1) * (value - low) / ((high - low) or 1))]
        for value in values_ns.tolist()
    )
    yield (
        f"p50 from {panel.nights[first]:%Y-%m-%d} to {panel.nights[known[-1]]:%Y-%m-%d}, "
        f"{wording.milliseconds(low)} to {wording.milliseconds(high)} ms: {''.join(bars)}"
    )


def _levels_table(view: "HistoryView", levels: "Mapping[Statistic, SeriesLevels]") -> Table:
    rows = [
        _level_row(view.panel_of(statistic), one, level)
        for statistic, one in levels.items()
        for level in reversed(one.levels)
    ]
    return Table(
        "Levels, the latest first",
        ("Statistic", "From", "To", "Nights", "Median, ms", "By the one before", "Noise"),
        tuple(rows),
    )


def _level_row(panel: "Panel", one: "SeriesLevels", level: "Level") -> tuple[str, ...]:
    if level.ratio is None:
        step = wording.NONE
    else:
        way = "drifts" if level.is_drift else "slower" if level.ratio > 1 else "faster"
        step = f"{wording.three_digits(level.ratio)}, {way}"
    return (
        one.statistic,
        f"{panel.nights[level.first]:%Y-%m-%d}",
        f"{panel.nights[level.last]:%Y-%m-%d}",
        f"{level.nights:,}",
        wording.NONE if level.value_ns is None else wording.milliseconds(level.value_ns),
        step,
        wording.share(one.noise, 1),
    )


def _nights_table(view: "HistoryView", key: "SeriesKey", levels: "SeriesLevels | None") -> Table:
    """The latest nights as they were measured, with those that are left out of the levels."""
    wanted = {"stage": STAGE} | {name: getattr(key, name) for name in _KEY}
    is_mine = reduce(pc.and_, (pc.equal(view.nightly[name], value) for name, value in wanted.items()))
    mine = view.nightly.filter(is_mine).sort_by([("scheduled_at", "descending")])
    level_ns = levels.levels[-1].value_ns if levels and levels.levels else None
    rows = [_night_row(row, level_ns) for row in mine.slice(0, _LATEST_NIGHTS).to_pylist()]
    return Table(
        f"Latest {len(rows)} nights, in ms",
        ("Night", "n", "Failed", *STATISTICS, "p50 by its level"),
        tuple(rows),
    )


def _night_row(row: "Mapping[str, object]", level_ns: int | None) -> tuple[str, ...]:
    n, errors, p50_ns = (_number(row[name]) for name in ("n", "errors", "p50_ns"))
    by_level = wording.three_digits(p50_ns / level_ns) if p50_ns and level_ns else wording.NONE
    return (
        str(row["dt"]),
        f"{n or 0:,}",
        wording.errors(errors or 0, n or 0),
        *(_quantile(row, statistic) for statistic in STATISTICS),
        by_level,
    )


def _quantile(row: "Mapping[str, object]", statistic: "Statistic") -> str:
    value, low, high = (_number(row[f"{statistic}{bound}_ns"]) for bound in ("", "_low", "_high"))
    return wording.NONE if value is None else wording.quantile(Quantile(value, low, high))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
