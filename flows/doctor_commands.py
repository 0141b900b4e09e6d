"""The `s3bench doctor` command: what a run would meet, looked at before it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import BenchmarkParameters
from flows.lab_commands import DEFAULT_LAB, LabOption
from flows.report_commands import ResultsOption
from flows.suite_options import (
    MAX_USD,
    InLabOption,
    LogsOption,
    MaxUsdOption,
    OnlyOption,
    SetOption,
    SuiteArgument,
    TargetsOption,
)
from tasks.reports.progress import PatientConsole

if TYPE_CHECKING:
    from tasks.doctor.findings import Group

_EXIT_WRONG = 1
WriteProbeOption = Annotated[
    bool,
    typer.Option(
        "--write-probe/--no-write-probe",
        help="Try the results store by writing a small file, which is removed again.",
    ),
]


def doctor(  # noqa: PLR0913, PLR0917 - one parameter for each option
    suite: SuiteArgument,
    in_lab: InLabOption = False,
    targets: TargetsOption = None,
    settings: SetOption = None,
    results: ResultsOption = "results",
    logs_from: LogsOption = None,
    only: OnlyOption = None,
    max_usd: MaxUsdOption = MAX_USD,
    lab: LabOption = DEFAULT_LAB,
    write_probe: WriteProbeOption = True,
) -> None:
    """Look at what a run of a suite would meet: ✓ right, ! a warning, ✗ wrong, ? could not be asked.

    Nothing is changed or measured. Ends with status 1 where a run would measure something else, or not run.
    """
    parameters = BenchmarkParameters(
        suite=suite,
        in_lab=in_lab,
        targets_file=targets,
        settings=settings or [],
        results=results,
        logs_from=logs_from,
        only=only or [],
        max_usd=max_usd,
        lab_folder=str(lab),
    )
    from tasks.doctor.findings import count, lines_of  # noqa: PLC0415 - keeps other commands quick

    groups = _examined(parameters, writes=write_probe)
    console = PatientConsole()
    for line in lines_of(groups):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    wrong, warnings, unknown = (count(groups, verdict) for verdict in ("wrong", "warning", "unknown"))
    console.print(f"{wrong} wrong, {warnings} warnings, {unknown} could not be asked", highlight=False)
    raise typer.Exit(_EXIT_WRONG if wrong else 0)


def _examined(parameters: BenchmarkParameters, *, writes: bool) -> "tuple[Group, ...]":
    """A lab that is down is brought up for it, and taken down again."""
    from tasks.doctor.examine import examine  # noqa: PLC0415 - as above
    from tasks.doctor.findings import Finding, Group  # noqa: PLC0415 - as above
    from tasks.venues.places import place_of  # noqa: PLC0415 - as above

    suite = suite_of(parameters)
    try:
        with place_of(suite, Path(parameters.lab_folder)) as place:
            return examine(place, parameters, writes=writes)
    except UserError as error:
        return (Group("this host", (Finding("wrong", "settings", str(error)),)),)
