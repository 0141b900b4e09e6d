"""A finished month is put into one file: no row is lost, readers see the old file or the new, never half."""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from configs.run_record import RunIdentity, RunRecord
from tasks.kernel.samples import SampleColumns
from tasks.results import monthly
from tasks.results.compaction import MonthOutcome, compact_month, finished_months
from tasks.results.monthly import Contents, whole_contents
from tasks.results.names import SAMPLES_FOLDER, monthly_name, samples_name
from tasks.results.samples import samples_table, skipped_table
from tasks.results.schema import SAMPLES, SAMPLES_MONTHLY
from tasks.results.store import Store, open_store
from tasks.results.writer import write_cell, write_run

Block = Callable[[int], SampleColumns]
PROJECT_ROOT = Path(__file__).resolve().parents[2]
CONFIG_IDS = ("mount", "boto3")
MARCH = date(2026, 3, 15)
MONTHLY = monthly_name("2026-01")


def run_of(night: date) -> RunIdentity:
    return RunIdentity(run_id=f"{night:%Y%m%d}T020000Z-{secrets.token_hex(4)}", dt=f"{night}")


def write_night(store: Store, night: date, block: Block, rows: int = 20) -> RunIdentity:
    """A run of two configurations in three blocks, the last first, with a cell that was skipped."""
    run = run_of(night)
    for number, config_id in enumerate(CONFIG_IDS):
        blocks = [(place, block(rows + number + night.day)) for place in (2, 0, 1)]
        write_cell(store, run, config_id, "read_1k", samples_table(run, config_id, "read_1k", blocks))
    write_cell(store, run, "mount", "write_1k", skipped_table(run, "mount", "write_1k", "no /dev/fuse"))
    return run


@pytest.fixture(params=["folder", "s3"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same promises hold in a folder and in a bucket."""
    if request.param == "folder":
        return open_store(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_endpoint_url"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return open_store(f"s3://{request.getfixturevalue('bucket')}/results")


@pytest.fixture
def january(tmp_path: Path, block: Block) -> Store:
    """Three nights of one month in a folder."""
    store = open_store(tmp_path)
    for day in (1, 2, 31):
        write_night(store, date(2026, 1, day), block)
    return store


def landing_of(store: Store, month: str = "2026-01", today: date = MARCH) -> dict[str, int]:
    return dict(finished_months(store, today, 7).landing[month])


def compact(store: Store, month: str = "2026-01") -> MonthOutcome:
    return compact_month(store, month, landing_of(store, month))


def query(root: Path, sql: str) -> list[tuple[object, ...]]:
    """Ask DuckDB, with the views `landing` and `monthly` that have the same columns."""
    duck = duckdb.connect()
    for view, folder, columns in (
        ("landing", "samples/*", "* EXCLUDE (dt, config), dt::VARCHAR AS dt"),
        ("monthly", "samples_monthly", "* EXCLUDE (month)"),
    ):
        files = f"'{root}/v1/{folder}/*/*.parquet'"
        duck.execute(
            f"CREATE VIEW {view} AS SELECT {columns} FROM read_parquet({files}, hive_partitioning=true)"  # noqa: S608 - nothing of it comes from outside
        )
    return duck.execute(sql).fetchall()


def contents_of(store: Store) -> Contents:
    contents = whole_contents(store.get(MONTHLY))
    assert contents is not None
    return contents


def test_a_month_is_in_one_file_with_all_its_rows_and_the_landing_files_stay(
    any_store: Store, block: Block
) -> None:
    for day in (1, 2, 31):
        write_night(any_store, date(2026, 1, day), block)
    before = {name: any_store.get(name) for name in any_store.names("v1")}
    outcome = compact(any_store)
    rows = sum(3 * (20 + number + day) for day in (1, 2, 31) for number in range(2)) + 3
    assert outcome == MonthOutcome("2026-01", "compacted", 9, rows, len(any_store.get(MONTHLY)))
    after = {name: any_store.get(name) for name in any_store.names("v1")}
    assert after.keys() - before.keys() == {MONTHLY}
    assert before.items() <= after.items()
    again = compact(any_store)
    assert (again.action, again.rows) == ("unchanged", rows)
    assert any_store.get(MONTHLY) == after[MONTHLY]


def test_duckdb_finds_the_same_rows_counts_and_quantiles_by_cell_and_night(
    january: Store, tmp_path: Path
) -> None:
    rows = compact(january).rows
    for one, other in (("landing", "monthly"), ("monthly", "landing")):
        # By name, since the columns stand in another order.
        none = f"FROM {one} WHERE false UNION ALL BY NAME FROM"
        missing = f"({none} {one}) EXCEPT ALL ({none} {other})"
        assert query(tmp_path, missing) == []
    assert query(tmp_path, "SELECT count(*) FROM monthly") == [(rows,)]
    summary = (
        "SELECT config_id, workload_id, dt, outcome, count(*), quantile_disc(total_ns, 0.5), "
        "quantile_disc(total_ns, 0.99) FROM {} WHERE NOT warmup GROUP BY ALL ORDER BY ALL"
    )
    found = query(tmp_path, summary.format("monthly"))
    assert found == query(tmp_path, summary.format("landing"))
    assert len(found) == 9
    assert query(tmp_path, "SELECT sum(total_ns) FROM monthly") == [(contents_of(january).total_ns,)]


def test_rows_are_in_order_and_no_row_group_holds_two_configurations(january: Store, tmp_path: Path) -> None:
    compact(january)
    table = pq.read_table(tmp_path / MONTHLY, partitioning=None)
    assert table.schema == SAMPLES_MONTHLY
    keys = ("config_id", "workload_id", "dt", "run_id", "block", "seq")
    order = [tuple(row.values()) for row in table.select(keys).to_pylist()]
    measured = [row for row in order if row[-1] is not None]
    assert measured == sorted(measured)
    assert [row[:2] for row in order] == sorted(row[:2] for row in order)
    file = pq.ParquetFile(tmp_path / MONTHLY)
    column = file.schema_arrow.get_field_index("config_id")
    groups = [file.metadata.row_group(number).column(column).statistics for number in range(2)]
    assert [(group.min, group.max) for group in groups] == [("boto3", "boto3"), ("mount", "mount")]
    assert file.num_row_groups == 2


def test_row_groups_are_closed_between_nights_and_divided_where_one_night_is_too_much(
    tmp_path: Path, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monthly, "GROUP_ROWS", 100)
    store = open_store(tmp_path)
    for day, rows in enumerate((60, 60, 60, 250, 10), start=1):
        run = run_of(date(2026, 1, day))
        write_cell(store, run, "boto3", "read", samples_table(run, "boto3", "read", [(0, block(rows))]))
    assert compact(store).rows == 440
    file = pq.ParquetFile(tmp_path / MONTHLY)
    groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert groups == [120, 78, 78, 78, 76, 10]  # 60 and 250 are divided into four
    assert compact(store).action == "unchanged"


def test_the_file_names_its_sources_with_their_hashes_and_rows(january: Store) -> None:
    landing = landing_of(january)
    compact(january)
    contents = contents_of(january)
    assert contents.sizes == landing
    assert sum(source.rows for source in contents.sources) == contents.rows
    assert len({source.sha256 for source in contents.sources}) == len(landing)


def test_the_same_landing_files_give_the_same_bytes(january: Store, tmp_path: Path) -> None:
    compact(january)
    first = january.get(MONTHLY)
    (tmp_path / MONTHLY).unlink()
    assert compact(january).action == "compacted"
    assert january.get(MONTHLY) == first


def test_a_late_import_has_the_month_compacted_anew(january: Store, block: Block, tmp_path: Path) -> None:
    rows = compact(january).rows
    run = run_of(date(2026, 1, 15))
    write_cell(january, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, block(7))]))
    outcome = compact(january)
    name = samples_name(run, "boto3", "read_1k")
    assert (outcome.action, outcome.rows, outcome.reason) == (
        "compacted anew",
        rows + 7,
        f"added since: {name}",
    )
    found = query(tmp_path, f"SELECT count(*) FROM monthly WHERE run_id = '{run.run_id}'")  # noqa: S608 - our own id
    assert found == [(7,)]
    longer = samples_table(run, "boto3", "read_1k", [(0, block(900))])
    (tmp_path / name).unlink()
    write_cell(january, run, "boto3", "read_1k", longer)
    outcome = compact(january)
    assert (outcome.rows, outcome.reason) == (rows + 900, f"changed since: {name}")


def test_rows_of_runs_that_never_ended_are_kept_and_told_apart_by_their_missing_record(
    january: Store, record: RunRecord, block: Block, tmp_path: Path
) -> None:
    whole = write_night(january, date(2026, 1, 20), block)
    write_run(january, record.model_copy(update=whole.model_dump()))
    rows = compact(january).rows
    runs = f"read_parquet('{tmp_path}/v1/runs/*/*.parquet')"
    ended = query(tmp_path, f"SELECT count(*) FROM monthly SEMI JOIN {runs} USING (run_id)")  # noqa: S608 - our own folder
    assert ended == [(3 * (20 + 20) + 3 * (21 + 20) + 1,)]
    assert query(tmp_path, "SELECT count(*) FROM monthly") == [(rows,)]


def test_samples_that_were_written_before_columns_were_added_have_nulls_there(
    january: Store, tmp_path: Path
) -> None:
    path = next((tmp_path / SAMPLES_FOLDER).rglob("*.read_1k.parquet"))
    older = pa.schema(list(SAMPLES)[:-6])
    table = pq.read_table(path, partitioning=None).select(older.names)
    pq.write_table(table, path, store_schema=False)
    compact(january)
    run_id = path.name.partition(".")[0]
    newest = query(
        tmp_path,
        f"SELECT count(*), count({SAMPLES.names[-1]}) FROM monthly "  # noqa: S608 - our own names
        f"WHERE run_id = '{run_id}' AND config_id = '{table['config_id'][0]}' AND workload_id = 'read_1k'",
    )
    assert newest == [(len(table), 0)]


def test_a_month_is_due_so_many_days_after_its_end(tmp_path: Path, block: Block) -> None:
    store = open_store(tmp_path)
    for night in (date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)):
        write_night(store, night, block)
    due = {
        today: list(finished_months(store, today, 7).landing)
        for today in (date(2026, 1, 7), date(2026, 1, 8), date(2026, 2, 7), date(2026, 2, 8))
    }
    assert list(due.values()) == [[], ["2025-12"], ["2025-12"], ["2025-12", "2026-01"]]
    assert len(landing_of(store, "2026-01", date(2026, 2, 8))) == 6


def test_what_belongs_to_no_month_is_told(january: Store) -> None:
    names = [f"{SAMPLES_FOLDER}/{rest}" for rest in ("a.parquet", "dt=2026-13-01/b.parquet")]
    for name in names:
        january.put(name, b"of somebody")
    months = finished_months(january, MARCH, 7)
    assert list(months.strays) == names
    assert list(months.landing) == ["2026-01"]


def spoil_bytes(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:500] + bytes(64) + content[564:])


def spoil_name(path: Path) -> None:
    path.rename(path.with_name("copy of it.parquet"))


def spoil_run(path: Path) -> None:
    path.rename(path.with_name(f"20260101T020000Z-ffffffff.{path.name.partition('.')[2]}"))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (spoil_bytes, "is damaged: move it away or restore it"),
        (spoil_name, "is not one of our files: move it away"),
        (spoil_run, "holds rows of another run_id: move it away, or restore it"),
    ],
)
def test_a_damaged_or_foreign_source_is_named_and_the_month_left_as_it_was(
    january: Store, block: Block, tmp_path: Path, spoil: Callable[[Path], None], told: str
) -> None:
    compact(january)
    before = january.get(MONTHLY)
    run = write_night(january, date(2026, 1, 20), block)
    path = tmp_path / samples_name(run, "mount", "read_1k")
    spoil(path)
    with pytest.raises(UserError, match=told) as caught:
        compact(january)
    assert str(path.parent) in str(caught.value)
    assert january.get(MONTHLY) == before


def test_rows_whose_landing_file_is_gone_are_not_lost(january: Store, block: Block, tmp_path: Path) -> None:
    compact(january)
    before = january.get(MONTHLY)
    gone = next((tmp_path / SAMPLES_FOLDER).rglob("*.parquet"))
    gone.unlink()
    write_night(january, date(2026, 1, 20), block)
    with pytest.raises(UserError, match=f"{gone.name} was put into .* before, and is gone: put it back"):
        compact(january)
    assert january.get(MONTHLY) == before


def test_a_damaged_month_is_made_anew_only_when_it_was_moved_away(january: Store, tmp_path: Path) -> None:
    compact(january)
    before = january.get(MONTHLY)
    for place in (5, len(before) // 2, len(before) - 20):
        damaged = bytearray(before)
        damaged[place] ^= 0xFF
        (tmp_path / MONTHLY).write_bytes(damaged)
        with pytest.raises(UserError, match="is damaged, or was not made by this version"):
            compact(january)
    (tmp_path / MONTHLY).unlink()
    assert compact(january).action == "compacted"
    assert january.get(MONTHLY) == before
    january.put(MONTHLY.replace("samples.parquet", "copy.parquet"), before)
    with pytest.raises(UserError, match=r"copy\.parquet is not one of our files"):
        compact(january)


def test_a_value_that_was_damaged_and_can_still_be_read_is_noticed(january: Store) -> None:
    compact(january)
    stored = january.get(MONTHLY)
    whole = pq.read_table(pa.BufferReader(stored))
    silent = 0
    for place in range(4, len(stored) // 2, 11):
        damaged = bytearray(stored)
        damaged[place] ^= 0x10
        try:
            table = pq.read_table(pa.BufferReader(bytes(damaged)))
        except (pa.ArrowException, OSError):
            continue
        if table["total_ns"].equals(whole["total_ns"]) and not table.equals(whole):
            silent += 1
            assert whole_contents(bytes(damaged)) is None
        if silent == 3:
            break
    assert silent == 3


class MortalStore:
    """A store whose process dies at a certain call."""

    def __init__(self, store: Store, calls: int) -> None:
        self._store, self._left = store, calls
        self.puts = 0

    def _live(self) -> Store:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return self._store

    @property
    def location(self) -> str:
        return self._store.location

    @property
    def endpoint(self) -> str:
        return self._store.endpoint

    def check_writable(self) -> None:
        self._live().check_writable()

    def put(self, name: str, content: bytes, *, replace: bool = False) -> None:
        self._live().put(name, content, replace=replace)
        self.puts += 1

    def get(self, name: str) -> bytes:
        return self._live().get(name)

    def names(self, folder: str) -> list[str]:
        return self._live().names(folder)

    def sizes(self, folder: str) -> dict[str, int]:
        return self._live().sizes(folder)


def test_killed_at_any_step_readers_have_the_old_file_or_the_new_one(january: Store, block: Block) -> None:
    compact(january)
    old = january.get(MONTHLY)
    write_night(january, date(2026, 1, 20), block)
    landing, steps, seen = landing_of(january), 0, []
    while True:
        mortal = MortalStore(january, steps)
        try:
            compact_month(mortal, "2026-01", landing)
        except KeyboardInterrupt:
            seen.append(january.get(MONTHLY))
            assert january.names("v1/samples_monthly") == [MONTHLY]
        else:
            break
        steps += 1
    assert steps == 1 + 1 + 2 * 12 + 1  # a look, the old file, every source twice, one put
    assert set(seen) == {old}
    assert (mortal.puts, len(contents_of(january).sources)) == (1, 12)
    assert compact_month(quiet := MortalStore(january, -1), "2026-01", landing).action == "unchanged"
    assert quiet.puts == 0


class ChangingStore(MortalStore):
    """A store in which a file is replaced after it was first read."""

    def __init__(self, store: Store, name: str, content: bytes) -> None:
        super().__init__(store, -1)
        self._name, self._content, self._reads = name, content, 0

    def get(self, name: str) -> bytes:
        self._reads += name == self._name
        return self._content if self._reads == 2 and name == self._name else super().get(name)


def test_a_source_that_changes_meanwhile_is_named_and_nothing_is_kept(january: Store, block: Block) -> None:
    names = sorted(name for name in landing_of(january) if "boto3" in name)
    run_id = names[1].rpartition("/")[2].partition(".")[0]
    run = RunIdentity(run_id=run_id, dt=names[1].partition("dt=")[2][:10])
    other = open_store(january.location + "-other")
    write_cell(other, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, block(9))]))
    changing = ChangingStore(january, names[1], other.get(names[1]))
    with pytest.raises(UserError, match=f"{names[1]} changed while it was read: try again"):
        compact_month(changing, "2026-01", landing_of(january))
    assert january.names("v1/samples_monthly") == []


def without_a_row(table: pa.Table) -> pa.Table:
    return table.slice(1)


def with_a_row_twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(1), table.slice(1, 1)])


def with_a_row_more_at_the_end(table: pa.Table) -> pa.Table:
    is_last = table["config_id"][0].as_py() == max(CONFIG_IDS)
    return pa.concat_tables([table, table.slice(0, 1)]) if is_last else table


def with_two_rows_exchanged(table: pa.Table) -> pa.Table:
    return table.take([1, 0, *range(2, len(table))])


def with_other_text(table: pa.Table) -> pa.Table:
    column = table.schema.get_field_index("outcome")
    texts = pa.array(["late"] * len(table)).dictionary_encode()
    return table.set_column(column, "outcome", texts)


@pytest.mark.parametrize(
    "spoil",
    [without_a_row, with_a_row_twice, with_a_row_more_at_the_end, with_two_rows_exchanged, with_other_text],
)
def test_what_does_not_read_back_as_its_sources_is_not_kept(
    january: Store, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pa.Table], pa.Table]
) -> None:
    write = pq.ParquetWriter.write_table

    def write_wrongly(writer: pq.ParquetWriter, table: pa.Table, **options: int) -> None:
        write(writer, spoil(table), **options)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", write_wrongly)
    with pytest.raises(UserError, match=r"would not h.*nothing was kept"):
        compact(january)
    assert january.names("v1/samples_monthly") == []


COMPACT = """\
import sys
from datetime import date
from tasks.results.compaction import compact_month, finished_months
from tasks.results.store import open_store
store = open_store(sys.argv[1])
landing = finished_months(store, date(2026, 3, 15), 7).landing["2026-01"]
sys.stdin.readline()
compact_month(store, "2026-01", landing)
"""


def end_of_all(processes: Iterable["subprocess.Popen[str]"]) -> list[int]:
    return [process.wait(60) for process in processes]


def test_two_that_compact_at_once_leave_the_same_file(january: Store, tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-c", COMPACT, tmp_path],
            cwd=PROJECT_ROOT,
            env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
            stdin=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.close()
    assert end_of_all(both) == [0, 0]
    stored = january.get(MONTHLY)
    (tmp_path / MONTHLY).unlink()
    compact(january)
    assert january.get(MONTHLY) == stored
