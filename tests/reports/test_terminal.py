import io
import re
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from conftest import Run


def _shown(report: Report, width: int = 120, **options: bool) -> str:
    target = io.StringIO()
    render(report, Console(file=target, width=width, **options))
    return target.getvalue()


def _report(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


@pytest.mark.parametrize(("width", "slowness"), [(80, 1), (80, 9000), (100, 60), (120, 60)])
def test_no_figure_is_cut_off_and_lines_fit(run: "Run", width: int, slowness: int) -> None:
    """Up to ten seconds at 80 columns, up to ten minutes at 100; no figure is ever cut."""
    name = "{}_with_a_name_that_is_long"
    for row in run.rows:
        row["total_ns"] = int(row["total_ns"]) * slowness
        row["config_id"] = name.format(row["config_id"])
    run.record = run.record.model_copy(update={"baseline": name.format("boto3_standard")})
    report = _report(run)
    lines = _shown(report, width).splitlines()
    assert slowness > 60 or max(len(line) for line in lines) <= width
    for section in document(report).sections:
        for table in section.tables:
            for row in table.rows if not table.detail else ():
                figures = [cell for place, cell in enumerate(row) if place and place not in table.prose]
                assert any(all(figure in line for figure in figures) for line in lines), row


def test_the_lab_says_that_it_is_not_amazon_s3(run: "Run") -> None:
    assert "LOCAL LAB: these numbers describe this machine, not Amazon S3." in _shown(_report(run))
    run.record = run.record.model_copy(update={"lab": False})
    assert "LOCAL LAB" not in _shown(_report(run))


def test_a_run_without_a_record_is_loudly_incomplete_and_still_shown(run: "Run") -> None:
    whole = {"operation": None, "block": None, "outcome": "skipped", "message": "no /dev/fuse"}
    run.rows.append(run.rows[0] | whole | {"config_id": "mount_x"})
    report = build_report(None, run.record.run_id, run.samples)
    shown = _shown(report)
    assert "! INCOMPLETE" in shown
    assert report.baseline_id == "boto3_standard"
    assert "faster" in shown
    assert "no /dev/fuse" in shown


def test_failed_cells_are_named_at_the_top_with_their_reasons_below(run: "Run") -> None:
    cells = list(run.record.cells)
    cells[0] = cells[0].model_copy(update={"status": "failed", "reason": "host was elsewhere.example"})
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    shown = _shown(_report(run))
    assert "FAILED CELLS: 1 of 7: boto3_standard/read_64k." in shown
    assert "host was elsewhere.example" in shown


def test_the_whole_reason_of_a_skipped_cell_is_shown_at_80_columns(run: "Run") -> None:
    words = " ".join(_shown(_report(run), 80).split())
    for word in run.record.cells[-1].reason.split():
        assert word in words


def test_scans_that_agree_are_stated_and_scans_that_do_not_are_an_alert(run: "Run") -> None:
    assert "55 files, 2,900 records, 421,346 bytes, agreed by all 2 configurations." in _shown(_report(run))
    next(row for row in run.rows if row["operation"] == "scan")["records"] = 2899
    shown = " ".join(_shown(_report(run)).split())
    assert "DISAGREEMENT: the scans did not see the same data." in shown
    assert "boto3_standard saw 55 files, 2,899 records, 421,346 bytes" in shown
    assert "not compared: unlike records" in shown


def test_text_from_data_is_no_markup_and_no_escape_sequence(run: "Run") -> None:
    run.rows[3]["message"] = "\x1b[31mred \x07[bold]x[/bold]"
    run.rows[3]["error"] = "Other\x1b[0m"
    shown = _shown(_report(run))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[bold]x[/bold]" in shown


def test_without_colours_the_text_is_the_same(run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    report = _report(run)
    coloured = _shown(report, force_terminal=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == _shown(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*3[1-7]m", _shown(report, force_terminal=True))


def test_what_measuring_cost_and_where_the_time_went_are_shown(run: "Run") -> None:
    shown = _shown(_report(run))
    for line in (
        r"Smallest step of the clock +41 ns",
        r"Timing nothing, p50: part of every sample +83 ns",
        r"Between two operations, checks included +213 µs",
        r"Share of one processor while measuring +37\.4 %",
        r"Orchestration: all the rest +21\.9 s +23\.0 %",
        r"Orchestration per cell +3\.1 s +3\.3 %",
    ):
        assert re.search(line, shown), line


def test_a_run_that_measured_nothing_says_so(run: "Run") -> None:
    run.rows.clear()
    run.record = run.record.model_copy(update={"harness": None})
    shown = _shown(_report(run))
    assert "NOTHING was measured." in shown
    assert "harness" not in shown


def test_cells_stand_in_the_order_of_the_suite(run: "Run") -> None:
    run.record = run.record.model_copy(update={"cells": run.record.cells[::-1]})
    assert _report(run).workload_ids == ("scan_staged", "read_16m", "read_64k")
