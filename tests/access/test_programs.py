"""Programs are found, cost what the kernel says, tell how they failed, and never outlive their runner."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks.access.programs import ProgramError, ProgramRunner, find_program

ROOT = Path(__file__).parents[2]
SHELL = "/bin/sh"


@pytest.fixture
def runner() -> Iterator[ProgramRunner]:
    made = ProgramRunner({"NAME": "value"})
    yield made
    made.close()
    made.close()  # harmless when called again


def test_a_program_has_the_given_environment_and_no_input(runner: ProgramRunner) -> None:
    runner.run([SHELL, "-c", "echo $NAME $HOME; cat"])
    assert runner.printed() == "value"
    assert runner.printed() == ""


def test_its_processor_time_is_counted_with_that_of_what_it_started(runner: ProgramRunner) -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    ended = runner.run([SHELL, "-c", f"{sys.executable} -I -S -c '{burn}'; true"])
    assert 0.15 < (ended.user_ns + ended.system_ns) / 1e9 < 0.6
    idle = runner.run([SHELL, "-c", "sleep 0.1"])
    assert (idle.user_ns + idle.system_ns) / 1e9 < 0.1


def test_an_exit_status_is_an_error_with_what_was_printed_for_it_alone(runner: ProgramRunner) -> None:
    runner.run([SHELL, "-c", "echo a warning of the one before >&2"])
    runner.ready({})
    with pytest.raises(ProgramError) as raised:
        runner.run([SHELL, "-c", "echo wrong >&2; exit 3"])
    assert (raised.value.status, raised.value.printed) == (3, "wrong")


def test_a_signal_is_an_error_too(runner: ProgramRunner) -> None:
    with pytest.raises(ProgramError) as raised:
        runner.run([SHELL, "-c", "kill -9 $$"])
    assert raised.value.status == -signal.SIGKILL


def test_signals_that_python_ignores_end_programs_as_usual(runner: ProgramRunner) -> None:
    # A pipe whose reader is gone ends a program by SIGPIPE; one that ignored it would go on.
    with pytest.raises(ProgramError) as raised:
        runner.run([SHELL, "-c", "kill -PIPE $$"])
    assert raised.value.status == -signal.SIGPIPE


def test_a_program_that_is_not_there_cannot_be_started(runner: ProgramRunner) -> None:
    with pytest.raises(FileNotFoundError):
        runner.run(["/no/such/program"])


def test_what_was_printed_before_and_the_environment_are_gone_when_it_is_made_ready(
    runner: ProgramRunner,
) -> None:
    runner.run([SHELL, "-c", "echo $NAME; echo a warning >&2"])
    runner.ready({"NAME": "another"})
    assert (runner.printed(), runner.printed_errors()) == ("", "")
    runner.run([SHELL, "-c", "echo $NAME"])
    assert runner.printed() == "another"


def test_a_program_with_a_time_limit_is_ended_when_that_is_over(runner: ProgramRunner) -> None:
    assert runner.run([SHELL, "-c", "exit 0"], limit_s=60.0).user_ns >= 0
    with pytest.raises(ProgramError):
        runner.run([SHELL, "-c", "exit 3"], limit_s=60.0)
    with pytest.raises(TimeoutError, match=r"had not ended after 0\.3 s"):
        runner.run([SHELL, "-c", "exec /bin/sleep 63"], limit_s=0.3)
    # Waited for too: all that is left of the runner's is its guard.
    assert {
        child.pid for child in psutil.Process().children() if os.getpgid(child.pid) == runner._guard.pid
    } == {runner._guard.pid}


def test_what_a_program_left_running_ends_with_its_runner(tmp_path: Path) -> None:
    runner = ProgramRunner({})
    runner.run([SHELL, "-c", f"/bin/sleep 60 & echo $! > {tmp_path}/pid"])
    left = psutil.Process(int((tmp_path / "pid").read_text()))
    assert left.is_running()
    runner.close()
    assert is_gone_within(left, 30.0)


def test_a_program_and_what_it_started_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    program = f"/bin/sleep 61 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/itself; wait"
    script = (
        "from tasks.access.programs import ProgramRunner\n"
        f"ProgramRunner({{}}).run([{SHELL!r}, '-c', {program!r}])"
    )
    measuring = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        started = [psutil.Process(number_in(tmp_path / name)) for name in ("child", "itself")]
    finally:
        measuring.kill()
        measuring.wait()
    assert all(is_gone_within(process, 30.0) for process in started)


def test_an_interrupted_wait_ends_the_program(tmp_path: Path) -> None:
    runner = ProgramRunner({})
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        interrupt = "sleep 0.2; kill -ALRM $PPID"  # this process waits by then
        with pytest.raises(KeyboardInterrupt):
            runner.run([SHELL, "-c", f"echo $$ > {tmp_path}/pid; {interrupt}; exec /bin/sleep 62"])
        assert is_gone_within(psutil.Process(number_in(tmp_path / "pid")), 0)
    except psutil.NoSuchProcess:
        pass  # gone before it could be looked at
    finally:
        signal.signal(signal.SIGALRM, previous)
        runner.close()


def test_a_program_is_looked_for_on_the_path_then_beside_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("no-such-program") is None
    beside = find_program("rclone")
    assert beside is not None
    assert (beside.path, beside.where) == (Path(sys.executable).with_name("rclone"), "beside Python")
    (tmp_path / "rclone").symlink_to(SHELL)
    on_path = find_program("rclone")
    assert on_path is not None
    assert (on_path.path, on_path.where) == (tmp_path / "rclone", "on the PATH")
    configured = find_program(SHELL)
    assert configured is not None
    assert configured.where == "configured"
    assert find_program(str(tmp_path / "nothing")) is None


def test_no_launcher_stands_between_this_process_and_a_program(runner: ProgramRunner) -> None:
    runner.run([SHELL, "-c", "echo $PPID"])
    assert runner.printed() == str(os.getpid())


def number_in(path: Path) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return int(text)
        time.sleep(0.01)
    raise TimeoutError(path)


def is_gone_within(process: psutil.Process, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
