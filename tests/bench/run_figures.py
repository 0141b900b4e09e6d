"""Figures of a whole run of the lab suite, as `make run` does it on a machine that never ran it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, figure

from tasks.results.reader import read_run
from tasks.results.store import open_store


@figure
def orchestration_share(folder: Path) -> Iterator[Figure]:
    """What of the command's wall time is neither preparing nor measuring, a server's first start included."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_API")}
    command = [Path(sys.executable).with_name("s3bench"), "run", "lab"]
    folders = ["--lab", folder / "lab", "--results", folder / "results"]
    started_s = time.monotonic()
    subprocess.run([*command, *folders], env=environment, capture_output=True, check=True)
    command_ms = 1000 * (time.monotonic() - started_s)
    record = read_run(open_store(folder / "results"), None).record
    if record is None:
        message = "the run left no record"
        raise RuntimeError(message)
    timing = record.timing
    # Of the whole command, since starting Python, reporting and stopping the server come after the record.
    orchestration_ms = command_ms - timing.prepare_ms - timing.measure_ms - timing.wait_ms
    share = orchestration_ms / command_ms
    yield Figure("orchestration_share", share, "of the command's wall time", "<= 0.25", share <= 0.25)
    per_cell_ms = orchestration_ms / len(record.cells)
    yield Figure("orchestration_per_cell", per_cell_ms, "ms", "none", holds=True)
