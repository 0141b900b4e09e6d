"""The measuring process: reads one block's specification from its input, measures, and answers.

Imports no Prefect and no Parquet. The answer leaves through the output that it was started with; all
else that clients print goes to the error output, so that nothing printed can become a result.

With an argument it is one of several clients that measure the block at the same time: the argument is the
number of a connected socket over which it says that it is ready, and is told when all begin; and then that
its operations have ended, and is told when those of all have.
"""

import contextlib
import os
import socket
import sys
import threading
import time
from typing import BinaryIO, Final

from configs.block import BlockSpec
from tasks.kernel.start import CommonStart, sleep_until
from tasks.venues.block import Block
from tasks.venues.wire import ENDED, READY, StartSignal, send

_CONNECTED_WITHIN_S: Final = 120.0
"""A client that has not connected by then never does: what it waits for does not answer."""


def main() -> None:
    """Run one block."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spec = BlockSpec.model_validate_json(sys.stdin.buffer.read())
    start = _common_start(socket.socket(fileno=int(sys.argv[1])), spec) if len(sys.argv) > 1 else None
    block, sending = Block(spec, start), threading.Lock()
    if spec.give_up_ns is not None:
        watch = threading.Thread(
            target=_give_up, args=(block, spec.give_up_ns, sending, results), daemon=True
        )
        watch.start()
    outcome = block.run()
    sending.acquire()  # for good: whoever comes second has nothing to say
    with results:
        send(outcome, results)


def _give_up(block: Block, give_up_ns: int, sending: threading.Lock, results: BinaryIO) -> None:
    """Beside a block that may hang: send what it has when its time is over, and end the process.

    This thread sleeps in between, so that it takes nothing of what is measured.
    """
    now_ns = time.perf_counter_ns()
    connect_until_ns = min(give_up_ns, now_ns + int(_CONNECTED_WITHIN_S * 1e9))
    _sleep_until(connect_until_ns)
    if block.is_connected:
        _sleep_until(give_up_ns)
    if sending.acquire(blocking=False):
        send(block.given_up(), results)
        os._exit(0)  # no other way ends a process one of whose threads waits in the kernel


def _sleep_until(reading_ns: int) -> None:
    while (left_ns := reading_ns - time.perf_counter_ns()) > 0:
        time.sleep(left_ns / 1e9)


def _common_start(channel: socket.socket, spec: BlockSpec) -> CommonStart:
    """The start that whoever started this process tells it over a channel."""

    def wait_for_others() -> str:
        channel.sendall(READY)
        with channel.makefile("rb") as answers:
            told = answers.readline()
        if not told:
            return "nobody told this client when to begin"
        signal = StartSignal.model_validate_json(told)
        if not signal.why_not:
            sleep_until(signal.start_us)
        return signal.why_not

    def wait_for_their_end() -> None:
        left_s = _left_s(spec)
        if left_s > 0:
            with contextlib.suppress(OSError):  # the time is up, or nobody is there who could tell
                channel.settimeout(left_s)
                channel.sendall(ENDED)
                channel.recv(1)

    return CommonStart(wait_for_others, wait_for_their_end)


def _left_s(spec: BlockSpec) -> float:
    """Until no client of the block begins anything more: what is then left of its time is for its end."""
    if spec.deadline_ns is None:
        return 0.0
    return (spec.deadline_ns - time.perf_counter_ns()) / 1e9


if __name__ == "__main__":
    main()
