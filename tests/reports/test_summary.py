"""What stands at the top of a report."""

import io
import re
from typing import TYPE_CHECKING

from rich.console import Console

from configs.run_record import CellRecord
from tasks.reports.document import Section, Table
from tasks.reports.html import render_html
from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from conftest import Run


def reported(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def summary(run: "Run") -> Table:
    first = document(reported(run)).sections[0]
    assert first.heading == "Summary"
    return first.tables[0]


def workload(run: "Run", workload_id: str) -> Section:
    (found,) = (one for one in document(reported(run)).sections if one.workload_id == workload_id)
    return found


def test_every_workload_has_its_baseline_and_the_fastest_of_the_others_in_a_line(run: "Run") -> None:
    run.rows = [
        row
        for name, times_ms in (("one", (10, 20, 5)), ("two", (10, 30, 20)), ("three", (10, 10, 10)))
        for config_id, time_ms in zip(("sdk", "crt", "mount"), times_ms, strict=True)
        for row in run.operations(config_id, name, "read", run.many(time_ms), size_bytes=1000)
    ]
    run.rows += run.operations("sdk", "alone", "write", run.many(10), size_bytes=1000)
    run.with_cells()
    assert {row[0]: row[1:] for row in summary(run).rows} == {
        "one": ("sdk", "10.0", "mount", "0.500 (0.500 to 0.500), faster"),
        "two": ("sdk", "10.0", "mount", "2.00 (2.00 to 2.00), slower"),
        "three": ("sdk", "10.0", "crt", "1.00 (1.00 to 1.00), no difference seen"),
        "alone": ("sdk", "10.0", "–", "nothing to compare with"),
    }


def add_unmeasured(run: "Run") -> None:
    """Beside the skipped cell of `read_64k` one that failed, and a workload of which nothing was measured."""
    cells = [
        CellRecord(config_id=config_id, workload_id=workload_id, status=status, reason="for a reason")
        for config_id, workload_id, status in (
            ("crt", "read_64k", "failed"),
            ("crt", "upload", "skipped"),
        )
    ]
    run.record = run.record.model_copy(update={"cells": (*run.record.cells, *cells)})


def test_cells_that_were_not_measured_are_counted_there_and_named_at_the_top(run: "Run") -> None:
    add_unmeasured(run)
    assert {row[0]: row[-1] for row in summary(run).rows} == {
        "read_64k": "1 failed, 1 skipped",
        "read_16m": "–",
        "scan_staged": "–",
        "upload": "1 skipped",
    }
    assert document(reported(run)).alerts == (
        "LOCAL LAB: these numbers describe this machine, not Amazon S3.",
        "FAILED CELLS: 1 of 9: crt/read_64k. Reasons are below.",
        "SKIPPED CELLS: 2 of 9: cli_cp/read_64k, crt/upload. Reasons are below.",
    )


def test_the_contents_of_the_page_lead_to_every_section_and_to_what_went_wrong(run: "Run") -> None:
    add_unmeasured(run)
    page = render_html(reported(run))
    assert re.findall(r'<li><a href="#([^"]+)">', page) == [
        "summary",
        "workload-1",
        "workload-2",
        "workload-3",
        "signs",
        "data",
        "went-wrong",
        "cost",
        "method",
    ]
    assert "What went wrong</a>: 1 failed, 2 skipped<" in page
    assert '<a href="#workload-1">read_64k</a>' in page
    assert '<a href="#went-wrong">upload</a>' in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert re.search(r'class="alert"[^>]*>FAILED', page)
    assert re.search(r'class="alert mild"[^>]*>SKIPPED', page)


def test_names_from_files_are_escaped_at_the_top_as_well(run: "Run") -> None:
    evil = "<script>alert(1)</script>\"'&"
    whole = {"operation": None, "block": None, "outcome": "skipped", "message": "why"}
    for row in run.rows:
        row["workload_id"] = f"{row['workload_id']}{evil}"
    run.rows.append(run.rows[0] | whole | {"config_id": evil})
    page = render_html(build_report(None, run.record.run_id, run.samples))
    assert "<script" not in page
    assert '<th scope="row">&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;</th>' in page
    assert set(re.findall(r'href="(?!#)([^"]*)"', page)) == set(), "no name makes a link"


def test_of_many_cells_that_were_not_measured_the_alert_names_a_few_and_counts_all(run: "Run") -> None:
    cells = tuple(
        CellRecord(config_id=f"c{place}", workload_id="upload", status="failed", reason="why")
        for place in range(40)
    )
    run.record = run.record.model_copy(update={"cells": (*run.record.cells, *cells)})
    named = ", ".join(f"c{place}/upload" for place in range(6))
    assert (
        f"FAILED CELLS: 40 of 47: {named} and 34 more. Reasons are below." in document(reported(run)).alerts
    )
    assert render_html(reported(run)).count("c39/upload") == 0


def test_an_incomplete_run_has_a_summary_too(run: "Run") -> None:
    sections = document(build_report(None, run.record.run_id, run.samples)).sections
    assert [row[0] for row in sections[0].tables[0].rows] == ["read_16m", "read_64k", "scan_staged"]


def test_every_workload_says_how_many_threads_did_its_operations(run: "Run") -> None:
    run.rows = [
        *run.operations("sdk", "many", "read", run.many(10), size_bytes=1000),
        *run.operations("sdk", "one", "read", run.many(10), size_bytes=1000),
        *run.operations("sdk", "scan", "scan", run.many(10)),
    ]
    run.with_cells(
        sdk__many={"workload.concurrency": "16"},
        sdk__one={"workload.concurrency": "1"},
        sdk__scan={"workload.kind": "cloudtrail_scan"},  # cannot share out its work, and is not asked
    )
    assert workload(run, "many").sentences[0] == (
        "16 threads of the harness: as many operations at once, each with its own time."
    )
    for alone in ("one", "scan"):
        assert workload(run, alone).sentences[0] == "1 thread of the harness: one operation after the other."


def test_warm_ups_are_told_only_where_there_were_any(run: "Run") -> None:
    assert "Not counted: 10 warm-up operations." in workload(run, "read_64k").sentences
    assert not any("warm-up" in sentence for sentence in workload(run, "scan_staged").sentences)


def test_the_summary_is_the_first_table_on_the_terminal(run: "Run") -> None:
    shown = io.StringIO()
    render(reported(run), Console(file=shown, width=120))
    assert shown.getvalue().index("Each workload in a line") < shown.getvalue().index("Time of one read")
