"""What an import writes: each sample once, as a run that nothing takes for one of ours."""

import hashlib
import json
import random
import re
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from configs.base import IDENTIFIER_PATTERN
from tasks.reports.page import make_page
from tasks.reports.paths_section import paths_document
from tasks.reports.paths_view import paths_of_run
from tasks.reports.published_document import published_document
from tasks.reports.run_sections import document
from tasks.reports.view import build_report
from tasks.results.duckdb_views import duckdb_views
from tasks.results.history import read_history
from tasks.results.lines_import import MEASURED_BY, Imported, import_lines
from tasks.results.log_lines import read_log
from tasks.results.reader import list_runs, read_run
from tasks.results.sample_lines import SampleLine
from tasks.results.schema import SAMPLES
from tasks.results.sql_queries import Asked, queries
from tasks.results.store import Store, open_store
from tests.results.sample_text import FIELDS, line_text
from tests.results.sql_store import SCHEDULE, SINCE, UNTIL, SqlStore

DAY = "2026-07-01"
CONFIGS = ("A_s3_sdk", "B_s3_files")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "results")


def logged(*places: int, **values: object) -> list[str]:
    """Reads at noon and later, one each second, half by either configuration, twenty of each invocation."""
    return [
        f"2026-07-01T12:{place // 60:02}:{place % 60:02}.000Z "
        + line_text(
            place,
            **{
                "config": CONFIGS[place % 2],
                "request_id": f"request-{place // 40}-{place % 2}",
                "elapsed_ms": 1 + place % 17 / 8,
                **values,
            },
        )
        for place in places
    ]


def imported(store: Store, lines: list[str], day: str = DAY) -> Imported:
    return import_lines(store, read_log("\n".join(lines).encode(), "log.txt"), day)


def samples_of(store: Store) -> list[tuple[object, ...]]:
    """Every sample of a store without the run that it stands in."""
    columns = ("config_id", "workload_id", "message", "seq", "total_ns")
    rows = [row for run in list_runs(store) for row in run.samples(columns).to_pylist()]
    return sorted(tuple(row.values()) for row in rows)


def hashes_in(store: Store) -> dict[str, str]:
    root = Path(store.location)
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_line_becomes_a_sample_with_null_for_what_it_does_not_tell(store: Store) -> None:
    (run,) = imported(store, logged(3, elapsed_ms=1.234)).runs
    (row,) = read_run(store, run.run_id).samples().to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "run_id": run.run_id,
        "config_id": "b_s3_files",
        "workload_id": "read-64kib-single",
        "operation": "read",
        "outcome": "ok",
        "warmup": False,
        "block": 0,
        "worker": 0,
        "seq": 3,
        "started_at": datetime(2026, 7, 1, 12, 0, 3, tzinfo=UTC),
        "size_bytes": 65_536,
        "message": "request-0-1",
        "total_ns": 1_234_000,
    }


def test_the_record_says_who_measured_and_proves_nothing(store: Store) -> None:
    (run,) = imported(store, logged(*range(80))).runs
    record = read_run(store, run.run_id).record
    assert record is not None
    assert (record.measured_by, record.schedule, record.harness, record.lab) == (
        MEASURED_BY,
        None,
        None,
        False,
    )
    assert (record.started_at.second, f"{record.ended_at:%H:%M:%S}") == (0, "12:01:19")
    assert record.blocks == 2
    first, second = record.cells
    assert (first.cell_id, second.cell_id) == ("a_s3_sdk/read-64kib-single", "b_s3_files/read-64kib-single")
    assert first.proof["label"] == "A_s3_sdk, which nobody has proved"
    assert first.proof["invocations"] == "2, of which 0 cold"
    assert run.cells == (first.cell_id, second.cell_id)


def test_a_file_imported_again_changes_no_byte(store: Store) -> None:
    lines = logged(*range(40))
    assert (imported(store, lines).known, len(samples_of(store))) == (0, 40)
    before = hashes_in(store)
    again = imported(store, lines)
    assert (again.runs, again.known, again.bad) == ((), 40, ())
    assert hashes_in(store) == before


def test_files_that_overlap_add_only_what_is_new(store: Store) -> None:
    imported(store, logged(*range(30)))
    more = imported(store, logged(*range(20, 50)))
    assert ([run.samples for run in more.runs], more.known) == ([20], 10)
    assert Counter(row[3] for row in samples_of(store)) == dict.fromkeys(range(50), 1)


def test_the_order_of_lines_changes_no_byte(store: Store, tmp_path: Path) -> None:
    lines = logged(*range(60))
    shuffled = random.Random(4).sample(lines, len(lines))
    other = open_store(tmp_path / "other")
    imported(store, lines)
    imported(other, [*shuffled, *lines[:7]])
    assert hashes_in(other) == hashes_in(store)


def test_another_export_may_tell_another_time_or_none(store: Store) -> None:
    lines = logged(*range(10))
    imported(store, lines)
    undated = imported(store, [line.partition(" ")[2] for line in lines], "2026-07-09")
    later = imported(store, [line.replace("07-01T12", "07-02T13") for line in lines])
    assert (undated.runs, undated.known, later.runs, later.known) == ((), 10, (), 10)


def test_an_import_that_was_killed_is_completed_by_the_next(store: Store) -> None:
    lines = logged(*range(40))
    (run,) = imported(store, lines).runs
    before = hashes_in(store)
    for name in before:
        if name.startswith("v1/runs/") or "config=b_s3_files" in name:
            (Path(store.location) / name).unlink()
    assert read_run(store, run.run_id).record is None
    assert imported(store, lines).runs == (run,)
    assert hashes_in(store) == before


def test_each_utc_date_is_a_run_and_undated_lines_are_of_the_named_one(store: Store) -> None:
    dated = [f"2026-07-0{day}T{hour}:30:00+09:00 {line_text(day)}" for day, hour in ((2, "08"), (2, "09"))]
    lines = [*dated[:1], dated[1].replace('"request-1"', '"request-2"'), line_text(7)]
    runs = imported(store, lines, "2026-07-05").runs
    assert [(run.dt, run.samples) for run in runs] == [
        ("2026-07-01", 1),
        ("2026-07-02", 1),
        ("2026-07-05", 1),
    ]
    assert [run.run_id[:16] for run in runs] == ["20260701T233000Z", "20260702T003000Z", "20260705T000000Z"]


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_line_that_says_otherwise_of_a_sample_is_bad(store: Store, *, is_stored: bool) -> None:
    lines, otherwise = logged(*range(10)), logged(4, elapsed_ms=99.0)
    if is_stored:
        imported(store, lines)
    found = imported(store, [*otherwise, *lines[:1]] if is_stored else [*lines, *otherwise])
    who, number = ("the store", 1) if is_stored else ("an earlier line", 11)
    assert found.bad == ((number, f"{who} says otherwise of the same sample"),)
    assert [row[4] for row in samples_of(store) if row[3] == 4] == [1_500_000], "the first one stays"


def test_bad_lines_are_told_in_the_order_of_the_file_and_the_rest_is_taken(store: Store) -> None:
    lines = [line_text(0), line_text(0, elapsed_ms=3.0), line_text(1)[:-1], "END", line_text(2, op="list")]
    found = imported(store, [*lines, line_text(3)])
    assert [run.samples for run in found.runs] == [2]
    assert [number for number, _ in found.bad] == [2, 3, 5]


def test_only_bad_lines_write_nothing(store: Store, tmp_path: Path) -> None:
    found = imported(store, [line_text(0, bytes=0)])
    assert (found.runs, found.known, len(found.bad)) == ((), 0, 1)
    assert not (tmp_path / "results").exists()


def test_what_was_asked_otherwise_is_another_workload(store: Store) -> None:
    asked: list[dict[str, object]] = [
        {"read_mode": "single"},
        {"read_mode": "unique"},
        {"read_mode": "unique", "read_dataset": "logs_1"},
        {"read_mode": "unique", "read_dataset": "Logs_1"},
        {"bytes": 16 * 1024**2},
        {"bytes": 1_400},
        {"op": "write", "read_mode": None, "read_dataset": None},
        {"op": "write", "bytes": 3 * 1024**3, "read_mode": ""},
        {"read_dataset": "x" * 64},
        {"read_dataset": "x" * 63 + "X"},
    ]
    (run,) = imported(store, [line_text(0, **values) for values in asked]).runs
    workloads = {cell.removeprefix("a_s3_sdk/") for cell in run.cells}
    assert len(workloads) == len(asked)
    assert {
        "read-64kib-single",
        "read-64kib-unique",
        "read-64kib-unique-logs_1",
        "read-16mib-single",
        "read-1400b-single",
        "write-64kib",
        "write-3gib",
    } < workloads


def test_whatever_a_line_may_say_its_ids_are_ids() -> None:
    source = random.Random(1)
    letters = "abcXYZ019_-"
    for _ in range(2_000):
        length = source.randrange(65)
        dataset = "".join(source.choices(letters, k=length))
        config = "C" + "".join(source.choices(letters, k=source.randrange(64)))
        values = {"config": config, "read_dataset": dataset, "bytes": source.randrange(1, 50 * 10**12)}
        line = SampleLine.model_validate(FIELDS | values)
        for one in (line.config_id, line.workload_id):
            assert re.fullmatch(IDENTIFIER_PATTERN, one), one


def test_a_field_with_very_many_values_is_cut_in_the_record(store: Store) -> None:
    (run,) = imported(store, [line_text(place, runtime=f"runtime {place}") for place in range(300)]).runs
    record = read_run(store, run.run_id).record
    assert record is not None
    assert record.environment.python.endswith("runtime 9 and 290 more")


def test_the_report_the_comparison_and_the_published_results_say_it_first(store: Store) -> None:
    imported(store, logged(*range(400)))
    stored = read_run(store, None)
    report = build_report(stored.record, stored.run_id, stored.samples(SAMPLES.names))
    compared = paths_of_run(report, ("a_s3_sdk", "b_s3_files"), ())
    for shown in (document(report), paths_document(compared), published_document(report)):
        assert shown.alerts[0].startswith(f"IMPORTED: not measured by this harness but by {MEASURED_BY}. ")
    assert "IMPORTED: not measured by this harness" in make_page(store, None, None, 90).html


def test_neither_nights_nor_queries_nor_a_history_count_an_import(
    sql_store: SqlStore, tmp_path: Path
) -> None:
    shutil.copytree(sql_store.root, tmp_path / "ours")
    ours = open_store(tmp_path / "ours")
    asked = Asked(SCHEDULE, SINCE, UNTIL)
    of_two = Asked(SCHEDULE, SINCE, UNTIL, "rust", "boto3")
    before = _answers(ours, asked, of_two), read_history(ours, SCHEDULE, SINCE)
    lines = [
        f"2026-01-{day:02}T02:30:00Z "
        + line_text(place, config="Boto3", request_id=f"r-{day}", bytes=1024, elapsed_ms=900.0)
        for day in (6, 7, 9, 10)
        for place in range(60)
    ]
    assert len(imported(ours, lines).runs) == 4
    assert (_answers(ours, asked, of_two), read_history(ours, SCHEDULE, SINCE)) == before
    duck = duckdb.connect()
    duck.execute(duckdb_views(ours))
    who = duck.execute(
        "SELECT r.measured_by, count(*) FROM s3bench.samples_all AS s JOIN s3bench.runs AS r "
        "ON r.dt = s.dt AND r.run_id = s.run_id WHERE s.workload_id = 'read-1kib-single' GROUP BY 1"
    ).fetchall()
    assert who == [(MEASURED_BY, 240)], "all rows of an import tell by their run that they are one"
    meanings = duck.execute(
        "SELECT DISTINCT c.meaning LIKE 'not lab not told 0 not told %' FROM s3bench.cells AS c "
        "JOIN s3bench.runs AS r ON r.run_id = c.run_id WHERE r.measured_by <> ''"
    ).fetchall()
    assert meanings == [(True,)], "no machine of ours is called so"


def _answers(store: Store, asked: Asked, of_two: Asked) -> dict[str, object]:
    """What every query that ships answers."""
    duck = duckdb.connect()
    duck.execute(duckdb_views(store))
    return {
        one.name: duck.execute(one.filled(of_two if "config_a" in one.parameters else asked)).fetchall()
        for one in queries()
    }


def test_a_nested_event_of_the_schema_keeps_its_own_time(store: Store) -> None:
    event = {"timestamp": 1_782_900_000_000, "message": line_text(0)}
    (run,) = imported(store, [json.dumps({"logEvents": [event]})]).runs
    assert run.run_id.startswith("20260701T100000Z-")
