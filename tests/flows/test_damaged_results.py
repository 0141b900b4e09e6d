"""Damaged files, and those of newer versions, in the results that every command reads.

What can be read is shown, the damaged file is named, and the status of the end says so.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from configs.errors import UserError
from configs.run_record import CellRecord, RunIdentity
from flows.command_line import main
from tasks.results.costs import write_costs
from tasks.results.history import read_history
from tasks.results.names import TOLD_NAME, changes_name, costs_name, nightly_name, run_name, samples_name
from tasks.results.reader import list_runs, read_run
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.cell_cost import CellCost
from tests.records import reads_summary, run_record
from tests.results.sample_text import line_text

Command = Callable[..., "subprocess.CompletedProcess[str]"]

CONFIGURATIONS = ("boto3", "mount")
LATEST = datetime.now(UTC).replace(hour=2, minute=30, second=0, microsecond=0) - timedelta(days=2)
NIGHTS = tuple(
    (RunIdentity(run_id=f"{at:%Y%m%dT%H%M%SZ}-0000000{day}", dt=f"{at:%Y-%m-%d}"), at)
    for day, at in enumerate(LATEST - timedelta(days=3 - day) for day in range(4))
)
RUN = NIGHTS[-1][0]
NAMES = {
    "samples": samples_name(RUN, "mount", "read"),
    "runs": run_name(RUN),
    "nightly": nightly_name(RUN),
    "costs": costs_name(RUN),
}
COMMANDS = {
    "report": ("report", "--run", RUN.run_id),
    "page": ("report", "--run", RUN.run_id, "--html", "page.html"),
    "published": ("report", "--run", RUN.run_id, "--against", "published"),
    "compare": ("compare", "boto3", "mount", "--run", RUN.run_id),
    "compare_nights": ("compare", "boto3", "mount", "--nights", "4"),
    "history": ("history", "--cron", "30 2 * * *", "--timezone", "UTC"),
    "history_of_a_cell": ("history", "boto3/read", "--cron", "30 2 * * *", "--timezone", "UTC"),
}
READ_BY = {
    "samples": {"report", "page", "published", "compare"},
    "runs": set(COMMANDS),
    "nightly": {"page", "compare_nights", "history", "history_of_a_cell"},
    "costs": {"report", "page", "published", "compare"},
}


def rows_of(run: RunIdentity, config_id: str) -> pa.Table:
    known = {"config_id": config_id, "workload_id": "read", "operation": "read", "outcome": "ok"}
    values = {"warmup": False, "worker": 0, "size_bytes": 1024, "total_ns": 10_000_000}
    rows = [{"run_id": run.run_id, **known, **values, "block": seq % 5, "seq": seq} for seq in range(30)]
    return pa.Table.from_pylist(rows, schema=SAMPLES)


def cost_of(config_id: str) -> CellCost:
    nothing = dict.fromkeys((one.name for one in fields(CellCost)), None)
    known = {"config_id": config_id, "workload_id": "read", "operations": 30, "unknown": ("all of it",)}
    return CellCost(**(nothing | known))  # type: ignore[arg-type] - the types of the columns differ


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nights of two cells."""
    folder = tmp_path_factory.mktemp("whole")
    store = open_store(folder)
    for run, at in NIGHTS:
        for config_id in CONFIGURATIONS:
            write_cell(store, run, config_id, "read", rows_of(run, config_id))
        write_nightly(store, run, [reads_summary(config_id, 10_000_000) for config_id in CONFIGURATIONS])
        write_costs(store, run, [cost_of(one) for one in CONFIGURATIONS])
        cells = [CellRecord(config_id=one, workload_id="read", status="measured") for one in CONFIGURATIONS]
        write_run(store, run_record(run, at, cells, schedule="nightly", scheduled_at=at))
    return folder


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


@pytest.fixture
def s3bench_here(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """The command in this process, in a folder with `results`: an exception of it is one of the test."""
    shutil.copytree(whole, tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")

    def ended(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["s3bench", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Ended(int(end.value.code or 0), out, err)

    return ended


def widened(path: Path) -> None:
    table = pq.ParquetFile(path).read()
    wider = table.append_column("added_later", pa.nulls(len(table), pa.int64()))
    pq.write_table(wider, path, store_schema=False)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut_off": (
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        "is damaged: move it away or restore",
    ),
    "empty": (lambda path: path.write_bytes(b""), "is damaged: move it away or restore"),
    "text": (lambda path: path.write_text("no Parquet\n" * 99), "is damaged: move it away or restore"),
    "other": (lambda path: pq.write_table(pa.table({"a": [1]}), path), "has other columns"),
    "newer": (widened, "was written by a newer version of s3bench: upgrade this one"),
}


QUICK = {
    ("cut_off", "samples", "report"),
    ("newer", "runs", "report"),
    ("empty", "costs", "report"),
    ("text", "nightly", "history"),
}
"""One case of each file; all others are slow."""
CASES = [
    pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
    for case in product(DAMAGES, NAMES, COMMANDS)
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_of_whole_results_every_command_ends_well(s3bench_here: Callable[..., Ended], command: str) -> None:
    ended = s3bench_here(*COMMANDS[command])
    assert (ended.status, "NOT READ" in ended.out) == (0, False), ended


@pytest.mark.parametrize(("damage", "kind", "command"), CASES)
def test_a_damaged_file_is_named_the_rest_is_shown_and_the_status_tells(
    s3bench_here: Callable[..., Ended], tmp_path: Path, damage: str, kind: str, command: str
) -> None:
    harm, told = DAMAGES[damage]
    harm(tmp_path / "results" / NAMES[kind])
    ended = s3bench_here(*COMMANDS[command])
    if command not in READ_BY[kind]:
        assert (ended.status, "NOT READ" in ended.out) == (0, False), ended
    elif (command, kind) == ("published", "runs"):
        assert (ended.status, len(ended.err.splitlines())) == (2, 1), ended
        assert f"{NAMES[kind]} {told}" in ended.err
    else:
        assert ended.status == 1, ended
        assert f"{NAMES[kind]} {told}" in ended.out
        assert "boto3" in ended.out or command in {"page", "history", "compare_nights"}


def test_of_a_run_whose_row_is_damaged_nothing_is_said_to_have_been_killed(
    s3bench_here: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "results" / NAMES["runs"]).write_bytes(b"")
    ended = s3bench_here(*COMMANDS["report"])
    assert "INCOMPLETE: this run has no record that can be read" in ended.out
    assert "ended before" not in ended.out


def test_a_run_row_of_a_later_schema_asks_for_an_upgrade(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "results")
    path = tmp_path / "results" / NAMES["runs"]
    table = pq.ParquetFile(path).read()
    place = table.schema.get_field_index("schema_version")
    pq.write_table(
        table.set_column(place, table.schema.field(place), pa.array([2], pa.int32())),
        path,
        store_schema=False,
    )
    store = open_store(tmp_path / "results")
    assert list_runs(store)[0].state == "damaged"
    with pytest.raises(UserError, match=f"{NAMES['runs']} was written by a newer version"):
        _ = read_run(store, RUN.run_id).record
    history = read_history(store, "nightly", "2000-01-01")
    assert [run.run_id for run in history.runs] == [run.run_id for run, _ in NIGHTS[:-1]]
    assert "was written by a newer version" in "".join(history.unread)


def test_results_of_a_later_schema_alone_ask_for_an_upgrade(
    s3bench_here: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "results" / "v1").rename(tmp_path / "results" / "v2")
    ended = s3bench_here("report")
    assert (ended.status, ended.out) == (2, "")
    assert "was written by a newer version of s3bench: upgrade this one to read it" in ended.err


def test_nothing_is_imported_while_a_run_cannot_tell_whether_it_has_the_same_lines(
    s3bench_here: Callable[..., Ended], tmp_path: Path
) -> None:
    (tmp_path / "results" / NAMES["runs"]).write_bytes(b"")
    (tmp_path / "lines.log").write_text(line_text(0), encoding="utf-8")
    ended = s3bench_here("import", "lines.log")
    assert (ended.status, ended.out) == (2, "")
    assert f"{NAMES['runs']} is damaged" in ended.err


@pytest.mark.slow
def test_what_is_damaged_of_other_nights_does_not_keep_a_run_from_being_measured_and_shown(
    s3bench: Command, suite_file: Path, whole: Path, tmp_path: Path, prefect_api_url: str
) -> None:
    shutil.copytree(whole, tmp_path / "results")
    for name in (*NAMES.values(), changes_name("nightly"), TOLD_NAME):
        (tmp_path / "results" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "results" / name).write_bytes(b"PAR1 damaged")
    ended = s3bench("run", suite_file.name, "--only", "boto3-lab", PREFECT_API_URL=prefect_api_url)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert "Time of one read, ms" in ended.stdout
    assert "NOT READ" not in ended.stdout
