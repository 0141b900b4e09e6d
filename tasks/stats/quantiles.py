"""Nearest-rank quantiles of whole nanoseconds, each with its distribution-free 95 % interval.

One definition everywhere: the value at rank ceil(p n), which is numpy's `inverted_cdf` and DuckDB's
`quantile_disc`. The interval is that of order statistics (`scipy.stats.quantile_test`); its ranks depend on n
and p alone, so that they are looked up once and values stay exact integers. Rejected: interpolating
definitions, which give numbers that were never measured, and the bootstrap, which needs far more work for
the same interval.
"""

from bisect import bisect_left
from functools import cache, lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.stats import quantile_test

from tasks.stats.summary_types import Quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nearest_rank(n: int, percent: int) -> int:
    """The rank, from 1, of the nearest-rank quantile `percent` of n values: ceil(n · percent / 100)."""
    return max(1, -(-n * percent // 100))


@lru_cache(maxsize=4096)
def interval_ranks(n: int, percent: int) -> tuple[int | None, int | None]:
    """The ranks, from 1, between which the true quantile lies with at least 95 % confidence.

    None stands for a bound that n values do not have: a p99 has no upper one below 368 values.
    """
    interval = quantile_test(np.arange(1, n + 1), p=percent / 100).confidence_interval()
    # scipy's stubs call the pair a float
    low, high = (None if np.isnan(rank) else int(rank) for rank in cast("tuple[float, float]", interval))
    return low, high


@cache
def least_n(percent: int) -> int:
    """How many values have an upper bound of the quantile: 6 of p50, 36 of p90, 368 of p99."""
    return 1 + bisect_left(range(1, 10_000), True, key=lambda n: interval_ranks(n, percent)[1] is not None)


def is_unbounded(n: int, errors: int, percent: int) -> bool:
    """Whether so many of the operations failed that their quantile is: nobody knows how long those took."""
    return 100 * errors > (100 - percent) * (n + errors)


def quantile(sorted_ns: "NDArray[np.int64]", percent: int, errors: int = 0) -> Quantile:
    """The quantile `percent` of the successful operations, with its interval.

    Args:
        sorted_ns: their times in ascending order; at least one.
        percent: 50, 90 or 99.
        errors: how many more operations failed. Where their share is above 1 - p, the quantile of all
            operations is unbounded, since nobody knows how long the failed ones would have taken, and so
            there is no upper bound; the lower one still holds.
    """
    n = len(sorted_ns)
    low, high = interval_ranks(n, percent)
    unbounded = is_unbounded(n, errors, percent)
    return Quantile(
        value_ns=int(sorted_ns[nearest_rank(n, percent) - 1]),
        low_ns=None if low is None else int(sorted_ns[low - 1]),
        high_ns=None if high is None or unbounded else int(sorted_ns[high - 1]),
    )
