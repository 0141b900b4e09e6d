# ruff: noqa: A005 - the report's format is its name; nothing here imports the standard library's html
"""The report as one HTML file that needs nothing else: no script, no network, pictures inside.

It draws the same document as the terminal, and adds pictures and how it was measured. Jinja2 escapes all
text; the SVG of matplotlib, which escapes its own, is the only thing that goes in as it is.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tasks.reports.pictures import Picture, all_pictures
from tasks.reports.run_sections import document
from tasks.reports.view import Report


def render_html(report: Report, drawn: Mapping[str, Sequence[Picture]] | None = None) -> str:
    """The whole page; the same report gives the same text.

    Args:
        report: of a run.
        drawn: its pictures, where they have been drawn already.
    """
    pictures = all_pictures(report) if drawn is None else drawn
    return _template().render(document=document(report), pictures=pictures)


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")
