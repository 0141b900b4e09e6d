"""A report's document as Markdown, for the artifacts that the Prefect UI shows.

Text comes from data, so that nothing of it is read as Markdown or HTML. Pictures go in as data URIs, since a
page of the UI may fetch nothing from elsewhere; each has a white background of its own, for dark pages.
"""

import base64
import re
from typing import TYPE_CHECKING, Final

from tasks.reports import wording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.reports.document import Section, Table
    from tasks.reports.drawing import Picture

_READ_AS_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|~#!&])")
_BEGINS_A_BLOCK: Final = re.compile(r"^(?:(?=[-+=])|([0-9]+)(?=[.)]))")
"""Of what begins a line: a list, a rule, or what makes a heading of the line above."""
_MOST_COLUMNS: Final = 6
_LONGEST_CELL: Final = 90


def text_md(text: str) -> str:
    """Text as it is, on one line, whatever it contains."""
    return _READ_AS_MARKDOWN.sub(r"\\\1", wording.printable(" ".join(text.split())))


def table_md(table: "Table") -> str:
    """A table with its title, words to the left and figures to the right, as everywhere.

    The UI folds no cell and shows about a hundred characters: of a wide table the words come first, so that
    it is figures that have to be scrolled to, and one of sentences becomes a list.
    """
    longest = max((len(cell) for row in table.rows for cell in row), default=0)
    lines = _list_lines(table) if longest > _LONGEST_CELL else _table_lines(table)
    return "\n".join([f"**{text_md(table.title)}**", "", *lines])


def _table_lines(table: "Table") -> list[str]:
    order = list(range(len(table.header)))
    if len(order) > _MOST_COLUMNS:
        order.sort(key=lambda place: place > 0 and place not in table.prose)
    rules = [":---" if place == 0 or place in table.prose else "---:" for place in order]
    rows = [[text_md(row[place]) for place in order] for row in (table.header, *table.rows)]
    return [f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:])]


def _list_lines(table: "Table") -> list[str]:
    return [
        f"- **{text_md(row[0])}**: "
        + "; ".join(
            f"{text_md(name)} {text_md(cell)}" for name, cell in zip(table.header[1:], row[1:], strict=True)
        )
        for row in table.rows
    ]


def section_md(section: "Section", pictures: "Iterable[Picture]" = ()) -> str:
    """A heading with what stands below it; tables of detail are for the HTML page alone."""
    return "\n\n".join(
        [
            f"## {text_md(section.heading)}",
            *map(alert_md, section.alerts),
            *_sentences_md(section),
            *(table_md(table) for table in section.tables if not table.detail),
            *map(picture_md, pictures),
        ]
    )


def _sentences_md(section: "Section") -> list[str]:
    """One paragraph before tables; where there are none, a list."""
    sentences = [_BEGINS_A_BLOCK.sub(r"\1\\", text_md(sentence)) for sentence in section.sentences]
    return [" ".join(sentences) if section.tables else "\n".join(f"- {one}" for one in sentences)]


def alert_md(alert: str) -> str:
    """What must not be overlooked."""
    return f"> **{text_md(alert)}**"


def picture_md(picture: "Picture") -> str:
    """A picture with its caption below it."""
    encoded = base64.b64encode(picture.svg.encode()).decode()
    image = f"![{text_md(picture.description)}](data:image/svg+xml;base64,{encoded})"
    return f"{image}\n\n*{text_md(picture.caption)}*"
