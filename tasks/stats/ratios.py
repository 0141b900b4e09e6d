"""All that a report of one run compares: every configuration with the baseline, and with one another.

Each ratio is of p50, paired by block (see `pairs`); what is unlike is refused with the reason (see
`likeness`). All of them are corrected together, since they are looked at together.

Nor has a stage a ratio that happened in fewer than half of the operations of either side: a connection that
one operation in 600 opened has a time, and says nothing of the 600.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from tasks.kernel.samples import BESIDES, NULL
from tasks.stats.likeness import Likeness
from tasks.stats.pairs import About, block_values_ns, corrected, paired_ratio
from tasks.stats.summary_types import NoRatio, Ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tasks.stats.series import Series

_LEAST_HAPPENED_PERCENT: Final = 50

_FIRST_REQUEST_ALIKE: Final = ("workload.dataset", "workload.read_mode")
"""What a workload of first requests and one of steady reads must have been asked alike."""


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """A read by a fresh client beside the steady state of the same configuration and data."""

    workload_id: str
    steady_workload_id: str
    ratio: Ratio
    """The first by the steady one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ratios of a report, their verdicts corrected for all of them, and what was not compared."""

    ratios: tuple[Ratio, ...]
    """To the baseline, stage by stage."""
    refusals: tuple[NoRatio, ...]
    baselines: "Mapping[str, str]"
    """The configuration that the others are compared with, by workload."""
    rivals: tuple[Ratio, ...] = ()
    """Of whole operations, of every two configurations of a workload of which neither is the baseline."""
    first_requests: tuple[FirstRequest, ...] = ()

    @property
    def tested(self) -> int:
        """How many ratios the verdicts are corrected for."""
        first = (one.ratio for one in self.first_requests)
        return sum(ratio.p_value is not None for ratio in (*self.ratios, *self.rivals, *first))

    def of_whole_operations(self) -> "dict[tuple[str, str, str], Ratio]":
        """The ratios of whole operations by workload and configurations, each both ways round."""
        whole = [one for one in (*self.ratios, *self.rivals) if one.stage == "total_ns"]
        found = {(one.workload_id, one.config_id, one.baseline_id): one for one in whole}
        return {**found, **{(one.workload_id, one.baseline_id, one.config_id): one.turned() for one in whole}}


def compare(
    series: "Sequence[Series]",
    baseline_id: str,
    failed_cells: "Collection[tuple[str, str]]" = (),
    cells: "Collection[tuple[str, str]]" = (),
    parameters: "Mapping[tuple[str, str], Mapping[str, str]] | None" = None,
) -> Comparison:
    """Compare every configuration of a run with the baseline, workload by workload and stage by stage.

    Where the baseline has no cell of a workload, as it cannot do all of them, the first configuration that
    has samples of it stands in. What tells more of another operation (`BESIDES`) is not compared.

    Args:
        series: those of the whole run, in the order of the suite.
        baseline_id: the configuration that all others are compared with.
        failed_cells: workload and configuration of the cells that failed.
        cells: workload and configuration of all cells, as far as they are known.
        parameters: what the suite asked of each cell, by workload and configuration, where that is known.
    """
    whole = {(one.workload_id, one.config_id): one for one in series if one.operation not in BESIDES}
    baselines = _baselines(whole, baseline_id, {*whole, *failed_cells, *cells})
    likeness = Likeness(failed_cells, parameters)
    ratios: list[Ratio] = []
    refusals: list[NoRatio] = []
    for (workload_id, config_id), one in whole.items():
        own_id = baselines[workload_id]
        if config_id == own_id:
            continue
        found, reason = _against(one, whole.get((workload_id, own_id)), own_id, likeness)
        ratios += found
        if reason:
            refusals.append(NoRatio(config_id, own_id, workload_id, reason))
    rivals = tuple(_rivals(whole, baselines, likeness))
    first = tuple(_first_requests(whole.values(), parameters or {}))
    return _all_corrected(Comparison(tuple(ratios), tuple(refusals), baselines, rivals, first))


def _all_corrected(found: Comparison) -> Comparison:
    ratios = corrected((*found.ratios, *found.rivals, *(one.ratio for one in found.first_requests)))
    split, last = len(found.ratios), len(found.ratios) + len(found.rivals)
    return replace(
        found,
        ratios=ratios[:split],
        rivals=ratios[split:last],
        first_requests=tuple(
            replace(one, ratio=ratio) for one, ratio in zip(found.first_requests, ratios[last:], strict=True)
        ),
    )


def _against(
    one: "Series", baseline: "Series | None", baseline_id: str, likeness: Likeness
) -> tuple[list[Ratio], str]:
    """The ratios of all stages, or why there is none."""
    if baseline is None:
        reason = likeness.why_broken_off(one.workload_id, (one.config_id, baseline_id))
        return [], reason or likeness.no_operation(1)
    if reason := likeness.why_not(one, baseline):
        return [], reason
    ratios = [ratio for stage in one.stage_ns if (ratio := ratio_by_block(one, baseline, stage))]
    return ratios, "" if ratios else "no block has successful operations of both"


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


def _rivals(
    whole: "Mapping[tuple[str, str], Series]", baselines: "Mapping[str, str]", likeness: Likeness
) -> "Iterator[Ratio]":
    """Whole operations of every two that are no baseline, without what may not be compared.

    The values of each are looked up once: 40 configurations are 741 pairs.
    """
    values_ns = {
        key: block_values_ns(one) for key, one in whole.items() if key[1] != baselines[one.workload_id]
    }
    for (key, mine_ns), (other_key, theirs_ns) in combinations(values_ns.items(), 2):
        if key[0] == other_key[0] and not likeness.why_not(whole[key], whole[other_key]):
            ratio = paired_ratio(About(key[1], other_key[1], key[0]), mine_ns, theirs_ns)
            if ratio is not None:
                yield ratio


def _first_requests(
    series: "Iterable[Series]", parameters: "Mapping[tuple[str, str], Mapping[str, str]]"
) -> "Iterator[FirstRequest]":
    """Every pair of a first and a steady read of the same configuration and data, one read at a time."""
    reads = [one for one in series if one.n and one.operation in {"first_read", "read"}]
    for first in (one for one in reads if one.operation == "first_read"):
        for usual in (one for one in reads if one.operation == "read" and one.config_id == first.config_id):
            mine = parameters.get((first.workload_id, first.config_id), {})
            other = parameters.get((usual.workload_id, usual.config_id), {})
            alike = all(name in mine and mine[name] == other.get(name) for name in _FIRST_REQUEST_ALIKE)
            if not alike or other.get("workload.concurrency") != "1":
                continue
            if ratio := ratio_by_block(first, usual):
                yield FirstRequest(first.workload_id, usual.workload_id, ratio)


def ratio_by_block(one: "Series", baseline: "Series", stage: str = "total_ns") -> Ratio | None:
    """The ratio of two series' p50 of one stage, paired by block, its verdict not corrected yet.

    None where no block has both, or where the stage is rare on either side. Whether the two may be compared
    is for the caller to say.
    """
    if _is_rare(one, stage) or _is_rare(baseline, stage):
        return None
    about = About(one.config_id, baseline.config_id, one.workload_id, stage)
    return paired_ratio(about, block_values_ns(one, stage), block_values_ns(baseline, stage))


def _is_rare(series: "Series", stage: str) -> bool:
    """Whether a stage happened in fewer than half of the operations that count."""
    column = series.stage_ns.get(stage)
    happened = 0 if column is None else int(np.count_nonzero(column != NULL))
    return 100 * happened < _LEAST_HAPPENED_PERCENT * series.n


def block_medians_ns(series: "Series", stage: str = "total_ns") -> dict[int, int]:
    """The nearest-rank p50 of every block in which the stage happened, by block number, in nanoseconds."""
    return {block: int(value_ns) for block, value_ns in block_values_ns(series, stage).items()}
