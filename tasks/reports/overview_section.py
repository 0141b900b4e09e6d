"""The page at a glance: who wins where, what is cheapest, and what has changed of late."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table, workload_anchor
from tasks.reports.paths_section import who_wins

if TYPE_CHECKING:
    from tasks.reports.history_view import HistoryView
    from tasks.reports.view import Report

CHANGES_ANCHOR: Final = "history-changes"
"""Of the section that tells all changes."""
PRICES_ANCHOR: Final = "prices"
"""Of the section that tells all costs."""
_LATEST: Final = 5


def overview_section(report: "Report", history: "HistoryView | None") -> Section:
    """What is looked at first."""
    tables = [_who_wins(report), _cheapest(report)]
    sentences: tuple[str, ...] = ()
    if history is not None:
        sentences = (wording.printable(f"{history.summary}."),)
        tables.append(_latest_changes(history))
    return Section(
        "At a glance",
        sentences=sentences,
        tables=tuple(table for table in tables if table.rows),
        anchor="overview",
    )


def _who_wins(report: "Report") -> Table:
    """The matrix, whose workloads lead to their sections where they are its rows."""
    matrix, place = who_wins(report), {name: place for place, name in enumerate(report.workload_ids)}
    links = tuple(workload_anchor(place[row[0]]) if row[0] in place else "" for row in matrix.rows)
    return replace(matrix, heat=True, links=links if matrix.header[0] == "Workload" else ())


def _cheapest(report: "Report") -> Table:
    """Of each workload, where the costs of two configurations are known."""
    known: dict[str, dict[str, float]] = {}
    for cost in report.costs:
        if cost.usd_per_million_operations is not None:
            known.setdefault(cost.workload_id, {})[cost.config_id] = cost.usd_per_million_operations
    rows = []
    for workload_id, usd in known.items():
        least = min(usd.values())
        cheapest = ", ".join(config_id for config_id, each in usd.items() if each == least)
        baseline = usd.get(report.comparison.baselines.get(workload_id, ""))
        if len(usd) > 1:
            rows.append((workload_id, cheapest, wording.usd(least), wording.usd(baseline)))
    is_lab = report.record is not None and report.record.lab
    return Table(
        f"The cheapest, USD per million operations by the list price{', which the lab has not' * is_lab}",
        ("Workload", "cheapest", "its cost", "the baseline's"),
        wording.printable_rows(rows),
        prose=frozenset({1}),
        links=(PRICES_ANCHOR,) * len(rows),
    )


def _latest_changes(history: "HistoryView") -> Table:
    shown = list(reversed(history.changes))[:_LATEST]
    rows = tuple(
        (
            change.since_dt,
            change.name,
            change.statistic,
            f"{wording.three_digits(change.ratio)}, {change.direction}",
            change.status,
        )
        for change in shown
    )
    return Table(
        "The latest changes",
        ("Since", "what", "statistic", "ratio", "state"),
        wording.printable_rows(rows),
        prose=frozenset({1, 2, 3, 4}),
        links=(CHANGES_ANCHOR,) * len(rows),
    )
