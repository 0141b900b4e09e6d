"""The `s3bench` command: reads what was typed, calls what does the work, prints what came of it."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

import httpx
import typer
from pydantic import ValidationError
from rich.console import Console

from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import BenchmarkParameters
from tasks.lab.local_lab import lab_down, lab_status, lab_up
from tasks.lab.prefect_server import private_prefect_server
from tasks.lab.processes import wait_until_quiet
from tasks.lab.state import shell_exports
from tasks.reports.plan_table import cost_lines, render_plan
from tasks.reports.progress import Reporter, reporter
from tasks.venues.launch import Launch, launched
from tasks.workloads.plan import plan_suite, refuse_above_cap

EXIT_CELL_FAILED = 1
EXIT_BAD_INPUT = 2

app = typer.Typer(
    name="s3bench",
    help="Measures ways of reaching data in Amazon S3 and keeps every sample as Parquet.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
lab_app = typer.Typer(help="The local lab: a real S3 server and a mount of it.", no_args_is_help=True)
app.add_typer(lab_app, name="lab")

SuiteArgument = Annotated[str, typer.Argument(help="A suite that ships, such as lab, or a YAML file.")]
LabOption = Annotated[Path, typer.Option("--lab", help="The lab's folder.")]
ResultsOption = Annotated[str, typer.Option("--results", help="A folder, or s3://BUCKET/PREFIX.")]
LogsOption = Annotated[
    str | None,
    typer.Option("--logs-from", help="Copy the CloudTrail logs from this folder or s3://BUCKET/PREFIX."),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="Only this configuration; may be given again.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of the order of blocks.")]
DEFAULT_LAB = Path(".lab")
_QUIET_CPU_SHARE = 0.1
_SETTLE_WITHIN_S = 10.0


def main() -> None:
    """Run the command; bad input ends with status 2 and one message."""
    try:
        app()
    except UserError as error:
        _complain(str(error))
    except ValidationError as error:
        _complain("; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors()))


def _complain(message: str) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"s3bench: {message}", style="red", markup=False)
    sys.exit(EXIT_BAD_INPUT)


@app.command()
def plan(suite: SuiteArgument, logs_from: LogsOption = None, only: OnlyOption = None) -> None:
    """Show what a suite would do and cost, without touching anything."""
    chosen = suite_of(BenchmarkParameters(suite=suite, only=only or [], logs_from=logs_from))
    render_plan(chosen, plan_suite(chosen), Console())


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one parameter for each option
    suite: SuiteArgument,
    results: ResultsOption = "results",
    logs_from: LogsOption = None,
    only: OnlyOption = None,
    seed: SeedOption = None,
    lab: LabOption = DEFAULT_LAB,
) -> None:
    """Run a suite through its Prefect flow and print the report."""
    started_ns = time.monotonic_ns()
    parameters = BenchmarkParameters(
        suite=suite, results=results, only=only or [], logs_from=logs_from, seed=seed, lab_folder=str(lab)
    )
    _refuse_early(parameters)
    signal.signal(signal.SIGTERM, _leave)
    console = Console()
    with contextlib.ExitStack() as running:
        reports = running.enter_context(reporter(console))
        launch = running.enter_context(_prefect_api(lab, reports, started_ns))
        # Prefect reads its settings when it is imported, so only now.
        from flows.benchmark import benchmark  # noqa: PLC0415

        running.enter_context(launched(launch))
        running.callback(_send_what_prefect_holds)
        try:
            run_id = benchmark(parameters)
        except httpx.HTTPError as error:
            message = (
                f"the Prefect server at {os.environ['PREFECT_API_URL']} was lost ({error}): cells that had "
                f"ended are in {results}, and `s3bench report` shows them"
            )
            raise UserError(message) from error
    failed = _print_report(results, run_id, console)
    raise typer.Exit(EXIT_CELL_FAILED if failed else 0)


@app.command()
def report(
    results: ResultsOption = "results",
    run_id: Annotated[str | None, typer.Option("--run", help="A run's id; the newest without it.")] = None,
) -> None:
    """Print the report of a run."""
    _print_report(results, run_id, Console())


@lab_app.command()
def up(lab: LabOption = DEFAULT_LAB) -> None:
    """Start the lab; harmless when it is up."""
    state = lab_up(lab)
    mount = state.mount_path or f"no mount: {state.mount_problem}"
    Console().print(f"lab up: {state.endpoint_url}, {mount}", soft_wrap=True, markup=False)


@lab_app.command()
def down(lab: LabOption = DEFAULT_LAB) -> None:
    """Stop the lab: unmount, and end its own processes only."""
    lab_down(lab)
    Console().print("lab down")


@lab_app.command()
def status(lab: LabOption = DEFAULT_LAB) -> None:
    """Say whether the lab is up, down or broken."""
    Console().print(lab_status(lab).describe(), soft_wrap=True, markup=False)


@lab_app.command()
def env(lab: LabOption = DEFAULT_LAB) -> None:
    """Print what a shell needs to reach the lab: eval "$(s3bench lab env)"."""
    state = lab_status(lab).state
    if state is None:
        raise UserError(f"{lab}: no lab is up there; start it with: s3bench lab up --lab {lab}")
    sys.stdout.write(shell_exports(state) + "\n")


def _refuse_early(parameters: BenchmarkParameters) -> None:
    """Find bad input before the server starts, which takes a while; the flow looks again."""
    from tasks.results.store import open_store  # noqa: PLC0415 - keeps `plan` quick

    suite = suite_of(parameters)
    refuse_above_cap(suite)
    open_store(parameters.results).check_writable()
    console = Console(stderr=True)
    for line in cost_lines(suite, plan_suite(suite)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _prefect_api(lab: Path, reports: Reporter, started_ns: int) -> Iterator[Launch]:
    """The server that is configured, or a private one for the time of the run."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    api_url = os.environ.get("PREFECT_API_URL")
    if api_url:
        _refuse_dead_server(api_url)
        yield Launch(reports, started_ns=started_ns)
        return
    reports.note("starting a private Prefect server")
    with private_prefect_server(lab) as server:
        os.environ["PREFECT_API_URL"] = server.api_url
        os.environ["PREFECT_HOME"] = str(lab.resolve() / "prefect" / "client")

        def settle() -> None:
            wait_until_quiet(server.pid, cpu_share_below=_QUIET_CPU_SHARE, timeout_s=_SETTLE_WITHIN_S)

        yield Launch(reports, settle, server.start_ms, started_ns)


def _refuse_dead_server(api_url: str) -> None:
    try:
        httpx.get(f"{api_url.rstrip('/')}/health", timeout=_SETTLE_WITHIN_S).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        message = (
            f"no Prefect server answers at {api_url} ({error}): start it, or unset PREFECT_API_URL "
            "for a private one"
        )
        raise UserError(message) from error


def _send_what_prefect_holds() -> None:
    """Send queued events and logs while the server still runs: at exit they would be tried for a minute."""
    from prefect.events.worker import EventsWorker  # noqa: PLC0415 - as in `run`
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415 - as in `run`

    EventsWorker.drain_all(timeout=_SETTLE_WITHIN_S)
    APILogWorker.drain_all(timeout=_SETTLE_WITHIN_S)


def _print_report(results: str, run_id: str | None, console: Console) -> bool:
    """Print a stored run's report, and say whether a cell failed."""
    from tasks.reports.terminal import render  # noqa: PLC0415 - numpy and scipy load slowly
    from tasks.reports.view import build_report  # noqa: PLC0415 - as above
    from tasks.results.reader import read_run  # noqa: PLC0415 - as above
    from tasks.results.schema import SAMPLES_FOLDER  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    store = open_store(results)
    stored = read_run(store, run_id)
    record = stored.record
    render(build_report(record, stored.run_id, stored.samples()), console)
    console.print(
        f"samples  {store.location}/{SAMPLES_FOLDER}", soft_wrap=True, markup=False, highlight=False
    )
    name = f"reports/{stored.run_id}.html"
    console.print(f"report   {store.location}/{name}", soft_wrap=True, markup=False, highlight=False)
    return record is not None and bool(record.failed_cells)


def _leave(number: int, _frame: FrameType | None) -> None:
    """End as after an exception, so that the lab and the server are stopped."""
    sys.exit(128 + number)
