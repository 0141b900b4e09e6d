"""The figures that every report shows, as plain values in nanoseconds."""

from dataclasses import dataclass
from typing import Final

PROCESSOR_STAGES: Final = ("user_ns", "system_ns")
"""Processor time of a client's own process: it runs beside the other stages, and is no part of the total."""


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
    """p50 of one configuration by that of the baseline, as the geometric mean over paired blocks.

    `low` and `high` are the 95 % t interval over the blocks' log ratios, None with fewer than two pairs.
    """

    config_id: str
    baseline_id: str
    workload_id: str
    stage: str
    value: float
    low: float | None
    high: float | None
    blocks: int

    @property
    def verdict(self) -> str:
        """`faster`, `slower` or `no difference seen`; `undecided` where there is no interval.

        Less processor time is no speed: there it is `less` or `more`.
        """
        if self.low is None or self.high is None:
            return "undecided"
        if self.low <= 1.0 <= self.high:
            return "no difference seen"
        below, above = ("less", "more") if self.stage in PROCESSOR_STAGES else ("faster", "slower")
        return below if self.high < 1.0 else above


@dataclass(frozen=True, slots=True)
class NoRatio:
    """A configuration that was not compared with the baseline on one workload, and why."""

    config_id: str
    baseline_id: str
    workload_id: str
    reason: str
