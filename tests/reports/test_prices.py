"""What a run costs stands in its report, the same on the terminal, on the page and in the Prefect UI."""

import dataclasses
import html
import io
import re
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from configs.loading import load_suite
from configs.run_record import CellRecord, DatasetRecord, RunRecord
from configs.suite import Suite
from tasks.reports.artifacts import summary_markdown
from tasks.reports.document import Section, Table
from tasks.reports.html import render_html
from tasks.reports.plan_table import render_plan
from tasks.reports.price_section import cheaper_from, price_section
from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report
from tasks.stats.cell_cost import CellCost, break_evens
from tasks.workloads.cell_costs import cell_costs
from tasks.workloads.plan import plan_suite

if TYPE_CHECKING:
    from conftest import Run

KIB = 1024


def nightly(region: str = "us-east-1", zone: str = "use1-az4") -> Suite:
    settings = (
        "targets.bucket.bucket=logs",
        f"targets.bucket.region={region}",
        f"targets.express.bucket=logs--{zone}--x-s3",
        f"targets.express.region={region}",
        "targets.mount.path=/mnt/x",
        "targets.mount.file_system_id=fs-0123456789abcdef0",
    )
    return load_suite("nightly", settings=settings)


def record_of(run: "Run", suite: Suite, *, lab: bool) -> RunRecord:
    """As a run of the suite has it."""
    cells = tuple(
        CellRecord(
            config_id=cell.config_id, workload_id=cell.workload_id, status="measured", parameters=cell.asked
        )
        for cell in suite.cells()
    )
    datasets = tuple(
        DatasetRecord(name=name, kind="x", objects=2, records=0, size_bytes=2 * size_bytes)
        for name, size_bytes in (("logs", 14_312), ("blobs-64kib", 64 * KIB), ("blobs-16mib", 16 * KIB * KIB))
    )
    update = {"cells": cells, "datasets": datasets, "lab": lab, "baseline": "boto3"}
    return run.record.model_copy(update=update)


def report_of(run: "Run", suite: Suite, *, lab: bool = False) -> Report:
    record = record_of(run, suite, lab=lab)
    costs = cell_costs(suite, plan_suite(suite))
    return build_report(record, record.run_id, run.samples, costs)


def table(section: Section, title: str) -> Table:
    (found,) = [one for one in section.tables if one.title.startswith(title)]
    return found


def row(found: Table, *names: str) -> tuple[str, ...]:
    (only,) = [one for one in found.rows if one[: len(names)] == names]
    return only[len(names) :]


def test_every_cell_has_its_dollars_by_operation_by_gb_and_whole_with_what_is_not_in_them(
    run: "Run",
) -> None:
    report = report_of(run, nightly())
    section = price_section(report)
    costs = table(section, "USD by the list price")
    assert len(costs.rows) == len(nightly().cells())
    assert row(costs, "boto3", "read-64kib") == ("0.400", "0.00655", "0.000454", "0.0230", "–")
    assert row(costs, "express-boto3", "read-64kib")[:4] == ("0.0666", "0.00109", "0.0000786", "0.110")
    assert row(costs, "mount", "write-16mib")[:2] == ("1,412", "0.0904")
    number = row(costs, "mount", "write-16mib")[-1]
    missing = table(section, "Not known, or not in these sums")
    assert row(missing, number)[0].startswith("S3 Files: look-ups, reads in several parts")
    whole = sum(cost.usd or 0 for cost in report.costs)
    assert section.sentences[0] == (
        f"The cells of this run cost about {whole:.3f} USD. The oldest price is of 2025-04-10."
    )
    assert section.alerts == ()


def test_it_is_said_from_how_many_reads_and_writes_on_express_is_cheaper_and_why_it_never_is(
    run: "Run",
) -> None:
    found = table(price_section(report_of(run, nightly())), "From how many operations a month on")
    assert found.title.endswith("cheaper than S3 Standard in us-east-1, USD")
    assert row(found, "read of 64.0 KiB", "S3 Express One Zone") == (
        "0.400",
        "0.0666",
        "0.0230",
        "0.110",
        "16 reads of each object a month (260,965 a GB)",
    )
    assert row(found, "write of 64.0 KiB", "S3 Express One Zone")[-1] == (
        "2 writes of each object a month (23,676 a GB)"
    )
    never = "never: a read costs more, and storage too"
    assert row(found, "read of 16.0 MiB", "S3 Express One Zone")[-1] == never
    assert row(found, "read of 64.0 KiB", "S3 Files")[-1] == never
    assert row(found, "read of 16.0 MiB", "S3 Files")[-1] == "never: a read costs more"
    assert len(found.rows) == 2 * (3 + 2), "logs of one size are read, blobs of two read and written"


def test_prices_that_are_not_known_are_said_to_be_and_never_zero(run: "Run") -> None:
    section = price_section(report_of(run, nightly("ap-northeast-1", "apne1-az4")))
    figures = row(table(section, "USD by the list price"), "express-boto3", "write-64kib")
    assert figures[:4] == ("not known",) * 4
    assert "of 7 of 32 it is not known" in section.sentences[0]
    assert (
        "S3 Express One Zone in ap-northeast-1 is not compared with S3 Standard: a price is not known."
        in section.sentences
    )
    compared = table(section, "From how many operations a month on")
    assert {one[1] for one in compared.rows} == {"S3 Files"}
    (unknown,) = [one for one in break_evens("ap-northeast-1", [("read", 1)]) if not one.is_known]
    assert cheaper_from(unknown).startswith("not known: price unknown for region ap-northeast-1")


def test_a_run_whose_prices_are_all_unknown_says_so(run: "Run") -> None:
    section = price_section(report_of(run, nightly("eu-west-1", "euw1-az1")))
    assert section.sentences[0] == "What the cells of this run cost is not known."
    assert not [one for one in section.tables if one.title.startswith("From how many")]


def test_the_lab_bills_nothing_and_says_so(run: "Run") -> None:
    suite = load_suite("lab")
    section = price_section(report_of(run, suite, lab=True))
    assert section.sentences == ("Local lab: nothing is billed, and its server has no list price.",)
    assert section.tables == ()
    assert section in document(report_of(run, suite, lab=True)).sections


def test_amazons_prices_for_what_the_aws_shaped_lab_did_come_with_an_alert(run: "Run") -> None:
    suite = load_suite("known-answers")
    targets = {
        name: one.model_copy(update={"region": "ap-northeast-1"}) for name, one in suite.targets.items()
    }
    section = price_section(report_of(run, suite.with_targets(targets), lab=True))
    assert section.alerts == (
        "LOCAL LAB: nothing was billed. These are Amazon's list prices for the same requests.",
    )
    assert section.sentences[0].startswith("The cells of this run would cost about ")
    assert row(table(section, "USD by the list price"), "regional", "read-64kib")[0] == "0.370"


def test_a_synthetic_run_costs_nobody_anything(run: "Run") -> None:
    report = report_of(run, nightly())
    record = record_of(run, nightly(), lab=False).model_copy(update={"synthetic": True})
    section = price_section(dataclasses.replace(report, record=record))
    assert section.sentences[0].startswith("The cells of this run would cost about ")


def test_a_run_without_stored_costs_is_reported_as_ever(run: "Run") -> None:
    report = build_report(run.record, run.record.run_id, run.samples)
    assert report.costs == ()
    assert not [one for one in document(report).sections if one.anchor == "prices"]


def test_a_mount_that_moves_nothing_known_has_no_price_by_gb_and_one_that_moves_nothing_a_dash(
    run: "Run",
) -> None:
    nothing = CellCost("a", "w", 1, 0, 0, 0, 0, 0, 0, 0.0, 0.0, None, 0.023)
    hidden = CellCost("b", "w", 1, None, None, None, None, 0, None, None, None, None, None, ("why",))
    report = build_report(run.record, run.record.run_id, run.samples, (nothing, hidden))
    costs = table(price_section(report), "USD by the list price")
    assert row(costs, "a", "w") == ("0", "–", "0", "0.0230", "–")
    assert row(costs, "b", "w") == ("not known", "not known", "not known", "not known", "1")


def test_terminal_page_and_ui_show_the_same_dollars(run: "Run") -> None:
    report = report_of(run, nightly())
    shown = io.StringIO()
    render(report, Console(file=shown, width=200))
    page = html.unescape(re.sub(r"<[^>]+>", " ", render_html(report, {})))
    markdown = summary_markdown(report, {}).replace("\\", "")
    texts = [" ".join(text.split()) for text in (shown.getvalue(), page, markdown.replace("|", " "))]
    section = price_section(report)
    figures = [
        figure
        for one in section.tables
        for line in one.rows
        for place, figure in enumerate(line)
        if place not in one.prose
    ]
    assert len(figures) > 150
    for text in texts:
        assert section.sentences[0] in text
        assert not [figure for figure in figures if figure not in text]


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_plan_says_what_each_cell_will_cost(width: int) -> None:
    suite, shown = nightly(), io.StringIO()
    render_plan(suite, plan_suite(suite), Console(file=shown, width=width))
    lines = [line.split() for line in shown.getvalue().splitlines()]
    usd = {(cost.workload_id, cost.config_id): cost.usd for cost in cell_costs(suite, plan_suite(suite))}
    for cell in suite.cells():
        (figures,) = (line for line in lines if line[:2] == [cell.workload_id, cell.config_id])
        assert float(figures[-1]) == pytest.approx(usd[cell.workload_id, cell.config_id], rel=0.006)


def test_a_plan_of_the_lab_has_no_dollars() -> None:
    suite, shown = load_suite("lab"), io.StringIO()
    render_plan(suite, plan_suite(suite), Console(file=shown, width=160))
    assert "USD" not in shown.getvalue()
    assert "cost: none, since it runs in the local lab" in shown.getvalue()
