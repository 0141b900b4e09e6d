import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tasks.venues import presence
from tasks.venues.presence import announce, forget, presences

SERVER = "http://127.0.0.1:4200/api"
RUN = """
import sys, time
from uuid import UUID
from tasks.venues.presence import announce
announce(UUID(sys.argv[1]), sys.argv[2])
print("here", flush=True)
time.sleep(60)
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def flow_run() -> Iterator[tuple[UUID, "subprocess.Popen[str]"]]:
    """A process that runs a flow run."""
    flow_run_id = uuid4()
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(flow_run_id), SERVER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield flow_run_id, process
        process.kill()


def test_a_run_is_alive_until_its_process_is_killed(
    flow_run: tuple[UUID, "subprocess.Popen[str]"],
) -> None:
    flow_run_id, process = flow_run
    (found,) = presences(SERVER)
    assert (found.flow_run_id, found.pid, found.is_alive) == (flow_run_id, process.pid, True)
    process.kill()
    process.wait()
    (found,) = presences(SERVER)
    assert (found.flow_run_id, found.is_alive) == (flow_run_id, False)
    forget(flow_run_id)
    assert list(presences(SERVER)) == []


def test_a_child_that_outlives_a_run_does_not_keep_it_alive() -> None:
    flow_run_id = uuid4()
    child = "import subprocess; subprocess.Popen(['sleep', '20'], stdout=subprocess.DEVNULL); sys.exit()"
    program = RUN.replace("time.sleep(60)", child)
    subprocess.run([sys.executable, "-c", program, str(flow_run_id), SERVER], cwd=ROOT, check=True)
    assert [(one.flow_run_id, one.is_alive) for one in presences(SERVER)] == [(flow_run_id, False)]


def test_runs_of_another_server_are_not_told_and_their_files_go_after_a_month(state: Path) -> None:
    flow_run_id = uuid4()
    subprocess.run(
        [sys.executable, "-c", RUN.replace("time.sleep(60)", "0"), str(flow_run_id), "http://other/api"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    file = state / "flow-runs" / f"{flow_run_id}.json"
    assert list(presences(SERVER)) == []
    assert file.exists()
    long_ago = time.time() - 31 * 86400
    os.utime(file, (long_ago, long_ago))
    assert list(presences(SERVER)) == []
    assert not file.exists()


def test_a_file_that_is_half_written_goes_after_a_month_and_one_that_is_none_of_ours_stays(
    state: Path,
) -> None:
    (state / "flow-runs").mkdir(parents=True)
    half, empty, note = (state / "flow-runs" / f"{name}.json" for name in (uuid4(), uuid4(), "a-note"))
    half.write_text("{")
    empty.touch()
    note.write_text("{}")
    assert list(presences(SERVER)) == []
    assert half.exists()
    assert empty.exists()
    long_ago = time.time() - 31 * 86400
    for file in (half, empty, note):
        os.utime(file, (long_ago, long_ago))
    assert list(presences(SERVER)) == []
    assert list((state / "flow-runs").iterdir()) == [note]


def test_a_run_is_announced_although_its_file_is_looked_at_just_then(state: Path) -> None:
    flow_run_id = uuid4()
    (state / "flow-runs").mkdir(parents=True)
    file = state / "flow-runs" / f"{flow_run_id}.json"
    looked_at = file.open("a+")
    fcntl.flock(looked_at, fcntl.LOCK_SH)
    letting_go = threading.Timer(0.3, looked_at.close)
    letting_go.start()
    announce(flow_run_id, SERVER)
    letting_go.join()
    (found,) = presences(SERVER)
    assert (found.flow_run_id, found.pid, found.is_alive) == (flow_run_id, os.getpid(), True)


def test_a_run_is_announced_although_its_file_is_removed_just_then(state: Path) -> None:
    flow_run_id = uuid4()
    (state / "flow-runs").mkdir(parents=True)
    file = state / "flow-runs" / f"{flow_run_id}.json"
    removed = file.open("a+")
    fcntl.flock(removed, fcntl.LOCK_EX)

    def remove() -> None:
        file.unlink()
        removed.close()

    removing = threading.Timer(0.3, remove)
    removing.start()
    announce(flow_run_id, SERVER)
    removing.join()
    assert [(found.flow_run_id, found.is_alive) for found in presences(SERVER)] == [(flow_run_id, True)]
    forget(flow_run_id)
    assert file.exists(), "it has begun again"


def test_two_processes_cannot_run_one_flow_run(
    flow_run: tuple[UUID, "subprocess.Popen[str]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    flow_run_id, process = flow_run
    monkeypatch.setattr(presence, "_LOCKED_WITHIN_S", 0.2)
    with pytest.raises(BlockingIOError, match="another process holds it"):
        announce(flow_run_id, SERVER)
    assert [(found.pid, found.is_alive) for found in presences(SERVER)] == [(process.pid, True)]


def test_a_state_folder_that_cannot_be_written_is_an_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "file" / "state"))
    with pytest.raises(OSError, match="Not a directory"):
        announce(uuid4(), SERVER)
    assert list(presences(SERVER)) == []
