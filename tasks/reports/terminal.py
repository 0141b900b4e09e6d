"""The report on a terminal, readable from 80 columns on, with colours or without, and through a pipe.

Text comes from data, so that nothing of it is read as rich's markup. Figures and the names of rows never
wrap and are never cut off: where a line is short, the words beside them wrap instead, and where it is
shorter still, the table runs over it.
"""

from typing import TYPE_CHECKING, Final

from rich import box
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text

from tasks.reports.run_sections import document

if TYPE_CHECKING:
    from rich.console import Console

    from tasks.reports.document import Document, Section, Table
    from tasks.reports.view import Report

_ALERT_STYLES: Final = {"LOCAL": "bold yellow", "SKIPPED": "yellow", "SYNTHETIC": "bold magenta"}
_LEAST_WORDS: Final = 8
"""Columns that words are folded into at the least."""
_BETWEEN_COLUMNS: Final = 2
_LONGEST_CELL_ID: Final = 129
"""Two identifiers of 64 characters with a stroke between them."""
_GOOD_OR_BAD: Final = {
    "faster": "green",
    "slower": "red",
    "failed": "bold red",
    "skipped": "yellow",
    "yes": "green",
    "NO": "bold red",
}


def render(report: "Report", console: "Console") -> None:
    """Print the report."""
    render_document(document(report), console)


def render_document(shown: "Document", console: "Console") -> None:
    """Print a document, without what is for the HTML page alone."""
    console.print(Rule(Text(shown.title, style="bold")))
    for alert in shown.alerts:
        _print_alert(alert, console)
    if shown.facts:
        facts = Grid.grid(padding=(0, 2))
        for name, value in shown.facts:
            facts.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
        console.print(facts)
    for section in shown.sections:
        _print_section(section, console)
    console.print()


def _print_alert(alert: str, console: "Console") -> None:
    style = _ALERT_STYLES.get(alert.split(maxsplit=1)[0].rstrip(":"), "bold red")
    console.print(Text(f"! {alert}", style=style, overflow="fold"))


def _print_section(section: "Section", console: "Console") -> None:
    tables = [table for table in section.tables if not table.detail]
    if not (tables or section.sentences or section.alerts):
        return
    console.print()
    console.print(Rule(Text(section.heading, style="bold"), align="left", style="dim"))
    for alert in section.alerts:
        _print_alert(alert, console)
    for sentence in section.sentences:
        console.print(Text(sentence))
    for table in tables:
        console.print()
        console.print(Text(table.title, style="bold"))
        console.print(_grid(table, console.width), crop=False)


def _grid(table: "Table", console_width: int) -> Grid:
    """A table, its columns closer together where a line is short for it."""
    between = _BETWEEN_COLUMNS if _least_width(table, _BETWEEN_COLUMNS) <= console_width else 1
    least = _least_width(table, between)
    grid = Grid(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, between - 1, 0, 0),  # the box puts a blank there as well
        header_style="dim",
        width=least if least > console_width else None,
    )
    for place, name in enumerate(table.header):
        grid.add_column(
            Text(name),
            justify="left" if place == 0 or place in table.prose else "right",
            no_wrap=not _wraps(table, place),
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*(Text(cell, style=_style(cell), overflow="fold") for cell in row))
    return grid


def _least_width(table: "Table", between: int) -> int:
    """The columns that a table needs with its figures whole and its words folded.

    Where a line is shorter still, the table runs over it: rich would cut the figures off silently.
    """
    columns = list(zip(table.header, *table.rows, strict=True))
    widths = (
        _LEAST_WORDS if _wraps(table, place) else max(map(len, column))
        for place, column in enumerate(columns)
    )
    return sum(widths) + between * (len(columns) - 1)


def _wraps(table: "Table", place: int) -> bool:
    """Whether a column may be folded: one of sentences, or of what is too long for a name; none of names."""
    return (place == 0 or place in table.prose) and any(
        " " in row[place] or len(row[place]) > _LONGEST_CELL_ID for row in table.rows
    )


def _style(cell: str) -> str:
    return _GOOD_OR_BAD.get(cell.rpartition(", ")[2], "")
