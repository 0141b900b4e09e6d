"""The HTML page of a stored run with the nights of its schedule: which run, which nights, and the file."""

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from configs.parameters import CompareParameters
from tasks.reports.history_view import look_back
from tasks.reports.html import render_html
from tasks.reports.stored_report import stored_report
from tasks.results.reader import list_runs, read_run
from tasks.results.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasks.reports.history_view import HistoryView
    from tasks.results.reader import StoredRun
    from tasks.results.store import Store

FEWEST_NIGHTS: Final = 3
"""With a run: of fewer there is no history to show."""
_LOOKED_AT: Final = 100
"""Runs at the most, the newest first, in the search for one of a schedule: each is a file to fetch."""
_AFTER: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is ready to be written."""

    run_id: str
    html: str
    history: str
    """Which nights it shows, or why it shows none."""
    unread: tuple[str, ...]
    """Files that could not be read, in words: what they hold is missing here."""


def make_page(store: "Store", run_id: str | None, schedule: str | None, nights: int) -> Page:
    """The page of a run.

    Without an id that is the newest complete run of the schedule, or of any schedule where none is named, or
    the newest complete run of all where none was scheduled. The history ends with the newest night of the
    schedule, so that the same store gives the same page.

    Args:
        store: where the runs lie.
        run_id: the run; None looks for it.
        schedule: the slug of the schedule whose nights are shown; None takes the run's own.
        nights: how many of them at most.

    Raises:
        UserError: if there is no such run, or the store cannot be read.
    """
    run = _newest(store, schedule) if run_id is None else read_run(store, run_id)
    report = stored_report(run)
    view, told = _history(store, schedule or (report.record.schedule if report.record else None), nights)
    unread = tuple(dict.fromkeys((*report.unread, *(view.unread if view else ()))))
    return Page(run.run_id, render_html(report, history=view), told, unread)


def check_path(path: str) -> Path:
    """The file that a page is to be written to.

    Raises:
        UserError: if the path is none of a file on this machine.
    """
    if path == "-" or "://" in path or not path.strip():
        raise UserError(f"--html {path}: give the path of a file on this machine, such as report.html")
    file = Path(path)
    if file.is_dir() or path.endswith("/"):
        raise UserError(
            f"--html {path}: that is a folder: give the path of a file, such as {file}/report.html"
        )
    return file


def write_page(page: Page, path: str) -> str:
    """Write the page whole or not at all, and say in a line where it is and how large.

    Raises:
        UserError: if the path is none of a file, or cannot be written.
    """
    file, content = check_path(path), page.html.encode()
    open_store(file.parent).put(file.name, content, replace=True)
    size = f"{len(content) / 1e6:.2f} MB"
    return f"page  {file.absolute()}  ({size}; run {page.run_id}; {page.history})"


def _newest(store: "Store", schedule: str | None) -> "StoredRun":
    """The newest run that a page is most likely wanted of."""
    runs = list_runs(store)
    if (scheduled := next(_scheduled(runs, schedule), None)) is not None:
        return scheduled
    if schedule is not None:
        raise UserError(
            f"no complete run of the schedule {schedule} among the newest {_LOOKED_AT} in {store.location}: "
            "name another schedule, or the run with --run"
        )
    complete = (run for run in runs if run.record_name is not None)
    return next(complete, None) or read_run(store, None)


def _scheduled(runs: "Iterable[StoredRun]", schedule: str | None) -> "Iterator[StoredRun]":
    """Of the newest complete runs those of a schedule, or of any for None; damaged ones are passed over."""
    for run in islice((run for run in runs if run.record_name is not None), _LOOKED_AT):
        record = None
        with contextlib.suppress(UserError):
            record = run.record
        if record is not None and record.scheduled_at and schedule in {None, record.schedule}:
            yield run


def _history(store: "Store", schedule: str | None, nights: int) -> "tuple[HistoryView | None, str]":
    """The nights of a schedule, and in words which they are or why there are none."""
    if schedule is None:
        return None, "no history: the run belongs to no schedule"
    newest = next(_scheduled(list_runs(store), schedule), None)
    record = newest.record if newest else None
    if record is None or record.scheduled_at is None:
        return None, f"no history: no complete run of the schedule {schedule}"
    parameters = CompareParameters(results=store.location, schedule=schedule, nights=nights)
    view = look_back(store, parameters, record.scheduled_at + _AFTER)
    with_run = sum(night.state.has_run for night in view.nights)
    if with_run < FEWEST_NIGHTS:
        return None, f"no history: {with_run} nights of {schedule}, and {FEWEST_NIGHTS} are needed"
    return view, f"{with_run} nights of {schedule}"
