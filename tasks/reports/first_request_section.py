"""The first request of a fresh client beside the steady state of the same configuration and data."""

from typing import TYPE_CHECKING

from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from tasks.reports.view import Report
    from tasks.stats.ratios import FirstRequest


def first_request_section(report: "Report") -> Section:
    """A row for each pair of a first and a steady read; no table where the run has no such pair."""
    table = Table(
        "One read: by a fresh client, and in the steady state, p50 in ms",
        ("Configuration", "workloads", "first", "steady", "ratio of p50, paired by block"),
        tuple(_row(report, one) for one in report.comparison.first_requests),
        frozenset({1, 4}),
    )
    return Section(
        "First request against the steady state",
        tables=(table,) if table.rows else (),
        anchor="first-request",
    )


def _row(report: "Report", one: "FirstRequest") -> tuple[str, ...]:
    config_id = one.ratio.config_id
    return (
        config_id,
        f"{one.workload_id}, {one.steady_workload_id}",
        _p50(report, config_id, one.workload_id, "first_read"),
        _p50(report, config_id, one.steady_workload_id, "read"),
        wording.comparison(one.ratio),
    )


def _p50(report: "Report", config_id: str, workload_id: str, operation: str) -> str:
    key = (config_id, workload_id, operation, "total_ns")
    found = (
        wording.quantile(summary.distribution.p50)
        for summary in report.summaries
        if (summary.config_id, summary.workload_id, summary.operation, summary.stage) == key
        and summary.distribution
    )
    return next(found, wording.NONE)
