"""Cells that several clients measure at once: real Dask clusters, a real Prefect server, a real S3 server."""

import json
import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest

from tasks.lab.local_lab import running_lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SUITE = """\
name: many
lab: true
blocks: 2
block_timeout_s: 60
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
configurations:
  one: {access_path: {kind: boto3_api}, target: bucket, workloads: [read]}
  two: {access_path: {kind: boto3_api}, target: bucket, clients: 2}
  four: {access_path: {kind: boto3_api}, target: bucket, clients: 4, workloads: [read]}
datasets:
  blobs: {kind: blobs, size: 64 KiB, unique_count: 4}
workloads:
  read: {kind: blob_read, dataset: blobs, iterations: 200, warmup: 4}
  long: {kind: blob_read, dataset: blobs, iterations: 8000, warmup: 4}
"""

WINDOWS = """
WITH operation AS (
    SELECT config, block, worker, outcome, size_bytes, started_us * 1000 AS begun_ns,
           started_us * 1000 + total_ns AS ended_ns, total_ns
    FROM read_parquet(?, hive_partitioning = true) WHERE NOT warmup AND workload_id = 'read'
), client AS (
    SELECT config, block, worker, min(begun_ns) AS begun_ns, max(ended_ns) AS ended_ns
    FROM operation GROUP BY ALL
), active AS (
    SELECT config, block, max(begun_ns) AS opens_ns, min(ended_ns) AS closes_ns FROM client GROUP BY ALL
), block AS (
    SELECT config, sum(size_bytes * greatest(0, least(ended_ns, closes_ns) - greatest(begun_ns, opens_ns))
                       / total_ns) / any_value(closes_ns - opens_ns) * 1e9 AS bytes_per_s
    FROM operation JOIN active USING (config, block) WHERE outcome = 'ok' GROUP BY config, block
)
SELECT config, quantile_disc(bytes_per_s, 0.5) / 1e6 FROM block GROUP BY config
"""
"""The formula of `tasks/stats/throughput.py`, for cells with one thread in each client."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def samples(folder: Path) -> str:
    return f"{folder}/results/v1/samples/*/*/*.parquet"


def cells_of(folder: Path, results: str = "results") -> dict[str, dict[str, Any]]:
    runs = f"{folder}/{results}/v1/runs/*/*.parquet"
    (row,) = duckdb.execute("SELECT cells_json FROM read_parquet(?)", [runs]).fetchall()
    return {f"{cell['config_id']}/{cell['workload_id']}": cell for cell in json.loads(row[0])}


def test_one_two_and_four_clients_read_together_and_their_throughput_is_of_the_window_of_all(
    s3bench: Command, many: Path, tmp_path: Path, prefect_api_url: str, prefect_folder: Path
) -> None:
    planted = f"planted-{secrets.token_hex(8)}"
    arguments = ["run", many.name, "--set", "workloads.long=null"]
    with running_lab(tmp_path / ".lab") as lab:
        given = lab.secret_access_key.get_secret_value()
        answer = s3bench(
            *arguments, PREFECT_API_URL=prefect_api_url, MY_TOKEN=planted, AWS_SECRET_ACCESS_KEY=planted
        )
    assert answer.returncode == 0, answer.stdout + answer.stderr

    workers = duckdb.execute(
        "SELECT config, block, worker, count(*) FROM read_parquet(?, hive_partitioning = true) "
        "WHERE outcome = 'ok' GROUP BY ALL ORDER BY ALL",
        [samples(tmp_path)],
    ).fetchall()
    clients = {"one": 1, "two": 2, "four": 4}
    assert workers == sorted(
        (config, block, worker, 100)
        for config, of in clients.items()
        for block in range(2)
        for worker in range(of)
    )

    shown = answer.stdout.partition("Throughput of all clients together")[2]
    expected = dict(duckdb.execute(WINDOWS, [samples(tmp_path)]).fetchall())
    assert expected.keys() == clients.keys()
    for config, mb_per_s in expected.items():
        row = re.search(rf"{config} +(\d+) +(\d+) +2 +[\d.]+ % +([\d.]+)", shown)
        assert row is not None, shown
        assert (int(row[1]), int(row[2])) == (clients[config], clients[config])
        assert float(row[3]) == pytest.approx(mb_per_s, rel=0.01)

    cells = cells_of(tmp_path)
    assert cells["four/read"]["proof"]["clients"] == "4 of 4 to the end"
    assert "clients_began_within_ms" in cells["four/read"]["proof"]
    assert "clients" not in cells["one/read"]["proof"]

    # Those that clients were given, and those that they were not.
    for secret in (given, planted):
        assert secret not in answer.stdout + answer.stderr
        tops = (tmp_path / "results", tmp_path / "home", prefect_folder)
        kept = {path: path.read_bytes() for top in tops for path in top.rglob("*") if path.is_file()}
        assert [path for path, content in kept.items() if secret.encode() in content] == []
    assert any(b"client 3 of four/read, block 1" in content for content in kept.values()), "the right places"


def measuring(command: psutil.Process) -> list[psutil.Process]:
    """The measuring processes of several clients, each of which has a socket for the common start."""
    found = []
    for child in command.children(recursive=True):
        words = child.cmdline()
        if words[1:3] == ["-m", "tasks.venues.worker"] and len(words) > 3:
            found.append(child)
    return found


def test_a_client_whose_dask_worker_is_killed_ends_its_cell_and_not_the_run(
    many: Path, tmp_path: Path, environment: dict[str, str], prefect_api_url: str, prefect_folder: Path
) -> None:
    command = subprocess.Popen(
        [Path(sys.executable).with_name("s3bench"), "run", many.name, "--only", "one", "two", "--seed", "1"],
        cwd=tmp_path,
        env=environment | {"PREFECT_API_URL": prefect_api_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 120
    busy: list[psutil.Process] = []
    while sum(process.cpu_times().user for process in busy) < 2 * 1.5:  # of which a third is connecting
        assert command.poll() is None, command.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
        try:
            busy = measuring(psutil.Process(command.pid))
            _ = [process.cpu_times() for process in busy]
        except psutil.Error:
            busy = []
    victims = [process.parent() for process in busy]
    assert victims[0] is not None
    victims[0].send_signal(signal.SIGKILL)
    killed = time.monotonic()
    output, _ = command.communicate(timeout=120)
    assert time.monotonic() - killed < 60 + 60, "bounded by block_timeout_s"
    assert command.returncode == 1, output
    assert "Traceback" not in output

    cells = cells_of(tmp_path)
    assert re.fullmatch(r"client \d of 2: its Dask worker died", cells["two/long"]["reason"])
    assert "1 of 2 to the end" in cells["two/long"]["proof"]["clients"]
    assert {name: cell["status"] for name, cell in cells.items()} == {
        "one/read": "measured",
        "two/read": "measured",
        "two/long": "failed",
    }
    kept = duckdb.execute(
        "SELECT block, worker, count(*) FROM read_parquet(?, hive_partitioning = true) "
        "WHERE workload_id = 'long' AND outcome = 'ok' GROUP BY ALL ORDER BY ALL",
        [samples(tmp_path)],
    ).fetchall()
    last, _, count = kept[-1]
    assert [block for block, _, _ in kept].count(last) == 1, "the other client of that block"
    assert count == 4000, "all of its samples"
    assert not any(process.is_running() for process in busy)
    states = dict(
        sqlite3.connect(prefect_folder / "prefect" / "prefect.db")
        .execute("SELECT name, state_name FROM task_run WHERE name LIKE 'client % of two/long%'")
        .fetchall()
    )
    assert list(states.values()).count("Crashed") == 1
    assert set(states.values()) == {"Completed", "Crashed"}, "none is shown as running for ever"


@contextmanager
def dask_cluster(
    folder: Path, environment: dict[str, str], workers: int
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A cluster in a process of its own, as one that somebody else runs; its address, and that process."""
    program = folder / "somebody_elses_cluster.py"
    program.write_text(
        "import sys\n"
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        f"    with LocalCluster(n_workers={workers}, threads_per_worker=1, host='127.0.0.1',\n"
        "                      memory_limit=None, dashboard_address='127.0.0.1:0') as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [sys.executable, program],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
        process.communicate(timeout=60)


def test_clients_run_on_a_cluster_of_others_with_its_own_credentials(
    s3bench: Command, many: Path, tmp_path: Path, environment: dict[str, str], prefect_api_url: str
) -> None:
    arguments = ["run", many.name, "--only", "one", "two", "--set", "workloads.long=null"]
    with running_lab(tmp_path / ".lab") as lab:
        elsewhere = environment | lab.environment() | {"PREFECT_HOME": str(tmp_path / "home" / ".prefect")}
        with dask_cluster(tmp_path, elsewhere, workers=2) as (address, _):
            answer = s3bench(*arguments, "--dask-scheduler", address, PREFECT_API_URL=prefect_api_url)
            assert answer.returncode == 0, answer.stdout + answer.stderr
            proof = cells_of(tmp_path)["two/read"]["proof"]
            assert proof["clients"] == "2 of 2 to the end"
            assert 0 <= float(proof["clocks_apart_ms"].split(" to ")[0]) < 100, "one clock, seen twice"

            too_many = s3bench(
                *arguments,
                "--results",
                "others",
                "--dask-scheduler",
                address,
                "--set",
                "configurations.two.clients=3",
                PREFECT_API_URL=prefect_api_url,
            )
    assert too_many.returncode == 1
    told = " ".join(too_many.stdout.split())
    assert "the Dask cluster has 2 threads for 3 clients: start more workers, or give fewer clients" in told
    statuses = {name: cell["status"] for name, cell in cells_of(tmp_path, "others").items()}
    assert statuses == {"one/read": "measured", "two/read": "failed"}


def test_a_scheduler_of_others_that_is_killed_ends_its_cells_and_not_the_run(
    many: Path, tmp_path: Path, environment: dict[str, str], prefect_api_url: str
) -> None:
    with running_lab(tmp_path / ".lab") as lab:
        elsewhere = environment | lab.environment() | {"PREFECT_HOME": str(tmp_path / "home" / ".prefect")}
        with dask_cluster(tmp_path, elsewhere, workers=2) as (address, scheduler):
            command = subprocess.Popen(
                [
                    *(Path(sys.executable).with_name("s3bench"), "run", many.name, "--only", "one", "two"),
                    *("--seed", "1", "--dask-scheduler", address),
                ],
                cwd=tmp_path,
                env=environment | {"PREFECT_API_URL": prefect_api_url},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            busy: list[psutil.Process] = []
            deadline = time.monotonic() + 120
            while sum(process.cpu_times().user for process in busy) < 2 * 1.5:
                assert command.poll() is None, command.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.05)
                try:
                    busy = measuring(psutil.Process(scheduler.pid))
                    _ = [process.cpu_times() for process in busy]
                except psutil.Error:
                    busy = []
            scheduler.kill()
            killed = time.monotonic()
            output, _ = command.communicate(timeout=200)
            assert time.monotonic() - killed < 60 + 60, "bounded by block_timeout_s"
            psutil.wait_procs(busy, timeout=60)
    assert command.returncode == 1, output
    assert "Traceback" not in output
    cells = cells_of(tmp_path)
    assert cells["one/read"]["status"] == "measured", "what needs no cluster is measured to its end"
    assert cells["two/long"]["status"] == "failed"
    assert "scheduler" in cells["two/long"]["reason"] or "Dask cluster" in cells["two/long"]["reason"]
    rows = duckdb.execute(
        "SELECT count(*) FROM read_parquet(?, hive_partitioning = true) "
        "WHERE config = 'one' AND outcome = 'ok'",
        [samples(tmp_path)],
    ).fetchone()
    assert rows == (200,)
    assert not any(process.is_running() for process in busy)


def test_a_cluster_that_is_not_there_fails_its_cells_and_no_others(
    s3bench: Command, many: Path, prefect_api_url: str
) -> None:
    answer = s3bench(
        "run",
        many.name,
        "--only",
        "one",
        "two",
        "--dask-scheduler",
        "tcp://127.0.0.1:9",
        PREFECT_API_URL=prefect_api_url,
    )
    assert answer.returncode == 1
    told = " ".join(answer.stdout.split())
    assert "FAILED CELLS: 2 of 3: two/read, two/long" in told
    assert "the Dask cluster (tcp://127.0.0.1:9) cannot be used" in told
    wrong = s3bench("run", many.name, "--dask-scheduler", "somewhere:8786")
    assert wrong.returncode == 2
    assert "dask_scheduler" in wrong.stderr
    assert os.linesep * 3 not in wrong.stderr
