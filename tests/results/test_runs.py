import secrets
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from configs.run_record import CellRecord, RunIdentity, RunRecord
from tasks.kernel.samples import SampleColumns
from tasks.results.names import nightly_name, run_name, samples_name
from tasks.results.reader import StoredRun, list_runs, read_run
from tasks.results.samples import samples_table, skipped_table
from tasks.results.schema import SAMPLES
from tasks.results.store import Store, open_store
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.summary_types import Distribution, Quantile, Summary

Block = Callable[[int], SampleColumns]
SUMMARY = Summary(
    config_id="boto3",
    workload_id="read_1k",
    operation="read",
    stage="total_ns",
    warmups=5,
    errors=1,
    distribution=Distribution(
        n=100,
        min_ns=1,
        avg_ns=5,
        p50=Quantile(4, 3, 6),
        p90=Quantile(8, 7, None),
        p99=Quantile(9, None, None),
        max_ns=9,
    ),
    files=None,
    records=None,
    size_bytes=1024,
)


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same promises hold in a folder and in a bucket."""
    if request.param == "folder":
        return open_store(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_endpoint_url"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return open_store(f"s3://{request.getfixturevalue('bucket')}/results")


def run_of(day: int) -> RunIdentity:
    return RunIdentity(run_id=f"202601{day:02}T020000Z-{secrets.token_hex(4)}", dt=f"2026-01-{day:02}")


def write_samples(store: Store, run: RunIdentity, columns: SampleColumns) -> None:
    write_cell(store, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, columns)]))
    write_cell(store, run, "mount", "read_1k", skipped_table(run, "mount", "read_1k", "no /dev/fuse"))


def test_a_run_comes_back_whole(store: Store, run: RunIdentity, record: RunRecord, block: Block) -> None:
    write_samples(store, run, block(10))
    write_nightly(store, run, [SUMMARY])
    write_run(store, record)
    stored = read_run(store, run.run_id)
    assert stored.record == record
    assert (stored.state, stored.dt) == ("complete", "2026-01-01")
    samples = stored.samples()
    assert samples.column_names == SAMPLES.names
    assert samples["outcome"].to_pylist() == ["ok"] * 10 + ["skipped"]
    assert samples["total_ns"].to_pylist() == [*range(1_000_000, 1_000_010), None]


def test_cells_come_one_by_one_with_the_columns_asked_for_and_text_as_dictionaries(
    store: Store, run: RunIdentity, block: Block
) -> None:
    write_samples(store, run, block(10))
    stored = read_run(store, None)
    columns = ["total_ns", "config_id"]
    assert [cell.num_rows for cell in stored.cells(columns)] == [10, 1]
    for table in (*stored.cells(columns), stored.samples(columns)):
        assert table.column_names == columns
        assert table.schema.field("config_id").type == pa.dictionary(pa.int32(), pa.string())
    assert stored.samples(columns)["config_id"].to_pylist() == ["boto3"] * 10 + ["mount"]


def test_a_run_is_opened_by_the_names_that_were_written_whatever_else_lies_there(
    store: Store, run: RunIdentity, block: Block
) -> None:
    table = samples_table(run, "boto3", "read_1k", [(0, block(10))])
    name = write_cell(store, run, "boto3", "read_1k", table)
    store.put("v1/samples/notes.parquet", b"not ours")
    with pytest.raises(UserError, match="not one of our files"):
        read_run(store, run.run_id)
    (cell,) = StoredRun(store, run.run_id, run.dt, None, (name,)).cells()
    assert cell["total_ns"].to_pylist() == table["total_ns"].to_pylist()


def test_writing_a_run_twice_leaves_it_there_once(
    store: Store, run: RunIdentity, record: RunRecord, block: Block
) -> None:
    for _ in range(2):
        write_samples(store, run, block(10))
        write_nightly(store, run, [SUMMARY])
        write_run(store, record)
    assert len(store.names("v1")) == 4
    assert len(list_runs(store)) == 1
    assert read_run(store, None).samples().num_rows == 11


def test_other_samples_under_the_name_of_a_run_are_refused(
    store: Store, run: RunIdentity, block: Block
) -> None:
    write_samples(store, run, block(10))
    with pytest.raises(UserError, match=f"{run.run_id}.read_1k.parquet exists with other content"):
        write_samples(store, run, block(9))
    assert read_run(store, None).samples().num_rows == 11


def test_runs_are_listed_newest_first_and_a_killed_one_as_incomplete(
    store: Store, record: RunRecord, block: Block
) -> None:
    first, second, third = run_of(1), run_of(2), run_of(3)
    for number, run in enumerate((second, third, first)):
        write_samples(store, run, block(number + 1))
    failed = CellRecord(config_id="boto3", workload_id="read_1k", status="failed", reason="wrong host")
    write_run(store, record.model_copy(update=first.model_dump()))
    write_run(store, record.model_copy(update={**second.model_dump(), "cells": (failed,)}))
    runs = list_runs(store)
    assert [run.run_id for run in runs] == [third.run_id, second.run_id, first.run_id]
    assert [run.state for run in runs] == ["incomplete", "failed", "complete"]
    newest = read_run(store, None)
    assert (newest.run_id, newest.record) == (third.run_id, None)
    assert set(newest.samples()["run_id"].to_pylist()) == {third.run_id}
    assert newest.samples().num_rows == 3


def test_an_unknown_run_is_named_with_those_that_exist(store: Store, block: Block) -> None:
    with pytest.raises(UserError, match=f"no run in {store.location}"):
        read_run(store, None)
    run = run_of(4)
    write_samples(store, run, block(1))
    with pytest.raises(
        UserError, match=f"no run 20250101T000000Z-00000000 in {store.location}.*{run.run_id}"
    ):
        read_run(store, "20250101T000000Z-00000000")


def test_only_the_latest_ids_of_many_are_told(tmp_path: Path, block: Block) -> None:
    store = open_store(tmp_path)
    for day in range(1, 15):
        write_samples(store, run_of(day), block(1))
    with pytest.raises(UserError, match=r"has 20260114T.*20260105T[^,]* and 4 older ones$"):
        read_run(store, "20250101T000000Z-00000000")


@pytest.mark.parametrize("run_id", ["../../secret", "", "20260101T020000Z-1a2b3c4d/..", "*", "latest"])
def test_what_is_no_run_id_never_becomes_a_path(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(UserError, match="is no run id"):
        read_run(open_store(tmp_path), run_id)


def test_a_run_without_any_cell_has_no_samples(tmp_path: Path, record: RunRecord) -> None:
    store = open_store(tmp_path)
    write_run(store, record.model_copy(update={"cells": (), "harness": None}))
    stored = read_run(store, None)
    assert (stored.samples().num_rows, stored.samples().column_names) == (0, SAMPLES.names)
    assert list(stored.cells()) == []
    assert stored.record is not None
    assert stored.record.harness is None


def flipped(content: bytes, position: int) -> bytes:
    changed = bytearray(content)
    changed[position] ^= 0x01
    return bytes(changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: flipped(content, len(content) // 3),
        lambda content: flipped(content, len(content) // 2),
        lambda content: flipped(content, -1),
        lambda content: content[: len(content) // 2],
        lambda _: b"",
    ],
    ids=["a_bit_of_a_column", "another", "the_end_mark", "cut_off", "empty"],
)
def test_a_damaged_file_is_found_and_named(
    tmp_path: Path, run: RunIdentity, block: Block, damage: Callable[[bytes], bytes]
) -> None:
    store = open_store(tmp_path)
    write_samples(store, run, block(3000))
    name = samples_name(run, "boto3", "read_1k")
    store.put(name, damage(store.get(name)), replace=True)
    with pytest.raises(UserError, match=rf"{name} is damaged"):
        read_run(store, None).samples()


@pytest.mark.parametrize("kind", ["row", "samples"])
def test_damage_where_no_checksum_is_ends_in_nothing_but_a_message_that_names_the_file(
    tmp_path: Path, run: RunIdentity, record: RunRecord, block: Block, kind: str
) -> None:
    """In a page's header and in the footer: high bits, since they make names that are no text."""
    store = open_store(tmp_path)
    write_run(store, record)
    table = samples_table(run, "boto3", "read_1k", [(0, block(50))])
    name = write_cell(store, run, "boto3", "read_1k", table)
    name = name if kind == "samples" else run_name(run)
    content = store.get(name)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    places = [*range(4, 40), *range(footer, len(content), 11)]
    found = 0
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 0x80
        (tmp_path / name).write_bytes(changed)
        stored = read_run(store, None)
        try:
            _ = stored.record, stored.samples()
        except UserError as error:
            assert name in str(error)  # noqa: PT017 - many changes do no harm
            found += 1
    assert found > len(places) / 4


def test_a_damaged_run_row_is_listed_and_named(tmp_path: Path, record: RunRecord, block: Block) -> None:
    store = open_store(tmp_path)
    whole, cut, foreign = run_of(1), run_of(2), run_of(3)
    for run in (whole, cut, foreign):
        write_samples(store, run, block(1))
        write_run(store, record.model_copy(update=run.model_dump()))
    store.put(run_name(cut), store.get(run_name(cut))[:-20], replace=True)
    pq.write_table(pa.table({"a": [1]}), tmp_path / run_name(foreign))
    assert [run.state for run in list_runs(store)] == ["damaged", "damaged", "complete"]
    with pytest.raises(UserError, match=rf"{run_name(cut)} is damaged"):
        _ = read_run(store, cut.run_id).record
    with pytest.raises(UserError, match=rf"{run_name(foreign)} has other columns"):
        _ = read_run(store, foreign.run_id).record


def test_a_run_row_that_is_no_record_is_named(tmp_path: Path, record: RunRecord) -> None:
    store = open_store(tmp_path)
    write_run(store, record)
    row = pq.ParquetFile(tmp_path / run_name(record)).read()
    for rows in (
        row.set_column(row.schema.get_field_index("cells_json"), "cells_json", pa.array(['[{"a": 1}]'])),
        row.slice(0, 0),
    ):
        pq.write_table(rows, tmp_path / run_name(record), store_schema=False)
        assert [run.state for run in list_runs(store)] == ["damaged"]
        with pytest.raises(UserError, match=f"{run_name(record)} holds no run record"):
            _ = read_run(store, None).record


@pytest.mark.parametrize("name", ["v1/samples/notes.parquet", "v1/runs/dt=2026-01-01/part-0.parquet"])
def test_a_foreign_file_is_named_because_queries_would_read_it(
    store: Store, run: RunIdentity, block: Block, name: str
) -> None:
    write_samples(store, run, block(1))
    store.put(name, b"not ours")
    with pytest.raises(UserError, match=f"{store.location}/{name} is not one of our files: move it away"):
        list_runs(store)


def test_rows_of_another_cell_run_or_schema_are_refused(
    tmp_path: Path, run: RunIdentity, block: Block
) -> None:
    store = open_store(tmp_path)
    table = samples_table(run, "boto3", "read_1k", [(0, block(2))])
    null = table.set_column(1, "config_id", pa.nulls(2, pa.string()))
    with pytest.raises(ValueError, match="another config_id than 'mount'"):
        write_cell(store, run, "mount", "read_1k", table)
    with pytest.raises(ValueError, match="another config_id than 'boto3'"):
        write_cell(store, run, "boto3", "read_1k", null)
    with pytest.raises(ValueError, match="another run_id"):
        write_cell(store, run_of(1), "boto3", "read_1k", table)
    with pytest.raises(ValueError, match="other columns than the schema"):
        write_cell(store, run, "boto3", "read_1k", table.drop_columns(["cold"]))
    assert store.names("v1") == []


def test_the_nightly_row_holds_the_quantiles_and_their_missing_bounds(
    tmp_path: Path, run: RunIdentity
) -> None:
    nothing = Summary("mount", "read_1k", "read", "total_ns", 0, 3, None, None, None, None)
    write_nightly(open_store(tmp_path), run, [SUMMARY, nothing])
    table = pq.ParquetFile(tmp_path / nightly_name(run)).read()
    measured, failed = table.to_pylist()
    assert measured == {
        "run_id": run.run_id,
        "config_id": "boto3",
        "workload_id": "read_1k",
        "operation": "read",
        "stage": "total_ns",
        "n": 100,
        "warmups": 5,
        "errors": 1,
        "min_ns": 1,
        "avg_ns": 5,
        "p50_ns": 4,
        "p50_low_ns": 3,
        "p50_high_ns": 6,
        "p90_ns": 8,
        "p90_low_ns": 7,
        "p90_high_ns": None,
        "p99_ns": 9,
        "p99_low_ns": None,
        "p99_high_ns": None,
        "max_ns": 9,
        "files": None,
        "records": None,
        "size_bytes": 1024,
    }
    assert (failed["n"], failed["errors"], failed["p50_ns"], failed["max_ns"]) == (0, 3, None, None)


def test_the_run_row_can_be_asked_in_sql_without_its_json(tmp_path: Path, record: RunRecord) -> None:
    write_run(open_store(tmp_path), record)
    row = pq.ParquetFile(tmp_path / run_name(record)).read().to_pylist()[0]
    assert (row["status"], row["cells_measured"], row["cells_skipped"], row["cells_failed"]) == (
        "complete",
        1,
        1,
        0,
    )
    assert (row["wall_ms"], row["orchestration_ms"], row["git_commit"]) == (9000, 3500, "0" * 40)


def test_moments_of_a_run_keep_their_milliseconds_and_no_more(tmp_path: Path, record: RunRecord) -> None:
    store = open_store(tmp_path)
    write_run(store, record.model_copy(update={"started_at": record.started_at.replace(microsecond=123_999)}))
    stored = read_run(store, None).record
    assert stored is not None
    assert stored.started_at.microsecond == 123_000


def test_failures_lie_beside_good_samples_in_the_file(tmp_path: Path, run: RunIdentity, block: Block) -> None:
    store = open_store(tmp_path)
    write_cell(
        store,
        run,
        "mount",
        "read_1k",
        skipped_table(run, "mount", "read_1k", "nfs", outcome="error", error="X"),
    )
    write_cell(store, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, block(5))]))
    samples = read_run(store, None).samples()
    assert samples.filter(pc.equal(samples["outcome"], "error"))["error"].to_pylist() == ["X"]


def test_a_file_that_was_written_before_columns_were_added_is_read_with_nulls_in_them(
    tmp_path: Path, run: RunIdentity, block: Block
) -> None:
    store = open_store(tmp_path)
    name = write_cell(store, run, "boto3", "read_1k", samples_table(run, "boto3", "read_1k", [(0, block(3))]))
    first_columns = SAMPLES.names[: SAMPLES.names.index("total_ns") + 1]
    old = pq.read_table(tmp_path / name, partitioning=None).select(first_columns)
    pq.write_table(old, tmp_path / name, write_page_checksum=True)
    samples = read_run(store, run.run_id).samples(["ttfb_ns", "total_ns", "config_id"])
    assert samples["total_ns"].to_pylist() == [1_000_000, 1_000_001, 1_000_002]
    assert samples["ttfb_ns"].to_pylist() == [None] * 3
    assert samples.column_names == ["ttfb_ns", "total_ns", "config_id"]
    pq.write_table(old.drop_columns(["operation"]), tmp_path / name)
    with pytest.raises(UserError, match="has other columns than this version writes"):
        read_run(store, run.run_id).samples(["total_ns"])
