"""Which nights a schedule should have had, and what became of each of them.

A night is a moment at which a run was due. Runs are set against those moments, not against calendar days, so
that a schedule of any rhythm can be looked at.

In most zones one night of the year has no 02:30, and another has two. cronsim begins the first at the next
minute that there is (03:00) and the second once, at its first 02:30, as Debian's cron does; Prefect moves the
first to 03:30 (both tried). So a run belongs to the due moment that is nearest to its own, which is the
equal one on every other night. Where a schedule was moved by more than three hours, its nights begin anew.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from configs.errors import UserError
from configs.run_record import dt_of

GRACE: Final = timedelta(hours=4)
"""A night that was due more recently than this may still be measured."""

FARTHEST: Final = timedelta(hours=3)
"""A run that is farther than this from every due moment is none of these nights."""
_CRON_FIELDS: Final = 5


class NightState(StrEnum):
    """What became of a night, from best to worst."""

    COMPLETE = "complete"
    FAILED_CELLS = "failed cells"
    INCOMPLETE = "incomplete"
    """A run began and did not come to its end."""
    MISSING = "missing"

    @property
    def has_run(self) -> bool:
        """Whether a run of the night came to its end."""
        return self in {NightState.COMPLETE, NightState.FAILED_CELLS}


@dataclass(frozen=True, slots=True)
class NightRun:
    """What is known of a run that may belong to a night."""

    run_id: str
    started_at: datetime
    scheduled_at: datetime | None
    """None where it is not known: of a run that did not come to its end, which has no record."""
    state: NightState


@dataclass(frozen=True, slots=True)
class NightCoverage:
    """A night that was due."""

    due_at: datetime
    state: NightState
    run_id: str | None
    """The run that counts; none where the night is missing."""

    @property
    def dt(self) -> str:
        """The UTC date of the night: its partition."""
        return dt_of(self.due_at)


@dataclass(frozen=True, slots=True)
class Gap:
    """Nights in succession without a run that came to its end, all for the same reason."""

    state: NightState
    nights: tuple[NightCoverage, ...]

    def __str__(self) -> str:
        """In words: `3 nights missing: 2026-11-03 to 2026-11-05`."""
        first, last = self.nights[0].dt, self.nights[-1].dt
        count = f"{len(self.nights)} nights" if len(self.nights) > 1 else "1 night"
        return f"{count} {self.state}: {first}{f' to {last}' if last != first else ''}"


def nights_due(
    cron: str, timezone: str, since: datetime, until: datetime, at_most: int | None = None
) -> tuple[datetime, ...]:
    """The moments at which a schedule was due, in UTC, ascending, both ends included.

    Args:
        cron: five fields.
        timezone: an IANA name, in whose wall time they are.
        since: none is earlier.
        until: none is later.
        at_most: only the latest of them.

    Raises:
        UserError: if the expression or the zone is none.
    """
    zone = _zone(timezone)
    found: list[datetime] = []
    # Backwards, because only the latest may be wanted; the second more is that cronsim leaves its start out.
    for due in _backwards(cron, (until + timedelta(seconds=1)).astimezone(zone)):
        due_at = due.astimezone(UTC)
        if due_at < since or len(found) == at_most:
            break
        if due_at <= until:
            found.append(due_at)
    return tuple(reversed(found))


def coverage(
    due: Sequence[datetime], runs: Iterable[NightRun], now: datetime, grace: timedelta = GRACE
) -> tuple[NightCoverage, ...]:
    """What became of each due night, from the first that has a run of the schedule, ascending.

    A run that did not come to its end left no record of its schedule: it counts for a night that has no
    other run where it began within the time of grace after the night was due. Nights that are still to come,
    or were due less than that ago and may still get their run, are left out.

    Args:
        due: ascending.
        runs: those of the schedule, and those of which no schedule is known.
        now: the time of looking.
        grace: how late a run may be.
    """
    best: dict[datetime, NightRun] = {}
    begun: list[datetime] = []
    for run in runs:
        due_at = _night_of(run, due, grace)
        if due_at is None:
            continue
        if run.scheduled_at is not None:
            begun.append(due_at)
        if due_at not in best or _rank(run) < _rank(best[due_at]):
            best[due_at] = run
    nights = (_covered(due_at, best.get(due_at)) for due_at in due if begun and due_at >= min(begun))
    return tuple(night for night in nights if night.state.has_run or night.due_at + grace <= now)


def counting(runs: Iterable[NightRun]) -> frozenset[str]:
    """The ids of the runs that count: of several that were scheduled for the same moment, one."""
    best: dict[datetime, NightRun] = {}
    for run in runs:
        if run.scheduled_at is not None:
            best[run.scheduled_at] = min(run, best.get(run.scheduled_at, run), key=_rank)
    return frozenset(run.run_id for run in best.values())


def gaps(nights: Iterable[NightCoverage]) -> tuple[Gap, ...]:
    """The nights without a run that came to its end, those in succession together."""
    return tuple(
        Gap(state, tuple(together))
        for state, together in groupby(nights, key=lambda night: night.state)
        if not state.has_run
    )


def counts(nights: Iterable[NightCoverage]) -> Mapping[NightState, int]:
    """How many nights there are of each state."""
    states = [night.state for night in nights]
    return {state: states.count(state) for state in NightState}


def _rank(run: NightRun) -> tuple[int, float]:
    """Of several runs of a night the best counts, and of those the latest."""
    return list(NightState).index(run.state), -run.started_at.timestamp()


def _covered(due_at: datetime, run: NightRun | None) -> NightCoverage:
    if run is None:
        return NightCoverage(due_at, NightState.MISSING, None)
    return NightCoverage(due_at, run.state, run.run_id)


def _night_of(run: NightRun, due: Sequence[datetime], grace: timedelta) -> datetime | None:
    if run.scheduled_at is not None:
        return _nearest(run.scheduled_at, due)
    place = bisect_left(due, run.started_at + timedelta(microseconds=1)) - 1
    return due[place] if place >= 0 and run.started_at - due[place] <= grace else None


def _nearest(moment: datetime, due: Sequence[datetime]) -> datetime | None:
    """The due moment that a run of this one belongs to: in no case half-way to another."""
    if not due:
        return None
    place = bisect_left(due, moment)
    around = range(max(0, place - 1), min(len(due), place + 1))
    near = min(around, key=lambda at: abs(due[at] - moment))
    apart = [abs(due[near] - due[at]) / 2 for at in (near - 1, near + 1) if 0 <= at < len(due)]
    return due[near] if abs(due[near] - moment) <= min([FARTHEST, *apart]) else None


def _zone(timezone: str) -> ZoneInfo:
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UserError(
            f"time zone {timezone!r}: there is none of that name: give an IANA one, such as Europe/Berlin"
        ) from error


def _backwards(cron: str, start: datetime) -> Iterable[datetime]:
    right = "give five fields, such as 30 2 * * * for half past two every night"
    if len(cron.split()) != _CRON_FIELDS:
        raise UserError(f"schedule {cron!r}: {right}")
    try:
        return CronSim(cron, start, reverse=True)
    except CronSimError as error:
        raise UserError(f"schedule {cron!r}: {str(error).lower()}: {right}") from error
