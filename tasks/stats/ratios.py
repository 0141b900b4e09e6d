"""Two configurations against each other: the geometric mean of ratios paired by block, with a t interval.

The block is the unit, not the request: requests of one block share a process, its connections and the
weather of that minute, and an interval over pooled requests claims far too much (a nominal 95 % interval
covered 14-89 % in simulation, the paired one 92-97 %). Rejected as well: Mann-Whitney, which is
over-powered on correlated samples and gives no ratio.

Only operations that succeeded have a time, so that a ratio is one of survivors. Where at most 5 % failed,
that moves p50 little: had all of them been the slowest, p50 of all would be the survivors' 52.6th
percentile at the most. Where more failed, on either side, no ratio is given.

Nor is one of a stage that happened in fewer than half of the operations of either side: a connection that
one operation in 600 opened has a time, and says nothing of the 600.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import ttest_1samp

from tasks.kernel.samples import BESIDES, NULL
from tasks.stats.quantiles import nearest_rank
from tasks.stats.series import Series
from tasks.stats.summary_types import NoRatio, Ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_MOST_FAILED_PERCENT: Final = 5
_LEAST_HAPPENED_PERCENT: Final = 50


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ratios to the baseline, and the cells that were not compared, with the reason."""

    ratios: tuple[Ratio, ...]
    refusals: tuple[NoRatio, ...]
    baselines: "Mapping[str, str]"
    """The configuration that the others are compared with, by workload."""


def compare(
    series: "Iterable[Series]",
    baseline_id: str,
    failed_cells: "Collection[tuple[str, str]]" = (),
    cells: "Collection[tuple[str, str]]" = (),
) -> Comparison:
    """Compare every configuration of a run with the baseline, workload by workload and stage by stage.

    Where the baseline has no cell of a workload, as it cannot do all of them, the first configuration that
    has samples of it stands in. What tells more of another operation (`BESIDES`) is not compared.

    Args:
        series: those of the whole run, in the order of the suite.
        baseline_id: the configuration that all others are compared with.
        failed_cells: workload and configuration of the cells that failed.
        cells: workload and configuration of all cells, as far as they are known.
    """
    whole = {(one.workload_id, one.config_id): one for one in series if one.operation not in BESIDES}
    baselines = _baselines(whole, baseline_id, {*whole, *failed_cells, *cells})
    ratios: list[Ratio] = []
    refusals: list[NoRatio] = []
    for (workload_id, config_id), one in whole.items():
        own_id = baselines[workload_id]
        if config_id == own_id:
            continue
        baseline = whole.get((workload_id, own_id))
        reason = _why_broken_off(workload_id, (config_id, own_id), failed_cells)
        if baseline is None:
            found, reason = [], reason or "the baseline has no successful operation"
        else:
            reason = reason or _why_no_times(one, baseline) or _why_unlike(one, baseline)
            found = [] if reason else _ratios(one, baseline)
        ratios += found
        if not found:
            reason = reason or "no block has successful operations of both"
            refusals.append(NoRatio(config_id, own_id, workload_id, reason))
    return Comparison(tuple(ratios), tuple(refusals), baselines)


def _baselines(
    whole: "Mapping[tuple[str, str], Series]", baseline_id: str, cells: "Collection[tuple[str, str]]"
) -> dict[str, str]:
    able: dict[str, list[Series]] = {}
    for (workload_id, _), one in whole.items():
        able.setdefault(workload_id, []).append(one)
    return {
        workload_id: baseline_id
        if (workload_id, baseline_id) in cells
        else next((one for one in mine if one.n), mine[0]).config_id
        for workload_id, mine in able.items()
    }


def _why_no_times(one: Series, baseline: Series) -> str:
    """Why the times of two series do not stand for all of their operations; empty where they do."""
    if baseline.n == 0:
        return f"the baseline has no successful operation{_of_failed(baseline)}"
    if one.n == 0:
        return f"no successful operation{_of_failed(one)}"
    if any(100 * side.errors > _MOST_FAILED_PERCENT * (side.n + side.errors) for side in (one, baseline)):
        return (
            f"too many operations failed: {_failed(one)}, baseline {_failed(baseline)}; "
            f"above {_MOST_FAILED_PERCENT} % only survivors would be compared"
        )
    return ""


def _why_unlike(one: Series, baseline: Series) -> str:
    """Why two series must not be compared; empty where they may be."""
    if one.operation != baseline.operation:
        return f"unlike operations: {one.operation}, baseline {baseline.operation}"
    for name, unit in (("size_bytes", "bytes"), ("files", "files"), ("records", "records")):
        mine, theirs = one.counts[name], baseline.counts[name]
        if mine != theirs:
            return f"unlike {unit}: {_span(mine)}, baseline {_span(theirs)}"
    if one.cold != baseline.cold:
        return f"unlike cache states: {_states(one)}, baseline {_states(baseline)}"
    return ""


def _why_broken_off(
    workload_id: str, config_ids: tuple[str, str], failed_cells: "Collection[tuple[str, str]]"
) -> str:
    """Names the cell, of a configuration or of its baseline, that failed; empty where neither did."""
    for whose, config_id in zip(("its", "the baseline's"), config_ids, strict=True):
        if (workload_id, config_id) in failed_cells:
            return f"{whose} cell failed"
    return ""


def _failed(series: Series) -> str:
    whole = series.n + series.errors
    return f"{series.errors:,} of {whole:,} ({100 * series.errors / whole:.1f} %)"


def _of_failed(series: Series) -> str:
    return f": all {series.errors:,} failed" if series.errors else ""


def _ratios(one: Series, baseline: Series) -> list[Ratio]:
    ratios = (ratio_by_block(one, baseline, stage) for stage in one.stage_ns)
    return [ratio for ratio in ratios if ratio is not None]


def ratio_by_block(one: Series, baseline: Series, stage: str = "total_ns") -> Ratio | None:
    """The ratio of two series' p50 of one stage, paired by block.

    None where no block has both, or where the stage is rare on either side. Whether the two may be compared
    is for the caller to say.
    """
    if _is_rare(one, stage) or _is_rare(baseline, stage):
        return None
    mine, theirs = block_medians_ns(one, stage), block_medians_ns(baseline, stage)
    pairs = [
        (mine[block], theirs[block])
        for block in sorted(mine.keys() & theirs.keys())
        if mine[block] > 0 and theirs[block] > 0  # a stage below the clock's resolution has no ratio
    ]
    if not pairs:
        return None
    logs = np.log([mine_ns / theirs_ns for mine_ns, theirs_ns in pairs])
    low, high = _interval(logs.tolist())
    return Ratio(
        config_id=one.config_id,
        baseline_id=baseline.config_id,
        workload_id=one.workload_id,
        stage=stage,
        value=float(np.exp(logs.mean())),
        low=low,
        high=high,
        blocks=len(pairs),
    )


def _is_rare(series: Series, stage: str) -> bool:
    """Whether a stage happened in fewer than half of the operations that count."""
    column = series.stage_ns.get(stage)
    happened = 0 if column is None else int(np.count_nonzero(column != NULL))
    return 100 * happened < _LEAST_HAPPENED_PERCENT * series.n


def _interval(logs: list[float]) -> tuple[float | None, float | None]:
    """The 95 % t interval of the mean of log ratios, as ratios; none from a single pair."""
    if len(logs) < 2:  # noqa: PLR2004 - one value has no spread
        return None, None
    if max(logs) == min(logs):  # no spread at all, of which the t test only warns
        return float(np.exp(logs[0])), float(np.exp(logs[0]))
    interval = ttest_1samp(logs, 0.0).confidence_interval(0.95)
    return float(np.exp(interval.low)), float(np.exp(interval.high))


def block_medians_ns(series: Series, stage: str = "total_ns") -> dict[int, int]:
    """The nearest-rank p50 of every block in which the stage happened, by block number, in nanoseconds."""
    column = series.stage_ns.get(stage)
    if column is None:
        return {}
    medians = {}
    for block in np.unique(series.block).tolist():
        times = np.sort(column[(series.block == block) & (column != NULL)])
        if len(times):
            medians[int(block)] = int(times[nearest_rank(len(times), 50) - 1])
    return medians


def _span(values: tuple[int, ...]) -> str:
    known = [value for value in values if value != NULL]
    if not known:
        return "none"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _states(series: Series) -> str:
    words = {True: "cold", False: "warm", None: "not claimed"}
    return " and ".join(sorted(words[state] for state in series.cold))
