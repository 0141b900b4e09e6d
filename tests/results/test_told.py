from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.results.names import TOLD_NAME
from tasks.results.schema import TOLD
from tasks.results.store import Store, open_store
from tasks.results.told import Told, read_told, untold, write_told

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path)


@dataclass(frozen=True)
class News:
    told: Told
    known_at: datetime


def news(what: str, name: str, day: int, known_days_later: int = 2) -> News:
    at = FIRST + timedelta(days=day)
    told = Told("change" if what == "change" else "night", name, "slower" if what == "change" else None, at)
    return News(told, at + timedelta(days=known_days_later))


def test_what_was_told_is_not_told_again(store: Store) -> None:
    now = FIRST + timedelta(days=40)
    found = [news("night", "nightly", 38), news("change", "boto3/read read", 37)]
    first, old = untold(found, read_told(store), now)
    assert (list(first), old) == (found, ())
    write_told(store, [one.told for one in first])
    assert untold(found, read_told(store), now + timedelta(days=1)) == ((), ())
    later = [
        *found,
        news("night", "nightly", 39),
        news("night", "weekly", 38),
        news("change", "mount/read", 37),
    ]
    assert [one.told for one in untold(later, read_told(store), now)[0]] == [one.told for one in later[2:]]


def test_the_first_time_what_has_long_been_known_is_remembered_and_not_told() -> None:
    now = FIRST + timedelta(days=40)
    found = [news("night", "nightly", 3), news("night", "nightly", 38)]
    assert untold(found, None, now) == ((found[1],), (found[0].told,))


def test_nights_that_another_schedule_would_have_had_are_no_news() -> None:
    now = FIRST + timedelta(days=40)
    of_weekly = [news("night", "nightly", day).told for day in (24, 31, 38)]
    found = [news("night", "nightly", day) for day in range(20, 39)]
    first, old = untold(found, of_weekly, now)
    assert list(first) == found[-3:-1]  # 36 and 37, which became known within two days; 38 was told
    assert len(found) - len(old) == len(first) + len(of_weekly)
    changed = news("change", "boto3/read read", 3)
    assert untold([changed], (), now) == ((changed,), ())


def test_a_gap_that_was_told_is_not_told_again_where_its_schedule_is_moved_a_little() -> None:
    now = FIRST + timedelta(days=40)
    gap = news("night", "nightly", 38)
    moved = replace(gap, told=replace(gap.told, at=gap.told.at + timedelta(minutes=30)))
    assert untold([moved], (gap.told,), now) == ((), ())
    next_night = news("night", "nightly", 39)
    assert untold([next_night], (gap.told,), now) == ((next_night,), ())


def test_a_change_that_its_p50_and_its_p90_show_a_few_nights_apart_is_told_once() -> None:
    found = [news("change", "boto3/read read", 10), news("change", "boto3/read read", 14)]
    assert untold(found, (), FIRST)[0] == (found[0],)
    assert untold(found[1:], (found[0].told,), FIRST) == ((), ())
    again = news("change", "boto3/read read", 18)
    assert untold([again], (found[0].told,), FIRST)[0] == (again,)


def test_what_was_told_is_kept_in_a_table_that_readers_take(tmp_path: Path, store: Store) -> None:
    write_told(store, [news("night", "nightly", 3).told, news("change", "all configurations", 4).told])
    found = pq.ParquetFile(tmp_path / TOLD_NAME).read()
    assert found.schema == TOLD
    assert found["direction"].to_pylist() == [None, "slower"]
    assert pa.types.is_timestamp(found.schema.field("at").type)
