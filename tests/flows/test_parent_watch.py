"""A flow process whose parent dies: it ends, once, and with what it was about to store."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.parent_watch import _reader_is_gone

ROOT = Path(__file__).resolve().parents[2]

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]], stdout=subprocess.PIPE)
child.wait()
"""

CHILD = """
import os, signal, sys, time
from pathlib import Path
from uuid import uuid4
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from flows.parent_watch import ParentDiedError, watch_parent

run = FlowRun.model_construct(id=uuid4(), deployment_id={deployment})
told = Path(sys.argv[1])
with FlowRunContext.model_construct(flow_run=run):
{body}
"""

WHILE_MEASURING = """
    try:
        watch_parent()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(20)
        told.write_text("it went on")
    except ParentDiedError:
        print("nobody reads this")
        sys.stdout.flush()
        told.write_text("ended by the death of its parent")
"""
WHILE_ENDING = """
    try:
        try:
            watch_parent()
            raise KeyboardInterrupt
        finally:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
            told.write_text("stored what was measured")
    except KeyboardInterrupt:
        pass
"""
TOO_LATE = """
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
    try:
        watch_parent()
        told.write_text("it went on")
    except ParentDiedError:
        told.write_text("ended by the death of its parent")
"""


@pytest.fixture
def end_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a process tells whose parent dies in the middle of a program."""
    monkeypatch.setenv("S3BENCH_STATE", str(tmp_path / "state"))

    def run(body: str, deployment: str = "uuid4()") -> str:
        told = tmp_path / "told"
        child = CHILD.format(body=body, deployment=deployment)
        subprocess.run([sys.executable, "-c", PARENT, child, str(told)], cwd=ROOT, check=False, timeout=60)
        deadline = time.monotonic() + 60
        while not (told.exists() and told.read_text()):
            assert time.monotonic() < deadline, "it ended without a word"
            time.sleep(0.1)
        return told.read_text()

    return run


@pytest.mark.slow
def test_it_ends_when_its_parent_is_killed_though_nobody_reads_what_it_prints(
    end_of: Callable[..., str],
) -> None:
    assert end_of(WHILE_MEASURING) == "ended by the death of its parent"


@pytest.mark.slow
def test_what_ends_already_is_not_interrupted_again(end_of: Callable[..., str]) -> None:
    assert end_of(WHILE_ENDING) == "stored what was measured"


@pytest.mark.slow
def test_it_ends_at_once_where_its_parent_had_died_before_it_looked(end_of: Callable[..., str]) -> None:
    assert end_of(TOO_LATE) == "ended by the death of its parent"


@pytest.mark.slow
def test_a_run_of_no_deployment_goes_on_without_its_parent(end_of: Callable[..., str]) -> None:
    assert end_of(TOO_LATE, deployment="None") == "it went on"


def test_a_pipe_that_nobody_reads_is_told_from_one_that_somebody_does() -> None:
    reads, writes = os.pipe()
    assert not _reader_is_gone(writes)
    os.close(reads)
    assert _reader_is_gone(writes)
    os.close(writes)
    with Path(os.devnull).open("w") as nowhere:
        assert not _reader_is_gone(nowhere.fileno())
