"""A host that is operated for real: `python -m deployments` with a server, a lab and a store of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from tasks.lab.local_lab import lab_down
from tasks.lab.mounting import is_mounted
from tasks.lab.prefect_server import free_port
from tasks.results.reader import StoredRun, list_runs
from tasks.results.store import open_store

PROJECT_ROOT = Path(__file__).resolve().parents[3]
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
FIRST_START_S = 150.0

SUITE = """\
name: night
lab: true
blocks: 8
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
configurations:
  boto3-lab: {access_path: {kind: boto3_api}, target: bucket}
  mount-lab: {access_path: {kind: mount_io}, target: mount}
datasets:
  blobs: {kind: blobs, size: 64 KiB, unique_count: 10}
workloads:
  read: {kind: blob_read, dataset: blobs, read_mode: single, iterations: 6400, warmup: 8}
"""
"""Of blocks that take a second or two."""

QUICK = {"settings": ["workloads.read.iterations=16", "blocks=2"]}
"""What makes it take no time at all."""


@dataclass
class Host:
    """One host: its folder, and the commands that run in it."""

    folder: Path
    port: int = field(default_factory=free_port)
    variables: dict[str, str] = field(default_factory=dict)
    """What its operator has set besides."""
    process: "subprocess.Popen[bytes] | None" = None
    """Of `python -m deployments`."""
    auth: tuple[str, str] | None = None
    """Of its server, where it has a password."""

    def __post_init__(self) -> None:
        (self.folder / "suites").mkdir(parents=True, exist_ok=True)
        (self.folder / "home").mkdir(exist_ok=True)
        (self.folder / "suites" / "night.yaml").write_text(SUITE)

    @property
    def environment(self) -> dict[str, str]:
        """Of all its commands: nothing of this machine's own settings for AWS, Prefect and proxies."""
        foreign = ("AWS_", "PREFECT_", "S3BENCH_")
        proxies = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(foreign) and name.lower() not in proxies
        }
        own = {
            "HOME": str(self.folder / "home"),
            "S3BENCH_DATA": str(self.folder / "serve"),
            "S3BENCH_LOCK": str(self.folder / "host.lock"),
            "S3BENCH_STATE": str(self.state),
            "S3BENCH_RESULTS": str(self.folder / "results"),
            "S3BENCH_LAB": str(self.lab),
            "S3BENCH_PORT": str(self.port),
            "S3BENCH_SUITES": str(self.folder / "suites"),
            "S3BENCH_NIGHTLY_SUITE": "night",
            "S3BENCH_NIGHTLY_IN_LAB": "false",
            "PREFECT_RUNNER_POLL_FREQUENCY": "1",  # a test waits for it again and again
            "DO_NOT_TRACK": "1",
            "NO_COLOR": "1",
            "COLUMNS": "160",
        }
        return kept | own | self.variables

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def lab(self) -> Path:
        return self.folder / "lab"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def printed(self) -> str:
        """What its `python -m deployments` have said."""
        log = self.folder / "serve.txt"
        return log.read_text() if log.exists() else ""

    def command(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a Python module to its end."""
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=PROJECT_ROOT,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def begin(
        self, module: str = "deployments", under: Sequence[str] = (), **variables: str
    ) -> "subprocess.Popen[bytes]":
        """Start a Python module, as systemd would: in a session of its own."""
        with (self.folder / "serve.txt").open("ab") as log:
            return subprocess.Popen(
                [*under, sys.executable, "-m", *module.split()],
                cwd=PROJECT_ROOT,
                env=self.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start(self, under: Sequence[str] = ()) -> None:
        """`make serve`, under another program where one is given, until all deployments are served."""
        before = self.printed.count("serving housekeeping")
        self.process = self.begin(under=under)
        wait_until(lambda: self.printed.count("serving housekeeping") > before, FIRST_START_S, self.process)

    def stop(self, number: int = signal.SIGINT) -> float:
        """End it by a signal; the seconds that it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(100)
        return time.monotonic() - began

    def part(self, name: str) -> psutil.Process:
        """One of the processes of `make serve`: serve, server, flow, or measuring."""
        assert self.process is not None
        ends = {
            "serve": "-m deployments.serve",
            "server": f"--port {self.port}",
            "flow": "-m prefect.engine",
            "measuring": "-m tasks.venues.worker",
        }
        children = psutil.Process(self.process.pid).children(recursive=True)
        return next(child for child in children if " ".join(child.cmdline()).endswith(ends[name]))

    def ask(self, method: str, path: str, json: object = None) -> Any:
        for _ in range(5):
            answer = httpx.request(
                method, self.api_url + path, json=json, auth=self.auth, timeout=30, trust_env=False
            )
            if (
                answer.status_code != httpx.codes.SERVICE_UNAVAILABLE
            ):  # SQLite is locked: Prefect's clients wait too
                break
            time.sleep(1)
        answer.raise_for_status()
        return answer.json()

    def run(self, deployment: str = "benchmark/benchmark", **parameters: object) -> str:
        """Start a run by hand, as the UI does; its id."""
        found = self.ask("GET", f"/deployments/name/{deployment}")
        wanted: dict[str, object] = {"state": {"type": "SCHEDULED"}}
        if parameters:
            wanted["parameters"] = {"parameters": found["parameters"]["parameters"] | parameters}
        return str(self.ask("POST", f"/deployments/{found['id']}/create_flow_run", wanted)["id"])

    def deploy_to_pools(self) -> None:
        """Deploy what `deployments/prefect.yaml` says, with the values of this host."""
        values = {
            "S3BENCH_HOME": str(PROJECT_ROOT),
            "S3BENCH_TIMEZONE": "UTC",
            "S3BENCH_NIGHTLY_TARGETS": str(self.folder / "targets.yaml"),
            "S3BENCH_NIGHTLY_CRON": "30 2 * * *",
            "S3BENCH_COMPARE_CRON": "0 7 * * *",
            "S3BENCH_HOUSEKEEPING_CRON": "0 9 * * 0",
            "PREFECT_API_URL": self.api_url,
        }
        (self.folder / "targets.yaml").write_text("targets: {}\n")
        commands = [
            ["work-pool", "create", "s3bench-host", "--type", "process"],
            ["work-pool", "create", "s3bench-ecs", "--type", "ecs"],
            ["--no-prompt", "deploy", "--prefect-file", "deployments/prefect.yaml", "--all"],
        ]
        for words in commands:
            ended = self.command("prefect", *words, **values)
            assert ended.returncode == 0, ended.stdout + ended.stderr

    def flow_run(self, flow_run_id: str) -> Mapping[str, Any]:
        return dict(self.ask("GET", f"/flow_runs/{flow_run_id}"))

    def ended(self, flow_run_id: str, within_s: float = 90.0) -> tuple[str, str]:
        """The name and message of a run's final state."""
        state: dict[str, Any] = {}

        def is_final() -> bool:
            with contextlib.suppress(httpx.TransportError):  # the server restarts
                state.update(self.flow_run(flow_run_id)["state"])
            return state.get("type") in FINAL

        wait_until(is_final, within_s)
        return state["name"], state["message"] or ""

    def blocks_kept(self) -> set[tuple[str, ...]]:
        """The measured blocks that no cell has stored yet, as configuration, workload and number."""
        files = (self.state / "journal").glob("*/*.block")
        return {tuple(file.name.split(".")[:3]) for file in files}

    def blocks_stored(self) -> set[tuple[str, ...]]:
        """The blocks of which the newest run has samples in the store."""
        rows = self.stored_runs()[0].samples(["config_id", "workload_id", "block"]).to_pylist()
        measured = [row for row in rows if row["block"] is not None]
        return {(row["config_id"], row["workload_id"], f"{row['block']:03d}") for row in measured}

    def stored_runs(self) -> tuple[StoredRun, ...]:
        return list_runs(open_store(str(self.folder / "results")))

    def left_over(self) -> list[str]:
        """What of this host is still there that belongs to a run."""
        folder = str(self.folder)
        words = ("rclone", "tasks.venues", "prefect.engine", "aws_proxy")
        found = [f"mounted: {self.lab / 'mnt'}"] * is_mounted(self.lab / "mnt")
        for process in psutil.process_iter(["cmdline"]):
            line = " ".join(process.info["cmdline"] or [])
            with contextlib.suppress(psutil.Error):
                ours = folder in line or process.environ().get("S3BENCH_STATE") == str(self.state)
                if ours and any(word in line for word in words):
                    found.append(line)
        return found

    def wait_until_nothing_is_left(self, within_s: float = 10.0) -> None:
        """A run's process ends a moment after the run."""
        wait_until(lambda: not self.left_over(), within_s)

    def close(self) -> None:
        """End whatever a test that failed has left."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.terminate()
                self.process.wait(60)
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(Exception):
            lab_down(self.lab)


def wait_until(
    is_so: Callable[[], object], within_s: float, process: "subprocess.Popen[bytes] | None" = None
) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert process is None or process.poll() is None, "it ended"
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)
