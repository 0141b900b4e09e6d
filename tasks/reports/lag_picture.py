"""The picture of sync lag: how long writes stayed unseen on the other side, the shortest to the longest."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.drawing import (
    COLOURS,
    Picture,
    figure_and_axes,
    legend_below,
    log_milliseconds,
    style,
    svg_text,
)
from tasks.reports.sync_lag_section import asked, sync_lags

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasks.reports.view import Report
    from tasks.stats.summary_types import Distribution, Quantile, Summary

_LABELS: Final = ("shortest to longest", "p50", "p90")
_APART: Final = 0.16
"""p50 stands so far above the line, and p90 below it: they are often the same."""


def lag_picture(report: "Report") -> Picture | None:
    """A row for each lag that was measured; None where none was."""
    shown = [(one, one.distribution) for one in sync_lags(report) if one.distribution]
    if not shown:
        return None
    names = [_name(report, one) for one, _ in shown]
    rows = list(range(len(shown)))
    figures = [each for _, each in shown]
    with style():
        figure, axes = figure_and_axes(1.0 + 0.42 * len(shown), _LABELS)
        least, most = ([each.min_ns / 1e6 for each in figures], [each.max_ns / 1e6 for each in figures])
        axes.hlines(rows, least, most, colors="#888888", linewidth=2, label=_LABELS[0])
        for label, colour, sign, shift, quantiles in (
            (_LABELS[1], COLOURS[0], "o", -_APART, [each.p50 for each in figures]),
            (_LABELS[2], COLOURS[1], "s", _APART, [each.p90 for each in figures]),
        ):
            axes.plot([], [], color=colour, linestyle="none", marker=sign, markersize=6, label=label)
            for row, value in enumerate(quantiles):
                _draw(axes, row + shift, value, colour, sign)
        axes.set_yticks(rows, names)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        log_milliseconds(axes, "x")
        legend_below(figure, axes)
        svg = svg_text(figure, "sync-lag")
    told = "; ".join(
        f"{' '.join(name.split())}: {_median(each)}" for name, each in zip(names, figures, strict=True)
    )
    return Picture(
        "lag",
        svg,
        "From the end of a write to its being seen on the other side. ▷: the quantile lies above "
        "this. An open ring: the sample's own.",
        f"Sync lag on a logarithmic scale. {told}. The figures stand in the table of lags.",
    )


def _draw(axes: "Axes", row: float, value: "Quantile", colour: str, sign: str) -> None:
    """A quantile as `wording.quantile` writes it: the bound where there is only that."""
    is_bound = value.low_ns is not None and value.high_ns is None
    is_known = None not in {value.low_ns, value.high_ns}
    axes.plot(
        (value.low_ns if is_bound and value.low_ns else value.value_ns) / 1e6,
        row,
        color=colour,
        marker=sign if is_known else ">" if is_bound else "o",
        markersize=6 if is_known else 8,
        markerfacecolor=colour if is_known else "white",
    )


def _name(report: "Report", one: "Summary") -> str:
    """The configuration, what was written, and who looked for it."""
    size = one.size_bytes
    return f"{one.config_id}\n{f'{size:,} bytes, ' if size else ''}{asked(report, one, 'seen_by')}"


def _median(figures: "Distribution") -> str:
    return f"p50 {wording.quantile(figures.p50)} ms, longest {wording.milliseconds(figures.max_ns)} ms"
