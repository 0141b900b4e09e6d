import errno
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from configs.errors import UserError
from tasks.lab.prefect_server import (
    PrefectServer,
    ServerNotReadyError,
    error_of_files,
    keep_log_small,
    private_prefect_server,
    refuse_taken,
    running_server,
)
from tasks.lab.processes import ProcessRef, wait_until_quiet

HOLDER = """
import pathlib, sys, time
from tasks.lab.prefect_server import private_prefect_server
with private_prefect_server(pathlib.Path(sys.argv[1])) as server:
    print(server.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests here, since making a database takes as long as several starts."""
    return tmp_path_factory.mktemp("private")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PrefectServer]:
    with private_prefect_server(folder) as server:
        yield server


def get(server: PrefectServer, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.api_url).netloc, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def ends_within(process: ProcessRef, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while process.find() is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    return process.find() is None


@pytest.mark.slow
def test_the_private_server_answers_and_keeps_its_database_in_the_folder(
    folder: Path, server: PrefectServer
) -> None:
    assert get(server, "/api/health") == (200, b"true")
    assert (folder / "prefect" / "prefect.db").stat().st_size > 0
    assert server.start_ms > 0


@pytest.mark.slow
def test_the_private_server_listens_on_loopback_only(server: PrefectServer) -> None:
    listening = [
        c.laddr.ip for c in psutil.Process(server.pid).net_connections() if c.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]


@pytest.mark.slow
def test_an_idle_server_becomes_quiet(server: PrefectServer) -> None:
    assert wait_until_quiet(server.pid, cpu_share_below=0.2, timeout_s=30) < 0.2


@pytest.mark.slow
def test_a_second_command_on_the_folder_is_told_to_wait(folder: Path, server: PrefectServer) -> None:
    with (
        pytest.raises(UserError, match="another command uses the Prefect server"),
        private_prefect_server(folder),
    ):
        pass
    assert get(server, "/api/health")[0] == 200


@pytest.mark.slow
def test_the_server_is_gone_after_its_block_even_if_the_block_raises(tmp_path: Path) -> None:
    seen = []

    def fail_within() -> None:
        with private_prefect_server(tmp_path) as server:
            seen.append(ProcessRef.of(server.pid))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_within()
    assert seen[0].find() is None


@pytest.mark.slow
def test_the_server_dies_with_a_parent_that_was_killed_and_the_next_start_works(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        process = ProcessRef.of(int(holder.stdout.readline()))
        holder.send_signal(signal.SIGKILL)
    assert ends_within(process, 5)
    with private_prefect_server(tmp_path) as server:
        assert get(server, "/api/health")[0] == 200


@pytest.mark.slow
def test_users_own_prefect_settings_do_not_reach_the_private_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", f"sqlite+aiosqlite:///{tmp_path}/users.db")
    with private_prefect_server(tmp_path):
        pass
    assert (tmp_path / "prefect" / "prefect.db").exists()
    assert not (tmp_path / "users.db").exists()


def test_a_left_over_server_is_ended_by_the_next_start_but_a_stranger_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    record = tmp_path / "prefect" / "server.json"
    record.parent.mkdir()
    monkeypatch.setattr(sys, "executable", "/bin/false")  # the server itself need not start
    with subprocess.Popen(sleeper) as left_over, subprocess.Popen(sleeper) as stranger:
        ours = ProcessRef.of(left_over.pid)
        reused = ProcessRef.of(stranger.pid).model_copy(update={"create_time": ours.create_time - 3600})
        try:
            for reference in (ours, reused):
                record.write_text(reference.model_dump_json())
                with pytest.raises(UserError, match="ended with status 1"), private_prefect_server(tmp_path):
                    pass
            assert ours.find() is None
            assert stranger.poll() is None
        finally:
            left_over.kill()
            stranger.kill()


def test_a_folder_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"file/here/prefect cannot be used: Not a directory"),
        private_prefect_server(tmp_path / "file" / "here"),
    ):
        pass


def test_a_busy_process_is_not_called_quiet() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            assert wait_until_quiet(busy.pid, cpu_share_below=0.1, timeout_s=0.1) > 0.1
        finally:
            busy.kill()


def test_the_work_of_children_counts_as_the_processs_own() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as parent:
        try:
            time.sleep(0.3)
            assert wait_until_quiet(parent.pid, cpu_share_below=0.1, timeout_s=0.1) > 0.1
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_waiting_for_a_process_that_has_ended_says_so() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    with pytest.raises(UserError, match="has ended"):
        wait_until_quiet(gone.pid, cpu_share_below=0.1, timeout_s=1)


def test_the_log_of_the_server_before_stays_beside_the_new_one_and_a_message_shows_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = tmp_path / "python"
    fails.write_text(
        "#!/bin/sh\nprintf 'Traceback (most recent call last):\\n  File \"x.py\", line 1\\n    f()\\n'\n"
        "echo 'ValueError: the database is not there'; exit 3\n"
    )
    fails.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fails))
    monkeypatch.setattr("tasks.lab.prefect_server.leashed", lambda command: command)
    home = tmp_path / "home" / "prefect"
    home.mkdir(parents=True)
    (home / "server.log").write_text("of the one before")
    with pytest.raises(ServerNotReadyError) as refused, private_prefect_server(home.parent):
        pass
    assert "ended with status 3" in str(refused.value)
    assert str(refused.value).endswith(
        f"The end of {home}/server.log:\nValueError: the database is not there"
    )
    assert (home / "server.old.log").read_text() == "of the one before"


def test_a_port_on_which_something_listens_is_refused(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UserError, match=f"something listens on port {port}"):
            refuse_taken(port)
        with (
            pytest.raises(UserError, match=f"something listens on port {port}"),
            running_server(tmp_path / "prefect", port, os.environ),
        ):
            pass
    refuse_taken(port)


@pytest.mark.parametrize("left", [b"", b'{"pid": 1\n', b"null"])
def test_a_record_that_was_cut_off_keeps_no_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    (tmp_path / "prefect").mkdir()
    (tmp_path / "prefect" / "server.json").write_bytes(left)
    monkeypatch.setattr(sys, "executable", "/bin/false")  # the server itself need not start
    with pytest.raises(ServerNotReadyError, match="ended with status 1"), private_prefect_server(tmp_path):
        pass


def test_a_full_disk_may_have_space_later_and_a_folder_of_somebody_else_is_wrong_for_good() -> None:
    full = error_of_files(OSError(errno.ENOSPC, "No space left on device"), "no space")
    assert (type(full), str(full)) == (ServerNotReadyError, "no space")
    assert type(error_of_files(PermissionError(errno.EACCES, "Permission denied"), "not yours")) is UserError


def test_a_log_that_has_grown_begins_anew_under_the_server_that_writes_it(tmp_path: Path) -> None:
    log, old = tmp_path / "server.log", tmp_path / "server.old.log"
    with log.open("ab", buffering=0) as server:  # as a server has it open
        server.write(b"a" * 100)
        keep_log_small(tmp_path, 100)
        assert not old.exists()
        server.write(b"b")
        keep_log_small(tmp_path, 100)
        server.write(b"c")
    assert old.read_bytes() == b"a" * 100 + b"b"
    assert log.read_bytes() == b"c"
    keep_log_small(tmp_path / "none", 0)
