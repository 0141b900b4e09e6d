"""The page of a history: first the nights that are missing, then what has changed."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Document
from tasks.reports.history_picture import nights_picture
from tasks.reports.history_sections import MOST_LINES, history_section
from tasks.reports.markdown import alert_md, section_md, text_md

if TYPE_CHECKING:
    from tasks.reports.history_view import HistoryView

__all__ = ["history_document", "history_markdown", "history_section"]

_PICTURE_BELOW: Final = "Changes"


def history_document(view: "HistoryView") -> Document:
    """The whole page, for the terminal and for HTML."""
    return Document(
        title=wording.printable(f"Nights of {view.schedule} in {view.location}"),
        alerts=(
            *([wording.SYNTHETIC] if view.synthetic else []),
            *(f"{gap}" for gap in reversed(view.gaps[-MOST_LINES:])),
        ),
        facts=(("Found", wording.printable(view.summary)),),
        sections=tuple(history_section(view)),
        method=(),
    )


def history_markdown(view: "HistoryView") -> str:
    """The whole page with its picture, for the Prefect UI."""
    shown = history_document(view)
    picture = nights_picture(view)
    sections = [
        section_md(section, [picture] if picture and section.heading == _PICTURE_BELOW else [])
        for section in shown.sections
    ]
    found = [f"{text_md(fact)}." for _, fact in shown.facts]
    alerts = map(alert_md, shown.alerts)
    return "\n\n".join([f"# {text_md(shown.title)}", *alerts, *found, *sections]) + "\n"
