"""Whether two series may be compared: unlike is never compared, and the reason is told.

Only operations that succeeded have a time, so that a ratio is one of survivors. Where at most 5 % failed,
that moves p50 little: had all of them been the slowest, p50 of all would be the survivors' 52.6th
percentile at the most. Where more failed, on either side, no ratio is given.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from tasks.kernel.samples import NULL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tasks.stats.series import Series

MOST_FAILED_PERCENT: Final = 5

COUNTS: Final = (("size_bytes", "bytes"), ("files", "files"), ("records", "records"))
"""What two operations must hold alike, and how it is called."""

_ASKED_ALIKE: Final = ("workload.", "configuration.")
"""What both cells must have been asked alike. `configuration.` has how many clients measured at once, and
where: that is no property of a path. How many threads did is in `workload.`."""
_LEFT_UNWRITTEN: Final = {"configuration.clients": "1"}


class Called(NamedTuple):
    """How one of two sides is called in a reason."""

    before_figure: str
    having: str
    whose: str


OF_BASELINE: Final = (Called("", "", "its"), Called("baseline ", "the baseline has ", "the baseline's"))
"""Where one configuration is set against the baseline of its workload."""


def called(config_id: str) -> Called:
    """Where two configurations are set against each other, each by its own name."""
    return Called(f"{config_id} ", f"{config_id} has ", f"{config_id}'s")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is known of the cells of two series, for whoever asks whether they may be compared."""

    failed_cells: "Collection[tuple[str, str]]" = ()
    """Workload and configuration of the cells that failed."""
    parameters: "Mapping[tuple[str, str], Mapping[str, str]] | None" = None
    """What the suite asked of each cell, by workload and configuration; None where no record tells it."""
    names: tuple[Called, Called] = OF_BASELINE

    def why_not(self, one: "Series", other: "Series") -> str:
        """Why the first must not be compared with the second; empty where it may be."""
        return (
            self.why_broken_off(one.workload_id, (one.config_id, other.config_id))
            or self._why_no_times(one, other)
            or self._why_unlike(one, other)
            or self.why_asked_otherwise(one.workload_id, (one.config_id, other.config_id))
        )

    def why_broken_off(self, workload_id: str, config_ids: tuple[str, str]) -> str:
        """Names the cell that failed; empty where neither did."""
        for name, config_id in zip(self.names, config_ids, strict=True):
            if (workload_id, config_id) in self.failed_cells:
                return f"{name.whose} cell failed"
        return ""

    def why_asked_otherwise(self, workload_id: str, config_ids: tuple[str, str]) -> str:
        """What of the cells was asked otherwise, such as the number of clients; empty where nothing was."""
        if self.parameters is None:
            return ""
        mine, theirs = (self.parameters.get((workload_id, config_id), {}) for config_id in config_ids)
        for name in sorted(mine.keys() | theirs.keys()):
            unwritten = _LEFT_UNWRITTEN.get(name, "none")
            asked = (mine.get(name, unwritten), theirs.get(name, unwritten))
            if name.startswith(_ASKED_ALIKE) and asked[0] != asked[1] and mine and theirs:
                return self.unlike(name.partition(".")[2].replace("_", " "), *asked)
        return ""

    def unlike(self, what: str, mine: str, theirs: str) -> str:
        """The reason of two that are unlike in something."""
        return f"unlike {what}: {self._beside(mine, theirs)}"

    def no_operation(self, side: int, failed: str = "") -> str:
        """The reason of two of which one, the first (0) or the second (1), has no time at all."""
        return f"{self.names[side].having}no successful operation{failed}"

    def _beside(self, mine: str, theirs: str) -> str:
        first, second = self.names
        return f"{first.before_figure}{mine}, {second.before_figure}{theirs}"

    def _why_no_times(self, one: "Series", other: "Series") -> str:
        """Why the times of two series do not stand for all of their operations; empty where they do."""
        for side, series in ((1, other), (0, one)):
            if series.n == 0:
                return self.no_operation(side, f": all {series.errors:,} failed" if series.errors else "")
        if any(too_many_failed(side.n, side.errors) for side in (one, other)):
            failed = self._beside(*(_failed(side.n, side.errors) for side in (one, other)))
            return (
                f"too many operations failed: {failed}; "
                f"above {MOST_FAILED_PERCENT} % only survivors would be compared"
            )
        return ""

    def _why_unlike(self, one: "Series", other: "Series") -> str:
        if one.operation != other.operation:
            return self.unlike("operations", one.operation, other.operation)
        for name, noun in COUNTS:
            mine, theirs = one.counts[name], other.counts[name]
            if mine != theirs:
                return self.unlike(noun, _span(mine), _span(theirs))
        if one.cold != other.cold:
            return self.unlike("cache states", _states(one), _states(other))
        return ""


def too_many_failed(n: int, errors: int) -> bool:
    """Whether so many of the counted operations failed that the others do not stand for all of them."""
    return 100 * errors > MOST_FAILED_PERCENT * (n + errors)


def _failed(n: int, errors: int) -> str:
    return f"{errors:,} of {n + errors:,} ({100 * errors / (n + errors):.1f} %)"


def _span(values: tuple[int, ...]) -> str:
    known = [value for value in values if value != NULL]
    if not known:
        return "none"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _states(series: "Series") -> str:
    words = {True: "cold", False: "warm", None: "not claimed"}
    return " and ".join(sorted(words[state] for state in series.cold))
