"""What a look back over the nights of a schedule found, ready to be shown and told."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from tasks.results.history import read_history
from tasks.results.told import Told
from tasks.stats.levels import series_levels
from tasks.stats.nights import GRACE, coverage, gaps, nights_due
from tasks.stats.panels import STATISTICS, panel
from tasks.stats.regressions import changes

if TYPE_CHECKING:
    import pyarrow as pa

    from configs.parameters import CompareParameters
    from tasks.results.history import EnvironmentMark, Redefinition
    from tasks.results.store import Store
    from tasks.stats.levels import SeriesLevels
    from tasks.stats.nights import Gap, NightCoverage
    from tasks.stats.panels import Panel, Statistic
    from tasks.stats.regressions import Change

NIGHTS_BEFORE: Final = 180
"""As many nights before those that are shown are read too.

What is found for a night depends on the 120 before it, and on the last change before: with these, looking
back from tomorrow finds the same changes as from today.
"""
_NEAR: Final = timedelta(days=2)
"""The first night of a small change is told to within as much."""

_AT_MOST_BACK: Final = timedelta(days=20 * 365)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that somebody may have to be told."""

    told: Told
    """What names it."""
    known_at: datetime
    """Since when it could have been told."""
    about: "NightCoverage | Change"


@dataclass(frozen=True, slots=True)
class HistoryView:
    """A look back over the nights of a schedule."""

    location: str
    schedule: str
    nights: "tuple[NightCoverage, ...]"
    """From the first that has a run, at most as many as asked for."""
    changes: "tuple[Change, ...]"
    """Those that began in these nights."""
    panels: "tuple[Panel, ...]"
    """One for each statistic; with the nights before."""
    levels: "tuple[SeriesLevels, ...]"
    """Of every series of each panel, over its nights: their columns are the panel's."""
    marks: "tuple[EnvironmentMark, ...]"
    """What of the environment changed in these nights."""
    redefinitions: "tuple[Redefinition, ...]"
    """Those in these nights."""
    nightly: "pa.Table"
    """The rows of `history.HISTORY` that all of this was told from."""
    unread: tuple[str, ...]
    synthetic: bool
    """Whether nothing was measured: a run of these nights at least is made up."""

    @property
    def gaps(self) -> "tuple[Gap, ...]":
        """The nights without a run that came to its end."""
        return gaps(self.nights)

    @property
    def summary(self) -> str:
        """One line: `118 of 120 nights of nightly have a run; 1 change: 1 slower, 0 faster`."""
        if not self.nights:
            return f"no run of the schedule {self.schedule} in {self.location} yet"
        with_run = sum(night.state.has_run for night in self.nights)
        slower = sum(change.direction == "slower" for change in self.changes)
        found = f"{slower} slower, {len(self.changes) - slower} faster" if self.changes else "none"
        return f"{with_run} of {len(self.nights)} nights of {self.schedule} have a run; changes: {found}"

    def marks_near(self, change: "Change") -> "tuple[EnvironmentMark, ...]":
        """What of the environment changed about when a change began, which may explain it."""
        cell_id = None if change.series is None else change.series.cell_id
        return tuple(
            mark
            for mark in self.marks
            if mark.is_of(cell_id) and abs(mark.since_at - change.since_at) <= _NEAR
        )

    def panel_of(self, statistic: "Statistic") -> "Panel":
        """The panel of a statistic."""
        return next(one for one in self.panels if one.statistic == statistic)

    def findings(self) -> tuple[Finding, ...]:
        """Everything that somebody may have to be told: nights without a run, and what became slower."""
        nights = (
            Finding(Told("night", self.schedule, None, night.due_at), night.due_at + GRACE, night)
            for gap in self.gaps
            for night in gap.nights
        )
        slower = (
            Finding(Told("change", one.name, one.direction, one.since_at), one.known_at, one)
            for one in self.changes
            if one.direction == "slower"
        )
        return (*nights, *slower)


def look_back(store: "Store", parameters: "CompareParameters", now: datetime) -> HistoryView:
    """Read the nights of a schedule, and find the gaps and the changes.

    Raises:
        UserError: if the schedule is none, or the store cannot be read.
    """
    since, at_most = now - _AT_MOST_BACK, parameters.nights + NIGHTS_BEFORE
    due = nights_due(parameters.cron, parameters.timezone, since, now, at_most)
    if not due:
        raise UserError(f"schedule {parameters.cron!r}: it has not been due for years: give another one")
    shown = due[-parameters.nights :]
    history = read_history(store, parameters.schedule, f"{due[0]:%Y-%m-%d}")
    panels = tuple(panel(history.nightly, statistic) for statistic in STATISTICS)
    found = changes(panels)
    return HistoryView(
        location=store.location,
        schedule=parameters.schedule,
        nights=tuple(night for night in coverage(due, history.runs, now) if night.due_at >= shown[0]),
        changes=tuple(change for change in found if change.since_at >= shown[0]),
        panels=panels,
        levels=tuple(one for of_panel in panels for one in series_levels(of_panel, found)),
        marks=tuple(one for one in history.marks if one.since_at >= shown[0]),
        redefinitions=tuple(one for one in history.redefinitions if one.since_at >= shown[0]),
        nightly=history.nightly,
        unread=history.unread,
        synthetic=history.synthetic,
    )
