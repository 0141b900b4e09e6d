"""The local venue: every block in a fresh process on this host, ended when it outlives its time.

A block that is merely slow ends by itself before that, with the samples that it has. Of one that hangs, or
whose last operation takes more than the rest of its time, another thread of the process sends what was
measured, in which what had not ended is an error. A process that does not do that either is killed, and what
it had measured is lost with it. So is one in a lab that broke, in which a mount's reads can each take a
minute to fail. One that cannot even be killed, because the kernel waits for a mount, is left behind.

Where several clients measure one block, each of them is started by this venue on its own host.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from configs.block import BlockSpec
from configs.workloads import BEGIN_WITHIN
from tasks.kernel.bounded_files import end_or_leave
from tasks.kernel.leash import leashed
from tasks.kernel.samples import SampleColumns
from tasks.venues.wire import BlockOutcome, StartSignal, WireError, receive

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
_LAST_LINES = 5
_GIVE_UP_AFTER: Final = 0.95
"""Of the time of a block: what hangs then is given up, and what is left is for sending the samples."""
_KILLED_WITHIN_S: Final = 10.0
_LOOK_EVERY_S: Final = 10.0
"""How often it is asked within a block what is broken: seldom, since asking takes some of the machine."""


class Meet(Protocol):
    """How a client agrees with the others of its block. Each is called once at most, in a thread."""

    def begin(self) -> StartSignal:
        """Called when it is ready; returns when all clients may be told how to go on."""

    def end(self) -> None:
        """Called when its operations have ended; returns when those of all have."""


class LocalVenue:
    """Starts `tasks.venues.worker` with the environment that its clients need."""

    def __init__(
        self,
        environment: Mapping[str, str],
        timeout_s: float,
        what_is_broken: Callable[[], str] = str,
        look_every_s: float | None = None,
    ) -> None:
        """Make one.

        Args:
            environment: of the measuring processes.
            timeout_s: how long a block may take.
            what_is_broken: is asked before each block and now and then within; an answer that is not empty
                ends the block, or keeps it from being measured.
            look_every_s: how often that is within a block; None for seldom.
        """
        self._environment = {
            name: value for name, value in environment.items() if not name.startswith("PREFECT_")
        }
        self._timeout_s = timeout_s
        self._what_is_broken = what_is_broken
        self._look_every_s = look_every_s or _LOOK_EVERY_S

    def run(self, spec: BlockSpec, meet: Meet | None = None) -> BlockOutcome:
        """Measure one block; the death or a time-out of its process is an outcome, never an exception.

        Args:
            spec: the block.
            meet: how this client agrees with others when to begin; None where it is the only one. The time
                that it waits for them is part of the time that the block may take.
        """
        if problem := self._what_is_broken():
            return _failed(problem)
        worker = self._start(meet)
        now_ns, timeout_ns = time.perf_counter_ns(), int(self._timeout_s * 1e9)
        times = {
            "deadline_ns": now_ns + int(timeout_ns * BEGIN_WITHIN),
            "give_up_ns": now_ns + int(timeout_ns * _GIVE_UP_AFTER),
        }
        try:
            outcome = self._outcome(worker, spec.model_copy(update=times))
        finally:
            worker.kill()
            has_ended = end_or_leave(worker, _KILLED_WITHIN_S)
        if not has_ended:
            left = f"{outcome.reason}; its process {worker.pid} waits in the kernel and cannot be ended"
            return replace(outcome, status="failed", reason=f"{left}: mount its file system again")
        return outcome

    def _outcome(self, worker: "subprocess.Popen[bytes]", spec: BlockSpec) -> BlockOutcome:
        try:
            payload, printed = self._wait(worker, spec.model_dump_json().encode())
        except _BrokenError as error:
            return _failed(f"{error}; the block was stopped")
        except subprocess.TimeoutExpired as late:
            # It may have sent its samples, and still not end.
            with contextlib.suppress(WireError):
                return receive(late.output or b"")
            return _failed(f"the block did not end within {self._timeout_s:g} s and was stopped")
        if returncode := worker.returncode:
            return _failed(f"the measuring process ended with {_how(returncode)}: {_tail(printed)}")
        try:
            return receive(payload)
        except WireError as error:
            return _failed(f"the measuring process answered wrongly: {error}; {_tail(printed)}")

    def _start(self, meet: Meet | None) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tasks.venues.worker"]
        if meet is None:
            return self._start_process(command)
        ours, theirs = socket.socketpair()
        with theirs:  # the process has its own copy, whose end is then seen
            worker = self._start_process([*command, str(theirs.fileno())], theirs.fileno())
        threading.Thread(target=_tell_how_to_go_on, args=(ours, meet), daemon=True).start()
        return worker

    def _start_process(self, command: list[str], *kept_open: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            leashed(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            cwd=_PROJECT_ROOT,
            pass_fds=kept_open,
        )

    def _wait(self, worker: "subprocess.Popen[bytes]", told: bytes) -> tuple[bytes, bytes]:
        """What a worker writes until it ends."""
        deadline = time.monotonic() + self._timeout_s
        given: bytes | None = told
        while True:
            left_s = deadline - time.monotonic()
            try:
                return worker.communicate(given, timeout=min(left_s, self._look_every_s))
            except subprocess.TimeoutExpired:
                if left_s <= self._look_every_s:
                    raise
            given = None  # it has been sent, or goes on being sent
            if problem := self._what_is_broken():
                raise _BrokenError(problem)


def _tell_how_to_go_on(channel: socket.socket, meet: Meet) -> None:
    """Beside a process: once it is ready, tell it how to go on; over with the process at the latest."""
    with channel, contextlib.suppress(OSError):
        if channel.recv(1):
            channel.sendall(meet.begin().model_dump_json().encode() + b"\n")
        if channel.recv(1):
            meet.end()
            channel.sendall(b"\n")


class _BrokenError(Exception):
    """What a block needs has ended."""


def _failed(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)


def _how(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit status {returncode}"


def _tail(printed: bytes) -> str:
    lines = printed.decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
    return os.linesep.join(lines) or "it printed nothing"
