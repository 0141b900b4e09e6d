"""The nights of an example store, and what is known of them beforehand: its truths.

Nothing of it was measured. Each truth is placed by counting ninety nights, and moves with their number, so
that a short store has all of them as well. A change of a few nights is too young to be found there.

The model is that of the simulations behind the detection of changes: all cells share what the service does
in a night, which is a little like the night before, and each has a noise of its own.
"""

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from configs.errors import UserError
from configs.run_record import dt_of
from tasks.stats.nights import GRACE

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEDULE: Final = "nightly"
CRON: Final = "30 2 * * *"
"""In UTC."""
FEWEST_NIGHTS: Final = 12
MOST_NIGHTS: Final = 3660
FEWEST_SAMPLES: Final = 30
SHARED_SD: Final = 0.03
"""Of the natural logarithm of what all cells share in a night; nights in succession correlate by 0.3."""
OWN_SD: Final = 0.02
"""Of that of each cell's own night."""

_PERSISTENCE: Final = 0.3
_COUNTED: Final = 90
_DUE: Final = time(2, 30, tzinfo=UTC)
_TO_THE_END: Final = 3660


@dataclass(frozen=True, slots=True)
class ExampleOptions:
    """Which example store; the same options give the same bytes."""

    until: date
    """The UTC date of the last night."""
    nights: int = 90
    seed: int = 7
    samples: int | None = None
    """Operations of a cell in a night, at the most, but one for each thread of a block; None: the suite's."""

    def refuse_unfit(self) -> None:
        """Look at the numbers before anything is written.

        Raises:
            UserError: if one of them is too small or too large.
        """
        if not FEWEST_NIGHTS <= self.nights <= MOST_NIGHTS:
            raise UserError(f"--nights {self.nights}: give {FEWEST_NIGHTS} to {MOST_NIGHTS:,} of them")
        if self.samples is not None and self.samples < FEWEST_SAMPLES:
            raise UserError(f"--samples {self.samples}: give {FEWEST_SAMPLES} or more")
        if self.seed < 0:
            raise UserError(f"--seed {self.seed}: give 0 or more")

    @property
    def due(self) -> tuple[datetime, ...]:
        """When each night was due, ascending."""
        last = datetime.combine(self.until, _DUE)
        return tuple(last - timedelta(days=ago) for ago in reversed(range(self.nights)))


def last_night(now: datetime) -> date:
    """The latest night that no longer waits for its run."""
    return (now.astimezone(UTC) - GRACE - timedelta(hours=_DUE.hour, minutes=_DUE.minute)).date()


class Kind(StrEnum):
    """What an example store is known to hold."""

    MISSING = "missing night"
    INCOMPLETE = "incomplete run"
    FAILED = "failed cell"
    SKIPPED = "skipped cell"
    STEP = "step"
    ENVIRONMENT = "step of all cells"
    VERSION = "client version"
    REDEFINITION = "redefinition"


@dataclass(frozen=True, slots=True)
class Truth:
    """One thing that an example store is known to hold."""

    kind: Kind
    what: str
    """In words."""
    place: int
    """The night with which it begins, counted from 0, of ninety."""
    length: int = 1
    """How many of ninety nights."""
    cell_ids: tuple[str, ...] = ()
    """Which cells; empty: all of them."""
    ratio: float = 1.0
    """Times from then on by times before."""

    def nights(self, count: int) -> range:
        """The nights, counted from 0, in a store of so many."""
        first = self.place * count // _COUNTED
        length = min(self.length, max(1, self.length * count // _COUNTED))
        return range(first, count if self.length == _TO_THE_END else min(count, first + length))

    def dates(self, due: tuple[datetime, ...]) -> tuple[str, str]:
        """The first and the last night, by their UTC dates."""
        nights = self.nights(len(due))
        return dt_of(due[nights[0]]), dt_of(due[nights[-1]])


STEP_OF_30: Final = Truth(
    Kind.STEP,
    "30 % slower, for no reason that is recorded",
    place=60,
    length=_TO_THE_END,
    cell_ids=("express-boto3/read-64kib",),
    ratio=1.30,
)
STEP_OF_10: Final = Truth(
    Kind.STEP,
    "10 % slower, with the night of the client's new version",
    place=44,
    length=_TO_THE_END,
    cell_ids=("rust/read-64kib",),
    ratio=1.10,
)
STEP_OF_ALL: Final = Truth(
    Kind.ENVIRONMENT, "12 % slower, all cells alike", place=74, length=_TO_THE_END, ratio=1.12
)
NEW_VERSION: Final = Truth(
    Kind.VERSION, "obstore 0.11.0 → 0.12.1 in the environment", place=44, length=_TO_THE_END
)
REDEFINED: Final = Truth(
    Kind.REDEFINITION,
    "workload.iterations is half as many again: another series",
    place=26,
    length=_TO_THE_END,
    cell_ids=("boto3/first-64kib", "express-boto3/first-64kib"),
)
FAILED_ONCE: Final = Truth(
    Kind.FAILED, "the mount is gone after four of ten blocks", place=12, cell_ids=("mount/scan",)
)
INCOMPLETE_ONCE: Final = Truth(Kind.INCOMPLETE, "the run ends half-way, without its record", place=33)
SKIPPED_ALWAYS: Final = Truth(
    Kind.SKIPPED,
    "skipped with a reason in every run",
    place=0,
    length=_TO_THE_END,
    cell_ids=("boto3-crt-files/up-16mib",),
)
TRUTHS: Final = (
    SKIPPED_ALWAYS,
    FAILED_ONCE,
    Truth(Kind.MISSING, "no run", place=20, length=2),
    REDEFINED,
    INCOMPLETE_ONCE,
    NEW_VERSION,
    STEP_OF_10,
    Truth(Kind.MISSING, "no run", place=51),
    STEP_OF_30,
    STEP_OF_ALL,
)
"""All that is known, by the night with which it begins."""


def holds(kind: Kind, night: int, nights: int, cell_id: str = "") -> bool:
    """Whether something of a kind is so in a night, for a cell where it is about cells."""
    return any(
        truth.kind is kind
        and night in truth.nights(nights)
        and (not truth.cell_ids or cell_id in truth.cell_ids)
        for truth in TRUTHS
    )


def known_ratio(cell_id: str, night: int, nights: int) -> float:
    """By how much a cell is slower in a night than in the first one, as far as truths tell."""
    return math.prod(
        truth.ratio
        for truth in TRUTHS
        if night in truth.nights(nights) and (not truth.cell_ids or cell_id in truth.cell_ids)
    )


def shared_logs(options: ExampleOptions) -> "NDArray[np.float64]":
    """What all cells share in each night, as natural logarithms, shaped (nights,)."""
    fresh = np.random.default_rng([options.seed, 1]).normal(0, SHARED_SD, options.nights)
    found = np.empty(options.nights)
    found[0] = fresh[0]
    for night in range(1, options.nights):
        found[night] = _PERSISTENCE * found[night - 1] + math.sqrt(1 - _PERSISTENCE**2) * fresh[night]
    return found
