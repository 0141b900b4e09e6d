"""The picture of a history: night by night, how slow a series is by its own middle night."""

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from tasks.reports.pictures import Picture, figure_and_axes, legend_below, looks, style, svg_text
from tasks.stats.common_mode import common_factors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasks.reports.history_view import HistoryView
    from tasks.stats.panels import Panel

_MOST_LINES: Final = 6
_FEWEST_NIGHTS: Final = 3
_SECONDS_PER_DAY: Final = 86_400


def nights_picture(view: "HistoryView") -> Picture | None:
    """The p50 of the series that changed, or else of the first few; none where there are too few nights.

    A night without a value is a break in the line.
    """
    (panel,) = (one for one in view.panels if one.statistic == "p50")
    first = view.nights[0].due_at if view.nights else datetime.max.replace(tzinfo=UTC)
    shown = [place for place, night in enumerate(panel.nights) if night >= first]
    if len(shown) < _FEWEST_NIGHTS or not panel.keys:
        return None
    gaps = [night.due_at for night in view.nights if not night.state.has_run]
    days = np.array([*(_day(panel.nights[place]) for place in shown), *map(_day, gaps)])
    rows = _rows(view, panel)
    labels = [str(panel.keys[row]) for row in rows]
    factors = common_factors(panel)[shown]
    common = ["all configurations"] if np.isfinite(factors).any() else []
    with style():
        figure, axes = figure_and_axes(3.4, [*common, *labels])
        for label in common:
            _draw(axes, days, factors, color="#000000", linewidth=3, alpha=0.3, label=label)
        for row, label, (colour, line) in zip(rows, labels, looks(), strict=False):
            values_ns = panel.values_ns[row][shown]
            relative = values_ns / np.nanmedian(values_ns)
            _draw(axes, days, relative, color=colour, linestyle=line, marker=".", markersize=4, label=label)
        for mark in dict.fromkeys(mark.since_at for mark in view.marks):
            axes.axvline(_day(mark), color="#777777", linewidth=0.8, linestyle="--")
        for since_at in dict.fromkeys(change.since_at for change in view.changes):
            axes.axvline(_day(since_at), color="#000000", linewidth=0.8, linestyle=":")
        _name_axes(axes)
        legend_below(figure, axes)
        svg = svg_text(figure, "nights")
    caption = "p50 of each night by the series' own median night: higher is slower."
    if view.changes:
        caption += " Each dotted line is the first night of a change."
    if view.marks:
        caption += " Each dashed line is a night since which something of the environment is otherwise."
    return Picture("nights", svg, caption, f"p50 night by night of {', '.join(labels)}.")


def _draw(axes: "Axes", days: "NDArray[np.float64]", values: "NDArray[np.float64]", **look: Any) -> None:
    """A line through the nights, which come before the gaps in `days` and which the gaps break."""
    order = np.argsort(days)
    broken = np.append(values, np.full(len(days) - len(values), np.nan))
    axes.plot(days[order], broken[order], **look)


def _day(moment: datetime) -> float:
    return moment.timestamp() / _SECONDS_PER_DAY


def _name_axes(axes: "Axes") -> None:
    axes.set_ylabel("p50 by its median night")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda day, _: f"{datetime.fromtimestamp(day * _SECONDS_PER_DAY, UTC):%Y-%m-%d}")
    )


def _rows(view: "HistoryView", panel: "Panel") -> list[int]:
    """The series that changed, the latest change first; without any the first ones that go on."""
    place = {key: row for row, key in enumerate(panel.keys)}
    changed = [place[change.series] for change in reversed(view.changes) if change.series in place]
    ongoing = [row for row in place.values() if np.isfinite(panel.values_ns[row, -1])]
    return list(islice(dict.fromkeys(changed or ongoing), _MOST_LINES))
