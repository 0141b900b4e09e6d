import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from tasks.results.changes import read_changes, write_changes
from tasks.results.names import changes_name
from tasks.results.schema import CHANGES
from tasks.results.store import Store, open_store
from tasks.stats.fast_rule import FAST_RULE
from tasks.stats.panels import SeriesKey
from tasks.stats.regressions import Change
from tasks.stats.slow_rule import SLOW_METHOD, SLOW_RULE

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
FOUND = Change(
    series=SeriesKey("boto3", "read", "read", "abc 1 1 1024"),
    stage="total_ns",
    statistic="p50",
    since_at=FIRST,
    known_at=FIRST + timedelta(days=2),
    ratio=1.31,
    before_ns=10_000_000,
    after_ns=13_100_000,
    nights_before=28,
    noise=0.035,
    nights_after=4,
    status="watching",
)
SHARED = replace(
    FOUND,
    series=None,
    before_ns=None,
    after_ns=None,
    ratio=0.9,
    method=SLOW_METHOD,
    settings=SLOW_RULE,
    status="confirmed",
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path)


def at(day: int, change: Change = FOUND) -> Change:
    return replace(change, since_at=FIRST + timedelta(days=day))


def test_changes_are_read_back_as_they_were_found(store: Store) -> None:
    assert read_changes(store, "nightly") == ()
    write_changes(store, "nightly", [FOUND, SHARED], None)
    assert read_changes(store, "nightly") == (FOUND, SHARED)
    assert read_changes(store, "weekly") == ()


def test_a_comparison_takes_the_place_of_the_one_before_and_older_nights_stay(store: Store) -> None:
    write_changes(store, "nightly", [at(0), at(50), at(90)], None)
    write_changes(store, "nightly", [at(60)], FIRST + timedelta(days=40))
    assert read_changes(store, "nightly") == (at(0), at(60))
    write_changes(store, "nightly", [], None)
    assert read_changes(store, "nightly") == ()


def test_a_comparison_of_all_nights_needs_nothing_of_what_stands_there(tmp_path: Path, store: Store) -> None:
    write_changes(store, "nightly", [FOUND], None)
    (tmp_path / changes_name("nightly")).write_bytes(b"damaged")
    write_changes(store, "nightly", [SHARED], None)
    assert read_changes(store, "nightly") == (SHARED,)


def test_the_table_says_how_each_was_found_to_any_reader(tmp_path: Path, store: Store) -> None:
    write_changes(store, "nightly", [FOUND, SHARED], None)
    path = tmp_path / changes_name("nightly")
    assert pq.ParquetFile(path).read().schema == CHANGES
    columns = "schedule, config_id, meaning, direction, status, since_dt, method, version, settings_json"
    rows = duckdb.read_parquet(str(path)).order("ratio DESC").project(columns).fetchall()
    assert rows[0][:-1] == (
        *("nightly", "boto3", "abc 1 1 1024", "slower", "watching", "2026-01-01", "fast rule", "2"),
    )
    assert json.loads(rows[0][-1]) == asdict(FAST_RULE)
    assert rows[1][:7] == ("nightly", None, None, "faster", "confirmed", "2026-01-01", "slow rule")
    assert json.loads(rows[1][-1]) == asdict(SLOW_RULE)


def test_a_table_of_another_version_is_named_and_not_written_over(tmp_path: Path, store: Store) -> None:
    write_changes(store, "nightly", [FOUND], None)
    path = tmp_path / changes_name("nightly")
    table = pq.ParquetFile(path).read()
    method = pa.array(["crystal ball"])
    other = table.set_column(table.schema.get_field_index("method"), "method", method)
    pq.write_table(other, path, store_schema=False)
    written = path.read_bytes()
    with pytest.raises(UserError, match=r"nightly\.parquet holds changes of another version: move it away"):
        write_changes(store, "nightly", [FOUND], FIRST)
    assert path.read_bytes() == written


def test_a_damaged_table_is_named(tmp_path: Path, store: Store) -> None:
    write_changes(store, "nightly", [FOUND], None)
    path = tmp_path / changes_name("nightly")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"nightly\.parquet is damaged: move it away or restore it"):
        read_changes(store, "nightly")
