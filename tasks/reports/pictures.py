"""The pictures of a report as SVG for inlining: distributions, stages, and drift over the blocks.

Drawn through matplotlib's object interface, so that no global state and no display is touched. The same
run gives the same bytes: ids are salted with the picture's name, and no date is written. Text stays text,
which keeps the files small and searchable. Colours are those of Okabe and Ito (2008), told apart with any
colour vision; line styles and hatches tell them apart in black and white as well.
"""

import io
import re
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.stage_tables import by_configuration, mean_parts, part_names
from tasks.stats.quantiles import quantile
from tasks.stats.ratios import block_medians_ns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tasks.reports.view import Report
    from tasks.stats.series import Series

_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES: Final = ("-", "--", "-.", ":")
_HATCHES: Final = ("", "//", "--", "xx", "\\\\")
"""Of lines: a pattern of dots takes 68 kB."""
_WIDTH_INCHES: Final = 6.4
_MOST_POINTS: Final = 120
_STAGED: Final = ("scan", "first_read")
"""Operations whose stages are drawn; of all others the time to first byte at the most is known."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture, ready for a page."""

    kind: Literal["distribution", "blocks", "stages", "nights"]
    svg: str
    caption: str
    description: str
    """What it shows, in words, for those who do not see it."""


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
    drawn = [_distribution(whole, workload_id)]
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
        figure, axes = figure_and_axes(4.0, [one.config_id for one in series])
        for one, (colour, line) in zip(series, looks(), strict=False):
            times_ns, at_or_below = thinned(one.times_ns())
            axes.step(
                times_ns / 1e6,
                100 * at_or_below,
                where="post",
                color=colour,
                linestyle=line,
                label=one.config_id,
            )
        _log_milliseconds(axes, "x")
        axes.set_ylabel("operations at or below, %")
        axes.set_ylim(0, 101)
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
    )


def _blocks(series: "Sequence[Series]", workload_id: str) -> Picture:
    with style():
        figure, axes = figure_and_axes(3.2, [one.config_id for one in series])
        for one, (colour, line) in zip(series, looks(), strict=False):
            medians = block_medians_ns(one)
            axes.plot(
                list(medians),
                [median / 1e6 for median in medians.values()],
                color=colour,
                linestyle=line,
                marker="o",
                markersize=4,
                label=one.config_id,
            )
        _log_milliseconds(axes, "y")
        axes.set_xlabel("block")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_below(figure, axes)
        svg = svg_text(figure, f"{workload_id}-blocks")
    return Picture(
        "blocks",
        svg,
        "p50 of every block, in the order of the run: a slope that all share is drift, not a result.",
        f"p50 of {workload_id} block by block, one line for each of {len(series)} configurations.",
    )


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
                color=_COLOURS[place % len(_COLOURS)],
                hatch=_HATCHES[place % len(_HATCHES)],
                edgecolor="white",
                linewidth=0.5,
                height=0.6,
                label=name,
            )
            left += widths
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("mean time of an operation, ms")
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


def style() -> "AbstractContextManager[None]":
    """How all pictures look; text stays text."""
    return mpl.rc_context(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 10.0,
            "text.parse_math": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
        }
    )


def figure_and_axes(height_inches: float, labels: "Sequence[str]") -> "tuple[Figure, Axes]":
    """Axes of this height, on a figure with room for a legend of these labels below."""
    legend_rows = -(-len(labels) // _legend_columns(labels))
    size = (_WIDTH_INCHES, height_inches + 0.17 * legend_rows)
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    return figure, figure.subplots()


def _legend_columns(labels: "Sequence[str]") -> int:
    """As many as the longest label leaves room for, at about 0.08 inches a character and 0.6 a line."""
    return max(1, min(4, int(_WIDTH_INCHES / (0.6 + 0.08 * max(map(len, labels))))))


def looks() -> "Iterator[tuple[str, str]]":
    """Colours with line styles, unlike for the first 28 configurations, and again from the start."""
    while True:
        for shift in range(len(_LINES)):
            for place, colour in enumerate(_COLOURS):
                yield colour, _LINES[(place + shift) % len(_LINES)]


def _log_milliseconds(axes: "Axes", which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_label_text("ms, logarithmic")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    if high < 3 * low:  # too short for 1, 2, 5: it might hold none of them
        axis.set_major_locator(MaxNLocator(5))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure: Figure, axes: "Axes") -> None:
    """The legend, outside of the axes."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=_legend_columns(labels),
        frameon=False,
        fontsize="small",
    )


def svg_text(figure: Figure, name: str) -> str:
    """The figure as an SVG element whose ids begin with `name`, so that many stand in one page.

    The page takes it as it is, and a name may come from a file: what an id has no place for is encoded.
    """
    name = quote(name, safe="").replace("%", "_")
    target = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(target, format="svg", metadata=nothing)
    drawing = target.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r'\bid="', f'id="{name}-', drawing)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", drawing)
