"""Two configurations against each other: the geometric mean of ratios paired by block, with a t interval.

The block is the unit, not the request: requests of one block share a process, its connections and the
weather of that minute, and an interval over pooled requests claims far too much (a nominal 95 % interval
covered 14-89 % in simulation, the paired one 92-97 %). Rejected as well: Mann-Whitney, which is
over-powered on correlated samples and gives no ratio.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import ttest_1samp

from tasks.kernel.samples import NULL
from tasks.stats.quantiles import nearest_rank
from tasks.stats.series import Series, split
from tasks.stats.summary_types import NoRatio, Ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ratios to the baseline, and the cells that were not compared, with the reason."""

    ratios: tuple[Ratio, ...]
    refusals: tuple[NoRatio, ...]


def compare(samples: "pa.Table", baseline_id: str) -> Comparison:
    """Compare every configuration of a run with the baseline, workload by workload and stage by stage."""
    return compare_series(split(samples), baseline_id)


def compare_series(series: "Iterable[Series]", baseline_id: str) -> Comparison:
    """As `compare`, of series that were split already.

    The files of a staged scan (`scan_file`) are not compared: the scan's own row has their stages added up.
    """
    whole = {(one.workload_id, one.config_id): one for one in series if one.operation != "scan_file"}
    ratios: list[Ratio] = []
    refusals: list[NoRatio] = []
    for (workload_id, config_id), one in whole.items():
        if config_id == baseline_id:
            continue
        baseline = whole.get((workload_id, baseline_id))
        reason = why_unlike(one, baseline)
        found = [] if baseline is None or reason else _ratios(one, baseline)
        ratios += found
        if not found:
            reason = reason or "no block has successful operations of both"
            refusals.append(NoRatio(config_id, baseline_id, workload_id, reason))
    return Comparison(tuple(ratios), tuple(refusals))


def why_unlike(one: Series, baseline: Series | None) -> str:
    """Why two series must not be compared; empty where they may be."""
    if baseline is None or baseline.n == 0:
        return "the baseline has no successful operation"
    if one.n == 0:
        return "no successful operation"
    if one.operation != baseline.operation:
        return f"unlike operations: {one.operation}, baseline {baseline.operation}"
    for name, unit in (("size_bytes", "bytes"), ("files", "files"), ("records", "records")):
        mine, theirs = (np.unique(side.counts[name]).tolist() for side in (one, baseline))
        if mine != theirs:
            return f"unlike {unit}: {_span(mine)}, baseline {_span(theirs)}"
    if one.cold != baseline.cold:
        return f"unlike cache states: {_states(one)}, baseline {_states(baseline)}"
    return ""


def _ratios(one: Series, baseline: Series) -> list[Ratio]:
    ratios = []
    for stage in one.stage_ns:
        mine, theirs = block_medians_ns(one, stage), block_medians_ns(baseline, stage)
        pairs = [
            (mine[block], theirs[block])
            for block in sorted(mine.keys() & theirs.keys())
            if mine[block] > 0 and theirs[block] > 0  # a stage below the clock's resolution has no ratio
        ]
        if pairs:
            logs = np.log([mine_ns / theirs_ns for mine_ns, theirs_ns in pairs])
            low, high = _interval(logs.tolist())
            ratios.append(
                Ratio(
                    config_id=one.config_id,
                    baseline_id=baseline.config_id,
                    workload_id=one.workload_id,
                    stage=stage,
                    value=float(np.exp(logs.mean())),
                    low=low,
                    high=high,
                    blocks=len(pairs),
                )
            )
    return ratios


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


def _span(values: list[int]) -> str:
    known = [value for value in values if value != NULL]
    if not known:
        return "none"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _states(series: Series) -> str:
    words = {True: "cold", False: "warm", None: "not claimed"}
    return " and ".join(sorted(words[state] for state in series.cold))
