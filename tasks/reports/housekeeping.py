"""What a housekeeping did: as Markdown for the Prefect UI, and in one line."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tasks.datasets.expiry import DatasetOutcome
from tasks.reports.document import Section, Table
from tasks.reports.markdown import section_md, text_md
from tasks.results.compaction import MonthOutcome


@dataclass(slots=True)
class Tidied:
    """All that a housekeeping has done and found so far."""

    results: str
    """Where the results lie."""
    months: list[MonthOutcome] = field(default_factory=list)
    datasets: list[DatasetOutcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Whole sentences that a reader of the datasets should know."""
    faults: list[str] = field(default_factory=list)
    """What went wrong, besides months that were left and datasets that failed."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that somebody must look at, each with what helps."""
        left = (f"{one.month} was left as it is: {one.reason}" for one in self.months if one.action == "left")
        failed = (f"{one.address}: {one.reason}" for one in self.datasets if one.action == "failed")
        return (*left, *failed, *self.faults)

    @property
    def summary(self) -> str:
        """One line: `months: 1 compacted, 2 unchanged; datasets: 3 kept, 1 listed`."""
        months = _counted(one.action for one in self.months)
        return f"months: {months}; datasets: {_counted(one.action for one in self.datasets)}"


def housekeeping_markdown(tidied: Tidied) -> str:
    """A table of months and a table of datasets, below everything that went wrong."""
    sections = (_months(tidied), _datasets(tidied))
    return "\n\n".join(
        [
            f"# Housekeeping of {text_md(tidied.results)}",
            *(f"> **TO BE LOOKED AT: {text_md(problem)}**" for problem in tidied.problems),
            *map(section_md, sections),
        ]
    )


def _months(tidied: Tidied) -> Section:
    rows = tuple(
        (one.month, one.action, f"{one.files:,}", f"{one.rows:,}", f"{one.size_bytes:,}", one.reason)
        for one in tidied.months
    )
    if not rows:
        return Section("Finished months", ("No month has been over for long enough.",))
    header = ("month", "what was done", "landing files", "rows", "bytes", "why")
    table = Table("In one file each", header, rows, prose=frozenset({1, 5}))
    return Section("Finished months", tables=(table,))


def _datasets(tidied: Tidied) -> Section:
    rows = tuple(
        (one.address, one.action, f"{one.objects:,}", f"{one.size_bytes:,}", one.reason)
        for one in tidied.datasets
    )
    notes = tuple(tidied.notes)
    if not rows:
        return Section("Datasets", ("None was looked at, or none is there.", *notes))
    header = ("dataset", "what was done", "objects", "bytes", "why")
    table = Table("In the buckets of the suite", header, rows, prose=frozenset({1, 4}))
    return Section("Datasets", notes, tables=(table,))


def _counted(actions: Iterable[str]) -> str:
    return ", ".join(f"{count} {action}" for action, count in sorted(Counter(actions).items())) or "none"
