"""What comes from data is text on every page, in every artifact and on every terminal, and nothing else."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from configs.parameters import CompareParameters
from configs.run_record import Night, RunRecord, dt_of
from tasks.datasets.expiry import DatasetOutcome
from tasks.doctor import findings
from tasks.reports import wording
from tasks.reports.artifacts import files_markdown, summary_markdown, unmeasured_rows
from tasks.reports.document import Section
from tasks.reports.history_page import history_document, history_markdown
from tasks.reports.history_view import HistoryView, look_back
from tasks.reports.housekeeping import Tidied, housekeeping_markdown
from tasks.reports.html import render_html
from tasks.reports.markdown import section_md, text_md
from tasks.reports.paths_section import paths_document
from tasks.reports.paths_view import paths_of_run
from tasks.reports.progress import SafeConsole
from tasks.reports.terminal import render, render_document
from tasks.reports.view import Report, build_report
from tasks.results.compaction import MonthOutcome
from tasks.results.store import open_store
from tasks.results.writer import write_nightly, write_run
from tasks.stacks import leaks
from tasks.stats.summaries import summarise

if TYPE_CHECKING:
    from conftest import Run

EVIL = (
    "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)> [bold]x[/bold] [red] :smile: $x$ "
    "![a](http://evil) `x` | **b** \x1b[31m\x1b]0;title\x07\x1b[2J\u202e\r\x9b31m --> ]]>"
)
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FROM_OTHERS = frozenset({"html_block", "html_inline", "link_open", "code_inline", "s_open"})
"""Tokens that no text from data may become; what pages have themselves are tables, lists and pictures."""


def tokens(markdown: str) -> Iterator[Token]:
    for token in MARKDOWN.parse(markdown):
        yield token
        yield from token.children or ()


def assert_is_text(markdown: str) -> None:
    """Nothing from data was read as Markdown or HTML, and nobody's terminal or reader is turned by it."""
    assert all(sign.isprintable() or sign == "\n" for sign in markdown)
    found = list(tokens(markdown))
    assert not {token.type for token in found} & FROM_OTHERS
    sources = [str(token.attrs["src"]) for token in found if token.type == "image"]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "<script>alert(1)</script>" in "".join(token.content for token in found if token.type == "text")


def assert_is_page(page: str) -> None:
    assert re.search(r"<(script|img)\b", page) is None
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    assert "&lt;script&gt;" in page


def printed(work: Callable[[SafeConsole], None]) -> str:
    """What a person's terminal is sent, colours included."""
    console = SafeConsole(width=200)
    with console.capture() as captured:
        work(console)
    sent = captured.get()
    without_colours = re.sub(r"\x1b\[[0-9;]*m", "", sent)
    assert all(sign.isprintable() or sign == "\n" for sign in without_colours)
    return without_colours


@pytest.fixture
def report(run: "Run") -> Report:
    """A run of which all that may be text is hostile."""
    cells = [
        cell.model_copy(
            update={"proof": {EVIL: EVIL}, "cache_state": EVIL, "parameters": {EVIL: EVIL}, "reason": EVIL}
        )
        for cell in run.record.cells
    ]
    environment = run.record.environment.model_copy(
        update={"cpu_model": EVIL, "packages": {EVIL: EVIL}, "kernel": EVIL, "git_commit": EVIL}
    )
    datasets = tuple(one.model_copy(update={"source": EVIL, "kind": EVIL}) for one in run.record.datasets)
    run.record = run.record.model_copy(
        update={"cells": tuple(cells), "environment": environment, "measured_by": EVIL, "datasets": datasets}
    )
    for row in run.rows:
        row["config_id"] = f"{row['config_id']}{EVIL}"
        row["message"] = EVIL if row["outcome"] == "error" else None
        row["error"] = EVIL if row["outcome"] == "error" else None
    return build_report(run.record, run.record.run_id, run.samples)


@pytest.fixture
def view(tmp_path: Path, run: "Run") -> HistoryView:
    """Ten nights in a folder with a hostile name, in whose middle the machine and its packages change."""
    store = open_store(tmp_path / EVIL.replace("/", "\\"))
    summaries = summarise(run.samples)
    for day in range(10):
        due_at = datetime(2026, 1, 1, 2, 30, tzinfo=UTC) + timedelta(days=day)
        told = f"{EVIL}{day // 5}"
        record: RunRecord = run.record.model_copy(
            update={
                "run_id": f"{due_at:%Y%m%dT%H%M%SZ}-{day:08x}",
                "dt": dt_of(due_at),
                "started_at": due_at,
                "ended_at": due_at,
                "environment": run.record.environment.model_copy(
                    update={"cpu_model": told, "packages": {EVIL: told}, "kernel": told}
                ),
                "cells": tuple(one.model_copy(update={"proof": {EVIL: told}}) for one in run.record.cells),
                **Night(schedule="nightly", scheduled_at=due_at).model_dump(),
            }
        )
        write_nightly(store, record, summaries)
        write_run(store, record)
    parameters = CompareParameters.model_construct(
        **CompareParameters(results="x", nights=30).model_dump() | {"results": store.location}
    )
    return look_back(store, parameters, datetime(2026, 1, 12, tzinfo=UTC))


def test_no_text_of_a_run_is_read_as_anything_else(report: Report) -> None:
    assert_is_page(render_html(report, {}))
    assert_is_text(summary_markdown(report, {}))
    assert all(row["reason"].isprintable() for row in unmeasured_rows(report))
    shown = printed(lambda console: render(report, console))
    assert ":smile:" in shown
    assert "[bold]x" in shown


def test_no_text_of_the_nights_is_read_as_anything_else(report: Report, view: HistoryView) -> None:
    assert_is_page(render_html(report, {}, view))
    assert_is_text(history_markdown(view))
    assert ":smile:" in printed(lambda console: render_document(history_document(view), console))


def test_no_text_of_a_comparison_is_read_as_anything_else(report: Report) -> None:
    config_ids = (f"boto3_standard{EVIL}", f"mount_rclone{EVIL}")
    shown = paths_document(paths_of_run(report, config_ids, ()))
    assert ":smile:" in printed(lambda console: render_document(shown, console))


def test_no_text_of_a_housekeeping_is_read_as_anything_else() -> None:
    tidied = Tidied(
        EVIL,
        [MonthOutcome(EVIL, "left", 1, reason=EVIL)],
        [DatasetOutcome(EVIL, "failed", EVIL, 1, 1)],
        [EVIL, f"- {EVIL}", f"1. {EVIL}", "---"],
        [EVIL],
    )
    assert_is_text(housekeeping_markdown(tidied))


@pytest.mark.parametrize("what", ["doctor", "leaks"])
def test_no_line_of_a_look_at_others_is_read_as_anything_else(what: str) -> None:
    found = leaks.Found((leaks.Leak(EVIL, EVIL, EVIL),), (EVIL,), (EVIL,))
    group = findings.Group(EVIL, (findings.Finding("wrong", EVIL, EVIL, EVIL),))
    lines = {"doctor": findings.lines_of((group,)), "leaks": [*leaks.lines_of(found, EVIL, EVIL)]}[what]

    def show(console: SafeConsole) -> None:
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    shown = printed(show)
    assert ":smile:" in shown
    assert "[bold]x[/bold]" in shown


def test_colours_of_our_own_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = SafeConsole(width=80)
    with console.capture() as captured:
        console.print("a\x1b[31m", style="red", markup=False, highlight=False)
    assert captured.get() == "\x1b[31ma\ufffd[31m\x1b[0m\n"


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1.-+=#>*_~`[]()<>!|\\&;:/ \n\t\r\x1b$^{}'\"\u202e")))
def test_a_sentence_is_one_paragraph_of_text(text: str) -> None:
    sentence = f"{text}x"
    found = [token for token in tokens(section_md(Section("a", (sentence, "b")))) if token.nesting >= 0]
    kinds = {token.type for token in found} - {"inline", "text", "text_special", "softbreak"}
    assert kinds == {"heading_open", "bullet_list_open", "list_item_open", "paragraph_open"}
    assert [token.type for token in found].count("list_item_open") == 2


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text(max_size=20))
def test_text_is_shown_as_it_is(text: str) -> None:
    shown = "".join(token.content for token in tokens(f"x {text_md(text)}") if token.type.startswith("text"))
    assert shown == wording.printable(" ".join(f"x {text}".split()))


@pytest.mark.parametrize("name", ["a*b", "a[b]", "a?b", "it's"])
def test_the_sql_of_an_artifact_reads_the_files_of_its_own_folder_alone(tmp_path: Path, name: str) -> None:
    run_id = "20260101T020000Z-1a2b3c4d"
    for folder in (tmp_path / name, tmp_path / "axb", tmp_path / "ab"):
        file = folder / "v1/samples/dt=2026-01-01/config=a" / f"{run_id}.w.parquet"
        file.parent.mkdir(parents=True)
        row = {"config_id": folder.name, "workload_id": "w", "outcome": "ok", "warmup": False, "total_ns": 1}
        pq.write_table(pa.Table.from_pylist([row]), file)
    told = files_markdown(str(tmp_path / name), run_id, "report.html")
    sql = told.partition("```sql\n")[2].partition("\n```")[0]
    assert [row[0] for row in duckdb.sql(sql).fetchall()] == [name]
