"""The picture of a history: night by night, how slow a series is by its own middle night."""

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.drawing import COLOURS
from tasks.reports.pictures import Picture, figure_and_axes, legend_below, looks, style, svg_text
from tasks.stats.common_mode import common_factors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasks.reports.history_view import HistoryView
    from tasks.stats.panels import Panel

_COMMON: Final = "all configurations"
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
    lines = _relative(view, panel, shown)
    with style():
        figure, axes = figure_and_axes(3.4, list(lines))
        for label, values, look in zip(lines, lines.values(), _looks(lines), strict=True):
            _draw(axes, days, values, label=label, **look)
        for mark in dict.fromkeys(mark.since_at for mark in view.marks):
            axes.axvline(_day(mark), color="#555555", linewidth=0.8, linestyle=":")
        _draw_changes(axes, view)
        _name_axes(axes)
        legend_below(figure, axes)
        svg = svg_text(figure, "nights")
    caption = "p50 of each night by the series' own median night: higher is slower."
    if view.changes:
        caption += " ▲ since this night something is slower, ▼ faster."
    if view.marks:
        caption += " Dotted: something of the environment changed."
    table = _table([panel.nights[place] for place in shown], lines)
    return Picture("nights", svg, caption, f"p50 night by night of {', '.join(lines)}.", table)


def _relative(
    view: "HistoryView", panel: "Panel", shown: "Sequence[int]"
) -> "dict[str, NDArray[np.float64]]":
    """What is drawn, by name: the factor of all configurations, and series by their own median night."""
    factors = common_factors(panel)[shown]
    lines = {_COMMON: factors} if np.isfinite(factors).any() else {}
    for row in _rows(view, panel):
        values_ns = panel.values_ns[row][shown]
        lines[str(panel.keys[row])] = values_ns / np.nanmedian(values_ns)
    return lines


def _looks(names: "Iterable[str]") -> "Iterator[dict[str, Any]]":
    """How each line looks: that of all configurations lies broad behind the others."""
    others = looks()
    for name in names:
        if name == _COMMON:
            yield {"color": "#000000", "linewidth": 3, "alpha": 0.3}
        else:
            colour, line = next(others)
            yield {"color": colour, "linestyle": line, "marker": ".", "markersize": 4}


def _draw_changes(axes: "Axes", view: "HistoryView") -> None:
    """A sign on a line, as in the pictures of each workload; those of one night on the same line."""
    for since_at, direction in dict.fromkeys((one.since_at, one.direction) for one in view.changes):
        is_slower = direction == "slower"
        axes.axvline(_day(since_at), color="#000000", linewidth=0.6, alpha=0.5)
        axes.plot(
            _day(since_at),
            1.0 if is_slower else 0.0,
            transform=axes.get_xaxis_transform(),
            color=COLOURS[1] if is_slower else COLOURS[2],
            marker="^" if is_slower else "v",
            markersize=7,
            clip_on=False,
            zorder=5,
        )


def _table(nights: "Sequence[datetime]", lines: "Mapping[str, NDArray[np.float64]]") -> Table:
    """A row for each night, the latest first."""
    rows = tuple(
        (f"{night:%Y-%m-%d}", *(_percent(values[place]) for values in lines.values()))
        for place, night in reversed(list(enumerate(nights)))
    )
    return Table("p50 of each night, % of the series' median night", ("Night", *lines), rows, detail=True)


def _percent(value: float) -> str:
    return f"{100 * value:,.0f}" if np.isfinite(value) else wording.NONE


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
