"""A real Prefect server and what serves our deployments, in a folder of their own.

The flow runs may reach the server through a proxy that remembers when a byte passed and for whom.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from deployments.catalogue import Operation
from deployments.environment import server_environment
from tasks.lab.local_lab import lab_down
from tasks.lab.prefect_server import free_port, running_server

PROJECT_ROOT = Path(__file__).resolve().parents[1]
START_WITHIN_S = 90
STOP_WITHIN_S = 60
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

Json = dict[str, Any]


@dataclass
class Connection:
    """One that went through a proxy; moments are microseconds since 1970."""

    pid: int
    """The process of the client."""
    opened_us: int
    closed_us: float = float("inf")
    is_websocket: bool = False
    """It says something by itself now and then, as long as it is open."""


class Proxy:
    """Forwards connections on loopback to a port of it, and remembers each piece that passes."""

    def __init__(self, port: int, *, refuse_first: int = 0) -> None:
        """Make one.

        Args:
            port: where to.
            refuse_first: how many connections are closed at once before any is forwarded.
        """
        self._to, self._refused_yet = port, refuse_first
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.pieces: list[tuple[int, int, bytes]] = []
        """When, in microseconds since 1970; the process of the client; what."""
        self.connections: list[Connection] = []
        self.lets_through = threading.Event()
        """Where it is not set, what comes is held back, as by a server that hangs."""
        self.lets_through.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, address = self._listener.accept()
                if self._refused_yet > 0:
                    self._refused_yet -= 1
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._to))
                connection = Connection(_process_at(address[1]), _now_us())
                self.connections.append(connection)
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(*ends, connection), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket, connection: Connection) -> None:
        with contextlib.suppress(OSError):
            while piece := one.recv(65_536):
                self.lets_through.wait()
                self.pieces.append((_now_us(), connection.pid, piece))
                connection.is_websocket |= b"upgrade: websocket" in piece.lower()
                other.sendall(piece)
        connection.closed_us = min(connection.closed_us, _now_us())
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def _now_us() -> int:
    return time.time_ns() // 1000


def _process_at(port: int) -> int:
    """The process whose end of a connection has this port; 0 where it has gone again."""
    found = (one.pid for one in psutil.net_connections("tcp4") if one.laddr and one.laddr.port == port)
    return next((pid for pid in found if pid), 0)


@dataclass
class Served:
    """What is served, until the fixture ends."""

    folder: Path
    environment: dict[str, str]
    ui_url: str
    server_pid: int
    proxy: Proxy
    _process: "subprocess.Popen[bytes] | None" = None
    _client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self._client = httpx.Client(base_url=f"{self.ui_url}/api", timeout=30, trust_env=False)

    @property
    def serve_pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def suites(self) -> Path:
        return self.folder / "suites"

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def lab(self) -> Path:
        return self.folder / "lab"

    def start(self) -> None:
        """Serve, and wait until all deployments are registered."""
        with (self.folder / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "deployments.serve"],
                cwd=PROJECT_ROOT,
                env=self.environment | {"PREFECT_API_URL": f"http://127.0.0.1:{self.proxy.port}/api"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait(lambda: len(self.ask("deployments")) >= 4, START_WITHIN_S, "deployments")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_WITHIN_S)
            self._process = None

    def wait(self, condition: Callable[[], object], within_s: float, what: str) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            log = (self.folder / "serve.log").read_text(encoding="utf-8")[-3000:]
            assert self._process is None or self._process.poll() is None, log
            assert time.monotonic() < deadline, f"{what}: not within {within_s} s\n{log}"
            time.sleep(0.2)

    def ask(self, what: str, **query: object) -> list[Json]:
        """The rows of a filter of the server's API."""
        rows: list[Json] = self._post(f"/{what}/filter", query)
        return rows

    def _post(self, path: str, body: Json) -> Any:
        """What the server answers; while its database is busy it says so, and Prefect's clients ask again."""
        for _ in range(30):
            answer = self._client.post(path, json=body)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(1)
        return answer.raise_for_status().json()

    def create(
        self, name: str, *, state: Json | None = None, tags: tuple[str, ...] = (), **given: object
    ) -> Json:
        """A flow run of a deployment with these parameters laid over its own, as the form makes one."""
        deployment = self._client.get(f"/deployments/name/{name}/{name}").raise_for_status().json()
        parameters = deployment["parameters"]["parameters"] | given
        body = {
            "parameters": {"parameters": parameters},
            "state": state or {"type": "SCHEDULED"},
            "tags": list(tags),
        }
        created: Json = self._post(f"/deployments/{deployment['id']}/create_flow_run", body)
        return created

    def flow_run(self, flow_run_id: str) -> Json:
        found: Json = self._client.get(f"/flow_runs/{flow_run_id}").raise_for_status().json()
        return found

    def ended(self, flow_run_id: str, within_s: float = 100) -> Json:
        """The flow run, once it has come to its end."""
        self.wait(lambda: self.flow_run(flow_run_id)["state_type"] in ENDED, within_s, "the end of the run")
        return self.flow_run(flow_run_id)

    def run(self, name: str, **given: object) -> Json:
        """Run a deployment to its end."""
        return self.ended(self.create(name, **given)["id"])

    def lines(self, flow_run_id: str) -> list[tuple[int, str]]:
        """The level and text of each line of a flow run's log, once its last one is there."""

        def found() -> list[tuple[int, str]]:
            of_run = {"flow_run_id": {"any_": [flow_run_id]}}
            rows = self.ask("logs", logs=of_run, sort="TIMESTAMP_ASC", limit=200)
            return [(row["level"], row["message"]) for row in rows]

        self.wait(lambda: any("Finished in state" in text for _, text in found()[-1:]), 15, "the last line")
        return found()

    def artifact(self, flow_run_id: str, key: str) -> Json:
        """The newest artifact of a flow run with this key."""
        of_run = {"flow_run_id": {"any_": [flow_run_id]}, "key": {"any_": [key]}}
        (newest, *_) = self.ask("artifacts", artifacts=of_run, sort="UPDATED_DESC")
        return newest

    def events(self, name: str) -> list[Json]:
        """The events of this name that the server knows by now."""
        found: list[Json] = self._post("/events/filter", {"filter": {"event": {"name": [name]}}})["events"]
        return found

    def s3bench(self, *arguments: str) -> str:
        """What the command prints."""
        command = [Path(sys.executable).with_name("s3bench"), *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Our deployments, served on a server of their own."""
    port = free_port()
    own = {
        "HOME": folder / "home",
        "S3BENCH_DATA": folder / "data",
        "S3BENCH_LAB": folder / "lab",
        "S3BENCH_LOCK": folder / "host.lock",
        "S3BENCH_PORT": port,
        "S3BENCH_RESULTS": folder / "results",
        "S3BENCH_STATE": folder / "state",
        "S3BENCH_SUITES": folder / "suites",
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "PREFECT_", "S3BENCH_"))
    }
    environment = kept | {name: str(value) for name, value in own.items()}
    (folder / "home").mkdir()
    (folder / "suites").mkdir()
    (folder / "serve.log").touch()
    settings = server_environment(Operation(data=folder / "data", port=port))
    with running_server(folder / "data" / "prefect", port, settings) as server:
        host = Served(folder, environment, f"http://127.0.0.1:{port}", server.pid, Proxy(port))
        try:
            yield host
        finally:
            host.stop()
            host.proxy.close()
            lab_down(host.lab)
