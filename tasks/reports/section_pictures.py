"""The pictures of sections that are about no single workload: operations at once, sync lag, and cost."""

from typing import TYPE_CHECKING

from tasks.reports.concurrency_picture import concurrency_picture
from tasks.reports.concurrency_section import ANCHOR as CONCURRENCY
from tasks.reports.concurrency_section import curves
from tasks.reports.cost_picture import cost_picture
from tasks.reports.lag_picture import lag_picture
from tasks.reports.overview_section import PRICES_ANCHOR
from tasks.reports.sync_lag_section import ANCHOR as SYNC_LAG

if TYPE_CHECKING:
    from tasks.reports.drawing import Picture
    from tasks.reports.view import Report


def section_pictures(report: "Report") -> "dict[str, list[Picture]]":
    """The pictures of each such section, by its anchor; none of a section that the report has not."""
    lag, cost = lag_picture(report), cost_picture(report)
    drawn = {
        CONCURRENCY: [concurrency_picture(curve, place) for place, curve in enumerate(curves(report))],
        SYNC_LAG: [lag] if lag else [],
        PRICES_ANCHOR: [cost] if cost else [],
    }
    return {anchor: pictures for anchor, pictures in drawn.items() if pictures}
