"""A run beside the published results: the same statistic, what differs, and no ratio where none is fair."""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pytest
from markupsafe import escape
from rich.console import Console

from configs.errors import UserError
from configs.run_record import CellRecord
from tasks.reports.document import Document, Table
from tasks.reports.html import render_html
from tasks.reports.published_document import published_document
from tasks.reports.terminal import render_document
from tasks.reports.view import build_report

if TYPE_CHECKING:
    from conftest import Row, Run

E2_HOST = "bench.s3.ap-northeast-1.amazonaws.com"
FS = {"file_system_id": "fs-0123456789abcdef0", "mount_type": "nfs4", "client": "open(), read(), write()"}
SDK = {"client": "boto3 1.44.8", "host": E2_HOST}


def a_cell(
    config_id: str, workload_id: str, parameters: Mapping[str, str], proof: Mapping[str, str]
) -> CellRecord:
    repeated = {"workload.iterations": "105", "workload.warmup": "5"}
    return CellRecord(
        config_id=config_id,
        workload_id=workload_id,
        status="measured",
        cache_state="as it comes",
        proof=dict(proof),
        parameters=repeated | dict(parameters),
    )


def asked(access_path: str, target: str, workload: str, **more: str) -> dict[str, str]:
    settings = {f"workload.{name}": value for name, value in more.items()}
    return {"access_path.kind": access_path, "target.kind": target, "workload.kind": workload, **settings}


def rows(run: "Run", cell: CellRecord, operation: str, total_ms: float, **values: object) -> "list[Row]":
    """100 operations in five blocks, spread by 5 %, whose p50 and mean are about `total_ms`."""
    noise = np.random.default_rng(len(cell.cell_id)).normal(1, 0.05, 100)
    return [
        {
            **run.rows[0],
            "config_id": cell.config_id,
            "workload_id": cell.workload_id,
            "operation": operation,
            "warmup": False,
            "block": i % 5,
            "size_bytes": 65_536,
            "total_ns": int(total_ms * 1e6 * noise[i]),
            **values,
        }
        for i in range(100)
    ]


def set_run(run: "Run", cells: "list[tuple[CellRecord, list[Row]]]", *, lab: bool = False) -> None:
    run.record = run.record.model_copy(update={"cells": tuple(cell for cell, _ in cells), "lab": lab})
    run.rows = [row for _, mine in cells for row in mine]


def e2_reads(run: "Run", *, mount: Mapping[str, str] = FS, size_bytes: int = 65_536) -> None:
    how = {"read_mode": "single", "concurrency": "1"}
    sdk = a_cell("any_name", "small_reads", asked("boto3_api", "bucket", "blob_read", **how), SDK)
    files = a_cell("mounted", "small_reads", asked("mount_io", "mount", "blob_read", **how), mount)
    set_run(
        run,
        [
            (sdk, rows(run, sdk, "read", 24.8, size_bytes=size_bytes)),
            (files, rows(run, files, "read", 4.0, size_bytes=size_bytes)),
        ],
    )


def compared(run: "Run") -> Document:
    return published_document(build_report(run.record, run.record.run_id, run.samples))


def table(document: Document, title: str) -> Table:
    (found,) = (one for section in document.sections for one in section.tables if one.title == title)
    return found


def values(document: Document) -> dict[tuple[str, str], tuple[str, ...]]:
    """The rows of values by cell and statistic."""
    return {(row[0], row[2]): row for row in table(document, "Published values and ours").rows}


def test_a_counterpart_is_found_by_what_was_asked_and_not_by_names(run: "Run") -> None:
    e2_reads(run)
    found = values(compared(run))
    assert len(found) == 12
    cell, what, statistic, theirs, their_n, ours, our_n, ratio, _ = found["any_name/small_reads", "p50"]
    assert (cell, statistic) == ("any_name/small_reads", "p50")
    assert what == "A_s3_sdk, blob_read_single read, 64KiB"
    assert (theirs, their_n, our_n) == ("24.8", "100", "100")
    assert float(ours) == pytest.approx(24.8, rel=0.03)
    assert float(ratio) == pytest.approx(1.0, rel=0.03)
    assert float(found["mounted/small_reads", "p50"][7]) == pytest.approx(2.0, rel=0.03)


def test_the_mean_stands_beside_the_mean_and_a_median_beside_a_median(run: "Run") -> None:
    e2_reads(run)
    for row in run.rows[:10]:
        row["total_ns"] = 1_000_000_000  # moves the mean, and not the median
    found = values(compared(run))
    assert float(found["any_name/small_reads", "mean"][5]) > 100
    assert float(found["any_name/small_reads", "p50"][5]) == pytest.approx(25, rel=0.05)
    p99 = found["any_name/small_reads", "p99"]
    assert p99[5].startswith("≥ ")
    assert p99[7] == "– too few samples for this quantile"


def test_the_published_ratio_stands_beside_ours_with_its_interval(run: "Run") -> None:
    e2_reads(run)
    ((ratio, _, statistic, theirs, ours, paired, cells),) = table(
        compared(run), "Published ratios and ours"
    ).rows
    assert (ratio, statistic, theirs) == ("A_s3_sdk by B_s3_files", "p50", "12.4")
    assert float(ours) == pytest.approx(24.8 / 4.0, rel=0.03)
    assert "slower" in paired
    assert cells == "any_name by mounted, small_reads"


def test_the_conditions_that_differ_are_named_and_those_that_nobody_knows_too(run: "Run") -> None:
    e2_reads(run)
    document = compared(run)
    differing = values(document)["any_name/small_reads", "p50"][8]
    assert differing == "venue; not known: client, caches"
    conditions = {row[:2]: row[2:] for row in table(document, "Conditions").rows}
    assert conditions["any_name", "region"] == ("ap-northeast-1", "ap-northeast-1", "same")
    assert conditions["any_name", "warm-ups"] == ("5 of 105", "5 of 105", "same")
    assert conditions["any_name", "venue"][2] == "differs"
    assert conditions["mounted", "region"][2] == "not known"
    assert conditions["mounted", "file system"] == ("S3 Files", "S3 Files", "same")


def test_another_region_and_another_number_of_operations_differ(run: "Run") -> None:
    e2_reads(run)
    cells = list(run.record.cells)
    cells[0] = cells[0].model_copy(
        update={"proof": SDK | {"host": "s3.eu-west-1.amazonaws.com"}},
    )
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    run.rows = run.rows[1:]
    differing = values(compared(run))["any_name/small_reads", "p50"][8]
    assert "region" in differing.split("; not known")[0]
    assert "n" in differing.split(";")[0].split(", ")


def test_a_lab_run_gets_no_ratio_and_is_told_why(run: "Run") -> None:
    e2_reads(run)
    run.record = run.record.model_copy(update={"lab": True})
    document = compared(run)
    assert document.alerts[0].startswith("LOCAL LAB: these numbers are not comparable")
    assert {row[7] for row in values(document).values()} == {"– local lab"}
    assert {row[4:6] for row in table(document, "Published ratios and ours").rows} == {("–", "–")}
    shown = io.StringIO()
    render_document(document, Console(file=shown, width=160))
    assert "LOCAL LAB" in shown.getvalue()
    assert values(document)["any_name/small_reads", "p50"][3] == "24.8", "both values are shown all the same"


def test_a_mount_that_is_not_s3_files_gets_no_ratio(run: "Run") -> None:
    e2_reads(run, mount={"mount_type": "fuse.rclone"})
    document = compared(run)
    assert values(document)["mounted/small_reads", "p50"][7] == "– another file system"
    (claim,) = table(document, "Published ratios and ours").rows
    assert claim[4:6] == ("– another file system", "–")


def test_objects_of_another_size_or_read_by_threads_are_no_counterpart(run: "Run") -> None:
    e2_reads(run, size_bytes=1_048_576)
    (alert,) = compared(run).alerts
    assert alert.startswith("NOTHING of this run has a published counterpart")
    e2_reads(run)
    cells = [
        cell.model_copy(update={"parameters": cell.parameters | {"workload.concurrency": "16"}})
        for cell in run.record.cells
    ]
    run.record = run.record.model_copy(update={"cells": tuple(cells)})
    assert compared(run).alerts[0].startswith("NOTHING")


def test_published_numbers_without_a_counterpart_are_counted(run: "Run") -> None:
    e2_reads(run)
    counted = {
        row[0]: row[1:] for row in table(compared(run), "How many of them this run has a counterpart of").rows
    }
    assert counted["lambda-s3-files"] == ("72", "12", "60")
    assert counted["express-cli-sync"] == ("24", "0", "24")
    assert counted["all"] == ("311", "12", "299")


def test_a_scan_of_other_data_is_shown_without_a_ratio_and_only_where_none_is_alike(run: "Run") -> None:
    how = asked("boto3_api", "bucket", "cloudtrail_scan", staged="True")
    alike, other = a_cell("api", "scan", how, SDK), a_cell("api", "scan-small", how, SDK)
    stages = {"list_ns": 100_000_000, "read_ns": 8_000_000_000}
    small = rows(run, other, "scan", 900, files=30, size_bytes=400_000, **stages)
    whole = rows(run, alike, "scan", 9000, files=302, size_bytes=4_300_000, **stages)
    set_run(run, [(other, small)])
    assert {row[7] for row in values(compared(run)).values()} == {"– unlike data"}
    set_run(run, [(other, small), (alike, whole)])
    shown = table(compared(run), "Published values and ours").rows
    assert {row[0] for row in shown} == {"api/scan"}
    by_stage = {row[1].rpartition(", ")[2]: row[7] for row in shown}
    assert set(by_stage) == {"302 files / 4322243 B", "list", "read"}
    assert float(by_stage["read"]) == pytest.approx(8000 / 8346.36, rel=0.01)


def test_loops_are_per_file_where_their_count_is_known_and_ratios_where_it_is_not(run: "Run") -> None:
    def loop(config_id: str, target: str, size_bytes: int, ms: float) -> "tuple[CellRecord, list[Row]]":
        how = asked("boto3_transfer", target, "file_upload") | {"access_path.engine": "classic"}
        cell = a_cell(config_id, f"up-{size_bytes}", how, {"client": "boto3 1.34.2", "host": E2_HOST})
        return cell, rows(run, cell, "upload", ms, size_bytes=size_bytes)

    cells = [
        loop(config_id, target, size_bytes, ms)
        for size_bytes in (1400, 2_300_000)
        for config_id, target, ms in (("std", "bucket", 50.0), ("xp", "directory_bucket", 10.0))
    ]
    set_run(run, cells)
    document = compared(run)
    found = values(document)
    assert found["std/up-2300000", "mean"][3:5] == ("112", "3,000")
    assert float(found["std/up-2300000", "mean"][7]) == pytest.approx(50 / 111.55, rel=0.02)
    assert found["std/up-1400", "loop total"][3:5] == ("433,411", "not stated")
    assert found["std/up-1400", "loop total"][7] == "– the loop's count was not stated"
    ratios = {row[6]: (row[3], float(row[4])) for row in table(document, "Published ratios and ours").rows}
    assert ratios["std by xp, up-1400"] == ("3.84", pytest.approx(5, rel=0.03))
    assert ratios["std by xp, up-2300000"] == ("3.59", pytest.approx(5, rel=0.03))


@pytest.mark.parametrize(
    ("zone", "theirs"), [("same", "3.54"), ("other", "3.49")], ids=["the same zone", "another zone"]
)
def test_directory_buckets_are_told_apart_by_their_zone(run: "Run", zone: str, theirs: str) -> None:
    tree = {"files": 12_086, "size_bytes": 4_285_000_000, "user_ns": 30 * 10**9, "system_ns": 7 * 10**9}
    std = a_cell("s", "up", asked("aws_cli", "bucket", "tree_upload"), {"tree_command": "sync"})
    how = asked("aws_cli", "directory_bucket", "tree_upload") | {"target.zone": zone}
    xp = a_cell("x", "up", how, {"tree_command": "cp --recursive", "client": "aws-cli/2.15.0"})
    set_run(
        run,
        [
            (std, rows(run, std, "upload_tree", 90_000, **tree)),
            (xp, rows(run, xp, "upload_tree", 30_000, **tree)),
        ],
    )
    document = compared(run)
    (claim,) = table(document, "Published ratios and ours").rows
    assert claim[0] == f"standard by express_{zone}_az"
    assert (claim[3], float(claim[4].partition(",")[0])) == (theirs, pytest.approx(3, rel=0.03))
    stages = {row[1].rpartition(", ")[2] for row in table(document, "Published values and ours").rows}
    assert stages == {"12086 files / 4.1 GB / mean 354541 B", "user CPU", "system CPU"}
    conditions = {row[:2]: row[2:] for row in table(document, "Conditions").rows}
    assert conditions["x", "command"] == ("sync", "cp --recursive", "differs")
    assert conditions["x", "client"][2] == "same"
    assert conditions["s", "command"][2] == "same"


def e3_uploads(run: "Run", *commands: str) -> tuple[tuple[str, ...], ...]:
    """Claims of a run with one configuration of Standard for each command, and `cp` in the same zone."""
    tree = {"files": 12_086, "size_bytes": 4_285_000_000}
    cells = [
        a_cell(f"s{place}", "up", asked("aws_cli", "bucket", "tree_upload"), {"tree_command": command})
        for place, command in enumerate(commands)
    ]
    how = asked("aws_cli", "directory_bucket", "tree_upload") | {"target.zone": "same"}
    reason = ", because the CLI refuses sync on directory buckets"
    cells.append(a_cell("x", "up", how, {"tree_command": f"cp --recursive{reason}"}))
    set_run(run, [(cell, rows(run, cell, "upload_tree", 60_000, **tree)) for cell in cells])
    return table(compared(run), "Published ratios and ours").rows


def test_a_ratio_of_unlike_commands_says_so(run: "Run") -> None:
    (claim,) = e3_uploads(run, "sync")
    assert claim[4].endswith(", of unlike commands (sync, cp --recursive)")
    assert claim[5].endswith(", of unlike commands (sync, cp --recursive)")


def test_a_ratio_of_unlike_commands_is_left_out_where_there_is_one_of_like_commands(run: "Run") -> None:
    (claim,) = e3_uploads(run, "sync", "cp --recursive")
    assert claim[6] == "s1 by x, up"
    assert "unlike" not in claim[4] + claim[5]


def client_condition(run: "Run", client: str) -> tuple[str, ...]:
    how = asked("boto3_transfer", "bucket", "file_upload") | {"access_path.engine": "classic"}
    cell = a_cell("c", "up", how, {"client": client})
    set_run(run, [(cell, rows(run, cell, "upload", 100, size_bytes=2_300_000))])
    (found,) = (row for row in table(compared(run), "Conditions").rows if row[1] == "client")
    return found[2:]


@pytest.mark.parametrize(
    ("client", "verdict"),
    [
        ("boto3 1.34.2, botocore 1.34.2", "same"),
        ("boto3 1.34.25, botocore 1.34.25", "differs"),
        ("boto3 21.34.2, botocore 1.34.9", "differs"),
        ("boto3 1.35.0, botocore 1.34.2", "differs"),
        ("boto3", "not known"),
    ],
)
def test_a_client_is_the_same_where_its_whole_version_is(run: "Run", client: str, verdict: str) -> None:
    assert client_condition(run, client)[2] == verdict


@pytest.mark.parametrize(
    ("claimed", "client_zone", "verdict"),
    [
        ("same", "apne1-az4", "same"),
        ("other", "apne1-az1", "same"),
        ("other", "usw2-lax1-az1", "same"),  # of a Local Zone
        ("same", "not told", "not known"),
        ("other", "not told", "not known"),
    ],
)
def test_a_zone_that_only_the_suite_claims_is_not_known(
    run: "Run", claimed: str, client_zone: str, verdict: str
) -> None:
    how = asked("aws_cli", "directory_bucket", "tree_upload") | {"target.zone": claimed}
    zones = {"bucket_zone": "apne1-az4", "client_zone": client_zone, "tree_command": "cp --recursive"}
    cell = a_cell("x", "up", how, zones)
    set_run(run, [(cell, rows(run, cell, "upload_tree", 30_000, files=12_086, size_bytes=4_285_000_000))])
    document = compared(run)
    (found,) = (row for row in table(document, "Conditions").rows if row[1] == "zone")
    assert found[2:] == (f"{claimed} zone", f"bucket apne1-az4, client {client_zone}", verdict)
    unknown = {row[8].partition("not known: ")[2] for row in values(document).values()}
    assert ("zone" in unknown.pop().split(", ")) == (verdict == "not known")


def test_too_many_failed_operations_give_no_ratio(run: "Run") -> None:
    e2_reads(run)
    for row in run.rows[:20]:
        row.update(outcome="error", error="SlowDown", message="slow down")
    assert values(compared(run))["any_name/small_reads", "mean"][7] == "– too many operations failed"


def test_an_incomplete_run_is_refused(run: "Run") -> None:
    with pytest.raises(UserError, match="ended before it could write its record"):
        published_document(build_report(None, run.record.run_id, run.samples))


def test_the_page_of_a_run_has_what_was_published_of_it_too(run: "Run") -> None:
    e2_reads(run)
    page = render_html(build_report(run.record, run.record.run_id, run.samples))
    source = next(section for section in compared(run).sections if section.heading.startswith("E2 "))
    assert f"Beside the published results: {source.heading}" in page
    assert 'href="#published-1"' in page
    (shown,) = (one for one in source.tables if one.title == "Published values and ours")
    assert page.count(escape(shown.rows[0][3])) >= 1
    assert all(f">{escape(name)}<" in page for name in shown.header)
    set_run(run, [(one, []) for one in run.record.cells])
    assert "published-1" not in render_html(build_report(run.record, run.record.run_id, run.samples))


def test_the_page_of_a_run_in_the_lab_says_that_it_is_no_match_for_what_was_published(run: "Run") -> None:
    e2_reads(run)
    run.record = run.record.model_copy(update={"lab": True})
    page = render_html(build_report(run.record, run.record.run_id, run.samples))
    assert "LOCAL LAB: these numbers are not comparable with the published ones" in page
