"""Two configurations of a workload against each other: p50, p90, p99 and the mean, by block or by night.

Within one run the pairs are its blocks; over the nights of a schedule they are nights, one value a night of
each, as the table `nightly` has them. Either way the ratio is that of `pairs`, and says what happens in a
typical block or night: a quantile of all operations together would be that of the bad ones.

A ratio of p90 or p99 is given where the counted operations of each side would support that quantile, 36 and
368 of them, and where a typical pair has enough of its own: p99 of 20 operations is the slowest of them,
which is above p99 of all in one case of five. It has none either where so many failed that p99 of all
operations is unbounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from statistics import median_low
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

import numpy as np

from tasks.stats.likeness import Likeness
from tasks.stats.pairs import About, block_values_ns, corrected, paired_ratio
from tasks.stats.quantiles import is_unbounded, least_n
from tasks.stats.summaries import distribution
from tasks.stats.summary_types import PERCENT_OF, Quantile, Ratio, Statistic, Unit

if TYPE_CHECKING:
    from tasks.stats.series import Series

STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)
_TAILS: Final = ("p90", "p99")


class LeftOut(NamedTuple):
    """Nights that a configuration has, and that were not paired."""

    config_id: str
    nights: int
    why: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """What was paired with what."""

    config_id: str
    other_id: str
    workload_id: str
    operation: str
    unit: Unit
    pairs: int
    """Blocks or nights that both have."""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A statistic of one side."""

    value_ns: float
    quantile: Quantile | None
    """With its bounds; None of a mean."""
    n: int
    """Counted operations of the side, in all of its blocks or paired nights."""


@dataclass(frozen=True, slots=True)
class PathRatio:
    """One statistic of both sides, and their ratio."""

    statistic: Statistic
    figures: tuple[Figure, Figure]
    ratio: Ratio | None
    """The first configuration by the second."""
    reason: str
    """Why there is no ratio; empty where there is one."""


@dataclass(frozen=True, slots=True)
class PathComparison:
    """Two configurations against each other on one workload."""

    pairing: Pairing
    rows: tuple[PathRatio, ...]
    """One for each statistic; none where the two may not be compared."""
    refusal: str
    """Why they may not be; empty where they may."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one configuration brings: its values by block or night, and its own figures."""

    operations: Mapping[int, int]
    """Counted operations by block or night."""
    n: int
    errors: int
    values_ns: Mapping[Statistic, Mapping[int, float]]
    own: Mapping[Statistic, tuple[float, Quantile | None]]


def compare_by_block(one: "Series", other: "Series", likeness: Likeness) -> PathComparison:
    """Two configurations within one run.

    Args:
        one: whose statistics are divided.
        other: by whose they are divided.
        likeness: what is known of their cells.
    """
    blocks = np.intersect1d(one.block, other.block)
    pairing = Pairing(one.config_id, other.config_id, one.workload_id, one.operation, "block", len(blocks))
    if reason := likeness.why_not(one, other):
        return PathComparison(pairing, (), reason)
    if not len(blocks):
        return PathComparison(pairing, (), "no block has successful operations of both")
    return compared(pairing, _of_blocks(one), _of_blocks(other))


def _of_blocks(series: "Series") -> Side:
    blocks, operations = np.unique(series.block, return_counts=True)
    whole = distribution(series.times_ns(), series.errors)
    return Side(
        operations=dict(zip(blocks.tolist(), operations.tolist(), strict=True)),
        n=series.n,
        errors=series.errors,
        values_ns={one: block_values_ns(series, statistic=one) for one in STATISTICS},
        own={
            "p50": (whole.p50.value_ns, whole.p50),
            "p90": (whole.p90.value_ns, whole.p90),
            "p99": (whole.p99.value_ns, whole.p99),
            "mean": (whole.avg_ns, None),
        }
        if whole
        else {},
    )


def compared(pairing: Pairing, mine: Side, theirs: Side) -> PathComparison:
    """Every statistic of two sides that may be compared."""
    rows = tuple(_row(statistic, pairing, mine, theirs) for statistic in STATISTICS)
    return PathComparison(pairing, rows, "")


def _row(statistic: Statistic, pairing: Pairing, mine: Side, theirs: Side) -> PathRatio:
    figures = (Figure(*mine.own[statistic], mine.n), Figure(*theirs.own[statistic], theirs.n))
    if reason := _why_unsupported(statistic, pairing, mine, theirs):
        return PathRatio(statistic, figures, None, reason)
    about = About(
        pairing.config_id, pairing.other_id, pairing.workload_id, statistic=statistic, unit=pairing.unit
    )
    ratio = paired_ratio(about, mine.values_ns[statistic], theirs.values_ns[statistic])
    if ratio is None:
        reason = f"no {pairing.unit} has a time of both that the clock can tell from 0"
    return PathRatio(statistic, figures, ratio, reason)


def _why_unsupported(statistic: Statistic, pairing: Pairing, mine: Side, theirs: Side) -> str:
    """Why the operations of two sides do not tell a ratio of their tails; empty where they do."""
    if statistic not in _TAILS:
        return ""
    percent = PERCENT_OF[statistic]
    least, found = least_n(percent), min(mine.n, theirs.n)
    if found < least:
        return f"{statistic} needs {least} operations a side, there are {found:,}"
    least, found = _least_each(percent), min(_typical(mine), _typical(theirs))
    if found < least:
        return f"{statistic} needs {least} operations a {pairing.unit}, there are {found:,}"
    for config_id, side in ((pairing.config_id, mine), (pairing.other_id, theirs)):
        if is_unbounded(side.n, side.errors, percent):
            failed = f"{side.errors:,} of {side.n + side.errors:,}"
            return f"{statistic} of {config_id} has no upper bound: {failed} operations failed"
    return ""


def _least_each(percent: int) -> int:
    """Of how many values the greatest is above the quantile at least as often as not: 7 of p90, 69 of p99."""
    return ceil(log(0.5) / log(percent / 100))


def _typical(side: Side) -> int:
    return median_low(side.operations.values())


def corrected_together(comparisons: Sequence[PathComparison]) -> tuple[PathComparison, ...]:
    """The same comparisons, their verdicts corrected for all statistics and workloads of them."""
    ratios = [row.ratio for one in comparisons for row in one.rows if row.ratio]
    found = iter(corrected(ratios))
    return tuple(
        replace(one, rows=tuple(replace(row, ratio=next(found)) if row.ratio else row for row in one.rows))
        for one in comparisons
    )


def tested(comparisons: Sequence[PathComparison]) -> int:
    """How many ratios of these comparisons have a verdict that chance can make."""
    ratios = (row.ratio for one in comparisons for row in one.rows if row.ratio)
    return sum(ratio.p_value is not None for ratio in ratios)
