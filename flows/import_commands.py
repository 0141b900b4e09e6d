"""The `s3bench import` command: samples that a program of others has logged, into a store of ours."""

import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from configs.errors import UserError
from flows.report_commands import ResultsOption
from tasks.reports.progress import PatientConsole

if TYPE_CHECKING:
    from tasks.results.lines_import import Imported

FileArgument = Annotated[
    str, typer.Argument(help="A log, plain or .gz, as lines, JSON or CSV; - for the standard input.")
]
DayOption = Annotated[
    str | None,
    typer.Option("--day", help="YYYY-MM-DD, the UTC date of lines that tell no time; today without it."),
]
EXIT_NOTHING: Final = 1
_BAD_SHOWN: Final = 10
_STDIN: Final = "-"


def import_lines(file: FileArgument, results: ResultsOption = "results", day: DayOption = None) -> None:
    """Import samples of s3_access_benchmark_v1, as a Lambda function printed or CloudWatch Logs exported."""
    undated = f"{datetime.now(UTC):%Y-%m-%d}" if day is None else _date(day)
    where = "the standard input" if file == _STDIN else file
    content = _content(file)
    from tasks.results import lines_import  # noqa: PLC0415 - pyarrow and scipy load slowly
    from tasks.results.log_lines import read_log  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    found = read_log(content, where)
    store = open_store(results)
    store.check_writable()
    imported = lines_import.import_lines(store, found, undated)
    _tell(imported, found.foreign, where, results)
    if not imported.runs and not imported.known:
        raise typer.Exit(EXIT_NOTHING)


def _content(file: str) -> bytes:
    """One byte more than is taken at the most, so that a larger file is refused and never held."""
    from tasks.results.log_lines import MOST_BYTES  # noqa: PLC0415 - as above

    if file == _STDIN:
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{file}: {why}: name a file with the lines, or - for the standard input") from error


def _date(text: str) -> str:
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise UserError(f"--day {text}: give a date such as 2026-01-31")


def _tell(imported: "Imported", foreign: int, where: str, results: str) -> None:
    console = PatientConsole()
    lines = []
    for run in imported.runs:
        samples, cells = _counted(run.samples, "sample"), _counted(len(run.cells), "cell")
        lines += [
            f"Imported run {run.run_id}: {samples} of {cells}, night {run.dt}:",
            *(f"  {cell}" for cell in run.cells),
        ]
    if not imported.runs:
        lines.append(f"{where}: nothing was imported")
    lines += [
        (
            f"Other lines: {imported.known:,} known already, {len(imported.bad):,} wrong, "
            f"{foreign:,} without a sample."
        ),
        *(f"  line {number:,}: {why}" for number, why in imported.bad[:_BAD_SHOWN]),
    ]
    if len(imported.bad) > _BAD_SHOWN:
        lines.append(f"  and {len(imported.bad) - _BAD_SHOWN:,} more")
    if imported.runs:
        lines.append(f"See them: s3bench report --results {results} --run {imported.runs[-1].run_id}")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
