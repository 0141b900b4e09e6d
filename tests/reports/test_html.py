import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.html import render_html, short_columns
from tasks.reports.pictures import pictures, thinned
from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Row, Run

_VOID = {"meta", "br", "link", "img", "hr"}


class _Page(HTMLParser):
    """Reads a page into its tables, pictures and attributes, and checks that every element is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.rows: list[list[str]] = []
        self.sections: list[tuple[int, int]] = []
        """Of each section: its tables, and its pictures that name none."""
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "section":
            self.sections.append((0, 0))
        if tag == "table":
            self.sections[-1] = (self.sections[-1][0] + 1, self.sections[-1][1])
        if ("role", "img") in attrs and "aria-details" not in dict(attrs):
            self.sections[-1] = (self.sections[-1][0], self.sections[-1][1] + 1)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open[-2:]):  # a link may stand in between
            self.rows[-1][-1] += data


def _report(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def test_the_page_needs_no_network(run: "Run") -> None:
    page = render_html(_report(run))
    for tag, name, value in _Page(page).attributes:
        assert tag not in {"script", "link", "iframe", "object", "img"}
        if name in {"src", "href", "xlink:href", "srcset", "data", "action"}:
            assert value.startswith("#"), (tag, name, value)
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", page))


def test_everything_that_came_from_data_is_escaped(run: "Run") -> None:
    evil = "<script>alert(1)</script>\"'&"
    cells = list(run.record.cells)
    cells[0] = cells[0].model_copy(
        update={
            "proof": {evil: evil},
            "cache_state": evil,
            "parameters": {evil: evil, f"workload.{evil}": evil},
        }
    )
    cells[-1] = cells[-1].model_copy(update={"reason": evil})
    environment = run.record.environment.model_copy(update={"cpu_model": evil, "packages": {evil: evil}})
    run.record = run.record.model_copy(update={"cells": tuple(cells), "environment": environment})
    for row in run.rows:  # ids come from files too, where there is no record
        row["config_id"] = f"{row['config_id']}{evil}$x$"
    page = render_html(_report(run))
    assert "<script" not in page
    assert _Page(page).text.count(evil) >= 10
    run.rows = run.rows[:1]
    assert "<script" not in render_html(build_report(None, evil, run.samples))


@pytest.mark.filterwarnings("error")
def test_no_name_hides_or_turns_other_text_or_breaks_a_drawing(run: "Run") -> None:
    for row in run.rows:  # ESC, a turn to the left, and what would end a comment or CDATA
        row["config_id"] = f"{row['config_id']}\x1b[31m\u202e-->]]>"
    report = build_report(None, "run\x07", run.samples)
    page = render_html(report)
    assert [sign for sign in page if not sign.isprintable() and sign != "\n"] == []
    for picture in pictures(report, "scan_staged"):
        text = "".join(ET.fromstring(picture.svg).itertext())  # noqa: S314 - drawn by ourselves
        assert "mount_rclone\ufffd[31m\ufffd-->]]>" in text


def test_words_that_are_short_ask_for_no_room_and_long_ones_wrap() -> None:
    rows = (("2026-11-30", "✓", "a reason that takes a whole sentence to tell"), ("2026-11-23", "✗", "none"))
    table = Table("Nights", ("Week from", "Mon", "Why"), rows, prose=frozenset({1, 2, 3}))
    assert short_columns(table) == {0, 1}
    assert short_columns(replace(table, prose=frozenset())) == {0}


@pytest.mark.parametrize("count", [2, 6])
def test_a_table_has_the_blocks_as_rows_unless_configurations_are_more(run: "Run", count: int) -> None:
    names = [f"c{place}" for place in range(count)]
    run.rows = [row for name in names for row in run.operations(name, "read", "read", run.many(10))]
    (table,) = [one.table for one in pictures(_report(run), "read") if one.kind == "blocks"]
    blocks = [f"block {place}" for place in range(5)]
    assert table is not None
    first, columns, rows = ("Block", names, blocks) if count == 2 else ("Configuration", blocks, names)
    assert table.header == (first, *columns)
    assert [row[0] for row in table.rows] == rows


def test_the_page_and_the_terminal_show_the_same_figures(run: "Run") -> None:
    report = _report(run)
    console = Console(width=300, record=True, quiet=False, file=None, force_terminal=False)
    with console.capture() as captured:
        render(report, console)
    on_terminal = [re.sub(r"\s+", "", line) for line in captured.get().splitlines()]
    rows = _Page(render_html(report)).rows
    in_page = ["".join(re.sub(r"\s+", "", cell) for cell in row) for row in rows]
    looked_at_first = [
        "".join(re.sub(r"\s+", "", cell) for cell in row)
        for section in document(report).sections
        for table in section.tables
        if not table.detail
        for row in (table.header, *table.rows)
    ]
    assert len(looked_at_first) > 30
    assert [row for row in looked_at_first if row not in on_terminal] == []
    assert [row for row in looked_at_first if row not in in_page] == []


def test_the_same_run_gives_the_same_bytes(run: "Run") -> None:
    run.rows = [row for row in run.rows if row["workload_id"] == "scan_staged"]  # has every kind of picture
    assert render_html(_report(run)) == render_html(_report(run))


def test_every_picture_is_described_and_its_ids_are_its_own(run: "Run") -> None:
    page = render_html(_report(run))
    described = re.findall(r'<div role="img" aria-label="([^"]{40,})"[^>]*><svg', page)
    assert len(described) == page.count("<svg") == 3 * 3 + 1
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for reference in re.findall(r'(?:url\(#|href="#|aria-details="|labelledby=")([^)"]+)', page):
        assert reference in ids


def test_every_picture_has_a_table_of_its_figures(run: "Run") -> None:
    page = _Page(render_html(_report(run)))
    told = [value for _, name, value in page.attributes if name == "aria-details"]
    own = [one for one in told if ("details", "id", one) in page.attributes]
    beside = [one for one in told if ("div", "id", one) in page.attributes]
    assert (len(own), len(beside), len(told)) == (3 * 3, 1, 3 * 3 + 1), "stages have the section's tables"
    assert all(alone == 0 for _, alone in page.sections)


def test_the_tables_of_pictures_have_the_figures_of_the_samples(run: "Run") -> None:
    drawn = {picture.kind: picture for picture in pictures(_report(run), "read_64k")}
    times = sorted(
        int(str(row["total_ns"]))
        for row in run.rows
        if (row["config_id"], row["workload_id"]) == ("mount_rclone", "read_64k") and not row["warmup"]
    )
    figures = {kind: dict(_by_name(picture.table)) for kind, picture in drawn.items()}
    mine = figures["distribution"]["mount_rclone"]
    assert mine[0] == wording.milliseconds(times[0])
    assert mine[3] == wording.milliseconds(times[49])
    assert mine[-1] == wording.milliseconds(times[-1])
    assert figures["percentiles"]["mount_rclone"][1].startswith(f"{wording.milliseconds(times[49])} (")
    assert figures["percentiles"]["mount_rclone"][4].startswith("≥ "), "100 samples have no p99"
    assert list(figures["blocks"]) == [f"block {place}" for place in range(5)]
    assert all(len(row) == 2 for row in figures["blocks"].values())


def _by_name(table: Table | None) -> list[tuple[str, tuple[str, ...]]]:
    assert table is not None
    return [(row[0], row[1:]) for row in table.rows]


def test_a_quantile_that_the_sample_does_not_support_is_drawn_as_an_open_bound(run: "Run") -> None:
    run.rows = [row for row in run.rows if row["config_id"] == "mount_rclone"]
    (few,) = [one for one in pictures(_report(run), "read_64k") if one.kind == "percentiles"]
    run.rows = run.operations("mount_rclone", "read_64k", "read", run.many(10, 4000))
    (many,) = [one for one in pictures(_report(run), "read_64k") if one.kind == "percentiles"]
    assert len(_inside_white(few.svg)) == 1, "p99 of 100"
    assert _inside_white(many.svg) == []


def _inside_white(svg: str) -> list[str]:
    return re.findall(r'<use [^>]*style="fill:#ffffff;stroke:#0072b2', svg)


def test_every_picture_is_well_formed_with_its_text_as_text(run: "Run") -> None:
    drawn = pictures(_report(run), "scan_staged")
    assert len(drawn) == 4
    for picture in drawn:
        text = "".join(ET.fromstring(picture.svg).itertext())  # noqa: S314 - drawn by ourselves
        assert "boto3_standard" in text
        assert "mount_rclone" in text


@pytest.mark.parametrize("n", [1, 2, 119, 120, 121, 100_000])
def test_a_thinned_distribution_keeps_its_extremes_and_stays_true(n: int) -> None:
    times = np.arange(n, dtype=np.int64) * 10
    kept, share = thinned(times)
    assert len(kept) <= 240
    assert (kept[0], kept[-1], share[-1]) == (0, times[-1], 1.0)
    assert np.array_equal(kept, times[(share * n).round().astype(int) - 1])


def test_a_page_of_forty_cells_stays_far_below_two_megabytes(
    run: "Run", add_cell: "Callable[[str, str], list[Row]]"
) -> None:
    run.rows = [
        row
        for config in range(8)
        for workload in range(5)
        for row in add_cell(f"config_{config}", f"work_{workload}")
    ]
    page = render_html(build_report(None, run.record.run_id, run.samples))
    assert len(page.encode()) < 1_000_000
    assert page.count("config_7") > 5


def test_an_incomplete_run_is_loud_on_the_page_too(run: "Run") -> None:
    page = render_html(build_report(None, run.record.run_id, run.samples))
    assert re.search(r'class="alert"[^>]*>INCOMPLETE', page)


def test_how_it_was_measured_is_told_with_versions_seed_and_proofs(run: "Run") -> None:
    rows = _Page(render_html(_report(run))).rows
    for row in (
        ["boto3", "1.43.1"],
        ["Seed", "20260101"],
        ["Git commit", "0123456789abcdef+dirty"],
        ["boto3_standard", "host", "127.0.0.1", "all"],
    ):
        assert row in rows
