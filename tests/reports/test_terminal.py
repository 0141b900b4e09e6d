import io
import re
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from conftest import Row, Run


def _shown(report: Report, width: int = 120, **options: bool) -> str:
    target = io.StringIO()
    render(report, Console(file=target, width=width, **options))
    return target.getvalue()


def _report(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


@pytest.mark.parametrize(
    ("width", "slowness", "name", "fits"),
    [
        (80, 1, "{}", True),
        (100, 60, "{}", True),
        (120, 60, "{}-with-a-name-that-is-long", True),
        (80, 9000, "{}-with-a-name-that-is-long", False),
    ],
)
def test_no_figure_and_no_name_is_cut_off_and_lines_fit(
    run: "Run", width: int, slowness: float, name: str, *, fits: bool
) -> None:
    """Up to ten seconds at 80 columns, up to ten minutes at 100; no figure and no name is ever cut."""
    for row in run.rows:
        row["total_ns"] = int(int(row["total_ns"]) * slowness)
        row["config_id"] = name.format(row["config_id"])
    run.record = run.record.model_copy(update={"baseline": name.format("boto3_standard")})
    report = _report(run)
    lines = _shown(report, width).splitlines()
    assert (max(len(line) for line in lines) <= width) == fits
    for section in document(report).sections:
        for table in section.tables:
            for row in table.rows if not table.detail else ():
                figures = [cell for place, cell in enumerate(row) if place and place not in table.prose]
                whole = figures if " " in row[0] else [row[0], *figures]
                assert any(all(part in line for part in whole) for line in lines), row


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


def _scans(run: "Run", config_id: str) -> "list[Row]":
    return [row for row in run.rows if row["operation"] == "scan" and row["config_id"] == config_id]


def _words(run: "Run", *, with_record: bool = True) -> str:
    record = run.record if with_record else None
    return " ".join(_shown(build_report(record, run.record.run_id, run.samples)).split())


WRONG_COUNTS = {"outcome": "error", "error": "WrongCounts", "message": "others were prepared", "files": 56}


def test_scans_that_agree_are_stated(run: "Run") -> None:
    assert "55 files, 2,900 records, 421,346 bytes, agreed by all 2 configurations." in _words(run)


def test_a_configuration_that_saw_other_data_in_every_scan_is_an_alert_with_what_each_saw(run: "Run") -> None:
    for row in _scans(run, "mount_rclone"):
        row.update(WRONG_COUNTS)
    words = _words(run)
    assert (
        "! DISAGREEMENT: the scans did not see the same data. boto3_standard saw 55 files, 2,900 records, "
        "421,346 bytes in 10 scans; mount_rclone saw 56 files, 2,900 records, 421,346 bytes in 10 scans. "
    ) in words
    assert "Each scan:" not in words
    assert "not compared: no successful operation: all 10 failed" in words


def test_one_scan_that_saw_other_data_is_an_alert_and_no_ratio_hides_it(run: "Run") -> None:
    _scans(run, "boto3_standard")[0].update(WRONG_COUNTS)
    words = _words(run)
    assert "boto3_standard saw 56 files, 2,900 records, 421,346 bytes in 1 scan; mount_rclone" in words
    assert "too many operations failed: 0 of 10 (0.0 %), baseline 1 of 10 (10.0 %)" in words


def test_agreement_of_all_is_never_said_where_one_was_skipped_or_did_not_end(run: "Run") -> None:
    cells = list(run.record.cells)
    for status, config_id in (("skipped", "cli_cp"), ("failed", "boto3_crt")):
        update = {"workload_id": "scan_staged", "config_id": config_id, "status": status}
        cells.append(cells[0].model_copy(update=update))
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    assert (
        "agreed by 2 of 4 configurations; cli_cp was skipped; no scan of boto3_crt came to its end."
    ) in _words(run)
    for row in _scans(run, "mount_rclone"):
        row.update({"outcome": "error", "error": "ReadTimeout", "files": 30})
    assert (
        "seen by boto3_standard alone; no scan of mount_rclone came to its end; cli_cp was skipped;"
    ) in _words(run)


def test_an_incomplete_run_does_not_know_all_configurations(run: "Run") -> None:
    assert ", agreed by 2 configurations." in _words(run, with_record=False)


def test_a_cell_that_failed_is_not_called_faster(run: "Run") -> None:
    assert "faster" in _shown(_report(run))
    cells = [
        cell.model_copy(update={"status": "failed" if cell.config_id == "mount_rclone" else cell.status})
        for cell in run.record.cells
    ]
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    words = _words(run)
    assert words.count("not compared: its cell failed") == 3
    assert ", faster" not in words
    assert ", slower" not in words


def test_a_cell_that_failed_is_not_compared_in_an_incomplete_run_either(run: "Run") -> None:
    whole = {"operation": None, "block": None, "outcome": "error", "message": "wrong host"}
    run.rows += [run.rows[0] | whole | {"config_id": "mount_rclone"}]
    assert "not compared: its cell failed" in _words(run, with_record=False)


def test_waiting_is_shown_and_the_parts_of_the_time_add_up(run: "Run") -> None:
    assert "Waiting" not in _shown(_report(run))
    timing = run.record.timing.model_copy(update={"wait_ms": 7_000})
    run.record = run.record.model_copy(update={"timing": timing})
    assert re.search(r"Waiting for another measurement +7\.0 s +7\.3 %", _shown(_report(run)))
    (table,) = (
        table
        for section in document(_report(run)).sections
        for table in section.tables
        if table.title == "Where the time went"
    )
    seconds = {name: float(time.removesuffix(" s")) for name, time, _ in table.rows}
    del seconds["of which starting the server"], seconds["Orchestration per cell"]
    assert sum(seconds.values()) == pytest.approx(2 * seconds["Whole run"], abs=0.2)


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


def test_where_no_block_had_two_operations_there_is_no_time_between_them(run: "Run") -> None:
    assert run.record.harness is not None
    harness = run.record.harness.model_copy(update={"loop_gap_ns": 0})
    run.record = run.record.model_copy(update={"harness": harness})
    assert re.search(r"Between two operations, checks included +–\n", _shown(_report(run)))


def test_a_cache_state_that_several_share_is_told_once(run: "Run") -> None:
    cells = tuple(cell.model_copy(update={"cache_state": "warm"}) for cell in run.record.cells)
    run.record = run.record.model_copy(update={"cells": cells})
    assert _shown(_report(run)).count("\nboto3_standard, mount_rclone: warm.\n") == 3


def test_blobs_are_objects_and_logs_are_files(run: "Run") -> None:
    shown = _shown(_report(run))
    assert "106 objects, 6,946,816 bytes, seed 7" in shown
    assert "55 files, 2,900 records, 421,346 bytes, from ../logs" in shown


def test_a_run_that_measured_nothing_says_so(run: "Run") -> None:
    run.rows.clear()
    run.record = run.record.model_copy(update={"harness": None})
    shown = _shown(_report(run))
    assert "NOTHING was measured." in shown
    assert "harness" not in shown


def test_cells_stand_in_the_order_of_the_suite(run: "Run") -> None:
    run.record = run.record.model_copy(update={"cells": run.record.cells[::-1]})
    assert _report(run).workload_ids == ("scan_staged", "read_16m", "read_64k")
