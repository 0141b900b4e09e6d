import errno
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.dataset as ds
import pytest

from configs.errors import UserError
from tasks.results.schema import SAMPLES
from tasks.results.store import open_store

NAME = "v1/runs/dt=2026-01-01/a.parquet"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 128 KiB."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can mount a small file system to fill")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system to fill: {mounted.stderr.strip()}")
    yield folder
    subprocess.run([umount, folder], check=True)


def test_a_file_is_kept_and_listed_by_its_name(tmp_path: Path) -> None:
    store = open_store(tmp_path / "results")
    assert store.names("v1/runs") == []
    store.check_writable()
    store.put(NAME, b"content")
    assert store.get(NAME) == b"content"
    assert store.names("v1/runs") == [NAME]
    assert store.names("v1/samples") == []


def test_a_home_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match=r"results location '~no-such-user/x'.*give the folder's whole path"):
        open_store("~no-such-user/x")


def test_the_home_of_this_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store("~/results").location == str(tmp_path / "results")


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    open_store(tmp_path / "new/results").check_writable()
    assert list((tmp_path / "new/results").iterdir()) == []


def test_the_same_again_is_kept_once_and_other_content_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put(NAME, b"content")
    store.put(NAME, b"content")
    with pytest.raises(UserError, match=r"a\.parquet exists with other content"):
        store.put(NAME, b"other")
    assert store.get(NAME) == b"content"
    store.put(NAME, b"other", replace=True)
    assert store.get(NAME) == b"other"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.parquet"]


def test_hidden_files_are_not_listed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in (".a.parquet", "_a.parquet", ".trash/a.parquet", "a.parquet.tmp", "README"):
        store.put(f"v1/runs/{name}", b"")
    assert store.names("v1/runs") == []


def test_a_file_in_the_way_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("mine")
    store = open_store(tmp_path / "results")
    for action in (store.check_writable, lambda: store.put(NAME, b"")):
        with pytest.raises(UserError, match=rf"{re.escape(str(tmp_path))}.*a file stands where a folder"):
            action()
    with pytest.raises(UserError, match="No such file"):
        open_store(tmp_path).get(NAME)


def test_a_folder_without_the_right_to_write_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    # Root may write everywhere but where the kernel itself refuses.
    folder = Path("/proc/self/results") if os.geteuid() == 0 else tmp_path / "results"
    with pytest.raises(UserError, match=rf"{folder}.*name another folder"):
        open_store(folder).check_writable()


def test_a_full_disk_is_named_and_leaves_no_part_of_a_file(small_disk: Path) -> None:
    store = open_store(small_disk)
    store.check_writable()
    store.put(NAME, bytes(50_000))
    with pytest.raises(UserError, match=rf"{small_disk}.*{os.strerror(errno.ENOSPC)}: make room"):
        store.put("v1/runs/dt=2026-01-01/b.parquet", bytes(200_000))
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["a.parquet"]


def test_only_old_leftovers_of_dead_writers_are_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not psutil.pid_exists(ended.pid)
    two_days_ago = time.time() - 2 * 86_400
    folder = tmp_path / "v1/runs/dt=2026-01-01"
    folder.mkdir(parents=True)

    def leave(name: str, modified: float) -> Path:
        path = folder / name
        path.write_bytes(b"part")
        os.utime(path, (modified, modified))
        return path

    dead_and_old = leave(f".a.parquet.{ended.pid}.tmp", two_days_ago)
    kept = {
        leave(f".b.parquet.{ended.pid}.tmp", time.time()),
        leave(f".c.parquet.{os.getpid()}.tmp", two_days_ago),
        leave(".notes.tmp", two_days_ago),
    }
    open_store(tmp_path).check_writable()
    assert not dead_and_old.exists()
    assert set(folder.iterdir()) == kept


KILLED_WRITERS = """
import os, random, signal, sys, time
from array import array
from configs.run_record import RunIdentity
from tasks.kernel.samples import SampleColumns
from tasks.results.samples import samples_table
from tasks.results.names import samples_name
from tasks.results.store import open_store
from tasks.results.writer import write_cell

ROWS = 200_000
store = open_store(sys.argv[1])
runs = [RunIdentity(run_id=f"20260101T020000Z-{number:08x}", dt="2026-01-01") for number in range(6)]
columns = SampleColumns()
columns.grow(ROWS, "read")
columns.integers["total_ns"] = array("q", os.urandom(8 * ROWS))
write_cell(store, runs[0], "boto3", "read_1k", samples_table(runs[0], "boto3", "read_1k", [(0, columns)]))
content = store.get(samples_name(runs[0], "boto3", "read_1k"))

for _ in range(25):
    child = os.fork()
    if child == 0:
        while True:
            store.put(samples_name(random.choice(runs), "boto3", "read_1k"), content, replace=True)
    time.sleep(random.uniform(0.02, 0.12))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_killed_writers_leave_only_whole_files_and_readers_undisturbed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """25 writers, each killed with signal 9 at a random moment, and a reader all the while."""
    writers = subprocess.Popen([sys.executable, "-c", KILLED_WRITERS, tmp_path], cwd=pytestconfig.rootpath)
    reads_with_rows = 0
    while writers.poll() is None:
        reads_with_rows += _rows_of_all_files(tmp_path) > 0
        time.sleep(0.02)
    assert writers.returncode == 0
    assert reads_with_rows > 5
    visible = [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert all(path.suffix == ".parquet" for path in visible)
    assert _rows_of_all_files(tmp_path) == 200_000 * len(visible)
    leftovers = list(tmp_path.rglob(".*.tmp"))
    assert leftovers, "no writer was killed in the middle of a file: the test proved nothing"


def _rows_of_all_files(folder: Path) -> int:
    """Reads the times in every file, and fails where one is not whole."""
    return ds.dataset(folder, SAMPLES, format="parquet").to_table(columns=["total_ns"]).num_rows


def test_a_folder_that_cannot_be_listed_is_named_and_not_taken_for_empty(tmp_path: Path) -> None:
    # A file in its place, since a folder without read permission stops no test that runs as root.
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "runs").touch()
    with pytest.raises(UserError, match="Not a directory"):
        open_store(tmp_path).names("v1/runs")
