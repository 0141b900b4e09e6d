"""Whether every configuration that scanned a workload's logs saw the same: files, records and bytes.

A scan that is quick because it missed files is no faster, so every report states the counts. A scan that
came to its end and saw other data than were prepared is stored as an error, and counts here; one that broke
off on the way saw less for another reason, and does not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

_COUNTS: Final = ("files", "records", "size_bytes")
_FOUND_AFTERWARDS: Final = pa.array(["WrongCounts", "WrongLength", "UnknownFile"])
"""The errors that the check of a scan finds once it has ended; all others end it."""

CellStatus = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Counts:
    """What one scan saw; None where it did not say."""

    files: int | None
    records: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """What some scans of one configuration saw."""

    config_id: str
    counts: Counts
    scans: int
    """How many that came to their end, warm-ups and those that the check refused included."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the configurations saw on one workload."""

    workload_id: str
    sightings: tuple[Sighting, ...]
    """More than one of a configuration where its scans differ."""
    absent: "Mapping[str, CellStatus]"
    """The configurations that have a cell of the workload, and no scan that came to its end."""

    @property
    def config_ids(self) -> tuple[str, ...]:
        """The configurations that saw something."""
        return tuple(dict.fromkeys(sighting.config_id for sighting in self.sightings))

    @property
    def agreed(self) -> Counts | None:
        """What all of them saw; None where they disagree."""
        counts = {sighting.counts for sighting in self.sightings}
        return counts.pop() if len(counts) == 1 else None


def agreements(
    samples: "pa.Table", statuses: "Mapping[tuple[str, str], CellStatus]"
) -> tuple[Agreement, ...]:
    """What was seen, for every workload with a scan that came to its end.

    Args:
        samples: the scans, successful or not, among other rows.
        statuses: how every cell of the run ended, by workload and configuration, in the order wanted.
    """
    seen: dict[tuple[str, str], list[Sighting]] = {cell: [] for cell in statuses}
    for (workload_id, config_id), sighting in _sightings(samples):
        seen.setdefault((workload_id, config_id), []).append(sighting)
    found = []
    for workload_id in dict.fromkeys(workload_id for (workload_id, _), mine in seen.items() if mine):
        cells = {cell: mine for cell, mine in seen.items() if cell[0] == workload_id}
        found.append(
            Agreement(
                workload_id,
                sightings=tuple(sighting for mine in cells.values() for sighting in mine),
                absent={cell[1]: statuses[cell] for cell, mine in cells.items() if not mine},
            )
        )
    return tuple(found)


def _sightings(samples: "pa.Table") -> "list[tuple[tuple[str, str], Sighting]]":
    """By cell, what most of its scans saw first."""
    key = ["workload_id", "config_id", *_COUNTS]
    ended = pc.or_(
        pc.equal(samples["outcome"], "ok"), pc.is_in(samples["error"], value_set=_FOUND_AFTERWARDS)
    )
    scans = pc.and_(ended, pc.equal(samples["operation"], "scan"))
    counted = samples.select(key).filter(scans).group_by(key).aggregate([([], "count_all")])
    found = [
        (
            (row["workload_id"], row["config_id"]),
            Sighting(row["config_id"], Counts(*(row[name] for name in _COUNTS)), row["count_all"]),
        )
        for row in counted.to_pylist()
    ]
    return sorted(found, key=lambda each: (each[0], -each[1].scans, each[1].counts.files or 0))
