"""The part of a report about one workload: its times, its stages, and how its configurations compare."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.reports.view import Report
    from tasks.stats.agreement import Agreement, Counts
    from tasks.stats.summary_types import Distribution, Summary

_OPERATION_TITLES: Final = {
    "read": "Time of one read, ms",
    "write": "Time of one write, ms",
    "scan": "Time of one whole scan, ms",
    "scan_file": "Time of one file within the scans, ms",
}


def workload_section(report: "Report", workload_id: str) -> Section:
    """All tables of one workload."""
    mine = [summary for summary in report.summaries if summary.workload_id == workload_id]
    tables = []
    for operation in dict.fromkeys(summary.operation for summary in mine):
        totals = [
            summary for summary in mine if summary.operation == operation and summary.stage == "total_ns"
        ]
        if operation == "scan_file":
            # Files of one scan share its moment: a ratio or an interval would claim too much.
            tables.append(_times_table(_OPERATION_TITLES[operation], totals, {}))
        else:
            tables.append(
                _times_table(_OPERATION_TITLES[operation], totals, _comparisons(report, workload_id))
            )
            tables.append(_interval_table(totals))
    scans = [summary for summary in mine if summary.operation == "scan" and summary.distribution]
    if any(summary.stage != "total_ns" for summary in scans):
        tables += [_stage_median_table(scans), _stage_mean_table(scans)]
        tables.append(_stage_ratio_table(report, workload_id))
    agreement = next((one for one in report.agreements if one.workload_id == workload_id), None)
    return Section(
        heading=f"Workload {workload_id}",
        sentences=(
            *_sentences(mine, agreement, whole_run=report.record is not None),
            *_cache_states(report, workload_id),
        ),
        alerts=_alerts(agreement),
        tables=tuple(table for table in tables if table.rows),
        workload_id=workload_id,
    )


def _comparisons(report: "Report", workload_id: str) -> dict[str, str]:
    """What is said of each configuration against the baseline, by its id."""
    said = {report.baseline_id or "": "baseline"}
    for ratio in report.comparison.ratios:
        if ratio.workload_id == workload_id and ratio.stage == "total_ns":
            said[ratio.config_id] = wording.comparison(ratio)
    for refusal in report.comparison.refusals:
        if refusal.workload_id == workload_id:
            said[refusal.config_id] = f"not compared: {refusal.reason}"
    return said


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


def _by_configuration(scans: "Sequence[Summary]") -> dict[str, "dict[str, Distribution]"]:
    stages: dict[str, dict[str, Distribution]] = {}
    for summary in scans:
        if summary.distribution:
            stages.setdefault(summary.config_id, {})[summary.stage] = summary.distribution
    return stages


def _stage_median_table(scans: "Sequence[Summary]") -> Table:
    rows = [
        (
            config_id,
            *(
                wording.quantile(stages[stage].p50) if stage in stages else wording.NONE
                for stage in wording.STAGE_NAMES
            ),
        )
        for config_id, stages in _by_configuration(scans).items()
    ]
    return Table(
        title="Stages of a whole scan, p50 in ms",
        header=("Configuration", *wording.STAGE_NAMES.values()),
        rows=tuple(rows),
    )


def _stage_mean_table(scans: "Sequence[Summary]") -> Table:
    """The mean of every stage and what is left of the total; means add up, medians do not."""
    parts = [stage for stage in wording.STAGE_NAMES if stage != "total_ns"]
    rows = []
    for config_id, stages in _by_configuration(scans).items():
        means = [stages[stage].avg_ns if stage in stages else 0 for stage in parts]
        total = stages["total_ns"].avg_ns
        figures = [*means, max(0, total - sum(means)), total]
        rows.append((config_id, *(wording.milliseconds(figure) for figure in figures)))
    return Table(
        title="Stages of a whole scan, mean in ms (these add up)",
        header=("Configuration", *(wording.STAGE_NAMES[stage] for stage in parts), "other", "total"),
        rows=tuple(rows),
        detail=True,
    )


def _stage_ratio_table(report: "Report", workload_id: str) -> Table:
    rows = [
        (ratio.config_id, wording.STAGE_NAMES[ratio.stage], wording.comparison(ratio))
        for ratio in report.comparison.ratios
        if ratio.workload_id == workload_id
    ]
    return Table(
        title=f"Stages relative to {report.baseline_id}: below 1 is faster",
        header=("Configuration", "stage", "ratio of p50"),
        rows=tuple(rows),
        prose=frozenset({1, 2}),
    )


def _sentences(
    summaries: "Sequence[Summary]", agreement: "Agreement | None", *, whole_run: bool
) -> tuple[str, ...]:
    sentences = []
    if agreement and (counts := agreement.agreed):
        sentences.append(f"Each scan: {_seen(counts)}, {_by_whom(agreement, whole_run=whole_run)}.")
    sizes = {summary.size_bytes for summary in summaries if summary.operation in {"read", "write"}}
    if len(sizes) == 1 and (size_bytes := sizes.pop()) is not None:
        sentences.append(f"Each operation moves {size_bytes:,} bytes.")
    whole = [summary for summary in summaries if summary.stage == "total_ns"]
    warmups = sum(summary.warmups for summary in whole if summary.operation != "scan_file")
    sentences.append(f"Not counted: {warmups:,} warm-up operation{'' if warmups == 1 else 's'}.")
    return tuple(sentences)


def _cache_states(report: "Report", workload_id: str) -> tuple[str, ...]:
    """What each configuration's times hold of caches: unlike states are no fair comparison of services."""
    cells = report.record.cells if report.record else ()
    return tuple(
        wording.printable(f"{cell.config_id}: {cell.cache_state}.")
        for cell in cells
        if cell.workload_id == workload_id and cell.status == "measured" and cell.cache_state
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
