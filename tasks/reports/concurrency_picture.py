"""The picture of operations at once: the time of one, and the throughput of all, by how many there are."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from tasks.reports.drawing import (
    LEGEND_ROW_INCHES,
    WIDTH_INCHES,
    Picture,
    legend_below,
    legend_rows,
    log_axis,
    log_milliseconds,
    looks,
    marker,
    style,
    svg_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tasks.reports.concurrency_section import Curve


def concurrency_picture(curve: "Curve", place: int) -> Picture:
    """One line for each configuration; `place` of the curve in the report makes the ids its own."""
    size = (WIDTH_INCHES, 4.4 + LEGEND_ROW_INCHES * legend_rows(list(curve.points)))
    with style():
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        times, rates = figure.subplots(2, 1, sharex=True)
        for number, (config_id, (colour, line)) in enumerate(zip(curve.points, looks(), strict=False)):
            points = curve.points[config_id]
            look = {"color": colour, "linestyle": line, "marker": marker(number), "markersize": 5}
            at_once = [point.at_once for point in points]
            times.plot(at_once, [point.p50.value_ns / 1e6 for point in points], label=config_id, **look)
            known = [point for point in points if point.bytes_per_s is not None]
            rates.plot(
                [point.at_once for point in known],
                [(point.bytes_per_s or 0) / 1e6 for point in known],
                **look,
            )
        log_milliseconds(times, "y")
        times.set_ylabel("p50, ms, logarithmic")
        log_axis(rates, "y", "MB/s, logarithmic")
        _name_threads(rates, sorted({one.at_once for mine in curve.points.values() for one in mine}))
        legend_below(figure, times)
        svg = svg_text(figure, f"concurrency-{place}")
    return Picture(
        "concurrency",
        svg,
        "Above the time of one operation, below what all move together, by how many run at once.",
        f"p50 and throughput of {curve.name} by the number of operations at once, one line for each of "
        f"{len(curve.points)} configurations; the figures stand in the table of operations at once.",
    )


def _name_threads(axes: "Axes", numbers: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlabel("operations at once, logarithmic")
    axes.xaxis.set_major_locator(FixedLocator(numbers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
