"""The figures that every report shows, as plain values in nanoseconds."""

from dataclasses import dataclass, replace
from math import isclose, log
from typing import Final, Literal

Statistic = Literal["p50", "p90", "p99", "mean"]
"""What of an operation's times is compared."""

PERCENT_OF: Final = {"p50": 50, "p90": 90, "p99": 99}

Unit = Literal["block", "night"]
"""What values are paired by: requests never are."""

SIGNIFICANT: Final = 0.05
"""The largest corrected p value of a difference that is called one."""

NO_DIFFERENCE: Final = "no difference seen"

PROCESSOR_STAGES: Final = ("user_ns", "system_ns")
"""Processor time of a client's own process: it runs beside the other stages, and is no part of the total."""


RESPONSE: Final = "response_ns"
"""Of an open loop: from the moment at which an operation should have begun to its end, the total included."""

NO_PARTS: Final = frozenset({"total_ns", RESPONSE, *PROCESSOR_STAGES})
"""Stages that do not add up to the total."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A nearest-rank quantile with its 95 % order-statistic interval.

    `low_ns` or `high_ns` is None where the sample is too small to have that bound. `high_ns` is None as
    well where so many operations failed that the quantile of all of them is unbounded; `value_ns` is then
    that of the successful ones and must not be shown alone.
    """

    value_ns: int
    low_ns: int | None
    high_ns: int | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times of the counted, successful operations of one cell, operation and stage."""

    n: int
    min_ns: int
    avg_ns: int
    p50: Quantile
    p90: Quantile
    p99: Quantile
    max_ns: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One cell, operation and stage of a run.

    `distribution` is None where no counted operation succeeded. `files`, `records` and `size_bytes`
    are those of one operation, None where operations differ or have none.
    """

    config_id: str
    workload_id: str
    operation: str
    stage: str
    warmups: int
    errors: int
    distribution: Distribution | None
    files: int | None
    records: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A statistic of one configuration by that of another, as the geometric mean over pairs.

    `low` and `high` are the 95 % t interval over the pairs' log ratios, `p_value` is that of the paired t
    test, and `robust` the Hodges-Lehmann estimate; all None with fewer than two pairs.
    """

    config_id: str
    baseline_id: str
    workload_id: str
    stage: str
    value: float
    low: float | None
    high: float | None
    pairs: int
    """Blocks or nights that both have."""
    statistic: Statistic = "p50"
    unit: Unit = "block"
    p_value: float | None = None
    robust: float | None = None
    corrected_p: float | None = None
    """`p_value`, corrected for all ratios that are looked at together; None where it was looked at alone."""

    @property
    def verdict(self) -> str:
        """`faster`, `slower` or `no difference seen`; `undecided` where there is no interval.

        An interval that leaves out 1 is no difference where that does not survive the correction. Less
        processor time is no speed: there it is `less` or `more`.
        """
        if self.low is None or self.high is None:
            return "undecided"
        is_by_chance = self.corrected_p is not None and self.corrected_p > SIGNIFICANT
        if is_by_chance or self.low <= 1.0 <= self.high:
            return NO_DIFFERENCE
        below, above = ("less", "more") if self.stage in PROCESSOR_STAGES else ("faster", "slower")
        return below if self.high < 1.0 else above

    @property
    def robust_apart(self) -> float | None:
        """The robust estimate where it is farther from the mean than half the interval; None elsewhere."""
        if self.robust is None or self.low is None or self.high is None:
            return None
        apart, half_width = abs(log(self.robust / self.value)), log(self.high / self.low) / 2
        return self.robust if apart > half_width and not isclose(self.robust, self.value) else None

    def turned(self) -> "Ratio":
        """The same comparison the other way round."""
        return replace(
            self,
            config_id=self.baseline_id,
            baseline_id=self.config_id,
            value=1 / self.value,
            low=None if self.high is None else 1 / self.high,
            high=None if self.low is None else 1 / self.low,
            robust=None if self.robust is None else 1 / self.robust,
        )


@dataclass(frozen=True, slots=True)
class NoRatio:
    """A configuration that was not compared with the baseline on one workload, and why."""

    config_id: str
    baseline_id: str
    workload_id: str
    reason: str
