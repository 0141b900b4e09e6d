"""The `s3bench history` command: the nights of a schedule, or those of one cell."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from configs.parameters import CompareParameters
from flows.report_commands import ResultsOption, end_unless_whole
from tasks.reports.progress import PatientConsole

CellArgument = Annotated[
    str | None, typer.Argument(help="CONFIGURATION/WORKLOAD, whose series are shown; all nights without it.")
]
ScheduleOption = Annotated[str, typer.Option("--schedule", help="The schedule whose runs are the nights.")]
NightsOption = Annotated[int, typer.Option("--nights", help="How many nights to look back.")]
CronOption = Annotated[
    str | None,
    typer.Option("--cron", help="When the nights were due: five fields; else as the operator set."),
]
TimezoneOption = Annotated[
    str | None, typer.Option("--timezone", help="An IANA name, in whose time they are.")
]


def history(  # noqa: PLR0913, PLR0917 - one parameter for each option
    cell: CellArgument = None,
    results: ResultsOption = "results",
    schedule: ScheduleOption = "nightly",
    nights: NightsOption = 120,
    cron: CronOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Look back over the nights: which are missing, what has changed, and where each series stands."""
    given = {"cron": cron, "timezone": timezone}
    parameters = CompareParameters.model_validate(
        {"results": results, "schedule": schedule, "nights": nights}
        | {name: value for name, value in given.items() if value is not None}
    )
    from tasks.reports.history_cell import cell_document  # noqa: PLC0415 - numpy and scipy load slowly
    from tasks.reports.history_page import history_document  # noqa: PLC0415 - as above
    from tasks.reports.history_view import look_back  # noqa: PLC0415 - as above
    from tasks.reports.terminal import render_document  # noqa: PLC0415 - as above
    from tasks.results.store import open_existing_store  # noqa: PLC0415 - as above

    view = look_back(open_existing_store(results), parameters, datetime.now(UTC))
    shown = history_document(view) if cell is None else cell_document(view, cell)
    render_document(shown, PatientConsole())
    end_unless_whole(is_whole=not view.unread)
