"""The commands themselves, where they end before they have started anything."""

import errno
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from configs.errors import UserError
from deployments import commands, serve
from deployments.catalogue import Operation
from deployments.commands import EXIT_NOT_READY, alone, server_faults
from tasks.lab.prefect_server import ServerNotReadyError, free_port

ROOT = Path(__file__).resolve().parents[2]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs one of the commands with settings of its operator."""

    def run(module: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("S3BENCH_", "PREFECT_"))
        }
        own = {"S3BENCH_DATA": str(tmp_path / "serve"), "S3BENCH_STATE": str(tmp_path), "HOME": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env=kept | own | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize("module", ["deployments", "deployments.server", "deployments.serve"])
def test_a_bad_setting_ends_the_command_at_once_with_one_message_that_names_it(
    command: Command, module: str
) -> None:
    ended = command(module, S3BENCH_PORT="abc")
    assert ended.returncode == 2
    assert ended.stderr.startswith("s3bench: S3BENCH_PORT=abc: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


def test_an_unknown_nightly_suite_is_told_before_anything_is_started(
    command: Command, tmp_path: Path
) -> None:
    ended = command("deployments", S3BENCH_NIGHTLY_SUITE="unknown")
    assert ended.returncode == 2
    assert "S3BENCH_NIGHTLY_SUITE" in ended.stderr
    assert not (tmp_path / "serve").exists()


def test_a_port_that_is_taken_is_told_before_anything_is_started(command: Command, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = command("deployments", S3BENCH_PORT=str(port))
    assert ended.returncode == 2
    assert f"something listens on port {port}" in ended.stderr
    assert "S3BENCH_PORT" in ended.stderr
    assert not (tmp_path / "serve" / "prefect").exists()


def test_a_data_folder_that_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = command("deployments", S3BENCH_DATA=str(tmp_path / "file" / "serve"))
    assert ended.returncode == 2
    assert ended.stderr == (
        f"s3bench: S3BENCH_DATA={tmp_path}/file/serve: it cannot be written (Not a directory): "
        "name a folder of your own\n"
    )


@pytest.mark.parametrize(("held", "module"), [("make-serve", "deployments"), ("serve", "deployments.serve")])
def test_a_second_one_on_the_same_folder_is_refused(
    command: Command, tmp_path: Path, held: str, module: str
) -> None:
    with alone(Operation(data=tmp_path / "serve"), held):
        ended = command(module)
    assert ended.returncode == 2
    assert f"another {held} runs there already" in ended.stderr
    assert "S3BENCH_DATA" in ended.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:4200", "http://:x"])
def test_an_address_that_is_none_is_refused_by_serve_at_once(command: Command, address: str) -> None:
    ended = command("deployments.serve", PREFECT_API_URL=address)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"s3bench: PREFECT_API_URL={address}: ")


def test_tidying_says_what_a_server_that_is_away_keeps_it_from(command: Command) -> None:
    ended = command("deployments.tidy", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert ended.returncode == 0
    assert "no Prefect server answers at http://127.0.0.1:9/api" in ended.stdout
    assert "is put right when serving begins" in ended.stdout


@pytest.mark.parametrize("module", ["deployments", pytest.param("deployments.serve", marks=pytest.mark.slow)])
def test_a_server_that_hosts_share_is_not_served_but_worked_for(command: Command, module: str) -> None:
    ended = command(module, PREFECT_API_URL="https://prefect.example.com/api")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("s3bench: PREFECT_API_URL=https://prefect.example.com/api: that server is")
    assert "deployments/prefect.yaml" in ended.stderr
    assert "python -m deployments.worker" in ended.stderr


class Unwell(ThreadingHTTPServer):
    """Answers that it is in health, and fails at everything else until it has been asked a few times."""

    failures = sys.maxsize


class UnwellHandler(BaseHTTPRequestHandler):
    server: Unwell

    def do_GET(self) -> None:
        is_well = self.path == "/api/health" or self.server.failures <= 0
        self.server.failures -= self.path != "/api/health"
        self.send_response(200 if is_well else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
        """Not on the terminal."""


@pytest.fixture
def unwell() -> Iterator[Unwell]:
    with Unwell(("127.0.0.1", 0), UnwellHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_who_serves_or_works_waits_for_a_server_to_get_well_and_not_for_ever(
    unwell: Unwell, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{unwell.server_port}/api"
    monkeypatch.setattr(serve, "_ASK_AGAIN_S", 0.01)
    unwell.failures = 3
    serve.wait_for_server(address)
    assert unwell.failures == -1
    unwell.failures = sys.maxsize
    monkeypatch.setattr(serve, "_SERVER_WITHIN_S", 0.1)
    with pytest.raises(ServerNotReadyError, match="Server error '500"):
        serve.wait_for_server(address)


@pytest.mark.slow
def test_a_server_that_is_not_well_for_a_moment_does_not_end_setting_alarms_for_good(
    command: Command, unwell: Unwell
) -> None:
    address = f"http://127.0.0.1:{unwell.server_port}/api"
    dead_proxy = f"http://127.0.0.1:{free_port()}"
    ended = command(
        "deployments.set_alarms", PREFECT_API_URL=address, HTTP_PROXY=dead_proxy, http_proxy=dead_proxy
    )
    assert ended.returncode == EXIT_NOT_READY
    assert f"no Prefect server answers at {address} (Server error '500" in ended.stderr
    assert ended.stderr.count("\n") <= 2
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("status", "kind"), [(500, ServerNotReadyError), (429, ServerNotReadyError), (409, UserError)]
)
def test_what_a_server_answers_while_deployments_are_registered_decides_whether_to_try_again(
    status: int, kind: type[UserError]
) -> None:
    request = httpx.Request("POST", "http://127.0.0.1:4200/api/deployments/")
    answer = httpx.Response(status, request=request, text="database is locked")
    refused = pytest.raises(UserError, match="the Prefect server at here refuses it")
    with refused as told, server_faults("here"):
        answer.raise_for_status()
    assert type(told.value) is kind


def test_a_full_disk_is_no_bad_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(commands, "make_private", full)
    not_ready = pytest.raises(ServerNotReadyError, match="No space left on device")
    with not_ready, alone(Operation(data=tmp_path), "serve"):
        pass
