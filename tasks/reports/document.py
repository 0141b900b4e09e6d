"""A report as headings, sentences and tables of ready text.

The terminal and the HTML page both draw this, so that they cannot show unlike wording. Rejected: figures
formatted by each report for itself, which only tests would hold together.
"""

from dataclasses import dataclass
from typing import Final

WENT_WRONG: Final = "went-wrong"
"""The anchor of the section that tells why cells were not measured."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; the first column names the row, and every row is as long as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    prose: frozenset[int] = frozenset()
    """The columns of words: they stand to the left and wrap. All others but the first are figures."""
    detail: bool = False
    """For the HTML page alone: a terminal shows what is looked at first."""
    links: tuple[str, ...] = ()
    """For the HTML page: the anchor that each row's name leads to; empty where none does."""
    heat: bool = False
    """For the HTML page: its figures are ratios to the best, shaded by how far off they are."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it."""

    heading: str
    sentences: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    """What must not be overlooked; every one begins with a word in capitals, so that no colour is needed."""
    tables: tuple[Table, ...] = ()
    workload_id: str | None = None
    """The workload that it is about: its pictures belong here."""
    anchor: str = ""
    """For the HTML page: its name there, never made of text from data; with one it is among the contents."""
    brief: str = ""
    """For the HTML page: what stands beside it among the contents."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    alerts: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    method: tuple[Section, ...]
    """How it was measured: long, and for the HTML page alone."""


def workload_anchor(place: int) -> str:
    """The anchor of a workload's section, by its place among those with samples."""
    return f"workload-{place + 1}"
