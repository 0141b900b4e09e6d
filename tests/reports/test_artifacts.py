"""What the Prefect UI shows of a run is what the terminal and the page show."""

import base64
import re
import shlex
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import duckdb
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tasks.reports import artifacts
from tasks.reports.artifacts import files_markdown, summary_markdown, unmeasured_rows
from tasks.reports.html import render_html
from tasks.reports.markdown import text_md
from tasks.reports.pictures import all_pictures
from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

_IMAGE = re.compile(r"!\[(?P<words>.*)\]\(data:image/svg\+xml;base64,(?P<data>[^)]*)\)")


def _report(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def _summary(report: Report) -> str:
    return summary_markdown(report, all_pictures(report))


def _rows(markdown: str) -> list[list[str]]:
    """The cells of each row of its tables, sorted, without what keeps text from being read as Markdown."""
    rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in markdown.splitlines() if line.startswith("| ")]
    return [sorted(re.sub(r"\\(.)", r"\1", cell) for cell in row) for row in rows]


def _items(markdown: str) -> list[str]:
    """The items of its lists, likewise."""
    lines = [line for line in markdown.splitlines() if line.startswith("- ")]
    return [re.sub(r"\\(.)", r"\1", line) for line in lines]


def test_the_terminal_the_page_and_the_summary_show_the_same_figures(run: "Run") -> None:
    cells = list(run.record.cells)
    cells[-1] = cells[-1].model_copy(update={"reason": f"{cells[-1].reason}, or leave it out of the suite"})
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    report = _report(run)
    console = Console(width=300, file=None, force_terminal=False)
    with console.capture() as captured:
        render(report, console)
    on_terminal = {re.sub(r"\s+", "", line) for line in captured.get().splitlines()}
    page = re.sub(r"\s+", "", re.sub(r"<[^>]*>", "", render_html(report)))
    summary = _summary(report)
    rows, items = _rows(summary), _items(summary)
    shown = [
        [" ".join(cell.split()) for cell in row]
        for section in document(report).sections
        for table in section.tables
        if not table.detail
        for row in table.rows
    ]
    assert len(shown) > 30
    assert all("".join(row).replace(" ", "") in on_terminal for row in shown)
    listed = [row for row in shown if sorted(row) not in rows]
    assert len(listed) == 1  # it has a sentence
    assert all(any(all(cell in item for cell in row) for item in items) for row in listed)
    figures = [row for row in shown if not re.search(r"[<>&'\"]", "".join(row))]
    assert all("".join(row).replace(" ", "") in page for row in figures)


def test_of_a_wide_table_the_words_come_first(run: "Run") -> None:
    (header,) = [
        line for line in _summary(_report(run)).splitlines() if line.startswith("| Configuration | ratio")
    ][:1]
    assert header.startswith("| Configuration | ratio of p50 to baseline | n | min |")


def test_the_summary_begins_with_what_must_not_be_overlooked_and_the_line_of_each_workload(
    run: "Run",
) -> None:
    lines = [line for line in _summary(_report(run)).splitlines() if line]
    assert lines[0].startswith("# Run 2026")
    assert lines[1].startswith("> **LOCAL LAB")
    assert lines[2].startswith("> **SKIPPED CELLS: 1 of 7")
    assert lines[4:6] == ["## Summary", "**Each workload in a line**"]


def test_pictures_are_well_formed_described_and_white_behind(run: "Run") -> None:
    found = list(_IMAGE.finditer(_summary(_report(run))))
    assert len(found) == 3 * 3 + 1
    for image in found:
        assert len(image["words"]) > 40
        drawn = ET.fromstring(base64.b64decode(image["data"]))  # noqa: S314 - drawn by ourselves
        background = drawn.find(".//{*}path[@style]")
        assert background is not None
        assert "fill:#ffffff" in background.attrib["style"]


def test_nothing_that_came_from_data_is_read_as_markdown_or_html(run: "Run") -> None:
    evil = "<img src=x> ![a](http://x/y) | `c` **b** [l](http://x)\n# h"
    cells = list(run.record.cells)
    cells[-1] = cells[-1].model_copy(update={"reason": evil})
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    text = _summary(_report(run))
    assert "<img" not in text.replace("\\<", "")
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert not re.search(r"^# h", text, re.MULTILINE)
    (row,) = [row for row in _rows(text) if any("src=x" in cell for cell in row)]
    assert len(row) == 4


def test_a_line_break_and_every_sign_of_markdown_become_text() -> None:
    assert text_md("a_b*c\n|d|") == r"a\_b\*c \|d\|"


def test_pictures_are_given_up_one_by_one_where_a_summary_would_be_too_large(
    run: "Run", monkeypatch: pytest.MonkeyPatch
) -> None:
    report = _report(run)
    drawn = all_pictures(report)
    whole = summary_markdown(report, drawn)
    monkeypatch.setattr(artifacts, "MOST_BYTES", len(whole.encode()) - 1)
    one_less = summary_markdown(report, drawn)
    assert len(_IMAGE.findall(one_less)) == 9
    assert "Pictures that are in the HTML report alone: 1." in one_less
    monkeypatch.setattr(artifacts, "MOST_BYTES", 60_000)
    small = summary_markdown(report, drawn)
    assert len(small.encode()) <= 60_000
    kept = [image["words"] for image in _IMAGE.finditer(small)]
    assert kept
    assert all(words.startswith("Cumulative distribution") for words in kept)
    monkeypatch.setattr(artifacts, "MOST_BYTES", 1)
    bare = summary_markdown(report, drawn)
    assert not _IMAGE.search(bare)
    assert _rows(bare) == _rows(whole)


def test_the_query_of_the_files_runs_whatever_the_folder_is_called(run: "Run", tmp_path: "Path") -> None:
    store = tmp_path / "it's mine"
    cell = store / "v1" / "samples" / "dt=2026-01-01" / "config=boto3_standard"
    cell.mkdir(parents=True)
    pq.write_table(run.samples, cell / f"{run.record.run_id}.read_64k.parquet")
    text = files_markdown(str(store), run.record.run_id, f"reports/{run.record.run_id}.html")
    (sql,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    assert len(duckdb.sql(sql).fetchall()) == 6
    (command,) = [line for line in text.splitlines() if line.startswith("s3bench")]
    assert shlex.split(command)[-4:] == ["--results", str(store), "--run", run.record.run_id]


def test_cells_that_were_not_measured_stand_in_a_table_with_their_reasons(run: "Run") -> None:
    (row,) = unmeasured_rows(_report(run))
    assert (row["cell"], row["status"]) == ("cli_cp/read_64k", "skipped")
    assert "pip install awscli" in row["reason"]


def test_an_incomplete_run_has_a_summary_too(run: "Run") -> None:
    report = build_report(None, run.record.run_id, run.samples)
    assert _summary(report).splitlines()[2].startswith("> **INCOMPLETE")
