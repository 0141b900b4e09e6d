"""What a suite would do, as a table."""

import io

from rich.console import Console

from configs.loading import load_suite
from tasks.reports.plan_table import render_plan
from tasks.workloads.plan import plan_suite


def test_names_and_figures_are_whole_in_lines_that_are_too_short_for_them() -> None:
    suite, shown = load_suite("known-answers"), io.StringIO()
    render_plan(suite, plan_suite(suite), Console(file=shown, width=40))
    lines = [line.split() for line in shown.getvalue().splitlines()]
    for cell in suite.cells():
        (figures,) = (line[2:] for line in lines if line[:2] == [cell.workload_id, cell.config_id])
        assert figures[0].isdigit()
        assert figures[-1] in {"B", "KiB", "MiB"}
