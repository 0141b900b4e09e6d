"""The part of a report about one workload: its times, its stages, and how its configurations compare."""

from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Section, Table, workload_anchor
from tasks.reports.stage_tables import stage_tables
from tasks.reports.transfer_table import TRANSFERS, transfer_tables
from tasks.stats.summary_types import RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.reports.view import Report
    from tasks.stats.agreement import Agreement, Counts
    from tasks.stats.summary_types import Distribution, Summary

_OPERATIONS: Final = {
    "read": "one read",
    "write": "one write",
    "scan": "one whole scan",
    "scan_file": "one file within the scans",
    "first_read": "one read by a fresh client",
    "upload": "one file's upload",
    "download": "one file's download",
    "upload_tree": "one upload of the whole tree",
    "download_tree": "one download of the whole tree",
    "start_up": "one start-up of the client's process alone",
    "sync_lag": "waiting until a write is seen on the other side",
}
"""In words, by operation."""


def workload_section(report: "Report", workload_id: str) -> Section:
    """All tables of one workload."""
    mine = [summary for summary in report.summaries if summary.workload_id == workload_id]
    tables = []
    for operation in dict.fromkeys(summary.operation for summary in mine):
        summaries = [summary for summary in mine if summary.operation == operation]
        tables += _operation_tables(report, workload_id, operation, summaries)
    tables += transfer_tables(mine, [one for one in report.series if one.workload_id == workload_id])
    agreement = next((one for one in report.agreements if one.workload_id == workload_id), None)
    return Section(
        heading=f"Workload {workload_id}",
        sentences=(
            *_threads(report, workload_id),
            *_paces(report, workload_id),
            *_clients(report, workload_id),
            *_unknown_crew(report, workload_id),
            *_sentences(mine, agreement, whole_run=report.record is not None),
            *_stand_in(report, workload_id),
            *_cache_states(report, workload_id),
        ),
        alerts=_alerts(agreement),
        tables=tuple(table for table in tables if table.rows),
        workload_id=workload_id,
        anchor=workload_anchor(report.workload_ids.index(workload_id)),
    )


def _threads(report: "Report", workload_id: str) -> tuple[str, ...]:
    """How many operations ran at once, which their times depend on; nothing where no record tells it."""
    if report.record and report.record.measured_by:
        return ()
    asked = {
        cell.parameters.get("workload.concurrency", "1")  # those that cannot share out their work have none
        for cell in (report.record.cells if report.record else ())
        if cell.workload_id == workload_id and cell.parameters
    }
    if asked == {"1"}:
        return ("1 thread of the harness: one operation after the other.",)
    return tuple(
        wording.printable(
            f"{count} threads of the harness: as many operations at once, each with its own time."
        )
        for count in sorted(asked)
    )


def _paces(report: "Report", workload_id: str) -> tuple[str, ...]:
    """At which rate operations were due; nothing of a closed loop."""
    asked = {
        rate
        for cell in (report.record.cells if report.record else ())
        if cell.workload_id == workload_id and (rate := cell.parameters.get("workload.rate_per_s"))
    }
    return tuple(
        wording.printable(
            f"An open loop: {float(rate):g} operations per second are due, whatever those before them take. "
            "One that is due while all threads wait begins late, and its response time counts that."
        )
        for rate in sorted(asked)
    )


def _clients(report: "Report", workload_id: str) -> tuple[str, ...]:
    """Whose blocks several clients did at the same time; nothing where one did."""
    told = (
        f"{cell.config_id}: {clients} clients at once, each a process with those threads"
        f"{_how_they_were_together(cell.proof)}."
        for cell in (report.record.cells if report.record else ())
        if cell.workload_id == workload_id and (clients := cell.parameters.get("configuration.clients"))
    )
    return tuple(map(wording.printable, told))


def _unknown_crew(report: "Report", workload_id: str) -> tuple[str, ...]:
    """Why there is no throughput of all together, where no record tells who they were."""
    several = any(one.together for one in report.series if one.workload_id == workload_id)
    if report.record is not None or not several:
        return ()
    told = (
        "Several threads or clients measured at the same time: only the record, which this run did not come "
        "to write, tells which, so no throughput of all together is shown."
    )
    return (told,)


def _how_they_were_together(proof: "Mapping[str, str]") -> str:
    """How many came to the end, how far apart they began, and who was late."""
    told = [proof.get("clients", "")]
    if within := proof.get("clients_began_within_ms"):
        told.append(f"they began within {within} ms")
    told.append(proof.get("late_clients", ""))
    return "".join(f"; {part}" for part in told if part)


def _operation_tables(
    report: "Report", workload_id: str, operation: str, summaries: "Sequence[Summary]"
) -> list[Table]:
    title = f"Time of {_OPERATIONS[operation]}, ms"
    totals = [summary for summary in summaries if summary.stage == "total_ns"]
    if operation in BESIDES:
        # Files of one scan share its moment, and a start-up is no transfer: a ratio would claim too much.
        return [_times_table(title, totals, {})]
    return [
        _times_table(title, totals, _comparisons(report, workload_id) if len(totals) > 1 else {}),
        _interval_table(totals),
        *_response_tables(operation, summaries),
        *stage_tables(report, workload_id, _OPERATIONS[operation], summaries),
    ]


def _response_tables(operation: str, summaries: "Sequence[Summary]") -> list[Table]:
    """What somebody waits who comes at a rate of his own; nothing of a closed loop, in which nobody does."""
    responses = [summary for summary in summaries if summary.stage == RESPONSE]
    if not responses:
        return []
    title = f"Response time of {_OPERATIONS[operation]}, from the moment at which it was due, ms"
    return [_times_table(title, responses, {})]


def _comparisons(report: "Report", workload_id: str) -> dict[str, str]:
    """What is said of each configuration against the baseline, by its id."""
    said = {_baseline(report, workload_id): "baseline"}
    for ratio in report.comparison.ratios:
        if ratio.workload_id == workload_id and ratio.stage == "total_ns":
            said[ratio.config_id] = wording.comparison(ratio)
    for refusal in report.comparison.refusals:
        if refusal.workload_id == workload_id:
            said[refusal.config_id] = f"not compared: {refusal.reason}"
    return said


def _baseline(report: "Report", workload_id: str) -> str:
    return report.comparison.baselines.get(workload_id, "")


def _stand_in(report: "Report", workload_id: str) -> tuple[str, ...]:
    """Says so where others than the run's baseline are compared with."""
    own = _baseline(report, workload_id)
    several = len({one.config_id for one in report.series if one.workload_id == workload_id}) > 1
    if own == report.baseline_id or not several:
        return ()
    return (wording.printable(f"Compared with {own}: {report.baseline_id} does not do this workload."),)


def _times_table(title: str, totals: "Sequence[Summary]", comparisons: dict[str, str]) -> Table:
    """The figures of every configuration, one row each, and how it compares with the baseline."""
    rows = []
    for summary in totals:
        figures = summary.distribution
        cells = ("0", *[wording.NONE] * 6) if figures is None else _figures(figures)
        failed = wording.errors(summary.errors, figures.n if figures else 0)
        compared = (comparisons.get(summary.config_id, wording.NONE),) if comparisons else ()
        rows.append((summary.config_id, *cells, failed, *compared))
    header: tuple[str, ...] = ("Configuration", "n", "min", "avg", "p50", "p90", "p99", "max", "errors")
    if comparisons:
        header = (*header, "ratio of p50 to baseline")
    return Table(title, header, tuple(rows), prose=frozenset({9}))


def _figures(figures: "Distribution") -> tuple[str, ...]:
    return (
        f"{figures.n:,}",
        wording.milliseconds(figures.min_ns),
        wording.milliseconds(figures.avg_ns),
        *(wording.quantile(value) for value in (figures.p50, figures.p90, figures.p99)),
        wording.milliseconds(figures.max_ns),
    )


def _interval_table(totals: "Sequence[Summary]") -> Table:
    rows = [
        (
            summary.config_id,
            *(wording.quantile_interval(value) for value in (figures.p50, figures.p90, figures.p99)),
        )
        for summary in totals
        if (figures := summary.distribution)
    ]
    return Table(
        title="95 % intervals of the quantiles within this run, ms",
        header=("Configuration", "p50", "p90", "p99"),
        rows=tuple(rows),
        detail=True,
    )


def _sentences(
    summaries: "Sequence[Summary]", agreement: "Agreement | None", *, whole_run: bool
) -> tuple[str, ...]:
    sentences = []
    if agreement and (counts := agreement.agreed):
        sentences.append(f"Each scan: {_seen(counts)}, {_by_whom(agreement, whole_run=whole_run)}.")
    moved = {(summary.files, summary.size_bytes) for summary in summaries if summary.operation in TRANSFERS}
    if len(moved) == 1 and (held := moved.pop())[1] is not None:
        sentences.append(f"Each operation moves {wording.counts(held[0], None, held[1])}.")
    whole = [summary for summary in summaries if summary.stage == "total_ns"]
    warmups = sum(summary.warmups for summary in whole if summary.operation not in BESIDES)
    if warmups:
        sentences.append(f"Not counted: {warmups:,} warm-up operation{'' if warmups == 1 else 's'}.")
    return tuple(sentences)


def _cache_states(report: "Report", workload_id: str) -> tuple[str, ...]:
    """What times hold of caches, once for all that share it: unlike states are no fair comparison."""
    sharing: dict[str, list[str]] = {}
    for cell in report.record.cells if report.record else ():
        if cell.workload_id == workload_id and cell.status == "measured" and cell.cache_state:
            sharing.setdefault(cell.cache_state, []).append(cell.config_id)
    return tuple(
        wording.printable(f"{', '.join(config_ids)}: {state}.") for state, config_ids in sharing.items()
    )


def _alerts(agreement: "Agreement | None") -> tuple[str, ...]:
    if agreement is None or agreement.agreed:
        return ()
    seen = [
        f"{sighting.config_id} saw {_seen(sighting.counts)} "
        f"in {sighting.scans:,} scan{'' if sighting.scans == 1 else 's'}"
        for sighting in agreement.sightings
    ]
    told = wording.printable("; ".join([*seen, *_absences(agreement)]))
    return (f"DISAGREEMENT: the scans did not see the same data. {told}. Warm-ups are counted too.",)


def _by_whom(agreement: "Agreement", *, whole_run: bool) -> str:
    """Who saw the same; `all` only where no configuration of the suite is missing."""
    agreeing, absences = len(agreement.config_ids), _absences(agreement)
    if agreeing == 1:
        agreed = f"seen by {agreement.config_ids[0]} alone"
    elif absences:
        agreed = f"agreed by {agreeing} of {agreeing + len(absences)} configurations"
    else:
        agreed = f"agreed by {'all ' if whole_run else ''}{agreeing} configurations"
    return wording.printable("; ".join([agreed, *absences]))


def _absences(agreement: "Agreement") -> list[str]:
    """Why each configuration that counted nothing did not."""
    return [
        f"{config_id} was skipped" if status == "skipped" else f"no scan of {config_id} came to its end"
        for config_id, status in agreement.absent.items()
    ]


def _seen(counts: "Counts") -> str:
    return wording.counts(counts.files, counts.records, counts.size_bytes)
