"""The `s3bench report` command, and the printing of a report that `s3bench run` ends with."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from configs.errors import UserError
from tasks.reports.progress import PatientConsole

if TYPE_CHECKING:
    from rich.console import Console

    from tasks.reports.view import Report
    from tasks.results.reader import StoredRun

ResultsOption = Annotated[str, typer.Option("--results", help="A folder, or s3://BUCKET/PREFIX.")]
RunOption = Annotated[str | None, typer.Option("--run", help="A run's id; the newest without it.")]
AgainstOption = Annotated[
    str | None, typer.Option("--against", help="Set the run beside these instead: published.")
]
HtmlOption = Annotated[
    str | None,
    typer.Option("--html", help="Write it as one HTML file instead, with the nights of its schedule."),
]
ScheduleOption = Annotated[
    str | None,
    typer.Option("--schedule", help="With --html: whose newest run and nights; else those of the run."),
]
NightsOption = Annotated[
    int, typer.Option("--nights", help="With --html: how many nights to show.", min=2, max=3660)
]
_AGAINST: Final = ("published",)
"""What a run can be set beside."""
_NIGHTS: Final = 120
EXIT_NOT_WHOLE: Final = 1
"""Shown, but without what a damaged file holds."""


def report(  # noqa: PLR0913, PLR0917 - one parameter for each option
    results: ResultsOption = "results",
    run_id: RunOption = None,
    against: AgainstOption = None,
    html: HtmlOption = None,
    schedule: ScheduleOption = None,
    nights: NightsOption = _NIGHTS,
) -> None:
    """Print the report of a run, write it as a page, or set the run beside the published results."""
    if html is None and (schedule is not None or nights != _NIGHTS):
        raise UserError("--schedule and --nights choose what a page shows: give --html FILE too")
    if html is not None and against is not None:
        raise UserError("--html and --against: give one of them; a page does not set a run beside others")
    if html is not None:
        _write_page(results, run_id, html, schedule, nights)
    elif against is None:
        _, is_whole = print_report(results, run_id, PatientConsole())
        end_unless_whole(is_whole=is_whole)
    elif against in _AGAINST:
        _print_against_published(results, run_id, PatientConsole())
    else:
        raise UserError(f"--against {against}: a run can be set beside: {', '.join(_AGAINST)}")


def end_unless_whole(*, is_whole: bool) -> None:
    """End with the status that says: all was shown but what a damaged file holds, which was named."""
    if not is_whole:
        raise typer.Exit(EXIT_NOT_WHOLE)


def print_report(results: str, run_id: str | None, console: "Console") -> tuple[bool, bool]:
    """Print a stored run's report, and say whether a cell failed, and whether every file could be read."""
    from tasks.reports.terminal import render  # noqa: PLC0415 - numpy and scipy load slowly
    from tasks.results.names import SAMPLES_FOLDER  # noqa: PLC0415 - as above

    stored, shown = _stored_report(results, run_id)
    render(shown, console)
    places = [("samples", SAMPLES_FOLDER), ("report ", f"reports/{stored.run_id}.html")]
    if shown.record and shown.record.measured_by:
        places.pop()  # the page is written where a run is measured
    for what, name in places:
        console.print(
            f"{what}  {stored.store.location}/{name}", soft_wrap=True, markup=False, highlight=False
        )
    return shown.record is not None and bool(shown.record.failed_cells), not shown.unread


def _write_page(results: str, run_id: str | None, path: str, schedule: str | None, nights: int) -> None:
    from tasks.reports.page import check_path, make_page, write_page  # noqa: PLC0415 - as above
    from tasks.reports.wording import not_read  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    check_path(path)  # before half a minute of reading and drawing
    page = make_page(open_store(results), run_id, schedule, nights)
    console = PatientConsole()
    for line in (write_page(page, path), *not_read(page.unread)):
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    end_unless_whole(is_whole=not page.unread)


def _print_against_published(results: str, run_id: str | None, console: "Console") -> None:
    from tasks.reports.published_document import published_document  # noqa: PLC0415 - as above
    from tasks.reports.terminal import render_document  # noqa: PLC0415 - as above

    _, shown = _stored_report(results, run_id)
    render_document(published_document(shown), console)
    end_unless_whole(is_whole=not shown.unread)


def _stored_report(results: str, run_id: str | None) -> "tuple[StoredRun, Report]":
    from tasks.reports.stored_report import stored_report  # noqa: PLC0415 - as above
    from tasks.results.reader import read_run  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    stored = read_run(open_store(results), run_id)
    return stored, stored_report(stored)
