"""One number is the same text wherever somebody reads it: terminal, HTML page, Prefect UI, SQL, command.

All of them read one example store. Tables are taken apart as they are shown, and compared without tolerance;
what SQL gives is written by the one module that writes figures.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest
import sqlglot

from configs.parameters import CompareParameters
from tasks.reports import wording
from tasks.reports.artifacts import summary_markdown
from tasks.reports.history_page import history_markdown
from tasks.reports.history_view import look_back
from tasks.reports.view import REPORT_COLUMNS, build_report
from tasks.results.costs import read_costs
from tasks.results.duckdb_views import duckdb_views
from tasks.results.reader import read_run
from tasks.results.sql_queries import Asked, query
from tasks.results.store import open_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NIGHTS, UNTIL = 50, date(2026, 3, 31)
NOW = datetime(2026, 3, 31, 8, tzinfo=UTC)
ALL_COLUMNS = "600"
"""So wide a terminal that no cell is folded."""

Row = dict[str, str]


@dataclass
class Shown:
    """The tables that somebody sees, by the heading of their section and their title."""

    text: str
    tables: dict[tuple[str, str], list[Row]] = field(default_factory=dict)

    def table(self, title: str, heading: str | None = None) -> list[Row]:
        found = [rows for key, rows in self.tables.items() if key[1] == title and heading in {None, key[0]}]
        assert len(found) == 1, (title, list(self.tables))
        return found[0]

    def texts(self, heading: str, title: str) -> list[Row]:
        """Without the columns that have no text anywhere: a terminal shows none of them."""
        rows = self.tables[heading, title]
        return [{name: cell for name, cell in row.items() if cell} for row in rows]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers") / "example"
    s3bench("example", str(folder), "--nights", f"{NIGHTS}", "--samples", "400", "--until", f"{UNTIL}")
    return folder


def s3bench(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("s3bench")), *arguments]
    environment = os.environ | {"COLUMNS": ALL_COLUMNS, "NO_COLOR": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def report(example: Path) -> Shown:
    return on_a_terminal(s3bench("report", "--results", str(example)))


@pytest.fixture(scope="module")
def history(example: Path) -> Shown:
    # Nights after the last one are missing in all of them alike: the example ends where it ends.
    view = look_back(open_store(example), parameters(example), NOW)
    assert view.synthetic
    return on_markdown(history_markdown(view))


@pytest.fixture(scope="module")
def page(example: Path) -> Shown:
    file = example.parent / "page.html"
    s3bench("report", "--results", str(example), "--html", str(file), "--nights", "3660")
    return on_a_page(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def in_the_ui(example: Path) -> Shown:
    run = read_run(open_store(example), None)
    costs = read_costs(open_store(example), run.run_id, run.dt)
    whole = build_report(run.record, run.run_id, run.samples(REPORT_COLUMNS), costs)
    return on_markdown(summary_markdown(whole, {}))


@pytest.fixture(scope="module")
def ask(example: Path) -> Callable[..., list[dict[str, object]]]:
    duck = duckdb.connect()
    duck.execute(duckdb_views(open_store(example)))
    asked = Asked("nightly", "2026-01-01", f"{UNTIL}")

    def answer(name: str, **changed: str) -> list[dict[str, object]]:
        text = query(name).filled(replace(asked, **changed))
        (statement,) = sqlglot.transpile(text, read="athena", write="duckdb")
        found = duck.execute(statement)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    return answer


def parameters(example: Path) -> CompareParameters:
    return CompareParameters(results=str(example), cron="30 2 * * *", timezone="UTC", nights=NIGHTS)


def on_a_terminal(text: str) -> Shown:
    """A table is a title, its header, a line, and rows until an empty line."""
    shown, heading, lines = Shown(text), "", text.splitlines()
    for place, line in enumerate(lines):
        if found := re.fullmatch(r"(\S.*?) ─+\s*", line):
            heading = found[1]
        if re.fullmatch(r"─+\s*", line) and place > 1:
            header = split_cells(lines[place - 1])
            rows = []
            for row in lines[place + 1 :]:
                if not row.strip():
                    break
                cells = split_cells(row)
                rows.append(dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True)))
            shown.tables[heading, lines[place - 2].strip()] = rows
    return shown


def split_cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def on_markdown(text: str) -> Shown:
    shown, heading, title, header = Shown(text), "", "", list[str]()
    for line in text.splitlines():
        if line.startswith("## "):
            heading = unescaped(line[3:])
        elif found := re.fullmatch(r"\*\*(.*)\*\*", line):
            title, header = unescaped(found[1]), []
        elif line.startswith("|") and not line.startswith(("| :-", "| -")):
            cells = [unescaped(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if header:
                shown.tables[heading, title].append(dict(zip(header, cells, strict=True)))
            else:
                header, shown.tables[heading, title] = cells, []
    return shown


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


class _Page(HTMLParser):
    """Headings, captions and cells of a page, one after another."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shown = Shown(text)
        self.heading = self.title = ""
        self.into: list[str] | None = None
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"h2", "h3", "figcaption", "summary", "td", "th"}:
            self.into = []
        if tag == "tr":
            self.rows.append([])
        if tag == "table":
            self.rows = []

    def handle_data(self, data: str) -> None:
        if self.into is not None:
            self.into.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = " ".join("".join(self.into or ()).split())
        match tag:
            case "h2" | "h3":
                self.heading, self.into = text, None
            case "figcaption" | "summary":
                self.title, self.into = text, None
            case "td" | "th":
                self.rows[-1].append(text)
                self.into = None
            case "table":
                header, *rows = self.rows
                self.shown.tables[self.heading, self.title] = [
                    dict(zip(header, row, strict=True)) for row in rows
                ]


def on_a_page(text: str) -> Shown:
    return _Page(text).shown


def by_cell(rows: list[Row], *names: str) -> dict[tuple[str, ...], Row]:
    return {tuple(row[name] for name in names): row for row in rows}


def tables_in_both(one: Shown, other: Shown) -> Iterator[tuple[str, str]]:
    yield from (key for key in one.tables if key in other.tables)


MUST_BE_SHOWN = (
    ("Summary", "Each workload in a line"),
    ("Workload read-64kib", "Time of one read, ms"),
    ("Workload scan", "Stages of one whole scan, p50 in ms"),
    ("Cost by the list price", "USD by the list price"),
)


@pytest.mark.parametrize("where", ["page", "in_the_ui"])
def test_every_table_of_a_run_is_the_same_text_on_the_terminal_on_the_page_and_in_the_ui(
    report: Shown, where: str, request: pytest.FixtureRequest
) -> None:
    other: Shown = request.getfixturevalue(where)
    both = set(tables_in_both(report, other))
    assert set(MUST_BE_SHOWN) <= both
    assert len(both) > 20
    for key in both:
        assert report.texts(*key) == other.texts(*key), key


def test_everywhere_the_first_that_is_read_is_that_nothing_was_measured(
    report: Shown, page: Shown, in_the_ui: Shown, history: Shown, example: Path
) -> None:
    compared = s3bench("compare", "rust", "boto3", "--results", str(example))
    for shown in (report.text, in_the_ui.text, history.text, compared):
        alerts = [line for line in shown.splitlines() if line.startswith(("! ", "> **"))]
        assert re.match(r"(! |> \*\*)SYNTHETIC", alerts[0])
    assert re.search(r"role=\"note\"[^>]*>\s*(\w+)", page.text)[1] == "SYNTHETIC"  # type: ignore[index] # or it fails


def test_sql_gives_the_quantiles_that_the_report_shows(
    report: Shown, ask: Callable[..., list[dict[str, object]]]
) -> None:
    seen = 0
    for row in ask("quantiles", since=f"{UNTIL}"):
        if row["operation"] not in {"read", "write"}:
            continue
        shown = by_cell(
            report.table(f"Time of one {row['operation']}, ms", f"Workload {row['workload_id']}"),
            "Configuration",
        )[str(row["config_id"]),]
        assert shown["n"] == f"{row['n']:,}"
        for quantile in ("p50", "p90", "p99"):
            assert shown[quantile] == as_written(row, quantile), (row, quantile)
            seen += 1
    assert seen == 3 * 4 * 5


def as_written(row: dict[str, object], quantile: str) -> str:
    value_ms, low_ms = row[f"{quantile}_ms"], row[f"{quantile}_low_ms"]
    return f"≥ {three_digits(low_ms)}" if value_ms is None else three_digits(value_ms)


def three_digits(value: object) -> str:
    assert isinstance(value, float)
    return wording.three_digits(value)


def test_the_report_and_a_comparison_by_blocks_give_the_same_ratios(report: Shown, example: Path) -> None:
    compared = on_a_terminal(s3bench("compare", "rust", "boto3", "--results", str(example)))
    for (heading, _), rows in compared.tables.items():
        beside = next(rows for key, rows in report.tables.items() if key[0] == heading)
        rust, boto3 = (by_cell(beside, "Configuration")[name,] for name in ("rust", "boto3"))
        p50 = by_cell(rows, "Statistic")["p50",]
        assert (p50["rust"], p50["boto3"]) == (rust["p50"], boto3["p50"])
        ratio = rust["ratio of p50 to baseline"].rpartition(",")[0]
        assert p50["ratio (95 % interval)"] == ratio
    assert len(compared.tables) == 6


def test_sql_and_a_comparison_by_nights_give_the_same_ratios(
    example: Path, ask: Callable[..., list[dict[str, object]]]
) -> None:
    text = s3bench("compare", "rust", "boto3", "--results", str(example), "--nights", "20")
    dates = re.search(r"20 nights, (\S+) to (\S+)", text)
    assert dates is not None
    compared, seen = on_a_terminal(text), 0
    for row in ask("ratio", since=dates[1], until=dates[2], config_a="rust", config_b="boto3"):
        rows = next(
            rows for key, rows in compared.tables.items() if key[0] == f"Workload {row['workload_id']}"
        )
        shown = by_cell(rows, "Statistic")[str(row["statistic"]),]
        low, high = three_digits(row["ratio_low"]), three_digits(row["ratio_high"])
        assert shown["ratio (95 % interval)"].startswith(f"{three_digits(row['ratio'])} ({low} to {high}")
        assert shown["nights"] == f"{row['nights']}"
        seen += 1
    assert seen >= 6 * 3


CHANGED = ("Changes", "What has changed, the latest first")


def test_changes_are_the_same_on_the_page_in_the_ui_and_in_sql(
    history: Shown, page: Shown, ask: Callable[..., list[dict[str, object]]]
) -> None:
    shown = [(row["Since"], row["What"], row["Statistic"], row["Ratio"]) for row in history.tables[CHANGED]]
    on_page = [(row["Since"], row["What"], row["Statistic"], row["Ratio"]) for row in page.table(CHANGED[1])]
    assert on_page == shown
    in_sql = {
        (
            row["since_dt"],
            f"{row['config_id']}/{row['workload_id']} {row['operation']}"
            if row["config_id"]
            else "all configurations",
            row["statistic"],
            f"{three_digits(row['ratio'])}, {row['direction']}",
        )
        for row in ask("changes")
    }
    assert in_sql == set(shown)
    assert any(what == "express-boto3/read-64kib read" for _, what, _, _ in shown)


def test_costs_are_the_same_on_the_terminal_and_in_sql(
    report: Shown, ask: Callable[..., list[dict[str, object]]]
) -> None:
    shown = by_cell(report.table("USD by the list price"), "Configuration", "workload")
    rows = ask("costs", since=f"{UNTIL}")
    assert {(row["config_id"], row["workload_id"]) for row in rows} == shown.keys()
    columns = {
        "per million operations": "usd_per_million_operations",
        "per GB moved": "usd_per_gb",
        "whole cell": "usd",
        "per GB-month stored": "usd_per_gb_month",
    }
    for row in rows:
        mine = shown[str(row["config_id"]), str(row["workload_id"])]
        assert {name: mine[name] for name in columns} == {
            name: wording.usd(row[column])  # type: ignore[arg-type] # a figure, or none
            for name, column in columns.items()
        }
