"""`make bench`: print every figure, and write them to BENCH_JSON where that is set.

Exit status 1 where a figure is out of its bound, 2 for a name that is no figure.
"""

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import change_figures  # noqa: F401 - registers its figures
import coverage_figures  # noqa: F401 - registers its figures
import flow_figures  # noqa: F401 - registers its figures
import harness_figures  # noqa: F401 - registers its figures
import import_figures  # noqa: F401 - registers its figures
import run_figures  # noqa: F401 - registers its figures
import store_figures  # noqa: F401 - registers its figures
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
            for figure in FIGURES[name](Path(folder)):
                measured.append(figure)
                print(_line(figure), flush=True)
    path = os.environ.get("BENCH_JSON")
    if path:
        lines = [json.dumps(asdict(figure), ensure_ascii=False) + "\n" for figure in measured]
        Path(path).write_text("".join(lines), encoding="utf-8")
    return 0 if all(figure.holds for figure in measured) else 1


def _line(figure: Figure) -> str:
    verdict = "holds" if figure.holds else "DOES NOT HOLD"
    bound = "" if figure.bound == "none" else f" (bound {figure.bound}: {verdict})"
    return f"{figure.name}: {figure.value:.4g} {figure.unit}{bound}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
