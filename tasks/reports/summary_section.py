"""What a report comes to, one row for each workload, and what of it could not be measured."""

from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import WENT_WRONG, Section, Table, workload_anchor
from tasks.reports.paths_section import who_wins

if TYPE_CHECKING:
    from tasks.reports.view import Report

_TWO: Final = 2


def summary_section(report: "Report") -> Section:
    """The baseline's p50 of each workload, and which other configuration comes out fastest beside it."""
    unmeasured = [failure.workload_id for failure in report.cell_failures]
    workload_ids = tuple(dict.fromkeys((*report.workload_ids, *unmeasured)))
    rows = [_row(report, workload_id) for workload_id in workload_ids]
    header: tuple[str, ...] = ("Workload", "baseline", "p50, ms", "fastest other", "ratio of p50 to baseline")
    if unmeasured:
        header = (*header, "not measured")
        rows = [
            (*row, _unmeasured(report, workload_id))
            for workload_id, row in zip(workload_ids, rows, strict=True)
        ]
    table = Table(
        "Each workload in a line",
        header,
        wording.printable_rows(rows),
        prose=frozenset({1, 3, 4, 5}),
        links=tuple(
            workload_anchor(report.workload_ids.index(workload_id))
            if workload_id in report.workload_ids
            else WENT_WRONG
            for workload_id in workload_ids
        ),
    )
    matrix = who_wins(report)
    # Beside a single other configuration the first table has said it all.
    is_new = len({one.config_id for one in report.series}) > _TWO
    return Section(
        "Summary", tables=(table, matrix) if is_new and matrix.rows else (table,), anchor="summary"
    )


def _row(report: "Report", workload_id: str) -> tuple[str, ...]:
    baseline_id = report.comparison.baselines.get(workload_id, "")
    totals = (
        one
        for one in report.summaries
        if (one.config_id, one.workload_id, one.stage) == (baseline_id, workload_id, "total_ns")
        and one.operation not in BESIDES
    )
    p50 = next((wording.quantile(one.distribution.p50) for one in totals if one.distribution), wording.NONE)
    return (workload_id, baseline_id or wording.NONE, p50, *_fastest(report, workload_id))


def _fastest(report: "Report", workload_id: str) -> tuple[str, str]:
    """The configuration with the smallest ratio, and what is said of it; why there is none, where so."""
    ratios = [
        one for one in report.comparison.ratios if (one.workload_id, one.stage) == (workload_id, "total_ns")
    ]
    if ratios:
        least = min(ratios, key=lambda one: one.value)
        return least.config_id, wording.comparison(least)
    refused = any(one.workload_id == workload_id for one in report.comparison.refusals)
    return wording.NONE, "none was compared, see there" if refused else "nothing to compare with"


def _unmeasured(report: "Report", workload_id: str) -> str:
    outcomes = [one.outcome for one in report.cell_failures if one.workload_id == workload_id]
    told = (f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(sorted(outcomes)))
    return ", ".join(told) or wording.NONE
