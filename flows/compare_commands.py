"""The `s3bench compare` command: two configurations against each other, by block or by night."""

from typing import TYPE_CHECKING, Annotated

import typer

from configs.errors import UserError
from flows.report_commands import ResultsOption, RunOption, end_unless_whole
from tasks.reports.progress import PatientConsole

if TYPE_CHECKING:
    from tasks.reports.paths_view import PathsView

_SCHEDULE = "nightly"

WorkloadOption = Annotated[
    list[str] | None,
    typer.Option("--workload", help="Only this workload; may be given again. All that both do without it."),
]
NightsOption = Annotated[
    int | None,
    typer.Option("--nights", min=1, help="Pair this many of the latest nights, not the blocks of one run."),
]
ScheduleOption = Annotated[
    str | None, typer.Option("--schedule", help=f"Whose nights: the schedule's slug; {_SCHEDULE} without it.")
]


def compare(  # noqa: PLR0913, PLR0917 - one parameter for each option
    one: Annotated[str, typer.Argument(metavar="A", help="A configuration.")],
    other: Annotated[str, typer.Argument(metavar="B", help="The one that it is compared with.")],
    workloads: WorkloadOption = None,
    results: ResultsOption = "results",
    run_id: RunOption = None,
    nights: NightsOption = None,
    schedule: ScheduleOption = None,
) -> None:
    """Compare two configurations: p50, p90, p99 and the mean, each with an interval and a verdict."""
    if run_id is not None and nights is not None:
        raise UserError("--run compares the blocks of one run, and --nights many nights: give one of them")
    if schedule is not None and nights is None:
        raise UserError("--schedule says whose nights are compared: say with --nights how many")
    from tasks.reports.paths_section import paths_document  # noqa: PLC0415 - numpy and scipy load slowly
    from tasks.reports.terminal import render_document  # noqa: PLC0415 - as above

    config_ids, named = (one, other), tuple(workloads or ())
    if nights is None:
        view = _of_run(results, run_id, config_ids, named)
    else:
        view = _of_nights(results, nights, schedule or _SCHEDULE, config_ids, named)
    render_document(paths_document(view), PatientConsole())
    end_unless_whole(is_whole=not view.unread)


def _of_run(
    results: str, run_id: str | None, config_ids: tuple[str, str], workload_ids: tuple[str, ...]
) -> "PathsView":
    from tasks.reports.paths_view import paths_of_run  # noqa: PLC0415 - as above
    from tasks.reports.stored_report import stored_report  # noqa: PLC0415 - as above
    from tasks.results.reader import read_run  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    report = stored_report(read_run(open_store(results), run_id))
    return paths_of_run(report, config_ids, workload_ids)


def _of_nights(
    results: str, nights: int, schedule: str, config_ids: tuple[str, str], workload_ids: tuple[str, ...]
) -> "PathsView":
    from tasks.reports.path_nights import paths_of_nights  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    return paths_of_nights(open_store(results), config_ids, workload_ids, nights, schedule)
