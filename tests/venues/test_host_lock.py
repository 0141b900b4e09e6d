"""Two measurements never overlap on a host, and a dead one holds nobody up."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from configs.errors import UserError
from tasks.venues.host_lock import host_lock

PROJECT_ROOT = Path(__file__).resolve().parents[2]
HOLDER = (
    "import time\nfrom tasks.venues.host_lock import host_lock\n"
    "with host_lock('run A (process 1)', 0, print):\n    print('held', flush=True)\n    time.sleep(60)\n"
)


@pytest.fixture(autouse=True)
def own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3BENCH_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def holder() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_measurement_is_told_whom_it_waits_for(holder: "subprocess.Popen[str]") -> None:
    told: list[str] = []
    with (
        pytest.raises(UserError, match=r"run A \(process 1\) is measuring on this host"),
        host_lock("run B", 0.6, told.append),
    ):
        pytest.fail("both measure at once")
    holder.kill()
    holder.wait()
    assert told == ["waiting for run A (process 1), which is measuring on this host"]


def test_the_lock_of_a_killed_measurement_is_free_at_once(holder: "subprocess.Popen[str]") -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    started = time.monotonic()
    with host_lock("run B", 0, print):
        assert time.monotonic() - started < 1


def test_a_lock_that_cannot_be_opened_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("S3BENCH_LOCK", str(tmp_path / "file" / "lock"))
    with pytest.raises(UserError, match="let S3BENCH_LOCK name a file"), host_lock("run B", 0, print):
        pytest.fail("there is no such lock")
