"""The measuring process: reads one block's specification from its input, measures, and answers.

Imports no Prefect and no Parquet. The answer leaves through the output that it was started with; all
else that clients print goes to the error output, so that nothing printed can become a result.

With an argument it is one of several clients that measure the block at the same time: the argument is the
number of a connected socket over which it says that it is ready, and is told when all begin.
"""

import os
import socket
import sys

from configs.block import BlockSpec
from tasks.kernel.start import CommonStart, sleep_until
from tasks.venues.block import run_block
from tasks.venues.wire import READY, StartSignal, send


def main() -> None:
    """Run one block."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    start = _common_start(socket.socket(fileno=int(sys.argv[1]))) if len(sys.argv) > 1 else None
    spec = BlockSpec.model_validate_json(sys.stdin.buffer.read())
    with results:
        send(run_block(spec, start), results)


def _common_start(channel: socket.socket) -> CommonStart:
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

    return CommonStart(wait_for_others)


if __name__ == "__main__":
    main()
