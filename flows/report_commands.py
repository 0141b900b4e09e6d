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
        print_report(results, run_id, PatientConsole())
    elif against in _AGAINST:
        _print_against_published(results, run_id, PatientConsole())
    else:
        raise UserError(f"--against {against}: a run can be set beside: {', '.join(_AGAINST)}")


def print_report(results: str, run_id: str | None, console: "Console") -> bool:
    """Print a stored run's report, and say whether a cell failed."""
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
    return shown.record is not None and bool(shown.record.failed_cells)


def _write_page(results: str, run_id: str | None, path: str, schedule: str | None, nights: int) -> None:
    from tasks.reports.page import check_path, make_page, write_page  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    check_path(path)  # before half a minute of reading and drawing
    told = write_page(make_page(open_store(results), run_id, schedule, nights), path)
    PatientConsole().print(told, soft_wrap=True, markup=False, highlight=False)


def _print_against_published(results: str, run_id: str | None, console: "Console") -> None:
    from tasks.reports.published_document import published_document  # noqa: PLC0415 - as above
    from tasks.reports.terminal import render_document  # noqa: PLC0415 - as above

    _, shown = _stored_report(results, run_id)
    render_document(published_document(shown), console)


def _stored_report(results: str, run_id: str | None) -> "tuple[StoredRun, Report]":
    from tasks.reports.view import REPORT_COLUMNS, build_report  # noqa: PLC0415 - as above
    from tasks.results.costs import read_costs  # noqa: PLC0415 - as above
    from tasks.results.reader import read_run  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    store = open_store(results)
    stored = read_run(store, run_id)
    costs = read_costs(store, stored.run_id, stored.dt)
    return stored, build_report(stored.record, stored.run_id, stored.samples(REPORT_COLUMNS), costs)
