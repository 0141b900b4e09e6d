# ruff: noqa: A005 - the report's format is its name; nothing here imports the standard library's html
"""The report as one HTML file that needs nothing else: no script, no network, pictures inside.

It draws the same document as the terminal, and adds an overview, pictures, the nights before, and how it was
measured. Jinja2 escapes all text, and what would turn or hide other text is taken out of it; the SVG of
matplotlib, which escapes its own, is the only thing that goes in as it is.
"""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from tasks.reports import wording
from tasks.reports.page_sections import page_document, page_pictures
from tasks.reports.pictures import all_pictures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.reports.document import Table
    from tasks.reports.drawing import Picture
    from tasks.reports.history_view import HistoryView
    from tasks.reports.view import Report

_MUCH_SLOWER: Final = 2.0
"""From so many times the best on a configuration is shaded darker."""
_LONG_ROWS: Final = 40
"""A table of more rows is folded, and scrolls within itself."""
_SHORT: Final = 16
"""Words of so many characters stand in one line; longer ones wrap, and need room to do so."""


def render_html(
    report: "Report",
    drawn: "Mapping[str, Sequence[Picture]] | None" = None,
    history: "HistoryView | None" = None,
) -> str:
    """The whole page; the same report and history give the same text.

    Args:
        report: of a run.
        drawn: the pictures of its workloads, where they have been drawn already.
        history: the nights of the run's schedule; None leaves them out.
    """
    shown = page_document(report, history)
    of_workloads = all_pictures(report) if drawn is None else drawn
    return _template().render(document=shown, pictures=page_pictures(report, shown, of_workloads, history))


def heat(cell: str) -> str:
    """How a cell of ratios to the best is shaded: the class of its colour; its words say the same.

    Args:
        cell: `best`, a ratio with what it says, such as `1.34, slower`, or words.
    """
    if cell == "best":
        return cell
    ratio, _, verdict = cell.partition(", ")
    try:
        value = float(ratio.replace(",", ""))
    except ValueError:
        return "none"
    if verdict != "slower":
        return "even"
    return "slow" if value < _MUCH_SLOWER else "slowest"


def _printable(value: object) -> object:
    """Text from data as `wording.printable` makes it; a drawing, or what a macro made, stays as it is."""
    return wording.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def short_columns(table: "Table") -> frozenset[int]:
    """The columns of words, names of rows among them, of which every cell is short: none need wrap."""
    return frozenset(
        place
        for place in range(len(table.header))
        if (place == 0 or place in table.prose) and all(len(row[place]) <= _SHORT for row in table.rows)
    )


def is_long(table: "Table") -> bool:
    """Whether a table has too many rows to stand open, or to be printed."""
    return len(table.rows) > _LONG_ROWS


def is_folded(table: "Table") -> bool:
    """Whether a table is opened by those who want it."""
    return table.detail or is_long(table)


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for one in (heat, short_columns, is_long, is_folded):
        environment.filters[one.__name__] = one
    return environment.get_template("report.html.j2")
