"""The pictures of the nights of a schedule: of each workload a strip for each configuration, night by night.

Each strip has its own scale of time, so that a step of a quick configuration is seen as well as one of a slow
one. A night without a value is a break in the line, and a series that began anew is a line of its own. Of
more nights than a strip has columns, each column keeps its fastest and its slowest.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.drawing import COLOURS, SMALL, WIDTH_INCHES, Picture, style, svg_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasks.reports.history_view import HistoryView
    from tasks.stats.levels import SeriesLevels
    from tasks.stats.panels import Panel, SeriesKey
    from tasks.stats.regressions import Change

FEWEST_NIGHTS: Final = 3
_STRIPS: Final = 8
"""Of one picture."""
_STRIP_INCHES: Final = 0.95
_AROUND_INCHES: Final = 0.6
"""Above the first strip and below the last one."""
_COLUMNS: Final = 380
"""As many points as a strip is wide."""
_SECONDS_PER_DAY: Final = 86_400
_SLOWER: Final = COLOURS[1]
_FASTER: Final = COLOURS[2]
_LOG_FROM: Final = 10.0
"""Times further apart than this stand on a logarithmic scale."""
_CAPTION: Final = (
    "p50 of every night, each configuration on its own scale; thick: its level. ▲ since this night slower, "
    "▼ faster; open where p50 did not change, but p90. Dotted: something of the environment changed. Dashed: "
    "the series began anew."
)


class _Strip(NamedTuple):
    """One operation of one cell."""

    label: str
    rows: tuple[int, ...]
    """Of the panel: one for each meaning that it had."""


class _Nights(NamedTuple):
    """What is drawn of."""

    view: "HistoryView"
    panel: "Panel"
    columns: list[int]
    """Of the panel: the nights that are shown."""
    levels: "Mapping[SeriesKey | None, SeriesLevels]"

    @property
    def dates(self) -> str:
        """From when until when."""
        first, last = (self.panel.nights[self.columns[place]] for place in (0, -1))
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def nights_pictures(view: "HistoryView", config_ids: "Sequence[str]" = ()) -> dict[str, list[Picture]]:
    """The pictures of each workload; none where there are too few nights.

    Args:
        view: the nights.
        config_ids: the configurations that come first, in their order.
    """
    panel = view.panel_of("p50")
    columns = shown_nights(view, panel)
    if len(columns) < FEWEST_NIGHTS:
        return {}
    levels = {one.key: one for one in view.levels if one.statistic == panel.statistic}
    nights = _Nights(view, panel, columns, levels)
    return {
        workload_id: [
            _picture(nights, workload_id, place, mine[place : place + _STRIPS])
            for place in range(0, len(mine), _STRIPS)
        ]
        for workload_id, mine in _strips(panel, columns, config_ids).items()
    }


def shown_nights(view: "HistoryView", panel: "Panel") -> list[int]:
    """The columns of a panel that are shown: it also has nights before, which only detection needs."""
    if not view.nights:
        return []
    first = view.nights[0].due_at
    return [place for place, night in enumerate(panel.nights) if night >= first]


def _strips(
    panel: "Panel", columns: "Sequence[int]", config_ids: "Sequence[str]"
) -> "dict[str, list[_Strip]]":
    """The series of each workload that have a value in the nights that are shown."""
    rows: dict[tuple[str, str, str], list[int]] = {}
    for row, key in enumerate(panel.keys):
        if np.isfinite(panel.values_ns[row, columns]).any():
            rows.setdefault((key.workload_id, key.config_id, key.operation), []).append(row)
    order = {config_id: place for place, config_id in enumerate(config_ids)}
    found: dict[str, list[_Strip]] = {}
    several = {(workload_id, operation) for workload_id, _, operation in rows}
    for workload_id, config_id, operation in sorted(
        rows, key=lambda one: (order.get(one[1], len(order)), one)
    ):
        alone = sum(workload_id == one for one, _ in several) == 1
        label = config_id if alone else f"{config_id} {operation}"
        strip = _Strip(label, tuple(rows[workload_id, config_id, operation]))
        found.setdefault(workload_id, []).append(strip)
    return found


def _picture(nights: _Nights, workload_id: str, place: int, strips: "Sequence[_Strip]") -> Picture:
    """`place` is that of the first strip among all of the workload."""
    keys = {nights.panel.keys[row] for strip in strips for row in strip.rows}
    height = _AROUND_INCHES + _STRIP_INCHES * len(strips)
    with style():
        figure = Figure(figsize=(WIDTH_INCHES, height), facecolor="white")
        above, below = 0.25 / height, (_AROUND_INCHES - 0.25) / height
        figure.subplots_adjust(left=0.12, right=0.985, top=1 - above, bottom=below, hspace=0.55)
        axes = figure.subplots(len(strips), 1, sharex=True, squeeze=False)[:, 0]
        for one, strip in zip(axes, strips, strict=True):
            _draw_strip(one, nights, strip)
        _name_days(axes[-1])
        svg = svg_text(figure, f"{workload_id}-nights-{place}")
    told = "; ".join(_told(change) for change in nights.view.changes if change.series in keys)
    return Picture(
        "nights",
        svg,
        _CAPTION,
        f"p50 of {workload_id} night by night, {nights.dates}, a strip for each of "
        f"{', '.join(one.label for one in strips)}. {f'Changes: {told}' if told else 'No change was found'}.",
        _table(nights, workload_id, strips),
    )


def _draw_strip(axes: "Axes", nights: _Nights, strip: _Strip) -> None:
    panel, view = nights.panel, nights.view
    values_ms = panel.values_ns[np.ix_(strip.rows, nights.columns)] / 1e6
    days = np.array([_day(panel.nights[column]) for column in nights.columns])
    for since_at in {mark.since_at for mark in view.marks if mark.is_of(panel.keys[strip.rows[0]].cell_id)}:
        axes.axvline(_day(since_at), color="#555555", linewidth=0.8, linestyle=":")
    for place, mine_ms in enumerate(values_ms):
        known = np.flatnonzero(np.isfinite(mine_ms))
        if place and len(known):
            axes.axvline(days[known[0]], color="#555555", linewidth=0.8, linestyle="--")
        _draw_line(axes, *_broken(days, mine_ms, _gap_days(view)))
    for row in strip.rows:
        _draw_levels(axes, nights, panel.keys[row])
        _draw_changes(axes, view, panel.keys[row])
    axes.set_title(strip.label, loc="left", fontsize=SMALL, pad=2)
    axes.set_xlim(days[0] - 0.5, days[-1] + 0.5)
    _scale(axes, values_ms)


def _draw_levels(axes: "Axes", nights: _Nights, key: "SeriesKey") -> None:
    """A thick line at the median of each level, from its first night to its last."""
    found = nights.levels.get(key)
    levels = [one for one in found.levels if one.value_ns is not None] if found else []
    axes.hlines(
        [(one.value_ns or 0) / 1e6 for one in levels],
        [_day(nights.panel.nights[one.first]) for one in levels],
        [_day(nights.panel.nights[one.last]) for one in levels],
        colors=COLOURS[4],
        linewidth=1.8,
    )


def _draw_line(axes: "Axes", days: "NDArray[np.float64]", values_ms: "NDArray[np.float64]") -> None:
    """A thin line; a night between two without a value would not be seen on it, and is a dot."""
    axes.plot(*thinned_nights(days, values_ms), color=COLOURS[0], linewidth=0.8)
    known = np.concatenate([[False], np.isfinite(values_ms), [False]])
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    if alone.any():
        axes.plot(days[alone], values_ms[alone], color=COLOURS[0], linestyle="none", marker=".", markersize=3)


def thinned_nights(
    days: "NDArray[np.float64]", values: "NDArray[np.float64]", at_most: int = _COLUMNS
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """All nights where there are no more than columns; else the fastest and the slowest of each column.

    Gaps stay: of a column without any value one point is kept, which is none.
    """
    if len(days) <= at_most:
        return days, values
    column = np.minimum((days - days[0]) * at_most / (days[-1] - days[0]), at_most - 1).astype(int)
    kept: set[int] = set()
    for places in np.split(np.arange(len(days)), np.flatnonzero(np.diff(column)) + 1):
        known = places[np.isfinite(values[places])]
        extremes = (
            (known[np.argmin(values[known])], known[np.argmax(values[known])]) if len(known) else places[:1]
        )
        kept.update(int(place) for place in extremes)
    places = np.array(sorted(kept))
    return days[places], values[places]


def _broken(
    days: "NDArray[np.float64]", values: "NDArray[np.float64]", gap_days: "NDArray[np.float64]"
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """The same with nights that have no run in between, which are no columns of a panel."""
    every = np.concatenate([days, gap_days])
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate([values, np.full(len(gap_days), np.nan)])[order]


def _gap_days(view: "HistoryView") -> "NDArray[np.float64]":
    return np.array([_day(night.due_at) for night in view.nights if not night.state.has_run], np.float64)


def _draw_changes(axes: "Axes", view: "HistoryView", key: "SeriesKey") -> None:
    """A sign above the first night of each change; an open one where p90 alone changed."""
    mine = [change for change in view.changes if change.series == key]
    of_p50 = {change.since_at for change in mine if change.statistic == "p50"}
    for change in mine:
        if change.statistic != "p50" and change.since_at in of_p50:
            continue
        colour = _SLOWER if change.direction == "slower" else _FASTER
        axes.plot(
            _day(change.since_at),
            0.9,
            transform=axes.get_xaxis_transform(),
            color=colour,
            marker="^" if change.direction == "slower" else "v",
            markersize=6,
            markerfacecolor=colour if change.statistic == "p50" else "white",
            clip_on=False,
        )


def _scale(axes: "Axes", values_ms: "NDArray[np.float64]") -> None:
    least, most = float(np.nanmin(values_ms)), float(np.nanmax(values_ms))
    if most > _LOG_FROM * least:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=SMALL, length=2)


def _name_days(axes: "Axes") -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda day, _: f"{datetime.fromtimestamp(day * _SECONDS_PER_DAY, UTC):%Y-%m-%d}")
    )


def _day(moment: datetime) -> float:
    return moment.timestamp() / _SECONDS_PER_DAY


def _told(change: "Change") -> str:
    ratio = wording.three_digits(change.ratio)
    return f"{change.name} {change.statistic} {change.direction} since {change.since_dt}, ratio {ratio}"


def _table(nights: _Nights, workload_id: str, strips: "Sequence[_Strip]") -> Table:
    """A row for each night, the latest first."""
    rows = tuple(
        (
            f"{nights.panel.nights[column]:%Y-%m-%d}",
            *(_cell(nights.panel, strip, column) for strip in strips),
        )
        for column in reversed(nights.columns)
    )
    header = ("Night", *(strip.label for strip in strips))
    return Table(f"p50 of {workload_id} of each night, ms", header, rows, detail=True)


def _cell(panel: "Panel", strip: _Strip, column: int) -> str:
    values_ns = panel.values_ns[list(strip.rows), column]
    known = values_ns[np.isfinite(values_ns)]
    return wording.milliseconds(float(known[0])) if len(known) else wording.NONE
