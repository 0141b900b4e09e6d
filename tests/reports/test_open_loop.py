"""What a report says of a workload whose operations were due at a rate."""

from typing import TYPE_CHECKING

from tasks.reports.document import Section
from tasks.reports.run_sections import document
from tasks.reports.view import build_report

if TYPE_CHECKING:
    from conftest import Run

MS = 1_000_000


def section_of(run: "Run") -> Section:
    report = build_report(run.record, run.record.run_id, run.samples)
    return next(one for one in document(report).sections if one.heading == "Workload read")


def paced(run: "Run", **extra: int) -> "Run":
    run.rows = [
        row | {"response_ns": row["total_ns"] + late_ms * MS, **extra}
        for config, late_ms in (("one", 0), ("two", 300))
        for row in run.operations(config, "read", "read", run.many(10.0), size_bytes=10, outcome="ok")
    ]
    cell = {"workload.rate_per_s": "20.0", "workload.concurrency": "4"}
    run.with_cells(one__read=cell, two__read=cell)
    return run


def test_what_somebody_waited_who_came_at_that_rate_stands_beside_the_time_of_the_operation(
    run: "Run",
) -> None:
    tables = {table.title: table for table in section_of(paced(run)).tables}
    operations = tables["Time of one read, ms"]
    responses = tables["Response time of one read, from the moment at which it was due, ms"]
    p50 = operations.header.index("p50")
    assert [row[p50] for row in operations.rows] == ["10.0", "10.0"]
    assert [(row[0], row[p50]) for row in responses.rows] == [("one", "10.0"), ("two", "310")]


def test_the_rate_is_told_and_what_it_means(run: "Run") -> None:
    sentences = section_of(paced(run)).sentences
    assert any(one.startswith("An open loop: 20 operations per second are due") for one in sentences)


def test_a_response_time_is_no_stage_that_adds_up(run: "Run") -> None:
    tables = {table.title: table for table in section_of(paced(run)).tables}
    assert not any(title.startswith("Stages of one read") for title in tables)
    tables = {table.title: table for table in section_of(paced(run, ttfb_ns=4 * MS)).tables}
    means = next(table for title, table in tables.items() if "these add up" in title)
    assert means.header == ("Configuration", "until first byte", "other", "total")
    assert {row[1:] for row in means.rows} == {("4.00", "6.00", "10.0")}


def test_a_ratio_of_response_times_stands_among_those_of_stages(run: "Run") -> None:
    (relative,) = (
        table for table in section_of(paced(run)).tables if table.title.startswith("Stages relative")
    )
    assert {row[:2] for row in relative.rows} == {
        ("two", "total"),
        ("two", "response, from when it was due"),
    }


def test_a_closed_loop_has_no_response_times(run: "Run") -> None:
    run.rows = [*run.operations("one", "read", "read", run.many(10.0), size_bytes=10, outcome="ok")]
    section = section_of(run)
    assert not any("Response" in table.title for table in section.tables)
    assert not any("open loop" in sentence for sentence in section.sentences)
