"""The `s3bench` command: reads what was typed, calls what does the work, prints what came of it."""

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, cast

import httpx
import typer
from pydantic import ValidationError

from configs.datasets import CloudTrailCopied
from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import BenchmarkParameters
from configs.redaction import redacted
from flows.athena_commands import athena_app
from flows.compare_commands import compare
from flows.doctor_commands import doctor
from flows.example_commands import example
from flows.history_commands import history
from flows.import_commands import import_lines
from flows.interruption import end_by_signals, told_when_interrupted
from flows.lab_commands import DEFAULT_LAB, LabOption, lab_app
from flows.report_commands import ResultsOption, end_unless_whole, print_report, report
from flows.server_access import refuse_dead_server, without_proxy_on_this_host
from flows.stack_commands import leaks, targets
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
from tasks.lab.prefect_server import private_prefect_server
from tasks.reports.plan_table import cost_lines, render_plan
from tasks.reports.progress import PatientConsole, Reporter, SafeConsole, reporter
from tasks.venues.host_lock import host_lock
from tasks.venues.launch import Launch, launched
from tasks.venues.stopwatch import Stopwatch
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
app.add_typer(lab_app, name="lab")
app.add_typer(athena_app, name="athena")

SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of the order of blocks.")]
WhenBusyOption = Annotated[
    Literal["wait", "refuse"],
    typer.Option("--when-busy", help="What to do while another measurement runs on this host."),
]
WaitOption = Annotated[int, typer.Option("--wait-minutes", help="How long to wait for it to end, at most.")]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask-scheduler", help="tcp://HOST:PORT: whose workers run a cell's several clients."),
]
_SETTLE_WITHIN_S = 10.0
_RETRY_AFTER_S = (2.0,)
"""Somebody waits at the terminal."""


def main() -> None:
    """Run the command; bad input ends with status 2 and one message."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a report in an ASCII terminal is better than none
    try:
        app(_with_every_only(sys.argv[1:]))
    except UserError as error:
        _complain(str(error))
    except OSError as error:  # a full disk, a folder of somebody else: whatever was not foreseen deeper down
        _complain(f"{error.filename or 'the output'}: {error.strerror or error}")
    except ValidationError as error:
        wrong = ((".".join(str(step) for step in item["loc"]), item["msg"]) for item in error.errors())
        _complain("; ".join(f"{place}: {what}" if place else what for place, what in wrong))


def _with_every_only(words: list[str]) -> list[str]:
    """Let `run SUITE --only A B` mean `run SUITE --only A --only B`, which is all that typer reads."""
    if len(words) < 2 or words[1].startswith("-"):  # noqa: PLR2004 - no suite yet: the next word may be it
        return words
    spread: list[str] = []
    for word in words:
        follows_only = len(spread) > 1 and spread[-2] == "--only"
        spread += ["--only", word] if follows_only and not word.startswith("-") else [word]
    return spread


def _complain(message: str) -> None:
    console = SafeConsole(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"s3bench: {redacted(message)}", style="red", markup=False)
    sys.exit(EXIT_BAD_INPUT)


@app.command()
def plan(  # noqa: PLR0913, PLR0917 - one parameter for each option
    suite: SuiteArgument,
    in_lab: InLabOption = False,
    targets: TargetsOption = None,
    settings: SetOption = None,
    logs_from: LogsOption = None,
    only: OnlyOption = None,
    max_usd: MaxUsdOption = MAX_USD,
) -> None:
    """Show what a suite would do and cost, without touching anything."""
    chosen = suite_of(
        BenchmarkParameters(
            suite=suite,
            in_lab=in_lab,
            targets_file=targets,
            settings=settings or [],
            only=only or [],
            logs_from=logs_from,
            max_usd=max_usd,
        )
    )
    console = PatientConsole()
    render_plan(chosen, plan_suite(chosen), console)
    try:
        refuse_above_cap(chosen, max_usd)
    except UserError as error:
        console.print(f"it would not start: {error}", markup=False, highlight=False)


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one parameter for each option
    suite: SuiteArgument,
    in_lab: InLabOption = False,
    targets: TargetsOption = None,
    settings: SetOption = None,
    results: ResultsOption = "results",
    logs_from: LogsOption = None,
    only: OnlyOption = None,
    seed: SeedOption = None,
    max_usd: MaxUsdOption = MAX_USD,
    lab: LabOption = DEFAULT_LAB,
    when_busy: WhenBusyOption = "wait",
    wait_minutes: WaitOption = 60,
    dask_scheduler: DaskOption = None,
) -> None:
    """Run a suite through its Prefect flow and print the report."""
    stopwatch = Stopwatch()
    parameters = BenchmarkParameters(
        suite=suite,
        in_lab=in_lab,
        targets_file=targets,
        settings=settings or [],
        results=results,
        only=only or [],
        logs_from=logs_from,
        seed=seed,
        max_usd=max_usd,
        lab_folder=str(lab),
        when_busy=when_busy,
        wait_at_most_minutes=wait_minutes,
        dask_scheduler=dask_scheduler,
    )
    end_by_signals()
    os.environ.update(without_proxy_on_this_host(os.environ))
    _refuse_early(parameters)
    console = PatientConsole()
    with contextlib.ExitStack() as running:
        running.enter_context(told_when_interrupted(results))
        running.enter_context(_server_that_may_be_lost(results))
        reports = running.enter_context(reporter(console))
        with stopwatch.of("wait"):
            holder = f"s3bench run {suite} (process {os.getpid()})"
            running.enter_context(host_lock(holder, parameters.wait_for_host_s, reports.note))
        launch = running.enter_context(_prefect_api(lab, reports, stopwatch))
        # Prefect reads its settings when it is imported, so only now.
        from flows.benchmark import benchmark  # noqa: PLC0415
        from flows.quiet import send_what_prefect_holds  # noqa: PLC0415

        running.enter_context(launched(launch))
        # While the server still runs: at exit it would be tried for a minute.
        running.callback(send_what_prefect_holds, _SETTLE_WITHIN_S)
        run_id = cast("str", benchmark(parameters))  # Prefect gives what the state that it returns holds
    failed, is_whole = print_report(results, run_id, console)
    end_unless_whole(is_whole=is_whole)
    raise typer.Exit(EXIT_CELL_FAILED if failed else 0)


app.command()(doctor)
app.command()(report)
app.command()(history)
app.command()(compare)
app.command()(example)
app.command("import")(import_lines)
app.command()(targets)
app.command()(leaks)


@told_when_interrupted(None)
def _refuse_early(parameters: BenchmarkParameters) -> None:
    """Find bad input before the server starts, which takes a while; the flow looks again."""
    from tasks.access.s3_client import default_client  # noqa: PLC0415 - keeps `plan` quick
    from tasks.datasets.sources import open_source  # noqa: PLC0415 - as above
    from tasks.results.reader import list_runs  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    suite = suite_of(parameters)
    refuse_above_cap(suite, parameters.max_usd)
    for dataset in suite.datasets.values():
        if isinstance(dataset, CloudTrailCopied):
            open_source(dataset.source, default_client)
    store = open_store(parameters.results)
    store.check_writable()
    list_runs(store)  # names a file that is not ours: found after measuring it would be too late
    if api_url := os.environ.get("PREFECT_API_URL"):
        refuse_dead_server(api_url)
    console = SafeConsole(stderr=True)
    for line in cost_lines(suite, plan_suite(suite)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _prefect_api(lab: Path, reports: Reporter, stopwatch: Stopwatch) -> Iterator[Launch]:
    """The server that is configured, or a private one for the time of the run."""
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_LOGGING_INTERNAL_LEVEL", "CRITICAL")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    if api_url := os.environ.get("PREFECT_API_URL"):
        refuse_dead_server(api_url)
        with _without_heartbeat():
            yield _launch(reports, stopwatch)
        return
    # A private server that is gone does not come back: no waiting for it, and no lines about it.
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", "1")
    logging.raiseExceptions = False
    reports.note("starting a private Prefect server")
    with private_prefect_server(lab) as server:
        os.environ["PREFECT_API_URL"] = server.api_url
        os.environ["PREFECT_HOME"] = str(lab.resolve() / "prefect" / "client")
        stopwatch.server_start_ms = server.start_ms
        with _without_heartbeat():
            yield _launch(reports, stopwatch, is_private=True)


@contextlib.contextmanager
def _without_heartbeat() -> Iterator[None]:
    """Nothing of Prefect beats while something is measured, and no flow waits a second for its heart to stop.

    Whoever types the command sees how it ends; no automation of ours waits for such a beat.
    """
    from prefect.settings import (  # noqa: PLC0415 - as in `run`
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        temporary_settings,
    )

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def _launch(reports: Reporter, stopwatch: Stopwatch, *, is_private: bool = False) -> Launch:
    from flows.quiet import QUIET_WITHIN_S, settle  # noqa: PLC0415 - as in `run`

    # A private server has nothing else to do, and after its first start much of that.
    within_s = _SETTLE_WITHIN_S if is_private else QUIET_WITHIN_S
    return Launch(
        reports,
        stopwatch,
        lambda: settle(within_s),
        holds_host=True,
        is_shown=not is_private,
        retry_after_s=_RETRY_AFTER_S,
    )


@contextlib.contextmanager
def _server_that_may_be_lost(results: str) -> Iterator[None]:
    """What was measured is stored without Prefect: say so, and do not wait for a server that is gone."""
    try:
        yield
    except httpx.HTTPError as error:
        lost = f"the Prefect server at {os.environ['PREFECT_API_URL']} was lost ({error!r})"
        SafeConsole(stderr=True, soft_wrap=True).print(
            f"s3bench: {redacted(lost)}: what was measured until then is in {results}, and `s3bench report "
            f"--results {results}` shows it",
            style="red",
            markup=False,
        )
        sys.stderr.flush()
        os._exit(EXIT_CELL_FAILED)  # Prefect would go on for minutes trying to send what it holds
