"""The ratio of two configurations from values paired by block or by night: the one place that computes it.

The geometric mean of the ratios, with a 95 % t interval over the pairs' log ratios and the p value of the
paired t test. The unit is the block or the night, never the request: requests of one block share a process,
its connections and the weather of that minute, and an interval over pooled requests claims far too much (a
nominal 95 % interval covered 14-89 % in simulation; `coverage` in `make bench` measures this one). Rejected
as well: Mann-Whitney, which is over-powered on correlated samples and gives no ratio, and bootstraps of the
pairs, which cover 83-92 % with few of them.

It takes pairs for independent of one another. Where a configuration's own night resembles the one before it
by 0.3, the interval of p50 covers 90 % over 5 nights and 87 % over 30, and where by 0.5, 85 % and 79 %
(`coverage_alike` in `make bench`); what both configurations share in a night does not matter.

Twenty such intervals between equal configurations miss 1 once by chance, and a report holds hundreds. So
verdicts are given after `corrected`: Benjamini and Hochberg's procedure over all ratios of a document.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtr, stdtrit
from scipy.stats import false_discovery_control

from tasks.kernel.samples import NULL
from tasks.stats.quantiles import nearest_rank
from tasks.stats.summary_types import PERCENT_OF, Ratio, Statistic, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasks.stats.series import Series

_UPPER_TAIL: Final = 0.975
"""Above a two-sided interval of 95 %."""

_Unit = TypeVar("_Unit", bound=int)


class About(NamedTuple):
    """What a ratio is of: the first configuration by the second."""

    config_id: str
    baseline_id: str
    workload_id: str
    stage: str = "total_ns"
    statistic: Statistic = "p50"
    unit: Unit = "block"


class _Spread(NamedTuple):
    """What the scatter of log ratios says of their mean."""

    half_width: float
    p_value: float


def paired_ratio(
    about: About, mine: "Mapping[_Unit, float]", theirs: "Mapping[_Unit, float]"
) -> Ratio | None:
    """The ratio of values that belong together: those of the same block, or of the same night.

    None where no block or night has both. Whether the two may be compared is for the caller to say.

    Args:
        about: what the values are of.
        mine: those of the first configuration, in nanoseconds, by block or night.
        theirs: those of the second one.
    """
    both = sorted(mine.keys() & theirs.keys())
    # A stage below the clock's resolution has no ratio.
    ratios = [mine[one] / theirs[one] for one in both if mine[one] > 0 and theirs[one] > 0]
    if not ratios:
        return None
    logs = np.log(ratios)
    mean = float(logs.mean())
    spread = _spread(logs, mean)
    return Ratio(
        **about._asdict(),
        value=float(np.exp(mean)),
        low=None if spread is None else float(np.exp(mean - spread.half_width)),
        high=None if spread is None else float(np.exp(mean + spread.half_width)),
        pairs=len(ratios),
        p_value=None if spread is None else spread.p_value,
        robust=None if spread is None else float(np.exp(_pseudo_median(logs))),
    )


def _spread(logs: "NDArray[np.float64]", mean: float) -> _Spread | None:
    """The half width of the 95 % t interval, and the p value of a mean of 0; none from a single pair.

    It is `scipy.stats.ttest_1samp` without what that does around it, which takes a hundred times as long: a
    report of 40 configurations has thousands of ratios.
    """
    n = len(logs)
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return None
    error = float(logs.std(ddof=1)) / np.sqrt(n)
    if logs.max() == logs.min() or error == 0:  # no spread at all
        return _Spread(0.0, 1.0 if logs[0] == 0 else 0.0)
    return _Spread(float(stdtrit(n - 1, _UPPER_TAIL)) * error, 2 * float(stdtr(n - 1, -abs(mean) / error)))


def _pseudo_median(logs: "NDArray[np.float64]") -> float:
    """Hodges and Lehmann's: the median of the means of all pairs of values, each with itself too."""
    first, second = np.triu_indices(len(logs))
    return float(np.median((logs[first] + logs[second]) / 2))


def corrected(ratios: "Sequence[Ratio]") -> tuple[Ratio, ...]:
    """The same ratios in their order, each with its p value corrected for all that are looked at together.

    Where all configurations are equal, no more than one document in twenty then says that any is faster; of
    the differences that are seen, no more than one in twenty is expected to be none.

    Args:
        ratios: all of a document, of all pairs and statistics. Those without an interval are passed on.
    """
    tested = [place for place, ratio in enumerate(ratios) if ratio.p_value is not None]
    if not tested:
        return tuple(ratios)
    p_values = false_discovery_control([ratios[place].p_value for place in tested], method="bh")
    found = dict(zip(tested, p_values.tolist(), strict=True))
    return tuple(replace(ratio, corrected_p=found.get(place)) for place, ratio in enumerate(ratios))


def block_values_ns(
    series: "Series", stage: str = "total_ns", statistic: Statistic = "p50"
) -> "dict[int, float]":
    """A statistic of every block in which the stage happened, by block number, in nanoseconds."""
    column = series.stage_ns.get(stage)
    if column is None:
        return {}
    values = {}
    for block in np.unique(series.block).tolist():
        times_ns = column[(series.block == block) & (column != NULL)]
        if len(times_ns):
            values[int(block)] = _value_ns(times_ns, statistic)
    return values


def _value_ns(times_ns: "NDArray[np.int64]", statistic: Statistic) -> float:
    if statistic == "mean":
        return float(times_ns.mean())
    rank = nearest_rank(len(times_ns), PERCENT_OF[statistic])
    return float(np.partition(times_ns, rank - 1)[rank - 1])
