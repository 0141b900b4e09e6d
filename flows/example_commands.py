"""The `s3bench example` command: a store of nights that nobody measured, for looking around and for tests."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from configs.errors import UserError
from tasks.reports.progress import PatientConsole, reporter

FolderArgument = Annotated[Path, typer.Argument(help="A new or empty folder.")]
NightsOption = Annotated[int, typer.Option("--nights", help="How many nights.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed and last night give the same bytes.")]
SamplesOption = Annotated[
    int | None,
    typer.Option("--samples", help="Operations of a cell in a night, at the most; else as the suite says."),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--until", help="YYYY-MM-DD, the last night; the latest that is over without it."),
]


def example(
    folder: FolderArgument,
    nights: NightsOption = 90,
    seed: SeedOption = 7,
    samples: SamplesOption = None,
    until: UntilOption = None,
) -> None:
    """Make a store of synthetic nights, with changes, gaps and failures that are known."""
    from tasks.reports.example import example_document, write_example_changes  # noqa: PLC0415 - numpy and scipy load slowly
    from tasks.reports.terminal import render_document  # noqa: PLC0415 - as above
    from tasks.results.example_nights import ExampleOptions, last_night  # noqa: PLC0415 - as above
    from tasks.results.example_store import write_example  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above
    from tasks.workloads.cell_costs import cell_costs  # noqa: PLC0415 - as above
    from tasks.workloads.plan import plan_suite  # noqa: PLC0415 - as above

    last = last_night(datetime.now(UTC)) if until is None else _date(until)
    options = ExampleOptions(until=last, nights=nights, seed=seed, samples=samples)
    options.refuse_unfit()
    _refuse_unless_empty(folder)
    console = PatientConsole()
    store = open_store(folder)
    store.check_writable()
    with reporter(console) as reports:
        write_example(
            store,
            options,
            lambda suite: cell_costs(suite, plan_suite(suite)),
            lambda number, dt: reports.advance("nights", number, nights, dt),
        )
    write_example_changes(store, options)
    render_document(example_document(store.location, options), console)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"--until {text}: give a date such as 2026-01-31") from error


def _refuse_unless_empty(folder: Path) -> None:
    """Synthetic nights beside measured ones would be taken for these."""
    if "://" in str(folder) or ":/" in str(folder):
        raise UserError(f"{folder}: an example store lies in a folder of this machine: name one")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: a file stands there: name a new or empty folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder}: there is something in it: an example store needs a new or empty folder")
