"""The picture of a workload's quantiles: how slow the slow operations are, and how sure that is.

Quantiles stand on an axis of nines, where p90 and p99 are as far apart as p99 and p99.9, so that the tail is
seen as well as the middle. One that the sample does not support is drawn as what is known of it: an open
arrow upwards at the bound that it lies above, an open ring where there is no bound at all.
"""

import math
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.drawing import (
    Picture,
    figure_and_axes,
    legend_below,
    log_milliseconds,
    looks,
    marker,
    style,
    svg_text,
)
from tasks.stats.quantiles import quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from tasks.stats.series import Series
    from tasks.stats.summary_types import Quantile

PERCENTS: Final = (50, 90, 95, 99)
_PLACES: Final = {percent: -math.log10(1 - percent / 100) for percent in PERCENTS}
_PLACE_OF_MAX: Final = 2.5
_APART: Final = 0.16
"""The width over which the configurations of one quantile stand beside one another."""


def percentiles_picture(series: "Sequence[Series]", workload_id: str) -> Picture:
    """The quantiles of series of one workload that have a time."""
    found = {
        one.config_id: {percent: quantile(one.times_ns(), percent, one.errors) for percent in PERCENTS}
        for one in series
    }
    most_ns = {one.config_id: int(one.times_ns()[-1]) for one in series}
    with style():
        figure, axes = figure_and_axes(3.6, list(found))
        for place, (config_id, (colour, line)) in enumerate(zip(found, looks(), strict=False)):
            shift = _APART * ((place + 0.5) / len(found) - 0.5)
            _draw_one(axes, found[config_id], most_ns[config_id], shift, (colour, line, marker(place)))
            axes.plot([], [], color=colour, linestyle=line, marker=marker(place), label=config_id)
        log_milliseconds(axes, "y")
        axes.set_xticks([*_PLACES.values(), _PLACE_OF_MAX], [*(f"p{percent}" for percent in PERCENTS), "max"])
        axes.grid(visible=False, axis="x")
        legend_below(figure, axes)
        svg = svg_text(figure, f"{workload_id}-percentiles")
    told = ", ".join(
        f"{config_id} {wording.quantile(quantiles[50])} and {wording.quantile(quantiles[99])}"
        for config_id, quantiles in found.items()
    )
    return Picture(
        "percentiles",
        svg,
        "Quantiles with their 95 % intervals within this run, and the slowest operation. △: the "
        "quantile lies above this, by how much so small a sample cannot say. An open ring: the sample's own.",
        f"Quantiles of {workload_id} in milliseconds, p50 and p99: {told}.",
        _table(series, found),
    )


def _draw_one(
    axes: "Axes",
    quantiles: "Mapping[int, Quantile]",
    most_ns: int,
    shift: float,
    look: tuple[str, str, str],
) -> None:
    """The quantiles of one configuration, joined by a thin line."""
    colour, line, solid = look
    at = {percent: _PLACES[percent] + shift for percent in quantiles}
    shown_ms = {percent: _shown_ns(value) / 1e6 for percent, value in quantiles.items()}
    axes.plot(list(at.values()), list(shown_ms.values()), color=colour, linestyle=line, linewidth=0.8)
    known = [percent for percent, value in quantiles.items() if None not in {value.low_ns, value.high_ns}]
    bounds = [percent for percent, value in quantiles.items() if _is_bound(value)]
    rings = [percent for percent in quantiles if percent not in {*known, *bounds}]
    axes.vlines(
        [at[percent] for percent in known],
        [(quantiles[percent].low_ns or 0) / 1e6 for percent in known],
        [(quantiles[percent].high_ns or 0) / 1e6 for percent in known],
        colors=colour,
        linewidth=1.2,
    )
    for percents, sign, size, inside in (
        (known, solid, 4.5, colour),
        (bounds, "^", 6.5, "white"),
        (rings, "o", 6.5, "white"),
    ):
        places, values_ms = [at[one] for one in percents], [shown_ms[one] for one in percents]
        if percents is known:  # the slowest operation is measured, whatever the sample's size
            places, values_ms = [*places, _PLACE_OF_MAX + shift], [*values_ms, most_ns / 1e6]
        axes.plot(
            places,
            values_ms,
            color=colour,
            linestyle="none",
            marker=sign,
            markersize=size,
            markerfacecolor=inside,
        )


def _shown_ns(value: "Quantile") -> int:
    """As `wording.quantile` writes it: the bound where there is only that."""
    return value.low_ns if value.low_ns is not None and value.high_ns is None else value.value_ns


def _is_bound(value: "Quantile") -> bool:
    """Whether all that is known is what it lies above."""
    return value.low_ns is not None and value.high_ns is None


def _table(series: "Sequence[Series]", found: "Mapping[str, Mapping[int, Quantile]]") -> Table:
    rows = tuple(
        (
            one.config_id,
            f"{one.n:,}",
            *(_with_interval(value) for value in found[one.config_id].values()),
            wording.milliseconds(int(one.times_ns()[-1])),
        )
        for one in series
    )
    return Table(
        "Quantiles with their 95 % intervals within this run, ms",
        ("Configuration", "n", *(f"p{percent}" for percent in PERCENTS), "max"),
        rows,
    )


def _with_interval(value: "Quantile") -> str:
    shown = wording.quantile(value)
    return shown if None in {value.low_ns, value.high_ns} else f"{shown} ({wording.quantile_interval(value)})"
