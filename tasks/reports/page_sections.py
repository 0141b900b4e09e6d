"""What the page shows beyond the run's document, and where pictures go.

An overview first; then what of the run has a published counterpart; then the nights before.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from tasks.reports.history_picture import nights_picture
from tasks.reports.history_sections import history_section
from tasks.reports.nights_pictures import nights_pictures
from tasks.reports.overview_section import CHANGES_ANCHOR, overview_section
from tasks.reports.paths_section import who_wins
from tasks.reports.published_document import published_sections
from tasks.reports.run_sections import document
from tasks.reports.section_pictures import section_pictures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.reports.document import Document
    from tasks.reports.drawing import Picture
    from tasks.reports.history_view import HistoryView
    from tasks.reports.view import Report


def page_document(report: "Report", history: "HistoryView | None") -> "Document":
    """The run's document with an overview first, and the nights of its schedule where they are given."""
    shown = document(report)
    overview = overview_section(report, history)
    wins = who_wins(report)
    sections = [
        *([overview] if overview.tables or overview.sentences else []),
        # What the overview has is not told again right below it.
        *(
            replace(one, tables=tuple(table for table in one.tables if table != wins))
            for one in shown.sections
        ),
        *published_sections(report),
        *(history_section(history) if history else []),
    ]
    return replace(shown, sections=tuple(sections))


def page_pictures(
    report: "Report",
    shown: "Document",
    of_workloads: "Mapping[str, Sequence[Picture]]",
    history: "HistoryView | None",
) -> "dict[str, list[Picture]]":
    """The pictures of each section of the page, by its anchor."""
    nights = nights_pictures(history, _configurations(report)) if history else {}
    found = dict(section_pictures(report))
    for section in shown.sections:
        if section.workload_id is not None:
            mine = (*of_workloads.get(section.workload_id, ()), *nights.get(section.workload_id, ()))
            found[section.anchor] = list(mine)
    if history is not None and history.changes and (picture := nights_picture(history)) is not None:
        found[CHANGES_ANCHOR] = [picture]
    return found


def _configurations(report: "Report") -> list[str]:
    """In the order of the suite."""
    return list(dict.fromkeys(one.config_id for one in report.series))
