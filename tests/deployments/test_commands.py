"""The commands themselves, where they end before they have started anything."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.catalogue import Operation
from deployments.commands import alone

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
