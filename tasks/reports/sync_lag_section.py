"""How long a write on one side of a mount stayed unseen on the other: one table over all such workloads."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from tasks.reports.view import Report
    from tasks.stats.summary_types import Summary

ANCHOR: Final = "sync-lag"
_NEVER_SEEN: Final = "NotSeenInTime"
_SENTENCES: Final = (
    "From the end of the write to the end of the first look that saw all of it.",
    "get: written on the mount, looked for by GetObject. open, ls: put, looked for on the mount.",
    "Looks begin one interval apart: a lag may have ended up to that much earlier.",
)


def sync_lag_section(report: "Report") -> Section:
    """The lags by size and by side; no table where none was measured."""
    lags = sync_lags(report)
    table = Table(
        "From a write to its being seen, ms",
        ("Configuration", "bytes", "seen by", "n", "min", "p50", "p90", "max", "interval", "never seen"),
        tuple(_row(report, summary) for summary in lags),
        frozenset({2}),
    )
    return Section("Sync lag", sentences=_SENTENCES, tables=(table,) if lags else (), anchor=ANCHOR)


def sync_lags(report: "Report") -> "list[Summary]":
    """The lags that were measured, by side and size."""
    lags = [
        summary
        for summary in report.summaries
        if summary.operation == "sync_lag" and summary.stage == "total_ns"
    ]
    return sorted(lags, key=lambda summary: (asked(report, summary, "seen_by"), summary.size_bytes or 0))


def _row(report: "Report", summary: "Summary") -> tuple[str, ...]:
    figures = summary.distribution
    shown = ("0", *[wording.NONE] * 4)
    if figures is not None:
        shown = (
            f"{figures.n:,}",
            wording.milliseconds(figures.min_ns),
            wording.quantile(figures.p50),
            wording.quantile(figures.p90),
            wording.milliseconds(figures.max_ns),
        )
    interval_ms = asked(report, summary, "poll_interval_ms")
    size_bytes = f"{summary.size_bytes or asked(report, summary, 'size')}"
    return (
        summary.config_id,
        f"{int(size_bytes):,}" if size_bytes.isdigit() else wording.NONE,
        asked(report, summary, "seen_by"),
        *shown,
        wording.three_digits(float(interval_ms)) if interval_ms != wording.NONE else wording.NONE,
        f"{_never_seen(report, summary):,}",
    )


def asked(report: "Report", summary: "Summary", name: str) -> str:
    """What the suite asked of a lag, by the name of the parameter; `–` where that is not known."""
    parameters = report.parameters(summary.config_id, summary.workload_id)
    return parameters.get(f"workload.{name}", wording.NONE)


def _never_seen(report: "Report", summary: "Summary") -> int:
    """Writes that were not seen before the time-out, warm-ups not counted."""
    return sum(
        kind.count - kind.warmups
        for kind in report.failures
        if (kind.config_id, kind.workload_id) == (summary.config_id, summary.workload_id)
        and kind.error == _NEVER_SEEN
    )
