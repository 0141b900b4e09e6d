"""After kill -9 what was measured is kept, nothing that the run started is left, and the next run starts."""

import hashlib
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psutil
import pytest

from tasks.lab.local_lab import lab_status
from tasks.venues.journal import BlockName
from tasks.venues.wire import receive

Command = Callable[..., "subprocess.CompletedProcess[str]"]

GONE_WITHIN_S = 30


@pytest.fixture
def environment(environment: dict[str, str], tmp_path: Path, prefect_api_url: str) -> dict[str, str]:
    return environment | {"S3BENCH_STATE": str(tmp_path / "state"), "PREFECT_API_URL": prefect_api_url}


@pytest.fixture
def stopped_run(
    suite_file: Path, environment: dict[str, str], tmp_path: Path
) -> "Iterator[subprocess.Popen[str]]":
    """A run in the middle of its measurement, which goes on no more."""
    suite = suite_file.read_text().replace("blocks: 1", "blocks: 4").replace("warmup: 2", "warmup: 0")
    (tmp_path / "longer.yaml").write_text(suite.replace("iterations: 4", "iterations: 8"))
    process = subprocess.Popen(
        [Path(sys.executable).with_name("s3bench"), "run", "longer.yaml"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(journalled(tmp_path)) < 8:
            assert process.poll() is None, process.stdout.read() if process.stdout else ""
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.communicate()


Blocks = dict[tuple[str, str, str, int], int]
"""The samples in each block, by run, configuration, workload and number."""


def journalled(folder: Path) -> Blocks:
    """The blocks that are kept and not yet stored."""
    files = (folder / "state" / "journal").glob("*/*.block")
    names = ((file, BlockName.of(file)) for file in files)
    return {
        (file.parent.name, name.config_id, name.workload_id, name.block): len(
            receive(file.read_bytes()).samples
        )
        for file, name in names
        if name is not None
    }


def stored(folder: Path) -> Blocks:
    """The blocks in the store."""
    samples = duckdb.read_parquet(f"{folder}/results/v1/samples/*/*/*.parquet", hive_partitioning=True)
    blocks = samples.filter("block IS NOT NULL").aggregate("run_id, config, workload_id, block, count(*)")
    return {(*ids, block): rows for *ids, block, rows in blocks.fetchall()}


def hashes(folder: Path) -> dict[Path, str]:
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.rglob("*.parquet")}


def kill(process: "subprocess.Popen[str]", *others: psutil.Process) -> list[psutil.Process]:
    """Kill a run, and others at the same moment; returns all that had grown from it."""
    grown = psutil.Process(process.pid).children(recursive=True)
    assert "rclone" in {child.name() for child in grown}
    for other in others:
        other.kill()
    process.kill()
    process.wait()
    return grown


def are_gone(processes: list[psutil.Process]) -> bool:
    deadline = time.monotonic() + GONE_WITHIN_S
    while any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
def test_after_kill_9_all_blocks_are_stored_all_processes_are_gone_and_the_next_run_starts(
    s3bench: Command, stopped_run: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    measured = journalled(tmp_path)
    grown = kill(stopped_run)
    assert are_gone(grown)
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    assert lab_status(tmp_path / ".lab").condition == "down"
    assert stored(tmp_path) == measured
    assert [path for path in (tmp_path / "state").rglob("*") if path.is_file()] == [
        tmp_path / "state" / "guard.log"
    ]
    report = s3bench("report")
    assert report.returncode == 0
    assert "INCOMPLETE" in report.stdout
    blocks_of_cells = Counter((config_id, workload_id) for _, config_id, workload_id, _ in measured)
    for blocks, cells in Counter(blocks_of_cells.values()).items():
        assert report.stdout.count(f"the run was cut short: {blocks} of 4 blocks were measured") == cells

    whole = hashes(tmp_path / "results")
    after = s3bench("run", "small.yaml", "--only", "boto3-lab")
    assert after.returncode == 0, after.stdout + after.stderr
    assert "INCOMPLETE" not in after.stdout
    assert whole.items() <= hashes(tmp_path / "results").items()
    assert lab_status(tmp_path / ".lab").condition == "down"


@pytest.mark.slow
def test_after_kill_9_of_everything_at_once_the_next_run_tidies_first(
    s3bench: Command, stopped_run: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    measured = journalled(tmp_path)
    everything = psutil.Process(stopped_run.pid).children(recursive=True)
    kill(stopped_run, *everything)
    assert are_gone(everything)
    assert list((tmp_path / "state" / "journal").iterdir())

    after = s3bench("run", "small.yaml", "--only", "boto3-lab")
    assert after.returncode == 0, after.stdout + after.stderr
    assert f"ended before it had stored {len(measured)} blocks of 6 cells: they are now in" in after.stdout
    assert "was left by a killed run: ended " in after.stdout
    assert list((tmp_path / "state" / "journal").iterdir()) == []
    assert lab_status(tmp_path / ".lab").condition == "down"
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    assert measured.items() <= stored(tmp_path).items()
