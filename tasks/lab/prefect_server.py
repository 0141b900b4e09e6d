"""A Prefect server for the time of a block: on loopback, with its database in a folder of ours.

It is started as its own process rather than as Prefect's implicit ephemeral server, which starts anew in each
process and gives up after a time of its own. This module does not import Prefect, so that it costs nothing
where none runs.

Of a private server, which one command uses, what runs beside the API is reduced to what records a run: it
shares the machine with the measurement.
"""

import contextlib
import errno
import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from configs.errors import UserError
from tasks.kernel.leash import leashed
from tasks.lab.files import make_private, write_whole
from tasks.lab.locks import lock_or_refuse
from tasks.lab.processes import ProcessRef, log_tail

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 10
POLL_S = 0.05
LOG_AT_MOST_BYTES: Final = 20_000_000

_PASSING_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Somebody frees space, or something else that runs ends."""

SERVICES_OFF = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "REPOSSESSOR",
    "SCHEDULER",
    "TRIGGERS",
)
"""They serve deployments, workers, schedules, concurrency leases and automations, none of which this server
has.

The event persister and the task run recorder stay on: without them the run's events and task runs are not
kept.
"""

NO_TELEMETRY: Final = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}

PRIVATE_SETTINGS: Final = {
    **NO_TELEMETRY,
    "PREFECT_SERVER_UI_ENABLED": "false",
    # Block types are the integrations' forms for the UI; registering them is a good third of the first start.
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    **{f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false" for service in SERVICES_OFF},
}


class ServerNotReadyError(UserError):
    """A server does not answer, or not any more; it may later."""


@dataclass(frozen=True)
class PrefectServer:
    """A server that answers."""

    api_url: str
    """For clients, as `PREFECT_API_URL`."""
    pid: int
    start_ms: int
    """From the start of its process to its first answer."""


@contextmanager
def private_prefect_server(folder: Path) -> Iterator[PrefectServer]:
    """A server with its database in `<folder>/prefect`, ended with the block, however the block ends.

    It dies with the thread that entered the block too, even by kill -9; should one be left over all the same,
    the next start ends it. The first start in a folder creates the database and takes several times as long.

    Raises:
        UserError: The folder cannot be written, another command uses it at this moment, or the server did not
        answer
            within `START_TIMEOUT_S` (with the end of its log).
    """
    # Without this process's own settings of Prefect: they may name another server or database.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with running_server(folder.resolve() / "prefect", free_port(), inherited | PRIVATE_SETTINGS) as server:
        yield server


@contextmanager
def running_server(home: Path, port: int, environment: Mapping[str, str]) -> Iterator[PrefectServer]:
    """A server with its database and log in `home`, on a port of loopback; see `private_prefect_server`.

    Raises:
        UserError: As there, or something else listens on the port.
    """
    record = home / "server.json"
    with _locked(home):
        _end_left_over(home, record)
        refuse_taken(port)
        began = time.monotonic()
        process = _start(home, port, {**environment, "PREFECT_HOME": str(home)})
        try:
            with _file_errors(home):
                write_whole(record, ProcessRef.of(process.pid).model_dump_json())
            _wait_for_health(process, port, home / "server.log")
            start_ms = round((time.monotonic() - began) * 1000)
            yield PrefectServer(api_url=f"http://127.0.0.1:{port}/api", pid=process.pid, start_ms=start_ms)
        finally:
            _stop(process)
            record.unlink(missing_ok=True)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Held for as long as the server is used: whatever server is recorded here is then a left-over."""
    with _file_errors(home):
        make_private(home.parent)
        make_private(home)
        lock = (home / "lock").open("w")
    refusal = f"another command uses the Prefect server of {home}: wait for its end, or use another folder"
    with lock:
        lock_or_refuse(lock, refusal)
        yield


def _end_left_over(home: Path, record: Path) -> None:
    """A record that a full disk or a loss of power has cut off names nobody: its server died by its leash."""
    with _file_errors(home), contextlib.suppress(ValidationError):
        if record.exists():
            ProcessRef.model_validate_json(record.read_bytes()).end(STOP_TIMEOUT_S)


def _start(home: Path, port: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts the server on a leash."""
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with _file_errors(home), _new_log(home).open("ab") as log:
        return subprocess.Popen(
            leashed(command),
            cwd=home,  # Prefect takes settings from the working directory's pyproject.toml and .env too
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the command, which ends the server when it has done
        )


def _new_log(home: Path) -> Path:
    """Where it goes; that of the server before, which may have been killed, stays beside it."""
    log = home / "server.log"
    if log.exists():
        log.replace(home / "server.old.log")
    return log


def keep_log_small(home: Path, at_most_bytes: int = LOG_AT_MOST_BYTES) -> None:
    """Begin the log of a server that runs anew where it has grown; what it said before stays beside it.

    The server appends to an open file: it can be emptied, not replaced. A full disk, which is what lets a log
    grow, must not keep it from that.
    """
    log = home / "server.log"
    with contextlib.suppress(OSError):
        if log.stat().st_size > at_most_bytes:
            with contextlib.suppress(OSError):
                shutil.copyfile(log, home / "server.old.log")
            os.truncate(log, 0)


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def refuse_taken(port: int) -> None:
    """Find a server that is there already: it would answer for the one that could not start.

    Raises:
        UserError: Something listens on that port of loopback.
    """
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise UserError(
                f"something listens on port {port} of 127.0.0.1 already, perhaps another Prefect server: "
                "stop it, or choose another port (S3BENCH_PORT)"
            )


def _wait_for_health(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        if is_healthy(port):
            return
        time.sleep(POLL_S)
    status = process.returncode
    what = f"did not answer within {START_TIMEOUT_S} s" if status is None else f"ended with status {status}"
    raise ServerNotReadyError(
        f"the Prefect server {what}: is there free space on the disk? The end of {log}:\n{_told_by(log)}"
    )


def _told_by(log: Path) -> str:
    """The end of a log without the frames of a traceback."""
    lines = log_tail(log).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("    ", "  File ", "Traceback")))


def is_healthy(port: int) -> bool:
    """Whether a server answers on a port of loopback.

    Asked without a library that would send even this to the user's HTTP proxy.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _file_errors(home: Path) -> Iterator[None]:
    """Turns what the disk refuses into a message for the user."""
    try:
        yield
    except OSError as error:
        message = (
            f"the Prefect server's folder {home} cannot be used: {error.strerror}: "
            "choose a folder that you can write, on a disk with free space"
        )
        raise error_of_files(error, message) from error


def error_of_files(error: OSError, message: str) -> UserError:
    """What to raise for what the disk refused: it says whether trying again may help."""
    return (ServerNotReadyError if error.errno in _PASSING_ERRNOS else UserError)(message)
