"""A host under soak: the served deployments in a folder of their own, and what is seen of them."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import httpx
import psutil

from configs.errors import UserError
from tasks.lab.prefect_server import free_port
from tasks.venues.host_lock import host_lock

PROJECT_ROOT = Path(__file__).resolve().parents[2]
START_WITHIN_S = 180
STOP_WITHIN_S = 90


class SoakHost:
    """The supervisor of `make serve`, run in a folder."""

    def __init__(self, folder: Path, *, every_minutes: int) -> None:
        self.folder = folder
        self.last_run_id = ""
        """The newest run that has been looked at."""
        self.port = free_port()
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PREFECT_"))
        } | {
            "HOME": str(folder / "home"),
            "S3BENCH_DATA": str(folder / "serve"),
            "S3BENCH_STATE": str(folder / "state"),
            "S3BENCH_LOCK": str(folder / "host.lock"),
            "S3BENCH_RESULTS": str(folder / "results"),
            "S3BENCH_LAB": str(folder / "lab"),
            "S3BENCH_PORT": str(self.port),
            "S3BENCH_NIGHTLY_SUITE": "lab",
            "S3BENCH_NIGHTLY_IN_LAB": "false",
            "S3BENCH_NIGHTLY_CRON": f"*/{every_minutes} * * * *",
        }
        (folder / "home").mkdir()
        self._supervisor: subprocess.Popen[bytes] | None = None

    @property
    def ui_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Served until the end of the block."""
        self.start()
        try:
            self._wait_for_deployments()
            yield
        finally:
            self.stop()

    def start(self) -> None:
        with (self.folder / "serve.log").open("ab") as log:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-m", "deployments"],
                cwd=PROJECT_ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        if self._supervisor is not None and self._supervisor.poll() is None:
            self._supervisor.terminate()
            self._supervisor.wait(STOP_WITHIN_S)

    def _wait_for_deployments(self) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.HTTPError):
                if self.ask("deployments", {"limit": 10}):
                    return
            time.sleep(1)
        raise TimeoutError((self.folder / "serve.log").read_text(encoding="utf-8"))

    def ask(self, what: str, query: dict[str, object]) -> list[dict[str, object]]:
        """The rows of a filter of the server's API."""
        answer = httpx.post(f"{self.ui_url}/api/{what}/filter", json=query, timeout=20, trust_env=False)
        answer.raise_for_status()
        rows: list[dict[str, object]] = answer.json()
        return rows

    def flow_runs(self) -> list[dict[str, object]]:
        """Those of the benchmark that have begun, the newest first."""
        states = ["RUNNING", "COMPLETED", "FAILED", "CRASHED", "CANCELLED", "CANCELLING"]
        return self.ask(
            "flow_runs",
            {
                "flows": {"name": {"any_": ["benchmark"]}},
                "flow_runs": {"state": {"type": {"any_": states}}},
                "sort": "START_TIME_DESC",
                "limit": 50,
            },
        )

    def cancel(self, flow_run_id: str) -> None:
        """As the button of the UI does."""
        state = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
        url = f"{self.ui_url}/api/flow_runs/{flow_run_id}/set_state"
        httpx.post(url, json=state, timeout=20, trust_env=False).raise_for_status()

    def processes(self, marker: str = "") -> list[psutil.Process]:
        """All of ours, known by the environment that they have; `marker` stands in their command line."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get("S3BENCH_LOCK") == self.environment["S3BENCH_LOCK"]
                if (
                    ours
                    and process.status() != psutil.STATUS_ZOMBIE
                    and marker in " ".join(process.cmdline())
                ):
                    found.append(process)
        return found

    def server(self) -> psutil.Process:
        record = json.loads((self.folder / "serve" / "prefect" / "server.json").read_text(encoding="utf-8"))
        return psutil.Process(record["pid"])

    def serve_process(self) -> psutil.Process:
        (found,) = (
            process
            for process in self.processes("deployments.serve")
            if process.cmdline()[-2:] == ["-m", "deployments.serve"]
        )
        return found

    def flow_process(self) -> psutil.Process:
        """The process of the flow run that serve started."""
        (found,) = (
            process
            for process in self.serve_process().children()
            if "prefect.engine" in " ".join(process.cmdline())
        )
        return found

    def blocks_journalled(self) -> int:
        """How many blocks of unfinished cells the journal holds now."""
        return sum(1 for path in (self.folder / "state" / "journal").rglob("*") if path.suffix == ".block")

    def blocks_stored(self, run_id: str) -> int:
        """How many blocks of a run the store holds."""
        sql = (
            "SELECT count(DISTINCT (config_id, workload_id, block)) "
            "FROM read_parquet(?, union_by_name = true) WHERE run_id = ? AND block IS NOT NULL"
        )
        ((blocks,),) = duckdb.connect().execute(sql, [self._samples, run_id]).fetchall()
        return int(blocks)

    def rows_doubled(self, run_id: str) -> int:
        """How many rows of a run are there more than once."""
        sql = (
            "SELECT count(*) - count(DISTINCT (config_id, workload_id, operation, block, worker, seq, "
            "object_key, started_us)) FROM read_parquet(?, union_by_name = true) WHERE run_id = ?"
        )
        ((rows,),) = duckdb.connect().execute(sql, [self._samples, run_id]).fetchall()
        return int(rows)

    def newest_run_id(self) -> str:
        """The id of the newest run of which something is stored."""
        ((run_id,),) = (
            duckdb.connect().execute("SELECT max(run_id) FROM read_parquet(?)", [self._samples]).fetchall()
        )
        return str(run_id)

    def samples_of_complete_runs(self) -> dict[str, int]:
        """Rows by run, of those that are whole in the store."""
        sql = (
            "SELECT run_id, count(*) FROM read_parquet(?, union_by_name = true) "
            "WHERE run_id IN (SELECT run_id FROM read_parquet(?)) GROUP BY 1"
        )
        runs = f"{self.folder}/results/v1/runs/*/*.parquet"
        rows = duckdb.connect().execute(sql, [self._samples, runs]).fetchall()
        return {str(run_id): int(count) for run_id, count in rows}

    @property
    def _samples(self) -> str:
        return f"{self.folder}/results/v1/samples/*/*/*.parquet"

    def what_is_left(self) -> list[str]:
        """Processes, mounts and locks that should be gone by now."""
        left = [f"process {process.pid} is left: {process.cmdline()}" for process in self.processes()]
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
        left += [f"a mount is left: {line}" for line in mounts if str(self.folder) in line]
        os.environ["S3BENCH_LOCK"] = self.environment["S3BENCH_LOCK"]
        try:
            with host_lock("the soak", 0, print):
                return left
        except UserError as error:
            return [*left, f"the host's lock is held: {error}"]
