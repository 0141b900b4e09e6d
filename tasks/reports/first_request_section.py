"""The first request of a fresh client beside the steady state of the same configuration and data."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table
from tasks.stats.ratios import ratio_by_block

if TYPE_CHECKING:
    from tasks.reports.view import Report
    from tasks.stats.series import Series
    from tasks.stats.summary_types import Distribution

_SAME: Final = ("workload.dataset", "workload.read_mode")
"""What both workloads must have been asked alike."""


def first_request_section(report: "Report") -> Section:
    """A row for each pair of a first and a steady read; no table where the run has no such pair."""
    steady = [one for one in report.series if one.operation == "read" and one.n]
    pairs = [
        (first, usual)
        for first in report.series
        if first.operation == "first_read" and first.n
        for usual in steady
        if _belong_together(report, first, usual)
    ]
    table = Table(
        "One read: by a fresh client, and in the steady state, p50 in ms",
        ("Configuration", "workloads", "first", "steady", "ratio of p50, paired by block"),
        tuple(row for pair in pairs if (row := _row(report, *pair))),
        frozenset({1, 4}),
    )
    return Section(
        "First request against the steady state",
        tables=(table,) if table.rows else (),
        anchor="first-request",
    )


def _belong_together(report: "Report", first: "Series", usual: "Series") -> bool:
    """The same configuration and data, one read at a time."""
    mine = report.parameters(first.config_id, first.workload_id)
    other = report.parameters(usual.config_id, usual.workload_id)
    return (
        first.config_id == usual.config_id
        and all(name in mine and mine[name] == other.get(name) for name in _SAME)
        and other.get("workload.concurrency") == "1"
    )


def _row(report: "Report", first: "Series", usual: "Series") -> tuple[str, ...]:
    ratio = ratio_by_block(first, usual)
    figures = [_figures(report, one) for one in (first, usual)]
    if ratio is None or None in figures:
        return ()
    return (
        first.config_id,
        f"{first.workload_id}, {usual.workload_id}",
        *(wording.quantile(each.p50) for each in figures if each),
        wording.comparison(ratio),
    )


def _figures(report: "Report", one: "Series") -> "Distribution | None":
    key = (one.config_id, one.workload_id, one.operation, "total_ns")
    found = (
        summary.distribution
        for summary in report.summaries
        if (summary.config_id, summary.workload_id, summary.operation, summary.stage) == key
    )
    return next(found, None)
