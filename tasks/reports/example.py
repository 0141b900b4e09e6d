"""The last of an example store: the changes that a look back finds in it, and what is known beforehand."""

from typing import TYPE_CHECKING

from configs.parameters import CompareParameters
from tasks.reports import wording
from tasks.reports.document import Document, Section, Table
from tasks.reports.history_view import look_back
from tasks.results.changes import write_changes
from tasks.results.example_nights import CRON, SCHEDULE, TRUTHS
from tasks.stats.nights import GRACE

if TYPE_CHECKING:
    from datetime import datetime

    from tasks.results.example_nights import ExampleOptions, Truth
    from tasks.results.store import Store


def write_example_changes(store: "Store", options: "ExampleOptions") -> None:
    """Look back over the nights of an example store, as every morning does, and keep what has changed.

    Raises:
        UserError: if the store cannot be read or written.
    """
    parameters = CompareParameters(
        results=store.location, schedule=SCHEDULE, cron=CRON, timezone="UTC", nights=options.nights
    )
    view = look_back(store, parameters, options.due[-1] + GRACE)
    write_changes(store, SCHEDULE, view.changes, None)


def example_document(location: str, options: "ExampleOptions") -> Document:
    """The truths of an example store, which a look at it should find.

    Args:
        location: where it lies.
        options: what it was made of.
    """
    due = options.due
    rows = tuple(_row(truth, due) for truth in TRUTHS)
    table = Table("Known beforehand", ("What", "Cells", "Since", "Until", "Details"), rows, frozenset({1, 4}))
    again = f"--nights {options.nights} --seed {options.seed} --until {options.until}"
    if options.samples is not None:
        again += f" --samples {options.samples}"
    return Document(
        title="Example store",
        alerts=(wording.SYNTHETIC,),
        facts=(
            ("Where", wording.printable(location)),
            ("Nights", f"{len(due)} of the schedule {SCHEDULE} ({CRON} UTC)"),
            ("The same again", again),
        ),
        sections=(Section("What it holds", tables=(table,)),),
        method=(),
    )


def _row(truth: "Truth", due: "tuple[datetime, ...]") -> tuple[str, ...]:
    first, last = truth.dates(due)
    return truth.kind, ", ".join(truth.cell_ids) or "all", first, last, truth.what
