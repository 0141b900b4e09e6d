"""`make bench`: print every figure, and write them to BENCH_JSON where that is set.

Exit status 1 where a figure is out of its bound, 2 for a name that is no figure.
"""

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from figures import FIGURES, Figure


def main(names: list[str]) -> int:
    """Measure the named figures, or all."""
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"no figure {', '.join(unknown)}; there are: {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    measured: list[Figure] = []
    for name in names or FIGURES:
        with tempfile.TemporaryDirectory() as folder:
            for figure in FIGURES[name](Path(folder) / "lab"):
                measured.append(figure)
                verdict = "holds" if figure.holds else "DOES NOT HOLD"
                print(
                    f"{figure.name}: {figure.value:.4g} {figure.unit} (bound {figure.bound}: {verdict})",
                    flush=True,
                )
    path = os.environ.get("BENCH_JSON")
    if path:
        Path(path).write_text(
            "".join(json.dumps(asdict(figure)) + "\n" for figure in measured), encoding="utf-8"
        )
    return 0 if all(figure.holds for figure in measured) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
