"""What was measured outlives a killed run, and is stored once, whenever the run or its recovery is killed."""

import hashlib
import os
import resource
import signal
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from configs.loading import parse_suite
from configs.run_record import RunIdentity
from configs.suite import Cell
from tasks.kernel.samples import Failure, SampleColumns
from tasks.results.cells import EndedCell, store_cell
from tasks.results.store import open_store
from tasks.venues.journal import (
    BlockName,
    Journal,
    JournalHeader,
    journalled,
    journals_folder,
    locked_journal,
    state_folder,
)
from tasks.venues.recovery import recover
from tasks.venues.scratch import folder_of_block, scratch_folder
from tasks.venues.wire import BlockOutcome

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RUN = RunIdentity(run_id="20260101T020000Z-00000077", dt="2026-01-01")
SUITE = """
name: s
targets: {b: {kind: bucket, bucket: bucket, endpoint_url: "http://127.0.0.1:9"}}
configurations:
  one: {access_path: {kind: boto3_api}, target: b}
  two-one: {access_path: {kind: boto3_api}, target: b}
workloads: {write: {kind: blob_write, size: 64}}
"""
ONE, TWO = parse_suite(SUITE, "s.yaml").cells()
BLOCKS = ((ONE, 0), (TWO, 0), (TWO, 1), (ONE, 1))
"""As a run measures them: blocks of its cells alternate."""
ON_FILES = {
    "open",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.scandir",
    "os.listdir",
    "fcntl.flock",
}
"""What Python tells an audit hook before it does it."""
CUT_SHORT = (None, "error", "RunCutShort")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def is_killed(work: Callable[[], object], top: Path, step: int = 0) -> bool:
    """Do something in a process of its own, and kill that before its n-th action on a file below a folder.

    Returns:
        Whether it came to that; for step 0 it is killed at the end.
    """
    actions = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal actions
        if event in ON_FILES and (event == "fcntl.flock" or str(arguments[0]).startswith(str(top))):
            actions += 1
            if actions == step:
                os.kill(os.getpid(), signal.SIGKILL)

    process_id = os.fork()
    if process_id == 0:
        try:
            sys.addaudithook(count)
            work()
            if step == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        except BaseException:  # noqa: BLE001 - a child of a fork must not go on with the tests
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


def measured(cell: Cell, block: int) -> BlockOutcome:
    """A block whose samples are like those of no other."""
    samples = SampleColumns()
    samples.grow(3, "write")
    first = 10 * block + 100 * (cell is TWO)
    samples.integers["total_ns"] = array("q", range(first, first + 3))
    return BlockOutcome("measured", samples)


def ended(cell: Cell) -> EndedCell:
    blocks = [(block, measured(cell, block).samples) for block in (0, 1)]
    return EndedCell(cell.config_id, cell.workload_id, blocks, "measured")


@contextmanager
def a_journal(
    results: Path | str, note: Callable[[str], None] = print, scratch: Path = Path("unused")
) -> Iterator[Journal]:
    with journalled(JournalHeader.of(RUN, open_store(results), 2, scratch), note) as journal:
        yield journal


def killed_run(results: Path | str, *blocks: tuple[Cell, int], outcome: BlockOutcome | None = None) -> None:
    """A run that measures these blocks, and is killed then."""

    def work() -> None:
        with a_journal(results) as journal:
            for cell, block in blocks:
                journal.keep(cell, block, outcome or measured(cell, block))
            os.kill(os.getpid(), signal.SIGKILL)

    assert is_killed(work, Path("nowhere"))


def a_run(results: Path, kept: int) -> None:
    """A whole run of two cells; says on a descriptor which blocks it has kept."""
    with a_journal(results) as journal:
        for number, (cell, block) in enumerate(BLOCKS):
            journal.keep(cell, block, measured(cell, block))
            os.write(kept, bytes([number]))
            if block == 1:
                store_cell(open_store(results), RUN, ended(cell))
                journal.forget(cell.config_id, cell.workload_id)


def rows_of(results: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What is stored, by configuration: the time, the outcome and the error of each row."""
    columns = ["total_ns", "outcome", "error"]
    return {
        file.parent.name.removeprefix("config="): [
            tuple(row.values()) for row in pq.ParquetFile(file).read(columns).to_pylist()
        ]
        for file in results.rglob("*.parquet")
    }


def rows_for(kept: set[tuple[Cell, int]]) -> dict[str, list[tuple[Any, ...]]]:
    """What should be stored where these blocks were kept, each of two of its cell."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for cell in (ONE, TWO):
        times = [
            time_ns
            for block in (0, 1)
            if (cell, block) in kept
            for time_ns in measured(cell, block).samples.integers["total_ns"]
        ]
        if times:
            short = [] if (cell, 1) in kept else [CUT_SHORT]
            rows[cell.config_id] = [*((time_ns, "ok", None) for time_ns in times), *short]
    return rows


def hashes(folder: Path) -> dict[Path, str]:
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*.parquet")}


def refuse_less_or_more(results: Path, kept: set[tuple[Cell, int]]) -> None:
    """Fail unless the kept blocks are stored, each once, and nothing changes any more."""
    recover()
    for folder in journals_folder().glob("*"):  # what its run was killed over: without a header, and empty
        assert not list(folder.glob("*.block"))
        os.utime(folder, (0, 0))
    recover()
    assert rows_of(results) == rows_for(kept)
    assert list(journals_folder().glob("*")) == []
    before = hashes(results)
    assert recover() == ()
    assert hashes(results) == before


def test_a_run_that_ends_leaves_no_journal(results: Path) -> None:
    a_run(results, os.open(os.devnull, os.O_WRONLY))
    assert list(journals_folder().iterdir()) == []
    assert rows_of(results) == rows_for(set(BLOCKS))


def places_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Path]]:
    """A step, with folders of its own for journals and results; more than there are."""
    for step in range(1, 200):
        monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / f"state-{step}"))
        results = tmp_path / f"results-{step}"
        results.mkdir()
        yield step, results


def test_killed_at_any_step_a_run_loses_no_block_that_it_had_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_until = set()
    for step, results in places_of_steps(tmp_path, monkeypatch):
        reads, writes = os.pipe()
        killed = is_killed(partial(a_run, results, writes), tmp_path, step)
        os.close(writes)
        kept = {BLOCKS[number] for number in os.read(reads, 100)}
        os.close(reads)
        kept_until.add(len(kept))
        refuse_less_or_more(results, kept)
        if not killed:
            break
    assert kept_until == {0, 1, 2, 3, 4}
    assert step > 30
    assert not killed


@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_killed_at_any_step_a_recovery_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    for step, results in places_of_steps(tmp_path, monkeypatch):
        killed_run(results, *BLOCKS[:3])
        killed = is_killed(recover, tmp_path, step)
        if again:  # and the next one, at each of its own steps
            next(later for later in range(1, 200) if not is_killed(recover, tmp_path, later))
        refuse_less_or_more(results, set(BLOCKS[:3]))
        if not killed:
            break
    assert step > 20
    assert not killed


def test_a_cell_that_was_cut_short_says_how_much_of_it_was_measured(results: Path) -> None:
    killed_run(results, (ONE, 0), (TWO, 0), (TWO, 1))
    (told,) = recover()
    assert told == (
        f"run {RUN.run_id} ended before it had stored 3 blocks of 2 cells: they are now in {results}"
    )
    (file,) = results.rglob("config=one/*.parquet")
    assert pq.ParquetFile(file).read(["message"])["message"].to_pylist()[-1] == (
        "the run was cut short: 1 of 2 blocks were measured"
    )


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_cell_that_had_ended_is_stored_as_its_run_would_have_stored_it(
    results: Path, tmp_path: Path, status: Any
) -> None:
    samples = measured(ONE, 0).samples
    samples.fail(1, Failure("SlowDown", "later", http_status=503))
    killed_run(results, (ONE, 0), outcome=BlockOutcome(status, samples, "why"))
    recover()
    as_it_was = EndedCell("one", "write", [(0, samples)], status, "why")
    name = store_cell(open_store(tmp_path / "other"), RUN, as_it_was)
    assert (results / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_cell_in_which_nothing_succeeded_has_failed_although_its_run_was_killed(results: Path) -> None:
    samples = SampleColumns()
    samples.grow(2, "write")
    for row in range(2):
        samples.fail(row, Failure("AccessDenied", "no"))
    killed_run(results, (ONE, 0), (ONE, 1), outcome=BlockOutcome("measured", samples))
    recover()
    assert [error for _, _, error in rows_of(results)["one"]] == [*["AccessDenied"] * 4, "CellFailed"]


def test_the_journal_of_a_run_that_lives_is_left_alone(results: Path) -> None:
    with a_journal(results) as journal:
        journal.keep(ONE, 0, measured(ONE, 0))
        assert recover() == ()
        journal.forget("one", "write")
    assert rows_of(results) == {}


def test_what_somebody_else_recovers_is_left_to_them(results: Path) -> None:
    killed_run(results, (ONE, 0))
    with locked_journal(journals_folder() / RUN.run_id):
        assert recover() == ()
    refuse_less_or_more(results, {(ONE, 0)})


def test_what_could_not_be_stored_is_kept_for_the_next_time(results: Path) -> None:
    told: list[str] = []
    with a_journal(results, told.append) as journal:
        journal.keep(ONE, 0, measured(ONE, 0))
    kept_in = journals_folder() / RUN.run_id
    assert told == [f"1 measured blocks are not stored: they are kept in {kept_in} for the next run to store"]
    refuse_less_or_more(results, {(ONE, 0)})


def test_a_store_that_is_gone_keeps_the_journal_and_is_told(results: Path) -> None:
    killed_run(results, (ONE, 0))
    results.rename(results.with_name("elsewhere"))
    (told,) = recover()
    assert f"{results} is not there: mount its disk, or delete the journal" in told
    assert not results.exists()
    results.with_name("elsewhere").rename(results)
    refuse_less_or_more(results, {(ONE, 0)})


def test_a_mount_point_whose_disk_is_away_is_not_taken_for_the_results(results: Path) -> None:
    killed_run(results, (ONE, 0))
    folder = journals_folder() / RUN.run_id
    header = JournalHeader.model_validate_json((folder / "run.json").read_bytes())
    assert header.device == results.stat().st_dev
    elsewhere = header.model_copy(update={"device": results.stat().st_dev + 1})
    (folder / "run.json").write_text(elsewhere.model_dump_json())
    (told,) = recover()
    assert f"{results} lay on another disk and has no results now: mount its disk" in told
    assert list(results.iterdir()) == []
    (results / "v1").mkdir()  # a disk whose number is another one since the last boot
    refuse_less_or_more(results, {(ONE, 0)})


def test_folders_that_are_no_journals_are_left_alone(results: Path) -> None:
    killed_run(results, (ONE, 0))
    folder = journals_folder()
    kept = [folder / "notes" / "note", folder / "20260101T020000Z-00000099" / "somebodys"]
    begun = folder / "20260101T020000Z-00000098"
    for file in (*kept, begun / "lock", begun / ".run.json.x1_yz"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    recover()
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    assert recover() == ()
    assert rows_of(results) == rows_for({(ONE, 0)})
    assert all(file.exists() for file in kept)
    assert not begun.exists()


def test_a_block_of_another_version_is_kept_apart_and_the_others_are_stored(
    results: Path, state: Path
) -> None:
    def work() -> None:
        with a_journal(results) as journal:
            journal.keep(ONE, 0, measured(ONE, 0))
            journal.keep(TWO, 0, measured(TWO, 0))
            (file,) = journal.folder.glob("one.*") if journal.folder else ()
            content = file.read_bytes().replace(b'"name":"warmup"', b'"name":"chill"')
            length = content.index(b"}]}") + 3 - 8
            content = length.to_bytes(8, "little") + content[8:]
            file.unlink()
            name = BlockName("one", "write", 0, zlib.crc32(content))
            (file.parent / str(name)).write_bytes(content)
            os.kill(os.getpid(), signal.SIGKILL)

    assert is_killed(work, Path("nowhere"))
    told = recover()
    assert told[1:] == (
        f"1 damaged blocks of run {RUN.run_id} were moved to {state / 'damaged' / RUN.run_id}",
    )
    refuse_less_or_more(results, {(TWO, 0)})


def test_whatever_goes_wrong_with_one_journal_the_others_are_stored_and_it_is_kept(results: Path) -> None:
    unknown = measured(TWO, 0)
    unknown.samples.operation[0] = 99  # which a later version may know
    killed_run(results, (TWO, 0), outcome=unknown)
    kept = (journals_folder() / RUN.run_id).rename(journals_folder() / "20250101T020000Z-00000001")
    killed_run(results, (ONE, 0))
    told = recover()
    assert told[0].startswith(f"what run {kept.name} had measured is kept in {kept} for the next time: ")
    assert "Index 99 out of bounds" in told[0]
    assert f"run {RUN.run_id} ended before" in told[1]
    assert rows_of(results) == rows_for({(ONE, 0)})
    assert list(kept.glob("*.block"))


def test_damaged_blocks_are_kept_apart_and_half_written_ones_removed(results: Path, state: Path) -> None:
    killed_run(results, (ONE, 0), (TWO, 0), (TWO, 1))
    (damaged,) = (journals_folder() / RUN.run_id).glob("two-one.write.001.*")
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-8] + bytes(8))  # as a power cut may leave it
    (journals_folder() / RUN.run_id / ".one.write.001").write_bytes(content[:100])
    told = recover()
    assert told[1:] == (
        f"1 half-written blocks of run {RUN.run_id} were removed: it ended meanwhile",
        f"1 damaged blocks of run {RUN.run_id} were moved to {state / 'damaged' / RUN.run_id}",
    )
    refuse_less_or_more(results, {(ONE, 0), (TWO, 0)})
    kept = {file.name for file in (state / "damaged" / RUN.run_id).iterdir()}
    assert kept == {damaged.name, "run.json", "lock"}


def test_half_written_blocks_alone_leave_nothing(results: Path, state: Path) -> None:
    killed_run(results, (ONE, 0))
    (journals_folder() / RUN.run_id / ".one.write.001").write_bytes(b"half")
    assert recover()[1:] == (f"1 half-written blocks of run {RUN.run_id} were removed: it ended meanwhile",)
    refuse_less_or_more(results, {(ONE, 0)})
    assert not (state / "damaged").exists()


def test_a_journal_without_its_header_is_told_once_and_kept_apart(results: Path, state: Path) -> None:
    killed_run(results, (ONE, 0))
    (journals_folder() / RUN.run_id / "run.json").write_text("{")
    (told,) = recover()
    assert told.endswith(f"it was moved to {state / 'damaged' / RUN.run_id}")
    assert recover() == ()


def test_a_disk_that_takes_no_more_is_told_once_and_stops_nothing(results: Path) -> None:
    told: list[str] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with a_journal(results, told.append) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        try:
            journal.keep(ONE, 0, measured(ONE, 0))
            journal.keep(TWO, 0, measured(TWO, 0))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert len(told) == 1
        assert "no journal can be kept" in told[0]
        journal.keep(ONE, 1, measured(ONE, 1))  # there is room again
        journal.forget("one", "write")
    assert list(journals_folder().iterdir()) == []


def test_a_state_folder_that_cannot_be_written_is_told_and_stops_nothing(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "file" / "state"))
    told: list[str] = []
    with a_journal(results, told.append) as journal:
        journal.keep(ONE, 0, measured(ONE, 0))
    assert len(told) == 1
    assert "(Not a directory)" in told[0]
    assert len(recover()) == 1


def test_a_home_is_found_in_the_name_of_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("S3BENCH_STATE", "~/state-of-mine")
    assert state_folder() == tmp_path / "state-of-mine"
    monkeypatch.setenv("S3BENCH_STATE", "~nobody-of-that-name/state")
    assert state_folder() == Path("~nobody-of-that-name/state").absolute()


def test_nobody_else_can_read_a_journal_and_no_credential_is_in_it(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:planted-secret@127.0.0.1:9")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    with a_journal("s3://some-bucket/results") as journal:
        journal.keep(ONE, 0, measured(ONE, 0))
        files = [file for file in state.rglob("*") if file.is_file()]
        assert any(b"127.0.0.1:9" in file.read_bytes() for file in files)
        assert not any(b"planted-secret" in file.read_bytes() for file in files)
        assert {folder.stat().st_mode & 0o777 for folder in (state, journals_folder())} == {0o700}
        journal.forget("one", "write")


def test_results_in_s3_are_recovered_with_the_settings_of_whoever_recovers(
    s3_client: "S3Client", bucket: str, s3_endpoint_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("ACCESS_KEY_ID", "testkey"), ("SECRET_ACCESS_KEY", "testsecret"), ("REGION", "r")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    killed_run(f"s3://{bucket}/results", (ONE, 0))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    (told,) = recover()
    assert f"set AWS_ENDPOINT_URL to that of {s3_endpoint_url.removeprefix('http://')}" in told
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    recover()
    keys = [item["Key"] for item in s3_client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == [f"results/v1/samples/dt=2026-01-01/config=one/{RUN.run_id}.write.parquet"]
    assert list(journals_folder().iterdir()) == []


def test_an_endpoint_of_a_profile_is_remembered_and_wanted_again(
    s3_endpoint_url: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("ACCESS_KEY_ID", "testkey"), ("SECRET_ACCESS_KEY", "testsecret")):
        monkeypatch.setenv(f"AWS_{name}", value)
    config = tmp_path / "config"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    config.write_text(f"[default]\nregion = us-east-1\nendpoint_url = {s3_endpoint_url}\n")
    killed_run(f"s3://{bucket}/results", (ONE, 0))
    config.write_text("[default]\nregion = us-east-1\n")
    (told,) = recover()
    assert f"set AWS_ENDPOINT_URL to that of {s3_endpoint_url.removeprefix('http://')}" in told
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint_url)
    assert "ended before it had stored 1 blocks" in recover()[0]


def test_what_a_killed_run_was_moving_is_removed(results: Path, tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path / "scratch")

    def work() -> None:
        with a_journal(results, scratch=scratch), folder_of_block(scratch, RUN.run_id, "one/write/000"):
            os.kill(os.getpid(), signal.SIGKILL)

    is_killed(work, Path("nowhere"))
    assert (scratch / "runs" / RUN.run_id).exists()
    recover()
    assert not (scratch / "runs" / RUN.run_id).exists()


@pytest.mark.parametrize(("rows", "bound_ms"), [(1_000, 5), (100_000, 100)])
def test_keeping_a_block_takes_milliseconds(results: Path, rows: int, bound_ms: int) -> None:
    samples = SampleColumns()
    samples.grow(rows, "write")
    for column in samples.integers.values():
        column[0] = 1  # a column in which nothing happened would not be written
    took_ms = []
    with a_journal(results) as journal:
        for block in range(10):
            began = time.perf_counter()
            journal.keep(ONE, block, BlockOutcome("measured", samples))
            took_ms.append((time.perf_counter() - began) * 1000)
        file = next(file for file in (journals_folder() / RUN.run_id).iterdir() if BlockName.of(file))
        assert file.stat().st_size > rows * 8 * len(samples.integers)
        journal.forget("one", "write")
    assert min(took_ms) < bound_ms
