"""The nightly figures of many runs as one array for each statistic: a row is a series, a column a night.

A series is one operation of one cell for as long as it means the same: what the suite asked of the cell, and
what an operation held. Nights that differ in that are another series, and never joined. A change of the
suite that leaves a cell as it was is none of that cell's.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.kernel.samples import BESIDES

if TYPE_CHECKING:
    from numpy.typing import NDArray

Statistic = Literal["p50", "p90", "p99"]

STATISTICS: Final[tuple[Statistic, ...]] = ("p50", "p90", "p99")

JUDGED_FROM_N: Final[dict[Statistic, int]] = {"p99": 3000}
"""As many samples a night must have for a change to be told from it.

p99 scatters from one night to the next by 23 % with 300 samples a night, by 15 % with 1,000 and by 11 % with
3,000: below that it is shown, and no change is told from it.
"""

STAGE: Final = "total_ns"

PANEL_COLUMNS: Final = (
    "scheduled_at",
    "config_id",
    "workload_id",
    "operation",
    "stage",
    "meaning",
    "n",
    "errors",
    "p50_ns",
    "p90_ns",
    "p90_high_ns",
    "p99_ns",
    "p99_high_ns",
)
"""The columns of the nightly table that `panel` reads."""

_KEY: Final = ("config_id", "workload_id", "operation", "meaning")

_MOST_FAILED_PERCENT: Final = 5


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey:
    """What names a series."""

    config_id: str
    workload_id: str
    operation: str
    meaning: str
    """Unlike where the suite asked something else of the cell, or an operation held something else."""

    @property
    def cell_id(self) -> str:
        """The cell that it is of."""
        return f"{self.config_id}/{self.workload_id}"

    def __str__(self) -> str:
        """For people, who tell meanings apart by their dates."""
        return f"{self.cell_id} {self.operation}"


@dataclass(frozen=True, slots=True)
class Panel:
    """One statistic of all series over all nights."""

    statistic: Statistic
    nights: tuple[datetime, ...]
    """When each was scheduled, in UTC, ascending. A night without a run is no column: gaps are not filled."""
    keys: tuple[SeriesKey, ...]
    values_ns: "NDArray[np.float64]"
    """Shaped (series, nights); not a number where a series has no value that stands for its night."""
    n: "NDArray[np.int64]"
    """How many samples each value was told from, 0 where there is none."""
    left_out: "Counter[SeriesKey]"
    """In how many nights a series has no value because too many of its operations failed."""

    @property
    def judged_ns(self) -> "NDArray[np.float64]":
        """The values from which a change may be told, see `JUDGED_FROM_N`."""
        return np.where(self.n >= JUDGED_FROM_N.get(self.statistic, 0), self.values_ns, np.nan)


def panel(nightly: "pa.Table", statistic: Statistic) -> Panel:
    """The nightly values of a statistic of whole operations.

    A value stands for its night where no more than 5 % of the operations failed, and a p90 or p99 where the
    sample is large enough for an upper bound of it.

    Args:
        nightly: rows of scheduled runs alone, of one for each night (see `nights.counting`), with the
            columns `PANEL_COLUMNS` at least.
        statistic: which one.
    """
    whole = pc.and_(
        pc.equal(nightly["stage"], STAGE),
        pc.invert(pc.is_in(nightly["operation"], value_set=pa.array(sorted(BESIDES)))),
    )
    rows = nightly.select(list(PANEL_COLUMNS)).filter(whole)
    keys = [SeriesKey(*key) for key in zip(*(_texts(rows, name) for name in _KEY), strict=True)]
    moments = rows["scheduled_at"].cast("int64").to_numpy()
    nights, column = np.unique(moments, return_inverse=True)
    known = sorted(set(keys))
    place = {key: number for number, key in enumerate(known)}
    row = np.array([place[key] for key in keys], np.intp)
    failed = _too_many_failed(rows)
    values_ns = np.full((len(known), len(nights)), np.nan)
    values_ns[row, column] = np.where(failed, np.nan, _supported_ns(rows, statistic))
    n = np.zeros(values_ns.shape, np.int64)
    n[row, column] = rows["n"].to_numpy()
    return Panel(
        statistic,
        tuple(datetime.fromtimestamp(night / 1000, UTC) for night in nights.tolist()),
        tuple(known),
        values_ns,
        np.where(np.isnan(values_ns), 0, n),
        Counter(key for key, left_out in zip(keys, failed.tolist(), strict=True) if left_out),
    )


def _texts(rows: "pa.Table", name: str) -> list[str]:
    found: list[str] = rows[name].to_pylist()
    return found


def _too_many_failed(rows: "pa.Table") -> "NDArray[np.bool_]":
    n, errors = (rows[name].to_numpy() for name in ("n", "errors"))
    too_many: NDArray[np.bool_] = 100 * errors > _MOST_FAILED_PERCENT * (n + errors)
    return too_many


def _supported_ns(rows: "pa.Table", statistic: Statistic) -> "NDArray[np.float64]":
    """The values; not a number where there is none that the sample supports."""
    values_ns = rows[f"{statistic}_ns"].cast("float64")
    if statistic != "p50":
        values_ns = pc.if_else(pc.is_valid(rows[f"{statistic}_high_ns"]), values_ns, None)
    found: NDArray[np.float64] = values_ns.fill_null(np.nan).to_numpy()
    return np.where(found > 0, found, np.nan)
