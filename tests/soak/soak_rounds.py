"""One round of the soak: a scheduled run, perhaps killed in its middle, and what became of it."""

import contextlib
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import psutil
from soak_host import SoakHost

T = TypeVar("T")
KILLS = ("server", "everything", "flow", "serve", "cancel", "terminate")
"""What is killed, one after another; the server is killed first, so that its memory is seen after."""
BLOCKS_BEFORE_KILL = 20
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
BEGIN_WITHIN_S = 300
RUN_WITHIN_S = 420
KNOWN_WITHIN_S = 120
"""After a kill: a run's state is final, and what it started is gone."""
EXPECTED = {
    None: {"Completed"},
    "server": {"Completed", "Crashed"},
    "everything": {"Crashed"},
    "flow": {"Crashed"},
    "serve": {"Crashed"},
    "cancel": {"Cancelled"},
    "terminate": {"Crashed"},
}
"""By name: a run whose cells failed, or that was skipped, is of the type COMPLETED as well."""


@dataclass
class Round:
    """What was done and seen in a round."""

    number: int
    kill: str | None
    state: str = "unknown"
    seconds: float = 0.0
    blocks_seen: int = 0
    """Journalled when the kill came."""
    blocks_stored: int = 0
    server_pid: int = 0
    server_rss_mib: float = 0.0
    problems: list[str] = field(default_factory=list)

    def cells(self) -> list[str]:
        return [
            str(self.number),
            self.kill or "",
            self.state,
            f"{self.seconds:.0f}",
            str(self.blocks_seen or ""),
            str(self.blocks_stored),
            f"{self.server_rss_mib:.0f}",
            "; ".join(self.problems),
        ]

    def line(self) -> str:
        kill = f"{self.kill} killed after {self.blocks_seen} blocks: " if self.kill else ""
        told = f": {'; '.join(self.problems)}" if self.problems else ""
        return (
            f"round {self.number}: {kill}{self.state} in {self.seconds:.0f} s, "
            f"{self.blocks_stored} blocks stored, server {self.server_rss_mib:.0f} MiB{told}"
        )


def run_round(host: SoakHost, number: int, kill: str | None) -> Round:
    """Wait for the next run, kill what is to be killed, and wait for its end."""
    this = Round(number, kill)
    before = {run["id"] for run in host.flow_runs() if run["state_type"] in FINAL}
    run_id = _wait_for(lambda: _begun(host, before), BEGIN_WITHIN_S)
    began = time.monotonic()
    if run_id is None:
        this.problems.append(f"no run began within {BEGIN_WITHIN_S} s")
        return this
    if kill is not None:
        if _wait_for(lambda: host.blocks_journalled() >= BLOCKS_BEFORE_KILL, RUN_WITHIN_S) is None:
            this.problems.append("it never came to the middle of its measurement")
        before_kill = host.processes()
        this.blocks_seen = host.blocks_journalled()
        _kill(host, kill, run_id)
    limit_s = RUN_WITHIN_S if kill in {None, "server"} else KNOWN_WITHIN_S
    _wait_for(lambda: _state(host, run_id, "state_type") in FINAL, limit_s)
    this.state, this.seconds = _state(host, run_id), time.monotonic() - began
    if this.state not in EXPECTED[kill]:
        this.problems.append(f"its state is {this.state} after {limit_s} s")
    if kill in {"flow", "serve", "everything", "cancel", "terminate"}:
        this.problems += _what_goes_on(before_kill)
    _look(host, this)
    return this


def _begun(host: SoakHost, before: set[object]) -> str | None:
    """The id of a run that goes on and had not ended before."""
    running = [run for run in host.flow_runs() if run["state_type"] == "RUNNING" and run["id"] not in before]
    return str(running[0]["id"]) if running else None


def _state(host: SoakHost, run_id: str, which: str = "state_name") -> str:
    (state,) = (str(run[which]) for run in host.flow_runs() if run["id"] == run_id)
    return state


def _kill(host: SoakHost, kill: str, run_id: str) -> None:
    if kill == "cancel":
        host.cancel(run_id)
    elif kill == "everything":
        for process in host.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        host.start()
    else:
        victims: dict[str, Callable[[], psutil.Process]] = {
            "server": host.server,
            "flow": host.flow_process,
            "serve": host.serve_process,
            "terminate": host.flow_process,
        }
        victims[kill]().send_signal(signal.SIGTERM if kill == "terminate" else signal.SIGKILL)


def _what_goes_on(before_kill: list[psutil.Process]) -> list[str]:
    """Of a killed run, what still runs: its own process, those that measure, the lab's."""
    run_s_own = ("prefect.engine", "tasks.venues.worker", "tasks.lab.aws_proxy", "rclone")

    def left() -> list[psutil.Process]:
        alive = [process for process in before_kill if process.is_running()]
        return [one for one in alive if any(word in _command(one) for word in run_s_own)]

    if _wait_for(lambda: not left(), KNOWN_WITHIN_S) is None:
        return [f"process {process.pid} goes on: {_command(process)[:200]}" for process in left()]
    return []


def _command(process: psutil.Process) -> str:
    try:
        return "" if process.status() == psutil.STATUS_ZOMBIE else " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _look(host: SoakHost, this: Round) -> None:
    """What the store and the server look like after a round."""
    if this.kill not in {None, "server"}:
        _wait_for(lambda: host.blocks_journalled() == 0, KNOWN_WITHIN_S)
    run_id = host.newest_run_id()
    if run_id == host.last_run_id:
        this.problems.append("nothing of it is in the store")
        return
    host.last_run_id = run_id
    this.blocks_stored = host.blocks_stored(run_id)
    if doubled := host.rows_doubled(run_id):
        this.problems.append(f"{doubled} rows are there twice")
    if this.blocks_stored < this.blocks_seen:
        this.problems.append(f"{this.blocks_seen} blocks had ended, {this.blocks_stored} are stored")
    with contextlib.suppress(psutil.Error, FileNotFoundError):
        server = host.server()
        this.server_pid = server.pid
        this.server_rss_mib = server.memory_info().rss / 2**20


def _wait_for(look: Callable[[], T], within_s: float) -> T | None:
    """The first answer that is true, or None; a server that restarts does not answer for a while."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):
            if answer := look():
                return answer
        time.sleep(1)
    return None
