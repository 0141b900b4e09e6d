"""Every figure of a run: one summary per cell, operation and stage."""

from typing import TYPE_CHECKING

from tasks.stats.quantiles import quantile
from tasks.stats.series import Series, split
from tasks.stats.summary_types import Distribution, Summary

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def summarise(samples: "pa.Table") -> list[Summary]:
    """Summarise the samples of one run, by workload, configuration, operation and stage.

    Warm-ups and failed operations are counted, and are in no time.
    """
    return [summary for series in split(samples) for summary in summaries_of(series)]


def summaries_of(series: Series) -> list[Summary]:
    """The summaries of one series, one per stage; `total_ns` is last and always there."""
    stages = [stage for stage in series.stage_ns if stage != "total_ns"]
    return [
        Summary(
            config_id=series.config_id,
            workload_id=series.workload_id,
            operation=series.operation,
            stage=stage,
            warmups=series.warmups,
            errors=series.errors,
            distribution=distribution(series.times_ns(stage), series.errors),
            files=series.common("files"),
            records=series.common("records"),
            size_bytes=series.common("size_bytes"),
        )
        for stage in (*stages, "total_ns")
    ]


def distribution(sorted_ns: "NDArray[np.int64]", errors: int = 0) -> Distribution | None:
    """The figures of ascending times in nanoseconds; None where there is none.

    The mean is rounded to whole nanoseconds, halves up.
    """
    n = len(sorted_ns)
    if n == 0:
        return None
    return Distribution(
        n=n,
        min_ns=int(sorted_ns[0]),
        avg_ns=(2 * int(sorted_ns.sum()) + n) // (2 * n),
        p50=quantile(sorted_ns, 50, errors),
        p90=quantile(sorted_ns, 90, errors),
        p99=quantile(sorted_ns, 99, errors),
        max_ns=int(sorted_ns[-1]),
    )
