"""The picture of cost against time: for each workload what a configuration costs, and how fast it is."""

from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.drawing import (
    LEGEND_ROW_INCHES,
    SMALL,
    WIDTH_INCHES,
    Picture,
    legend_below,
    legend_rows,
    looks,
    marker,
    style,
    svg_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from tasks.reports.view import Report
    from tasks.stats.summary_types import Quantile

_COLUMNS: Final = 2
_PANEL_INCHES: Final = 1.75
_FEWEST: Final = 2
"""Points of a panel: one alone is beside nothing."""
_WIDE: Final = 10.0
"""Values further apart than this stand on a logarithmic scale."""


class _Point(NamedTuple):
    """One cell."""

    config_id: str
    p50: "Quantile"
    usd_per_million: float


def cost_picture(report: "Report") -> Picture | None:
    """A panel for each workload of which the costs of two configurations are known; None without any."""
    panels = _panels(report)
    if not panels:
        return None
    config_ids = list(dict.fromkeys(point.config_id for points in panels.values() for point in points))
    order = {one: place for place, one in enumerate(dict.fromkeys(one.config_id for one in report.series))}
    config_ids.sort(key=lambda one: order.get(one, len(order)))
    rows = -(-len(panels) // _COLUMNS)
    size = (WIDTH_INCHES, 0.4 + _PANEL_INCHES * rows + LEGEND_ROW_INCHES * legend_rows(config_ids))
    with style():
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.07), facecolor="white")
        grid = figure.subplots(rows, _COLUMNS, squeeze=False)
        for axes, (workload_id, points) in zip(grid.flat, panels.items(), strict=False):
            _draw(axes, workload_id, points, config_ids)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes in grid.flat[: len(panels)][-_COLUMNS:]:  # the last one of each column
            axes.set_xlabel("p50, ms", fontsize=SMALL)
        figure.supylabel("USD per million operations", fontsize=SMALL)
        _name_all(grid.flat[0], config_ids)
        legend_below(figure, grid.flat[0])
        svg = svg_text(figure, "cost")
    return Picture(
        "cost",
        svg,
        "What a million operations cost against the time of one: further down is cheaper, further left is "
        "faster. Each workload on its own scales.",
        f"Cost against p50, a panel for each of {', '.join(panels)}: "
        f"{'; '.join(_told(workload_id, points) for workload_id, points in panels.items())}.",
        _table(panels),
    )


def _panels(report: "Report") -> dict[str, list[_Point]]:
    usd = {(one.config_id, one.workload_id): one.usd_per_million_operations for one in report.costs}
    panels: dict[str, list[_Point]] = {}
    for summary in report.summaries:
        cost = usd.get((summary.config_id, summary.workload_id))
        is_whole = summary.stage == "total_ns" and summary.operation not in BESIDES
        if cost is not None and is_whole and summary.distribution:
            point = _Point(summary.config_id, summary.distribution.p50, cost)
            panels.setdefault(summary.workload_id, []).append(point)
    return {workload_id: points for workload_id, points in panels.items() if len(points) >= _FEWEST}


def _draw(axes: "Axes", workload_id: str, points: "Sequence[_Point]", config_ids: "Sequence[str]") -> None:
    found = _looks(config_ids)
    for point in points:
        colour, sign = found[point.config_id]
        axes.plot(
            point.p50.value_ns / 1e6,
            point.usd_per_million,
            color=colour,
            linestyle="none",
            marker=sign,
            markersize=6,
        )
    axes.set_title(wording.printable(workload_id), loc="left", fontsize=SMALL, pad=3)
    axes.tick_params(labelsize=SMALL, length=2)
    _scale(axes, "x", [point.p50.value_ns / 1e6 for point in points])
    _scale(axes, "y", [point.usd_per_million for point in points])


def _scale(axes: "Axes", which: str, values: "Sequence[float]") -> None:
    """Logarithmic where values lie far apart; else from zero, so that a small difference looks small."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if min(values) > 0 and max(values) > _WIDE * min(values):
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(numticks=5))
        axes.margins(0.15)
    else:
        limits = (0, 1.15 * max(values) or 1)
        axes.set_xlim(limits) if which == "x" else axes.set_ylim(limits)
        axis.set_major_locator(MaxNLocator(3))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def _name_all(axes: "Axes", config_ids: "Sequence[str]") -> None:
    """An entry of the legend for each configuration, wherever its points are."""
    for config_id, (colour, sign) in _looks(config_ids).items():
        axes.plot([], [], color=colour, linestyle="none", marker=sign, label=config_id)


def _looks(config_ids: "Sequence[str]") -> "Mapping[str, tuple[str, str]]":
    return {
        config_id: (colour, marker(place))
        for place, (config_id, (colour, _)) in enumerate(zip(config_ids, looks(), strict=False))
    }


def _told(workload_id: str, points: "Sequence[_Point]") -> str:
    fastest = min(points, key=lambda point: point.p50.value_ns)
    cheapest = min(points, key=lambda point: point.usd_per_million)
    return f"{workload_id} fastest {fastest.config_id}, cheapest {cheapest.config_id}"


def _table(panels: "Mapping[str, Sequence[_Point]]") -> Table:
    rows = tuple(
        (point.config_id, workload_id, wording.quantile(point.p50), wording.usd(point.usd_per_million))
        for workload_id, points in panels.items()
        for point in points
    )
    return Table(
        "Cost against time",
        ("Configuration", "workload", "p50, ms", "USD per million operations"),
        wording.printable_rows(rows),
        prose=frozenset({1}),
    )
