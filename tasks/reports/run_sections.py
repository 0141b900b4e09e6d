"""A whole report from a run: its head, its workloads, what went wrong, and what measuring cost."""

from collections import Counter
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.concurrency_section import concurrency_section
from tasks.reports.document import WENT_WRONG, Document, Section, Table
from tasks.reports.first_request_section import first_request_section
from tasks.reports.known_answers import known_answers_section
from tasks.reports.price_section import price_section
from tasks.reports.proof_section import proof_section, settings_section
from tasks.reports.summary_section import summary_section
from tasks.reports.sync_lag_section import sync_lag_section
from tasks.reports.workload_section import workload_section

if TYPE_CHECKING:
    from configs.run_record import DatasetRecord, RunRecord
    from tasks.reports.view import Report
    from tasks.stats.failures import FailureKind

_RULES: Final = (
    "Only the operation stands between the two readings of the clock: clients, payloads, checks are outside.",
    "Every operation gives a sample: warm-ups are marked, failures are kept with their type and status.",
    "What was read is checked against the dataset's manifest; a mismatch makes the sample an error.",
    "The order of the blocks is shuffled with the run's seed and interleaved, so that drift hits all alike.",
    "Quantiles are nearest rank, from samples, never averaged; their intervals are of order statistics.",
    "A ratio is the geometric mean over paired blocks with a t interval; unlike cells are not compared.",
    "Nor is a cell compared that failed, or of which more than 5 % did: only what succeeded has a time.",
)

_SIGNS: Final = (
    "≥ x: the true quantile lies above x with 97.5 % confidence; how far, so small a sample cannot say.",
    "(x): the sample's own quantile; the sample is too small for any bound.",
    "ratio: below 1 is faster; geometric mean of ratios of p50, paired by block, with a 95 % t interval.",
    "A stage's p50 is of the operations in which it happened; first byte counts from the operation's start.",
    "A stage has a ratio where it happened in at least half of the operations of both configurations.",
)
_MOST_NAMED: Final = 6
"""Cells in an alert: all of them stand in the table of what went wrong."""
_INCOMPLETE: Final = (
    "INCOMPLETE: this run ended before it could write its record. Below is what it had measured until then; "
    "where it was measured, and whether in the local lab, is not known."
)

_NO_RECORD: Final = (
    "INCOMPLETE: this run has no record that can be read. Below is what its other files hold; where it was "
    "measured, and whether in the local lab, is not known."
)


def document(report: "Report") -> Document:
    """The report as text, in the order in which it is read."""
    record, priced = report.record, price_section(report)
    closing = [_wrong_section(report)]
    method = [Section("Rules", sentences=_RULES)]
    if record and record.measured_by:  # by whom none of our rules holds
        method = [proof_section(record), settings_section(record)]
    elif record:
        closing = [_data_section(record), *closing, _cost_section(record)]
        method += [_environment_section(record), proof_section(record), settings_section(record)]
    return Document(
        title=f"Run {wording.printable(report.run_id)}",
        alerts=_alerts(report),
        facts=_facts(record) if record else (),
        sections=(
            *_with_tables(summary_section(report), known_answers_section(report)),
            *(workload_section(report, workload_id) for workload_id in report.workload_ids),
            *_with_tables(
                concurrency_section(report), first_request_section(report), sync_lag_section(report)
            ),
            *([priced] if priced.sentences else []),
            *([_signs_section(report)] if report.series else []),
            *_with_tables(*closing),
        ),
        method=tuple(method),
    )


def _with_tables(*sections: Section) -> list[Section]:
    return [section for section in sections if section.tables]


def _signs_section(report: "Report") -> Section:
    sentences = (*_SIGNS, *wording.corrected_for(report.comparison.tested))
    return Section("How to read these tables", sentences=sentences, anchor="signs")


def _alerts(report: "Report") -> tuple[str, ...]:
    record = report.record
    if record is None:
        return (_NO_RECORD if report.unread else _INCOMPLETE, *wording.not_read(report.unread))
    alerts = [wording.SYNTHETIC] if record.synthetic else []
    alerts += wording.imported(record.measured_by)
    if record.lab:
        alerts.append("LOCAL LAB: these numbers describe this machine, not Amazon S3.")
    for outcome in ("failed", "skipped"):
        if cells := [cell.cell_id for cell in record.cells if cell.status == outcome]:
            named = ", ".join(cells[:_MOST_NAMED])
            more = f" and {len(cells) - _MOST_NAMED:,} more" if len(cells) > _MOST_NAMED else ""
            told = f"{len(cells)} of {len(record.cells)}: {named}{more}"
            alerts.append(f"{outcome.upper()} CELLS: {told}. Reasons are below.")
    alerts += wording.not_read(report.unread)
    if not report.summaries:
        alerts.append("NOTHING was measured.")
    return tuple(alerts)


def _facts(record: "RunRecord") -> tuple[tuple[str, str], ...]:
    if record.measured_by:
        return (
            ("Measured by", wording.printable(record.measured_by)),
            ("Night", record.dt),
            ("Logged", f"{record.started_at:%Y-%m-%d %H:%M:%S} to {record.ended_at:%H:%M:%S} UTC"),
            ("Baseline", record.baseline),
        )
    return (
        ("Suite", f"{record.suite} (sha256 {record.suite_sha256[:12]})"),
        ("Night", record.dt),
        ("Measured", f"{record.started_at:%Y-%m-%d %H:%M:%S} to {record.ended_at:%H:%M:%S} UTC"),
        ("Seed", f"{record.seed}"),
        ("Blocks", f"{record.blocks} of each cell"),
        ("Baseline", record.baseline),
        ("Commit", wording.printable(record.environment.git_commit)),
    )


def _data_section(record: "RunRecord") -> Section:
    datasets = tuple((dataset.name, dataset.kind, _held(dataset)) for dataset in record.datasets)
    left_out = tuple(
        (dataset.name, f"{item.count:,}", wording.printable(f"{item.reason}, such as {item.example}"))
        for dataset in record.datasets
        for item in dataset.left_out
    )
    tables = (
        Table("Datasets", ("Dataset", "kind", "holds"), datasets, frozenset({1, 2})),
        Table("Left out of datasets", ("Dataset", "objects", "reason"), left_out, frozenset({2})),
    )
    return Section("Data", tables=tuple(table for table in tables if table.rows), anchor="data")


def _held(dataset: "DatasetRecord") -> str:
    noun = "object" if dataset.kind == "blobs" else "file"
    held = wording.counts(dataset.objects, dataset.records or None, dataset.size_bytes, of=noun)
    seed = "" if dataset.seed is None else f", seed {dataset.seed}"
    source = f", from {dataset.source}" if dataset.source else ""
    return wording.printable(held + seed + source)


def _wrong_section(report: "Report") -> Section:
    cells = tuple(
        (failure.config_id, failure.workload_id, failure.outcome, wording.printable(failure.reason))
        for failure in report.cell_failures
    )
    outcomes = Counter(failure.outcome for failure in report.cell_failures)
    kinds = tuple(
        (
            f"{kind.config_id}/{kind.workload_id}",
            _kind(kind),
            f"{kind.count:,}",
            wording.printable(kind.example),
        )
        for kind in report.failures
    )
    tables = (
        Table(
            "Skipped and failed cells",
            ("Configuration", "workload", "outcome", "reason"),
            cells,
            frozenset({1, 2, 3}),
        ),
        Table(
            "Failed operations",
            ("Cell", "error", "count", "example"),
            kinds,
            frozenset({1, 3}),
        ),
    )
    return Section(
        "What went wrong",
        tables=tuple(table for table in tables if table.rows),
        anchor=WENT_WRONG,
        brief=", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items())),
    )


def _kind(kind: "FailureKind") -> str:
    status = f", HTTP {kind.http_status}" if kind.http_status else ""
    warmups = f", {kind.warmups:,} of them warm-ups" if kind.warmups else ""
    return f"{kind.operation}: {wording.printable(kind.error)}{status}{warmups}"


def _cost_section(record: "RunRecord") -> Section:
    return Section(
        "What measuring cost",
        tables=(*([_harness_table(record)] if record.harness else []), _timing_table(record)),
        anchor="cost",
    )


def _harness_table(record: "RunRecord") -> Table:
    cost = record.harness
    rows = (
        ()
        if cost is None
        else (
            ("Smallest step of the clock", wording.short_duration(cost.timer_resolution_ns)),
            ("Timing nothing, p50: part of every sample", wording.short_duration(cost.timed_nothing_ns)),
            (
                "Between two operations, checks included",
                # No block had two of them: then there is nothing between, and not a time of 0.
                wording.short_duration(cost.loop_gap_ns) if cost.loop_gap_ns else wording.NONE,
            ),
            ("Share of one processor while measuring", wording.share(cost.cpu_share, 1)),
        )
    )
    return Table("The harness's own overhead", ("What", "value"), rows)


def _timing_table(record: "RunRecord") -> Table:
    timing = record.timing
    rows = [
        (name, wording.duration(part_ms), wording.share(part_ms, timing.wall_ms))
        for name, part_ms in (
            ("Preparing data", timing.prepare_ms),
            *([("Waiting for another measurement", timing.wait_ms)] if timing.wait_ms else []),
            ("Measuring", timing.measure_ms),
            ("Orchestration: all the rest", timing.orchestration_ms),
            ("of which starting the server", timing.server_start_ms),
        )
    ]
    if record.cells:
        per_cell_ms = timing.orchestration_ms / len(record.cells)
        rows.append(
            (
                "Orchestration per cell",
                wording.duration(per_cell_ms),
                wording.share(per_cell_ms, timing.wall_ms),
            )
        )
    rows.append(
        ("Whole run", wording.duration(timing.wall_ms), wording.share(timing.wall_ms, timing.wall_ms))
    )
    return Table("Where the time went", ("What", "time", "share"), tuple(rows))


def _environment_section(record: "RunRecord") -> Section:
    environment = record.environment
    machine = (
        ("Processor", f"{environment.cpu_model}, {environment.cpu_count} logical"),
        ("Memory", f"{environment.memory_bytes / 2**30:.1f} GiB"),
        ("Machine", environment.machine),
        ("Kernel", environment.kernel),
        ("Python", environment.python),
        ("Git commit", environment.git_commit),
        ("Suite SHA-256", record.suite_sha256),
        ("Seed", f"{record.seed}"),
        ("Result schema", f"version {record.schema_version}"),
    )
    packages = tuple(sorted(environment.packages.items()))
    tables = (
        Table("Machine and suite", ("What", "value"), wording.printable_rows(machine), frozenset({1})),
        Table("Versions", ("Package", "version"), wording.printable_rows(packages), frozenset({1})),
    )
    return Section("Environment", tables=tuple(table for table in tables if table.rows))
