"""The pictures of a run: of each workload its distributions, quantiles, drift over the blocks, and stages.

Each has a table of the same figures, for those who do not see it and for those who want them exactly.
"""

from textwrap import fill
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.drawing import (
    COLOURS,
    HATCHES,
    Picture,
    figure_and_axes,
    legend_below,
    log_milliseconds,
    looks,
    marker,
    style,
    svg_text,
)
from tasks.reports.percentile_picture import percentiles_picture
from tasks.reports.stage_tables import by_configuration, mean_parts, part_names
from tasks.stats.quantiles import quantile
from tasks.stats.ratios import block_medians_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasks.reports.view import Report
    from tasks.stats.series import Series

__all__ = [
    "Picture",
    "all_pictures",
    "figure_and_axes",
    "legend_below",
    "looks",
    "pictures",
    "style",
    "svg_text",
    "thinned",
]

_MOST_POINTS: Final = 120
_SHOWN_PERCENT: Final = (10, 25, 50, 75, 90)
_STAGED: Final = ("scan", "first_read")
"""Operations whose stages are drawn; of all others the time to first byte at the most is known."""


def all_pictures(report: "Report") -> dict[str, list[Picture]]:
    """The pictures of each workload."""
    return {workload_id: pictures(report, workload_id) for workload_id in report.workload_ids}


def pictures(report: "Report", workload_id: str) -> list[Picture]:
    """The pictures of one workload: only those that its samples can fill."""
    whole = [
        one
        for one in report.series
        if one.workload_id == workload_id and one.operation not in BESIDES and one.n > 0
    ]
    if not whole:
        return []
    drawn = [_distribution(whole, workload_id), percentiles_picture(whole, workload_id)]
    if any(len(block_medians_ns(one)) > 1 for one in whole):
        drawn.append(_blocks(whole, workload_id))
    parts = _parts(report, workload_id)
    if any(len(mine) > 1 for mine in parts.values()):
        drawn.append(_stages(parts, workload_id))
    return drawn


def thinned(sorted_ns: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """At most 240 points of a cumulative distribution: times in nanoseconds, and the share at or below.

    Ranks are evenly spaced, with as many again in the slowest tenth; the first and the last always stay.
    """
    n = len(sorted_ns)
    even = np.linspace(1, n, min(n, _MOST_POINTS))
    tail = np.linspace(max(1.0, 0.9 * n), n, min(n, _MOST_POINTS))
    ranks = np.unique(np.concatenate([even, tail]).round().astype(np.int64))
    return sorted_ns[ranks - 1], ranks / n


def _distribution(series: "Sequence[Series]", workload_id: str) -> Picture:
    with style():
        figure, axes = figure_and_axes(3.6, [one.config_id for one in series])
        for one, (colour, line) in zip(series, looks(), strict=False):
            times_ns, at_or_below = thinned(one.times_ns())
            axes.step(
                np.concatenate([times_ns[:1], times_ns]) / 1e6,  # from none to the first
                100 * np.concatenate([[0], at_or_below]),
                where="post",
                color=colour,
                linestyle=line,
                label=one.config_id,
            )
        log_milliseconds(axes, "x")
        axes.set_ylabel("operations at or below, %")
        axes.set_ylim(0, 102)
        legend_below(figure, axes)
        svg = svg_text(figure, f"{workload_id}-distribution")
    medians = ", ".join(
        f"{one.config_id} half within {wording.milliseconds(quantile(one.times_ns(), 50).value_ns)} ms"
        for one in series
    )
    return Picture(
        "distribution",
        svg,
        "How the times are distributed: further left is faster, steeper is steadier.",
        f"Cumulative distribution of the times of {workload_id} on a logarithmic scale: {medians}.",
        _distribution_table(series),
    )


def _distribution_table(series: "Sequence[Series]") -> Table:
    rows = []
    for one in series:
        times_ns = one.times_ns()
        shown = (wording.quantile(quantile(times_ns, percent)) for percent in _SHOWN_PERCENT)
        least, most = wording.milliseconds(int(times_ns[0])), wording.milliseconds(int(times_ns[-1]))
        rows.append((one.config_id, least, *shown, most))
    return Table(
        "The time within which so many of the operations that succeeded ended, ms",
        ("Configuration", "fastest", *(f"{percent} %" for percent in _SHOWN_PERCENT), "all"),
        tuple(rows),
    )


def _blocks(series: "Sequence[Series]", workload_id: str) -> Picture:
    medians_ns = {one.config_id: block_medians_ns(one) for one in series}
    with style():
        figure, axes = figure_and_axes(2.9, list(medians_ns))
        for place, (config_id, (colour, line)) in enumerate(zip(medians_ns, looks(), strict=False)):
            mine_ns = medians_ns[config_id]
            axes.plot(
                list(mine_ns),
                [median_ns / 1e6 for median_ns in mine_ns.values()],
                color=colour,
                linestyle=line,
                marker=marker(place),
                markersize=4,
                label=config_id,
            )
        log_milliseconds(axes, "y")
        axes.set_xlabel("block")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_below(figure, axes)
        svg = svg_text(figure, f"{workload_id}-blocks")
    return Picture(
        "blocks",
        svg,
        "p50 of every block, in the order of the run: a slope that all share is drift, not a result.",
        f"p50 of {workload_id} block by block, one line for each of {len(series)} configurations.",
        _blocks_table(medians_ns),
    )


def _blocks_table(medians_ns: "Mapping[str, Mapping[int, int]]") -> Table:
    """Blocks are the rows unless configurations are more: a narrow table is read on a phone and on paper."""
    blocks = sorted({block for mine_ns in medians_ns.values() for block in mine_ns})
    by_configuration = [
        [wording.milliseconds(mine_ns[block]) if block in mine_ns else wording.NONE for block in blocks]
        for mine_ns in medians_ns.values()
    ]
    title, names = "p50 of every block, ms", [f"block {one}" for one in blocks]
    if len(medians_ns) > len(blocks):
        rows = zip(medians_ns, by_configuration, strict=True)
        return Table(title, ("Configuration", *names), tuple((name, *row) for name, row in rows))
    by_block = zip(names, zip(*by_configuration, strict=True), strict=True)
    return Table(title, ("Block", *medians_ns), tuple((name, *row) for name, row in by_block))


def _parts(report: "Report", workload_id: str) -> dict[str, dict[str, float]]:
    """By configuration, the parts of the mean of an operation that was timed by stages, in nanoseconds."""
    staged = [
        summary
        for summary in report.summaries
        if summary.workload_id == workload_id and summary.operation in _STAGED
    ]
    return {config_id: mean_parts(stages) for config_id, stages in by_configuration(staged).items()}


def _stages(parts: "Mapping[str, Mapping[str, float]]", workload_id: str) -> Picture:
    names = part_names(list(parts.values()))
    left = np.zeros(len(parts))
    with style():
        figure, axes = figure_and_axes(1.2 + 0.4 * len(parts), names)
        for place, name in enumerate(names):
            widths = np.array([mine.get(name, 0.0) / 1e6 for mine in parts.values()])
            axes.barh(
                [fill(config_id, 24) for config_id in parts],
                widths,
                left=left.copy(),
                color=COLOURS[place % len(COLOURS)],
                hatch=HATCHES[place % len(HATCHES)],
                edgecolor="white",
                linewidth=0.5,
                height=0.6,
                label=name,
            )
            left += widths
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("mean time of an operation, ms")
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        legend_below(figure, axes)
        svg = svg_text(figure, f"{workload_id}-stages")
    return Picture(
        "stages",
        svg,
        "Where an operation spends its time, mean of every stage.",
        f"Stacked bars of the mean time of each stage of {workload_id}, one bar for each of "
        f"{len(parts)} configurations; the figures stand in the table of means.",
    )
