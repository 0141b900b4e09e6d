"""A report as headings, sentences and tables of ready text.

The terminal and the HTML page both draw this, so that they cannot show unlike wording. Rejected: figures
formatted by each report for itself, which only tests would hold together.
"""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    alerts: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    method: tuple[Section, ...]
    """How it was measured: long, and for the HTML page alone."""
