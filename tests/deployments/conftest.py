"""A real Prefect server whose automations are evaluated, and a real receiver of what they send."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deployments.catalogue import Operation
from deployments.environment import server_environment
from tasks.lab.prefect_server import free_port, running_server


@pytest.fixture(scope="session")
def alarm_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with our settings, all of whose services run."""
    folder, port = tmp_path_factory.mktemp("alarm-server"), free_port()
    environment = server_environment(Operation(data=folder, port=port))
    with running_server(folder / "prefect", port, environment) as server:
        yield server.api_url


@pytest.fixture
def prefect_api(alarm_server: str, tmp_path: Path) -> Iterator[str]:
    """The same; this process is a client of it."""
    # It takes seconds to import, and not every test of this folder needs it.
    from prefect.settings import (  # noqa: PLC0415
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_HOME,
        temporary_settings,
    )

    settings = {
        PREFECT_API_URL: alarm_server,
        PREFECT_HOME: tmp_path,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    with temporary_settings(settings):
        yield alarm_server


@dataclass
class Receiver:
    """What was sent to an address of loopback."""

    url: str
    messages: list[dict[str, str]] = field(default_factory=list)

    def wait_for(self, subject: str, within_s: float = 30.0, n: int = 1) -> str:
        """The text of the n-th message whose subject has this in it."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            found = self.about(subject)
            if len(found) >= n:
                return found[n - 1]["text"]
            time.sleep(0.1)
        pytest.fail(f"no message {n} of {subject!r} within {within_s} s, only {self.messages}")

    def about(self, subject: str) -> list[dict[str, str]]:
        """The messages whose subject has this in it."""
        return [message for message in self.messages if subject in message["subject"]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Takes what alarms send."""
    received = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.messages.append(json.loads(body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
            """Not on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    received.url = f"http://127.0.0.1:{server.server_port}/alarms"
    yield received
    server.shutdown()
    server.server_close()
