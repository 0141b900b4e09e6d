"""Whether every configuration that scanned a workload's logs saw the same: files, records and bytes.

A scan that is quick because it missed files is no faster, so every report states the counts.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasks.kernel.samples import NULL
from tasks.stats.series import Series, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Counts:
    """What one scan saw; None where it did not say."""

    files: int | None
    records: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the configurations saw on one workload."""

    workload_id: str
    seen: tuple[tuple[str, Counts], ...]
    """Configuration and counts; more than once where the scans of one configuration differ."""

    @property
    def config_ids(self) -> tuple[str, ...]:
        """The configurations that scanned."""
        return tuple(dict.fromkeys(config_id for config_id, _ in self.seen))

    @property
    def agreed(self) -> Counts | None:
        """What all of them saw; None where they disagree."""
        counts = {count for _, count in self.seen}
        return counts.pop() if len(counts) == 1 else None


def agreements(samples: "pa.Table") -> list[Agreement]:
    """What was seen, for every workload that has a successful scan."""
    return agreements_of(split(samples))


def agreements_of(series: "Iterable[Series]") -> list[Agreement]:
    """As `agreements`, of series that were split already."""
    seen: dict[str, list[tuple[str, Counts]]] = {}
    for one in series:
        if one.operation == "scan" and one.n:
            seen.setdefault(one.workload_id, []).extend((one.config_id, counts) for counts in _counts(one))
    return [Agreement(workload_id, tuple(pairs)) for workload_id, pairs in seen.items()]


def _counts(series: Series) -> list[Counts]:
    rows = np.column_stack([series.counts[name] for name in ("files", "records", "size_bytes")])
    return [
        Counts(*(None if value == NULL else value for value in row))
        for row in np.unique(rows, axis=0).tolist()
    ]
