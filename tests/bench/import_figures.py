"""What it costs to take over lines that others logged: the whole command, its start included."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from figures import Figure, figure

from tests.results.sample_text import line_text

_LINES: Final = 100_000
_OF_INVOCATION: Final = 200
_TAKEN: Final = f"{_LINES:,} samples of 2 cells"
_KNOWN: Final = f"{_LINES:,} known already, 0 wrong"
_TURNS: Final = 3
_MOST_S: Final = 5


@figure
def import_of_lines(folder: Path) -> Iterator[Figure]:
    """A log of two configurations by `aws logs tail`, into an empty store and again: the best of three."""
    moments = (
        f"{place // 36_000:02}:{place // 600 % 60:02}:{place // 10 % 60:02}" for place in range(_LINES)
    )
    lines = (
        f"2026-07-01T{moment}.123000+00:00 2026/07/01/[$LATEST]0f3bd1f5cf7d4a0f8a5ab0a4a8a3a2c1 "
        + line_text(
            place % _OF_INVOCATION,
            config=("A_s3_sdk", "B_s3_files")[place % 2],
            request_id=f"request-{place // _OF_INVOCATION}",
            elapsed_ms=1 + place % 997 / 1000,
        )
        for place, moment in enumerate(moments)
    )
    (folder / "tail.log").write_text("\n".join(lines), encoding="utf-8")
    into_empty_s = min(_import_s(folder, f"results-{turn}", _TAKEN) for turn in range(_TURNS))
    yield Figure("import_100000_lines", into_empty_s, "s", f"<= {_MOST_S}", into_empty_s <= _MOST_S)
    again_s = min(_import_s(folder, "results-0", _KNOWN) for _ in range(_TURNS))
    yield Figure("import_100000_known_lines", again_s, "s", f"<= {_MOST_S}", again_s <= _MOST_S)


def _import_s(folder: Path, results: str, expected: str) -> float:
    """How long one command takes, in seconds."""
    command = [Path(sys.executable).with_name("s3bench"), "import", "tail.log", "--results", results]
    started_s = time.monotonic()
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    took_s = time.monotonic() - started_s
    if expected not in ended.stdout:
        raise RuntimeError(ended.stdout)
    return took_s
