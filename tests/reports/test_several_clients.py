"""What a report says of cells that several clients measured at the same time."""

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tasks.reports.document import Table
from tasks.reports.run_sections import document
from tasks.reports.terminal import render
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from conftest import Run

START_US = 1_767_232_800_000_000
MS = 1_000_000


def reported(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def with_clients(run: "Run", **proof: str) -> "Run":
    """One client, and two of which the second begins 500 ms late: 100 operations of 10 ms each."""
    run.rows = [
        row | {"block": 0, "worker": worker, "started_us": START_US + 10_000 * place + 500_000 * worker}
        for config, clients in (("one", 1), ("two", 2))
        for worker in range(clients)
        for place, row in enumerate(
            run.operations(config, "read", "read", [10.0] * 100, size_bytes=10**6, outcome="ok")
        )
    ]
    run.with_cells(two__read={"configuration.clients": "2", "workload.concurrency": "1"})
    one, two = run.record.cells
    two = two.model_copy(update={"proof": {"clients": "2 of 2 to the end", **proof}})
    run.record = run.record.model_copy(update={"cells": (one, two)})
    return run


def throughput(run: "Run") -> Table:
    section = next(one for one in document(reported(run)).sections if one.heading == "Workload read")
    return next(table for table in section.tables if "hroughput" in table.title)


def test_throughput_of_clients_is_of_their_window_and_one_alone_stands_beside_it_by_the_same_rule(
    run: "Run",
) -> None:
    """From 500 to 1,000 ms both are active: 100 operations of 1 MB each."""
    table = throughput(with_clients(run))
    assert table.title.startswith("Throughput of all clients together: bytes within the window")
    assert table.header == ("Configuration", "clients", "threads", "blocks", "all active", "MB/s (10⁶ bytes)")
    assert table.rows == (
        ("one", "1", "1", "1", "100.0 %", "100"),
        ("two", "2", "2", "1", "33.3 %", "200"),
    )


def test_late_clients_are_named_beside_the_numbers(run: "Run") -> None:
    with_clients(run, clients_began_within_ms="500.0", late_clients="client 1 began 500 ms late")
    shown = io.StringIO()
    render(reported(run), Console(file=shown, width=200))
    assert (
        "two: 2 clients at once, each a process with those threads; 2 of 2 to the end; they began within "
        "500.0 ms; client 1 began 500 ms late." in shown.getvalue()
    )


def test_a_run_without_a_record_has_no_throughput_of_those_of_whom_only_a_record_tells(run: "Run") -> None:
    with_clients(run)
    report = build_report(None, run.record.run_id, run.samples)
    section = next(one for one in document(report).sections if one.heading == "Workload read")
    assert not any("hroughput" in table.title for table in section.tables)
    assert not any("MB/s" in name for table in section.tables for name in table.header)
    told = "which, so no throughput of all together is shown."
    assert [sentence.endswith(told) for sentence in section.sentences].count(True) == 1
    assert not any(told in sentence for one in document(reported(run)).sections for sentence in one.sentences)


@pytest.mark.parametrize("several", [True, False])
def test_programs_of_several_clients_keep_their_start_up_and_processor_times(
    run: "Run", several: bool
) -> None:
    run.rows = [
        row | {"worker": worker, "started_us": START_US + worker}
        for worker in range(2)
        for row in (
            *run.operations("cli", "up", "upload", run.many(500), size_bytes=10**6, user_ns=300 * MS),
            *run.operations("cli", "up", "start_up", run.many(200), user_ns=150 * MS),
        )
    ]
    run.with_cells(cli__up={"configuration.clients": "2"} if several else {})
    section = next(one for one in document(reported(run)).sections if one.heading == "Workload up")
    beside = next(table for table in section.tables if table.title.startswith("At p50"))
    assert beside.header == (
        "Configuration",
        "real, ms",
        "user CPU, ms",
        "start-up, ms",
        "start-up by real",
    )
    assert beside.rows[0] == ("cli", "500", "300", "200", "40.0 %")
