"""What the time of an operation consists of: tables of its stages, and the parts that add up to its mean."""

from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import STAGES
from tasks.reports import wording
from tasks.reports.document import Table
from tasks.stats.summary_types import NO_PARTS, PROCESSOR_STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.reports.view import Report
    from tasks.stats.summary_types import Distribution, Summary

_BEFORE_REQUEST: Final = ("connect_ns", "tls_ns", "session_ns")
"""Stages that the time to first byte contains."""

_UNTIL_FIRST_BYTE: Final = "until first byte"
_OTHER: Final = "other"


def stage_tables(
    report: "Report", workload_id: str, what: str, summaries: "Sequence[Summary]"
) -> list[Table]:
    """The stages of one operation of a workload; no table where nothing but the whole was timed.

    Args:
        report: the whole report.
        workload_id: the workload.
        what: the operation in words, such as `a whole scan`.
        summaries: its summaries, all stages.
    """
    stages = by_configuration(summaries)
    happened = [
        stage for stage in STAGES if stage not in NO_PARTS and any(stage in mine for mine in stages.values())
    ]
    tables = []
    if happened:
        happened.append("total_ns")
        tables = [_median_table(what, stages, happened), _mean_table(what, stages)]
    return [*tables, _ratio_table(report, workload_id)]


def by_configuration(summaries: "Sequence[Summary]") -> "dict[str, dict[str, Distribution]]":
    """The figures of every stage that happened, by configuration."""
    stages: dict[str, dict[str, Distribution]] = {}
    for summary in summaries:
        if summary.distribution:
            stages.setdefault(summary.config_id, {})[summary.stage] = summary.distribution
    return stages


def mean_parts(stages: "Mapping[str, Distribution]") -> dict[str, float]:
    """The parts of an operation's mean time in nanoseconds, which add up to it, in the order they happen.

    A stage that happened in some operations alone counts with its share of all. The time to first byte
    contains what was done before the request; here it stands for the rest of it, and `other` for all that
    follows. Processor time is no part.
    """
    whole = stages["total_ns"]
    means = {stage: figures.avg_ns * figures.n / whole.n for stage, figures in stages.items()}
    parts = {}
    for stage in STAGES:
        if stage not in means or stage in NO_PARTS:
            continue
        if stage == "ttfb_ns":
            before = sum(means.get(earlier, 0.0) for earlier in _BEFORE_REQUEST)
            parts[_UNTIL_FIRST_BYTE] = max(0.0, means[stage] - before)
        else:
            parts[wording.STAGE_NAMES[stage]] = means[stage]
    return {**parts, _OTHER: max(0.0, whole.avg_ns - sum(parts.values()))}


def _median_table(what: str, stages: "Mapping[str, Mapping[str, Distribution]]", shown: list[str]) -> Table:
    rows = [
        (
            config_id,
            *(_median(mine[stage], mine["total_ns"].n) if stage in mine else wording.NONE for stage in shown),
        )
        for config_id, mine in stages.items()
    ]
    return Table(
        title=f"Stages of {what}, p50 in ms",
        header=("Configuration", *(wording.STAGE_NAMES[stage] for stage in shown)),
        rows=tuple(rows),
    )


def _median(stage: "Distribution", operations: int) -> str:
    """A stage's p50, with its n where it did not happen in every operation."""
    return wording.quantile(stage.p50) + (f", n {stage.n:,}" if stage.n != operations else "")


def _mean_table(what: str, stages: "Mapping[str, Mapping[str, Distribution]]") -> Table:
    """The mean of every part and the total; means add up, medians do not."""
    parts = {config_id: mean_parts(mine) for config_id, mine in stages.items()}
    names = part_names(list(parts.values()))
    rows = [
        (
            config_id,
            *(wording.milliseconds(mine[name]) if name in mine else wording.NONE for name in names),
            wording.milliseconds(stages[config_id]["total_ns"].avg_ns),
        )
        for config_id, mine in parts.items()
    ]
    return Table(
        title=f"Stages of {what}, mean in ms (these add up)",
        header=("Configuration", *names, "total"),
        rows=tuple(rows),
        detail=True,
    )


def part_names(parts: "Sequence[Mapping[str, float]]") -> list[str]:
    """The parts that any of several operations has, in the order in which they happen."""
    names = [_UNTIL_FIRST_BYTE if stage == "ttfb_ns" else wording.STAGE_NAMES[stage] for stage in STAGES]
    return [name for name in (*names, _OTHER) if any(name in mine for mine in parts)]


def _ratio_table(report: "Report", workload_id: str) -> Table:
    """Every stage against the baseline's; no row where there is no stage but the whole."""
    ratios = [ratio for ratio in report.comparison.ratios if ratio.workload_id == workload_id]
    baseline = report.comparison.baselines.get(workload_id, "")
    rows = (
        [(ratio.config_id, wording.STAGE_NAMES[ratio.stage], wording.comparison(ratio)) for ratio in ratios]
        if any(ratio.stage != "total_ns" for ratio in ratios)
        else []
    )
    of_processor = any(ratio.stage in PROCESSOR_STAGES for ratio in ratios)
    return Table(
        title=f"Stages relative to {baseline}: below 1 is faster{' (CPU: less of it)' * of_processor}",
        header=("Configuration", "stage", "ratio of p50"),
        rows=tuple(rows),
        prose=frozenset({1, 2}),
    )
