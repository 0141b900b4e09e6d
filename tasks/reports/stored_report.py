"""The report of a run as it lies in a store: what can be read is shown, and a damaged file is named."""

from typing import TYPE_CHECKING, TypeVar

from tasks.reports.view import REPORT_COLUMNS, Report, build_report
from tasks.results.costs import read_costs
from tasks.results.reader import DamagedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasks.results.reader import StoredRun

_Found = TypeVar("_Found")


def stored_report(run: "StoredRun") -> Report:
    """Read a run and compute its report.

    A run whose own row is damaged is shown as one that is incomplete: nothing else tells what it was.

    Raises:
        UserError: if a file cannot be fetched, since it may be there later.
    """
    unread: list[str] = []
    record = _whole(lambda: run.record, unread)
    costs = _whole(lambda: read_costs(run.store, run.run_id, run.dt), unread)
    samples, damaged = run.whole_samples(REPORT_COLUMNS)
    return build_report(record, run.run_id, samples, costs or (), (*unread, *damaged))


def _whole(read: "Callable[[], _Found]", unread: list[str]) -> "_Found | None":
    try:
        return read()
    except DamagedError as error:
        unread.append(str(error))
        return None
