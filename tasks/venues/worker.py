"""The measuring process: reads one block's specification from its input, measures, and answers.

Imports no Prefect and no Parquet. The answer leaves through the output that it was started with; all
else that clients print goes to the error output, so that nothing printed can become a result.
"""

import os
import sys

from configs.block import BlockSpec
from tasks.venues.block import run_block
from tasks.venues.wire import send


def main() -> None:
    """Run one block."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    spec = BlockSpec.model_validate_json(sys.stdin.buffer.read())
    with results:
        send(run_block(spec), results)


if __name__ == "__main__":
    main()
