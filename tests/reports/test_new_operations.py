"""Stages, transfers, first requests and sync lag: what is shown beside the time, and where it belongs."""

from typing import TYPE_CHECKING

import pytest

from configs.run_record import CellRecord
from tasks.reports.document import Document, Table
from tasks.reports.html import render_html
from tasks.reports.pictures import pictures
from tasks.reports.run_sections import document
from tasks.reports.view import Report, build_report

if TYPE_CHECKING:
    from conftest import Run

MS = 1_000_000


def reported(run: "Run") -> Report:
    return build_report(run.record, run.record.run_id, run.samples)


def tables(document: Document, section: str) -> dict[str, Table]:
    return {table.title: table for one in document.sections if one.heading == section for table in one.tables}


def test_only_stages_that_happened_have_a_column_and_processor_time_is_none_of_them(run: "Run") -> None:
    stages = {"connect_ns": 2 * MS, "tls_ns": 3 * MS, "ttfb_ns": 9 * MS, "user_ns": 5 * MS}
    run.rows = run.operations("sdk", "first", "first_read", run.many(10), **stages)
    run.with_cells()
    found = tables(document(reported(run)), "Workload first")
    medians = found["Stages of one read by a fresh client, p50 in ms"]
    assert medians.header == ("Configuration", "connect", "TLS", "first byte", "total")
    assert medians.rows == (("sdk", "2.00", "3.00", "9.00", "10.0"),)


def test_the_parts_of_a_mean_add_up_though_the_first_byte_contains_others(run: "Run") -> None:
    stages = {"connect_ns": 2 * MS, "tls_ns": 3 * MS, "ttfb_ns": 9 * MS}
    run.rows = run.operations("sdk", "first", "first_read", run.many(10), **stages)
    for row in run.rows[50:]:  # half of them reuse a connection: its stages count with their share
        row.update(connect_ns=None, tls_ns=None, ttfb_ns=4 * MS)
    run.with_cells()
    found = tables(document(reported(run)), "Workload first")
    means = found["Stages of one read by a fresh client, mean in ms (these add up)"]
    assert means.header == ("Configuration", "connect", "TLS", "until first byte", "other", "total")
    assert means.rows == (("sdk", "1.00", "1.50", "4.00", "3.50", "10.0"),)
    drawn = pictures(reported(run), "first")
    assert any("until first byte" in picture.svg for picture in drawn)


def test_processor_time_has_a_ratio_that_is_called_no_speed(run: "Run") -> None:
    run.rows = [
        *run.operations(
            "cli", "up", "upload", run.many(100), user_ns=40 * MS, system_ns=4 * MS, size_bytes=10**6
        ),
        *run.operations(
            "fast", "up", "upload", run.many(50), user_ns=80 * MS, system_ns=4 * MS, size_bytes=10**6
        ),
    ]
    run.with_cells()
    found = tables(document(reported(run)), "Workload up")
    (ratios,) = (table for title, table in found.items() if title.startswith("Stages relative to cli"))
    assert ratios.title == "Stages relative to cli: below 1 is faster (CPU: less of it)"
    said = {row[1]: row[2].rpartition(", ")[2] for row in ratios.rows}
    assert said == {"user CPU": "more", "system CPU": "no difference seen", "total": "faster"}
    assert not any(title.startswith("Stages of") for title in found), "processor time is no stage"


def test_throughput_processor_time_and_start_up_stand_beside_the_transfer(run: "Run") -> None:
    run.rows = [
        *run.operations(
            "cli", "up", "upload", run.many(500), user_ns=300 * MS, system_ns=50 * MS, size_bytes=10**7
        ),
        *run.operations("cli", "up", "start_up", run.many(200)),
        *run.operations("sdk", "up", "upload", run.many(100), size_bytes=10**7),
    ]
    run.with_cells()
    (beside,) = (
        table for title, table in tables(document(reported(run)), "Workload up").items() if "At p50" in title
    )
    assert beside.title == (
        "At p50: throughput (size by time, 1 MB = 10⁶ bytes), wall (real) and processor (CPU) time, "
        "start-up of the client"
    )
    assert beside.header[1:4] == ("MB/s", "real, ms", "user CPU, ms")
    assert beside.header[4:] == ("system CPU, ms", "start-up, ms", "start-up by real")
    assert beside.rows == (
        ("cli", "20.0", "500", "300", "50.0", "200", "40.0 %"),
        ("sdk", "100", "–", "–", "–", "–", "–"),
    )


@pytest.mark.parametrize(
    ("n", "shown"), [(100, "10.0"), (6, "10.0"), (3, "(10.0)")], ids=["enough", "just enough", "too few"]
)
def test_throughput_of_too_few_transfers_is_in_brackets(run: "Run", n: int, shown: str) -> None:
    run.rows = run.operations("cli", "up", "upload", [100.0] * n, size_bytes=10**6)
    run.with_cells()
    (beside,) = (
        table for title, table in tables(document(reported(run)), "Workload up").items() if "At p50" in title
    )
    assert beside.rows[0][1] == shown
    assert beside.title == "At p50: throughput (size by time, 1 MB = 10⁶ bytes)", "no word of absent columns"


def test_throughput_of_several_threads_is_what_they_moved_together_by_the_wall_time(run: "Run") -> None:
    """64 threads, an operation of 90 ms each, started within 10 ms: 64 MB in 100 ms."""
    run.rows = [
        {**row, "block": block, "worker": thread, "started_us": 1_767_232_800_000_000 + 10_000 * (thread > 0)}
        for block in range(3)
        for thread, row in enumerate(run.operations("sdk", "read", "read", [90.0] * 64, size_bytes=10**6))
    ]
    run.with_cells()
    found = tables(document(reported(run)), "Workload read")
    (table,) = (table for title, table in found.items() if "hroughput" in title)
    assert table.title.startswith("Throughput of all threads together")
    assert table.header == ("Configuration", "threads", "blocks", "MB/s (10⁶ bytes)")
    assert table.rows == (("sdk", "64", "3", "640"),)


def test_a_stage_that_hardly_ever_happened_is_shown_with_its_n_and_has_no_ratio(run: "Run") -> None:
    run.rows = [
        *run.operations("one", "read", "read", run.many(10), ttfb_ns=4 * MS),
        *run.operations("two", "read", "read", run.many(20), ttfb_ns=8 * MS),
    ]
    run.rows[0]["connect_ns"] = run.rows[100]["connect_ns"] = MS
    run.with_cells()
    found = tables(document(reported(run)), "Workload read")
    assert found["Stages of one read, p50 in ms"].rows[0][1:3] == ("(1.00), n 1", "4.00")
    (ratios,) = (table for title, table in found.items() if title.startswith("Stages relative to one"))
    assert [row[1] for row in ratios.rows] == ["first byte", "total"]


def test_scans_and_lags_have_no_throughput(run: "Run") -> None:
    run.rows = [
        *run.operations("a", "scan", "scan", run.many(100), size_bytes=10**6),
        *run.operations("a", "lag", "sync_lag", run.many(100), size_bytes=10**6),
    ]
    run.with_cells()
    for section in ("Workload scan", "Workload lag"):
        assert not any("MB/s" in title for title in tables(document(reported(run)), section))


def test_a_tree_says_what_one_transfer_of_it_moves(run: "Run") -> None:
    run.rows = run.operations("cli", "tree", "upload_tree", run.many(100), files=242, size_bytes=85_000_000)
    run.with_cells()
    (section,) = (one for one in document(reported(run)).sections if one.heading == "Workload tree")
    assert "Each operation moves 242 files, 85,000,000 bytes." in section.sentences


def test_sync_lags_stand_in_one_table_by_side_and_size_with_those_never_seen(run: "Run") -> None:
    run.rows = [
        *run.operations("mount", "lag-get-big", "sync_lag", run.many(2500), size_bytes=10**6),
        *run.operations("mount", "lag-get", "sync_lag", run.many(2100), size_bytes=1000),
        *run.operations("mount", "lag-ls", "sync_lag", run.many(300, 5), size_bytes=1000),
    ]
    for row in run.rows[-2:]:
        row.update(outcome="error", error="NotSeenInTime", message="not seen whole after 5.000 s")
    run.with_cells(
        mount__lag_get={},
        **{
            f"mount__{name}": {
                "workload.seen_by": side,
                "workload.size": size,
                "workload.poll_interval_ms": "50.0",
            }
            for name, side, size in (
                ("lag-get-big", "get", "1000000"),
                ("lag-get", "get", "1000"),
                ("lag-ls", "ls", "1000"),
            )
        },
    )
    (table,) = tables(document(reported(run)), "Sync lag").values()
    assert [row[1:4] for row in table.rows] == [
        ("1,000", "get", "100"),
        ("1,000,000", "get", "100"),
        ("1,000", "ls", "3"),
    ]
    assert table.rows[0][5] == "2,100"
    assert [row[8:] for row in table.rows] == [("50.0", "0"), ("50.0", "0"), ("50.0", "2")]


def test_sync_lags_of_an_incomplete_run_are_shown_without_what_nobody_knows(run: "Run") -> None:
    run.rows = run.operations("mount", "lag", "sync_lag", run.many(2100), size_bytes=1000)
    (table,) = tables(document(build_report(None, run.record.run_id, run.samples)), "Sync lag").values()
    assert table.rows[0][1:4] == ("1,000", "–", "100")


def first_and_steady(run: "Run", **other: str) -> Document:
    same = {"workload.dataset": "blobs", "workload.read_mode": "single"}
    run.rows = [
        *run.operations("sdk", "first", "first_read", run.many(50), size_bytes=1000),
        *run.operations("sdk", "steady", "read", run.many(10), size_bytes=1000),
    ]
    run.with_cells(
        sdk__first=same,
        sdk__steady=same | {"workload.concurrency": "1"} | other,
    )
    return document(reported(run))


def test_a_first_request_stands_beside_the_steady_state_of_the_same_data(run: "Run") -> None:
    heading = "First request against the steady state"
    (table,) = tables(first_and_steady(run), heading).values()
    assert table.rows == (("sdk", "first, steady", "50.0", "10.0", "5.00 (5.00 to 5.00), slower"),)
    for unlike in (
        {"workload.dataset": "others"},
        {"workload.read_mode": "unique"},
        {"workload.concurrency": "4"},
    ):
        assert tables(first_and_steady(run, **unlike), heading) == {}


def test_a_workload_that_the_baseline_does_not_do_is_compared_with_the_first_that_does(run: "Run") -> None:
    run.rows = [
        *run.operations("sdk", "read", "read", run.many(10), size_bytes=1000),
        *run.operations("cli", "up", "upload", run.many(100), size_bytes=1000),
        *run.operations("other", "up", "upload", run.many(200), size_bytes=1000),
    ]
    run.with_cells()
    assert run.record.baseline == "sdk"
    (section,) = (one for one in document(reported(run)).sections if one.heading == "Workload up")
    assert "Compared with cli: sdk does not do this workload." in section.sentences
    assert {row[0]: row[-1].rpartition(", ")[2] for row in section.tables[0].rows} == {
        "cli": "baseline",
        "other": "slower",
    }
    alone = tables(document(reported(run)), "Workload read")["Time of one read, ms"]
    assert "ratio of p50 to baseline" not in alone.header


def test_proofs_and_settings_stand_once_for_each_configuration(run: "Run") -> None:
    cells = [
        CellRecord(
            config_id="cli",
            workload_id=name,
            status="measured",
            proof={"client": "aws-cli/2.15.0", "requests": name},
            parameters={"access_path.kind": "aws_cli", "target.kind": "bucket", "workload.kind": kind},
        )
        for name, kind in (("up", "tree_upload"), ("down", "tree_download"))
    ]
    cells.append(CellRecord(config_id="other", workload_id="up", status="measured"))
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    method = {one.heading: one for one in document(reported(run)).method}
    (proofs,) = method["Proof of labels"].tables
    assert proofs.rows == (
        ("cli", "client", "aws-cli/2.15.0", "all"),
        ("cli", "requests", "up", "up"),
        ("cli", "requests", "down", "down"),
    )
    assert method["Proof of labels"].sentences == ("other/up: measured without a proof.",)
    clients, workloads = method["Settings"].tables
    assert clients.rows[0] == ("cli", "access_path.kind", "aws_cli", "all")
    assert workloads.rows == (("up", "kind", "tree_upload"), ("down", "kind", "tree_download"))


@pytest.mark.slow
def test_a_page_of_the_cells_of_all_five_suites_stays_below_two_megabytes(run: "Run") -> None:
    stages = {"connect_ns": MS, "tls_ns": MS, "session_ns": MS, "ttfb_ns": 5 * MS}
    proof = {f"what_{place}": "x" * 200 for place in range(12)}
    run.rows = [
        row
        for workload in range(12)
        for config in range(8)
        for row in run.operations(
            f"config_{config}", f"work_{workload}", "first_read", run.many(10 + config), **stages
        )
    ]
    run.with_cells()
    cells = tuple(
        cell.model_copy(update={"proof": proof | {"requests": cell.cell_id}, "parameters": proof})
        for cell in run.record.cells
    )
    run.record = run.record.model_copy(update={"cells": cells})
    page = render_html(reported(run))
    assert page.count("<svg") == 4 * 12
    assert len(page.encode()) < 2_000_000
