"""A killed run is tidied after by its guard, which nobody has to start and which ends by itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tasks.lab import rclone
from tasks.lab.local_lab import lab_down, lab_status, lab_up
from tasks.lab.processes import ProcessRef, listening_ports, start_daemon
from tasks.lab.state import LabFolder
from tasks.venues import watch
from tasks.venues.guard import guarded, tidy_host
from tasks.venues.host_lock import host_lock
from tasks.venues.journal import journals_folder, state_folder

PROJECT_ROOT = Path(__file__).resolve().parents[2]
RUN = f"""
import sys, time
from contextlib import ExitStack
from pathlib import Path
sys.path.insert(0, {str(PROJECT_ROOT)!r})
from configs.loading import load_suite
from configs.run_record import RunIdentity
from tasks.kernel.samples import SampleColumns
from tasks.lab.local_lab import running_lab
from tasks.results.store import open_store
from tasks.venues.guard import guarded
from tasks.venues.host_lock import host_lock
from tasks.venues.journal import JournalHeader, journalled
from tasks.venues.wire import BlockOutcome

lab = Path(sys.argv[-1]) if len(sys.argv) > 1 else None
run = RunIdentity(run_id=f"20260101T020000Z-{{len(sys.argv):08d}}", dt="2026-01-01")
samples = SampleColumns()
samples.grow(3, "write")
with ExitStack() as held:
    held.enter_context(host_lock("run A", 0, print))
    held.enter_context(guarded(lab, print))
    held.enter_context(guarded(lab, print))  # as a flow within a flow
    if lab is not None:
        held.enter_context(running_lab(lab))
    store = open_store("results")
    store.check_writable()
    journal = held.enter_context(journalled(JournalHeader.of(run, store, 2, Path("scratch")), print))
    cell = load_suite("lab").cells()[0]
    journal.keep(cell, 0, BlockOutcome("measured", samples))
    print("measured", flush=True)
    if sys.stdin.readline() == "end\\n":
        journal.forget(cell.config_id, cell.workload_id)
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("S3BENCH_LOCK", str(tmp_path / "host.lock"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a run that has measured one block, in a process group of its own."""
    started = []
    inherited = os.open(os.devnull, os.O_RDONLY)

    def run(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
            pass_fds=[inherited],  # as of a shell that has opened something for its commands
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "measured\n"
        return process

    yield run
    os.close(inherited)
    for process in started:
        process.kill()
        process.communicate()


def guard_of(process: "subprocess.Popen[str]") -> psutil.Process:
    """Its only guard."""
    (guard,) = [
        child for child in psutil.Process(process.pid).children() if watch.__file__ in child.cmdline()
    ]
    return guard


def is_soon(what: Callable[[], object], within_s: float = 30) -> bool:
    deadline = time.monotonic() + within_s
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def has_ended(guard: psutil.Process) -> bool:
    return not guard.is_running() or guard.status() == psutil.STATUS_ZOMBIE


def stored(tmp_path: Path) -> int:
    return len(list((tmp_path / "results").rglob("*.parquet")))


def log() -> str:
    return (state_folder() / "guard.log").read_text()


def test_a_waiting_guard_is_small_does_nothing_and_holds_nothing_of_the_run(start: Start) -> None:
    guard = guard_of(start())

    def does_nothing() -> bool:
        """For a second; before that it may still be starting."""
        before = guard.cpu_times(), guard.num_ctx_switches().voluntary
        time.sleep(1.0)
        return (guard.cpu_times(), guard.num_ctx_switches().voluntary) == before

    assert is_soon(does_nothing)
    assert guard.memory_info().rss < 20 << 20
    opened = {file.name: str(file.readlink()) for file in Path(f"/proc/{guard.pid}/fd").iterdir()}
    assert opened.keys() == {"0", "1", "2"}
    assert opened["1"] == opened["2"] == str(state_folder() / "guard.log")
    assert os.getsid(guard.pid) == guard.pid


def test_a_run_that_ends_well_leaves_neither_guard_nor_words(start: Start, tmp_path: Path) -> None:
    process = start()
    guard = guard_of(process)
    output, _ = process.communicate("end\n")
    assert (process.returncode, output) == (0, "")
    assert not guard.is_running()
    assert log() == ""
    assert stored(tmp_path) == 0


def test_what_a_killed_run_had_measured_is_stored_with_nobody_doing_anything(
    start: Start, tmp_path: Path
) -> None:
    process = start()
    guard = guard_of(process)
    process.kill()
    assert is_soon(lambda: has_ended(guard))
    assert stored(tmp_path) == 1
    assert list(journals_folder().iterdir()) == []
    assert (
        "20260101T020000Z-00000001 ended before it had stored 1 blocks of 1 cells: they are now in" in log()
    )


def test_a_signal_to_the_group_of_a_run_does_not_reach_its_guard(start: Start, tmp_path: Path) -> None:
    process = start()
    guard = guard_of(process)
    os.killpg(process.pid, signal.SIGSTOP)  # so that the run's own handlers cannot dismiss its guard
    assert guard.status() == psutil.STATUS_SLEEPING
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        os.killpg(process.pid, number)
    assert is_soon(lambda: has_ended(guard))
    assert stored(tmp_path) == 1


def test_a_guard_waits_for_whoever_measures_and_keeps_no_reader_of_the_runs_output_waiting(
    start: Start, tmp_path: Path
) -> None:
    process = start()
    guard = guard_of(process)
    process.kill()
    process.wait()
    with host_lock("run B", 0, print):
        began = time.monotonic()
        process.communicate(timeout=10)
        assert time.monotonic() - began < 5
        assert is_soon(lambda: watch.__file__ not in guard.cmdline())  # it has become what tidies
        time.sleep(1.0)
        assert not has_ended(guard)
        assert tidy_host() == (
            "nothing was tidied: run B is measuring on this host: two at once would disturb each other",
        )
        assert stored(tmp_path) == 0
    assert is_soon(lambda: has_ended(guard))
    assert stored(tmp_path) == 1


def test_the_next_run_tidies_first_where_the_guard_was_killed_too(start: Start, tmp_path: Path) -> None:
    process = start()
    guard = guard_of(process)
    guard.kill()
    process.kill()
    process.wait()
    told: list[str] = []
    with host_lock("run B", 0, print), guarded(None, told.append, holds_host=True):
        assert stored(tmp_path) == 1
    assert [words.partition(":")[0] for words in told] == [
        "run 20260101T020000Z-00000001 ended before it had stored 1 blocks of 1 cells"
    ]


def test_a_guard_that_waits_for_a_dead_disk_is_ended_by_the_kernel() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", watch.__file__, "1", *sleeper],
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),  # noqa: PLW1509 - as a run may have it
    )
    guard.communicate(b"")
    assert guard.returncode == -signal.SIGALRM


def test_a_lab_and_results_that_are_gone_stop_nothing(start: Start, tmp_path: Path) -> None:
    process = start()
    guard_of(process).kill()
    process.kill()
    process.wait()
    (tmp_path / "results").rmdir()
    (told,) = tidy_host(labs=[tmp_path / "gone", Path("/dev/null/lab")])
    assert "results is not there" in told


def test_a_state_folder_that_cannot_be_written_costs_no_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "file" / "state"))
    told: list[str] = []
    with guarded(tmp_path / "lab", told.append):
        # Another test may have killed a child of this process, which nobody has waited for.
        alive = (one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE)
        assert any(watch.__file__ in child.cmdline() for child in alive)
    assert told == []


def test_the_lab_of_a_killed_run_goes_down_with_nobody_doing_anything(start: Start, tmp_path: Path) -> None:
    lab = tmp_path / "a lab"
    process = start(str(lab))
    guard = guard_of(process)
    assert lab_status(lab).condition == "up"
    process.kill()
    assert is_soon(lambda: has_ended(guard))
    assert lab_status(lab).condition == "down"
    assert "was left by a killed run: ended" in log()
    assert list((state_folder() / "labs").iterdir()) == []


@pytest.mark.slow
def test_a_lab_goes_down_although_guard_and_run_were_killed_and_one_that_is_to_stay_stays(
    start: Start, tmp_path: Path
) -> None:
    lab, permanent = tmp_path / "lab", tmp_path / "permanent"
    try:
        lab_up(permanent)
        for arguments in ([str(lab)], ["-", str(permanent)]):
            process = start(*arguments)
            guard_of(process).kill()
            process.kill()
            process.wait()
        assert tidy_host()
        assert lab_status(lab).condition == "down"
        assert lab_status(permanent).condition == "up"
    finally:
        lab_down(permanent)


def test_what_a_run_was_starting_when_it_was_killed_is_ended_and_nothing_else(tmp_path: Path) -> None:
    strays = []
    for name in ("lab", "other"):
        lab = LabFolder(tmp_path / name)
        lab.data.mkdir(parents=True)
        lab.lock_file.touch()
        environment = rclone.server_environment("key", "secret")
        strays.append(start_daemon(rclone.server_command(lab.data), environment, lab.server_log))
    mine, other = strays
    try:
        assert is_soon(lambda: all(is_listening(server) for server in strays))
        told = tidy_host(labs=[tmp_path / "lab"])
        assert told == (f"the lab in {tmp_path / 'lab'} was left by a killed run: ended a stray S3 server",)
        assert mine.find() is None
        assert other.find() is not None
    finally:
        other.end(5)


def is_listening(server: ProcessRef) -> bool:
    process = server.find()
    assert process is not None
    return bool(listening_ports(process))
