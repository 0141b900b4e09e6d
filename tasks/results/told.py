"""What somebody has been told of already, so that nothing is told again every day.

It lies in the store, beside the nights that it is about, as one small file that is written anew when there is
more to remember: so it outlives the Prefect server and its database, and moves with the results. Something
is remembered after it was told. Who is killed in between tells it once more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, Protocol, TypeVar

import pyarrow as pa

from tasks.results.names import TOLD_FOLDER, TOLD_NAME
from tasks.results.reader import table_of
from tasks.results.schema import TOLD
from tasks.results.store import Store
from tasks.results.writer import encoded
from tasks.stats.nights import FARTHEST

NEW_FOR: Final = timedelta(hours=48)
"""What has been known for longer than this is no news the first time, when nothing is remembered.

Of a night never: another schedule has other nights, all of which would be new to who is told."""

_SAME_WITHIN: Final = timedelta(days=7)
"""A change that begins so soon after another of its series, in the same direction, is the same one: its p50
and its p90 need not become known in the same night."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that may be told, by what names it."""

    what: Literal["night", "change"]
    name: str
    """The schedule, or the series."""
    direction: str | None
    """Of a change."""
    at: datetime
    """When the night was due, or the change began."""

    def is_same(self, other: "Told") -> bool:
        """Whether who knows of one need not be told of the other.

        A night so near is the same one, of a schedule that was moved.
        """
        if (self.what, self.name, self.direction) != (other.what, other.name, other.direction):
            return False
        apart = abs(self.at - other.at)
        return apart <= (_SAME_WITHIN if self.what == "change" else FARTHEST)


class News(Protocol):
    """What a comparison found."""

    @property
    def told(self) -> Told:
        """What names it."""
        ...

    @property
    def known_at(self) -> datetime:
        """Since when it could have been told."""
        ...


_News = TypeVar("_News", bound=News)


def read_told(store: Store) -> tuple[Told, ...] | None:
    """All that was told; None where nothing was ever remembered.

    Raises:
        UserError: if the file cannot be fetched, or is damaged.
    """
    if TOLD_NAME not in store.names(TOLD_FOLDER):
        return None
    table = table_of(store.get(TOLD_NAME), f"{store.location}/{TOLD_NAME}", TOLD, TOLD.names)
    return tuple(Told(**row) for row in table.to_pylist())


def write_told(store: Store, told: Sequence[Told]) -> None:
    """Remember all of this, and nothing else.

    Raises:
        UserError: if the store cannot take it.
    """
    rows = [{"what": one.what, "name": one.name, "direction": one.direction, "at": one.at} for one in told]
    store.put(TOLD_NAME, encoded(pa.Table.from_pylist(rows, schema=TOLD)), replace=True)


def untold(
    found: "Iterable[_News]", told: Sequence[Told] | None, now: datetime
) -> "tuple[tuple[_News, ...], tuple[Told, ...]]":
    """What of the findings is still to be told, and what is to be remembered without telling it.

    Args:
        found: everything that a comparison found; of several that are the same the first is told.
        told: what was told, None where nothing was ever remembered.
        now: the time of looking.
    """
    known = list(told or ())
    news: list[_News] = []
    old: list[Told] = []
    for one in found:
        if any(one.told.is_same(other) for other in known):
            continue
        known.append(one.told)
        is_known = told is None or one.told.what == "night"
        if is_known and now - one.known_at > NEW_FOR:
            old.append(one.told)
        else:
            news.append(one)
    return tuple(news), tuple(old)
