"""A server with a password, and one whose database is a real PostgreSQL."""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tasks.lab.prefect_server import free_port
from tests.deployments.operated.host import QUICK, Host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
UNAUTHORISED = 401


def files_with(secret: str, *folders: Path) -> list[Path]:
    return [
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and secret.encode() in path.read_bytes()
    ]


def run_command(host: Host, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [Path(sys.executable).with_name("s3bench"), "run", "night", "--set", "blocks=2"]
    command += [
        "--set",
        "workloads.read.iterations=16",
        "--lab",
        host.lab,
        "--results",
        host.folder / "results",
    ]
    environment = host.environment | {"PREFECT_API_URL": host.api_url} | variables
    environment.pop("PREFECT_SERVER_API_AUTH_STRING", None)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.fixture(scope="module")
def password() -> str:
    return f"operator:{secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def guarded_host(new_host: Callable[..., Host], password: str) -> Iterator[Host]:
    """One whose operator has set a password for the server."""
    host = new_host(PREFECT_SERVER_API_AUTH_STRING=password)
    try:
        host.start()
        yield host
    finally:
        host.close()


def test_a_server_with_a_password_runs_what_is_due_and_the_password_is_kept_nowhere(
    guarded_host: Host, password: str
) -> None:
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        guarded_host.run(**QUICK)
    name, _, word = password.partition(":")
    guarded_host.auth = (name, word)
    assert guarded_host.ended(guarded_host.run(**QUICK))[0] == "Completed"
    assert guarded_host.stored_runs()[0].state == "complete"
    assert files_with(word, guarded_host.folder) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [({}, "wants a password"), ({"PREFECT_API_AUTH_STRING": "operator:wrong"}, "wants another password")],
)
def test_without_the_right_password_a_run_and_serve_are_refused_at_once(
    guarded_host: Host, tmp_path: Path, given: dict[str, str], says: str
) -> None:
    ran = run_command(guarded_host, tmp_path, **given)
    served = guarded_host.command(
        "deployments.serve",
        PREFECT_API_URL=guarded_host.api_url,
        PREFECT_SERVER_API_AUTH_STRING="",
        S3BENCH_DATA=str(tmp_path / "serve"),
        **given,
    )
    for ended in (ran, served):
        assert ended.returncode == 2
        assert f"the Prefect server at {guarded_host.api_url} {says}" in ended.stderr
        assert "PREFECT_API_AUTH_STRING" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "operator:wrong" not in ended.stderr + ended.stdout


def test_with_the_password_the_command_runs_and_keeps_it_nowhere(
    guarded_host: Host, password: str, tmp_path: Path
) -> None:
    ended = run_command(guarded_host, tmp_path, PREFECT_API_AUTH_STRING=password)
    assert ended.returncode == 0, ended.stderr
    word = password.partition(":")[2]
    assert word not in ended.stdout + ended.stderr
    assert files_with(word, guarded_host.folder, tmp_path) == []


@pytest.fixture(scope="module")
def postgres(password: str) -> Iterator[str]:
    """The address of a database of a real PostgreSQL on loopback, which it runs as a user of its own."""
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="s3bench-postgres-"))
    name, _, word = password.partition(":")
    as_user: list[str] = []
    if os.getuid() == 0:  # it refuses to run as root
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_user = [str(shutil.which("runuser")), "-u", "postgres", "--"]
    port, programs, data = free_port(), PROGRAMS[-1], folder / "data"
    (folder / "password").write_text(word)
    (folder / "password").chmod(0o644)

    def run(program: str, *words: str | Path) -> None:
        command = [*as_user, programs / program, *words]
        subprocess.run(command, cwd="/", check=True, stdout=subprocess.DEVNULL, timeout=60)

    try:
        run("initdb", "-D", data, "-U", name, "-A", "scram-sha-256", "--pwfile", folder / "password")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
        run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        yield f"postgresql+asyncpg://{password}@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_server_on_postgres_runs_what_is_due_and_restarts(
    new_host: Callable[..., Host], postgres: str, password: str
) -> None:
    host = new_host(PREFECT_SERVER_DATABASE_CONNECTION_URL=postgres)
    (host.folder / "serve" / "prefect" / "prefect.db").unlink()
    try:
        host.start()
        flow_run_id = host.run(**QUICK)
        assert host.ended(flow_run_id)[0] == "Completed"
        host.wait_until_nothing_is_left()
        host.stop()
        host.start()
        assert host.flow_run(flow_run_id)["state"]["name"] == "Completed"
        assert not (host.folder / "serve" / "prefect" / "prefect.db").exists()
        assert files_with(password.partition(":")[2], host.folder) == []
    finally:
        host.close()
