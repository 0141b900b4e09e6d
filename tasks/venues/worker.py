"""The measuring process: reads one block's specification from its input, measures, and answers.

Imports no Prefect and no Parquet. The answer leaves through the output that it was started with; all
else that clients print goes to the error output, so that nothing printed can become a result.
"""

import ctypes
import os
import signal
import sys

from configs.block import BlockSpec
from tasks.venues.block import run_block
from tasks.venues.wire import send

_PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    """Run one block."""
    _die_with_parent()
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spec = BlockSpec.model_validate_json(sys.stdin.buffer.read())
    with results:
        send(run_block(spec), results)


def _die_with_parent() -> None:
    """Have the kernel end this process when the one that started it is gone, however it went."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
