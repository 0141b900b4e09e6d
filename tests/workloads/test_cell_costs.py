"""What each cell costs, held against bills that were added up by hand from the list prices."""

import pytest

from configs.loading import load_suite, parse_suite
from configs.suite import Suite
from tasks.stats.cell_cost import CellCost
from tasks.workloads.cell_costs import NOT_BILLED, cell_costs
from tasks.workloads.plan import cost_of, plan_suite

GB = 2**30
KIB = 1024
PUT, GET = 0.005 / 1000, 0.0004 / 1000
FILE_READ, FILE_WRITE = 0.03 / GB, 0.06 / GB
SUITE = """\
name: s
blocks: 2
max_cost_usd: null
targets:
  plain: {kind: bucket, bucket: some-bucket, region: us-east-1}
  fast: {kind: accelerated_bucket, bucket: some-bucket, region: us-east-1}
  express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1}
  files: {kind: mount, shows: plain, path: /mnt/files, file_system_id: fs-0123456789abcdef0}
  other: {kind: mount, shows: plain, path: /mnt/other}
configurations:
  plain: {access_path: {kind: boto3_api}, target: plain}
  fast: {access_path: {kind: boto3_api}, target: fast}
  express: {access_path: {kind: boto3_api}, target: express}
  files: {access_path: {kind: mount_io}, target: files}
  other: {access_path: {kind: mount_io}, target: other}
  nothing: {access_path: {kind: noop}, target: plain}
datasets:
  small: {kind: blobs, size: 64 KiB, unique_count: 10}
  large: {kind: blobs, size: 16 MiB, unique_count: 2}
  logs: {kind: cloudtrail_generated, files: 50, records: 500}
workloads:
  read: {kind: blob_read, dataset: small, iterations: 100, warmup: 10}
  read-large: {kind: blob_read, dataset: large, iterations: 10, warmup: 2}
  write: {kind: blob_write, size: 64 KiB, iterations: 100, warmup: 10}
  scan: {kind: cloudtrail_scan, dataset: logs, iterations: 4, warmup: 2}
  lag-get: {kind: sync_lag, size: 64 KiB, seen_by: get, timeout_s: 60, iterations: 2}
  lag-open: {kind: sync_lag, size: 64 KiB, seen_by: open, iterations: 2}
  lag-ls: {kind: sync_lag, size: 64 KiB, seen_by: ls, iterations: 2}
"""
READ_LEFT_OUT = "the ordinary transfer out of what it downloads"
METERED = "S3 Files: look-ups, reads in several parts, and what a client's cache saves"


def costs_of(suite: Suite) -> dict[str, CellCost]:
    return {f"{one.config_id}/{one.workload_id}": one for one in cell_costs(suite, plan_suite(suite))}


@pytest.fixture(scope="module")
def costs() -> dict[str, CellCost]:
    return costs_of(parse_suite(SUITE, "s.yaml"))


def test_operations_are_priced_alone_and_the_whole_cell_with_what_is_asked_around_them(
    costs: dict[str, CellCost],
) -> None:
    read, write = costs["plain/read"], costs["plain/write"]
    assert read.usd == pytest.approx(100 * GET + 2 * PUT)  # a listing opens each block
    assert read.usd_per_million_operations == pytest.approx(0.4)
    assert read.usd_per_gb == pytest.approx(GET * GB / (64 * KIB))
    assert write.usd == pytest.approx(100 * PUT + 4 * PUT)  # and one looks for what was written
    assert write.usd_per_million_operations == pytest.approx(5.0)
    assert read.usd_per_gb_month == write.usd_per_gb_month == 0.023
    assert (read.unknown, read.prices_as_of) == ((), "2025-10-28")
    assert (read.get_requests, read.list_requests, read.received_bytes) == (100, 2, 100 * 64 * KIB)
    assert (write.put_requests, write.list_requests, write.sent_bytes) == (100, 4, 100 * 64 * KIB)


def test_express_and_acceleration_are_charged_for_bytes_and_say_what_is_not_in_it(
    costs: dict[str, CellCost],
) -> None:
    express = costs["express/read-large"]
    assert express.usd_per_million_operations == pytest.approx(0.03 + 10**6 * 16 / 1024 * 0.0006)
    assert express.usd_per_gb_month == 0.11
    assert express.unknown == ("CreateSession, which each new client asks for, at a price that is not known",)
    fast = costs["fast/read-large"]
    assert fast.usd_per_gb == pytest.approx(GET * 64 + 0.04)
    assert fast.unknown == (READ_LEFT_OUT,)
    assert costs["fast/write"].unknown == ()


def test_small_files_on_s3_files_are_charged_as_data_and_metadata(costs: dict[str, CellCost]) -> None:
    read = costs["files/read"]
    assert read.usd == pytest.approx(100 * (64 + 4) * KIB * FILE_READ)
    assert read.usd_per_million_operations == pytest.approx(10**6 * (64 + 4) * KIB * FILE_READ)
    assert read.usd_per_gb_month == pytest.approx(0.023 + 0.30)
    assert (read.put_requests, read.get_requests, read.list_requests, read.head_requests) == (None,) * 4
    assert (read.received_bytes, read.sent_bytes) == (100 * 64 * KIB, 0)
    assert read.unknown == (METERED,)


def test_large_files_on_s3_files_are_read_from_the_bucket(costs: dict[str, CellCost]) -> None:
    read = costs["files/read-large"]
    assert read.usd == pytest.approx(10 * (GET + 4 * KIB * FILE_READ))
    assert read.usd_per_gb_month == 0.023


def test_writes_to_s3_files_are_exported_and_their_removal_is_no_part_of_an_operation(
    costs: dict[str, CellCost],
) -> None:
    write = costs["files/write"]
    each = (64 + 4 + 4) * KIB * FILE_WRITE + (64 + 4) * KIB * FILE_READ + PUT
    assert write.usd_per_million_operations == pytest.approx(10**6 * each)
    assert write.usd == pytest.approx(100 * (each + 4 * KIB * FILE_WRITE))
    assert write.usd_per_gb_month == pytest.approx(0.023 + 0.30)


def test_a_scan_on_s3_files_lists_once_and_reads_each_log_as_at_least_32_kib(
    costs: dict[str, CellCost],
) -> None:
    assert costs["files/scan"].usd == pytest.approx(4 * (50 * (32 + 4) + 4) * KIB * FILE_READ)


def test_a_sync_lag_is_charged_for_both_sides_and_for_every_look_that_fits_into_its_time(
    costs: dict[str, CellCost],
) -> None:
    lag = costs["files/lag-get"]
    exported = (64 + 4 + 4) * KIB * FILE_WRITE + (64 + 4) * KIB * FILE_READ + PUT
    assert lag.usd_per_million_operations == pytest.approx(10**6 * (exported + 600 * GET))
    assert lag.usd == pytest.approx(2 * (exported + 600 * GET + 4 * KIB * FILE_WRITE))
    assert lag.unknown == ("that fewer looks are made than fit into its time", METERED)
    imported = PUT + GET + (64 + 4) * KIB * FILE_WRITE
    assert costs["files/lag-open"].usd == pytest.approx(2 * (imported + (64 + 4) * KIB * FILE_READ))
    assert costs["files/lag-ls"].usd == pytest.approx(2 * (imported + 4 * KIB * FILE_READ))
    assert lag.put_requests is costs["other/lag-get"].put_requests is None


def test_what_another_mount_asks_for_is_not_known_but_what_it_moves(costs: dict[str, CellCost]) -> None:
    read = costs["other/read"]
    assert (read.usd, read.usd_per_million_operations, read.usd_per_gb) == (None, None, None)
    assert read.unknown == ("what its mount asks for, which only S3 Files meters",)
    assert read.received_bytes == 100 * 64 * KIB
    assert read.prices_as_of is None


def test_what_asks_for_nothing_costs_nothing(costs: dict[str, CellCost]) -> None:
    nothing = costs["nothing/write"]
    assert (nothing.usd, nothing.usd_per_million_operations, nothing.put_requests) == (0, 0, 0)


def test_all_cells_together_with_what_is_prepared_are_what_the_plan_says() -> None:
    suite = parse_suite(SUITE, "s.yaml").only(("plain", "files"))
    plan = plan_suite(suite)
    cells = sum(one.usd or 0.0 for one in cell_costs(suite, plan))
    prepared_bytes = 11 * 64 * KIB + 3 * 16 * KIB * KIB + 50 * 14_312
    # 64 objects and three manifests are put after and before a listing each, and kept for a month.
    prepared = (64 + 3 + 3 * 2) * PUT + prepared_bytes / GB * 0.023
    small = 11 * (64 + 4) * KIB + 50 * (32 + 4) * KIB
    seen = (small + 3 * 4 * KIB) * FILE_WRITE + (11 + 50) * GET
    kept = (11 * 64 * KIB + 50 * 14_312) / GB * 0.30
    assert float(cost_of(suite, plan).usd) == pytest.approx(cells + prepared + seen + kept)


def test_a_price_that_is_missing_leaves_its_figures_out_and_is_told_once() -> None:
    text = SUITE.replace("use1-az4--x-s3, region: us-east-1", "euw1-az1--x-s3, region: eu-west-1")
    express = costs_of(parse_suite(text, "s.yaml"))["express/read"]
    assert (express.usd, express.usd_per_gb, express.usd_per_gb_month, express.prices_as_of) == (None,) * 4
    assert express.unknown[0] == (
        "price unknown for region eu-west-1, S3 Express One Zone: PUT and LIST, GET and HEAD, retrieval"
    )
    assert express.get_requests == 100


def test_no_sentence_holds_what_stands_between_them_in_the_store() -> None:
    every = [costs_of(parse_suite(SUITE, "s.yaml"))]
    every += [costs_of(load_suite(name)) for name in ("known-answers", "lab")]
    sentences = {what for costs in every for one in costs.values() for what in one.unknown}
    assert len(sentences) > 4
    assert not [what for what in sentences if ";" in what]


def test_the_lab_bills_nothing_and_has_no_price() -> None:
    suite = load_suite("lab")
    bucket = suite.targets["bucket"].model_copy(
        update={"region": "us-east-1", "endpoint_url": "http://127.0.0.1:9"}
    )
    costs = costs_of(suite.with_targets({**suite.targets, "bucket": bucket}))
    assert {one.unknown for one in costs.values()} == {(NOT_BILLED,)}
    assert {one.usd for one in costs.values()} == {one.usd_per_gb_month for one in costs.values()} == {None}
    assert costs["boto3-lab/read-64kib-single"].get_requests == 105


def test_what_the_aws_shaped_lab_did_has_a_price_that_is_told_to_be_amazons_and_not_billed() -> None:
    suite = load_suite("known-answers")
    assert costs_of(suite)["regional/read-64kib"].unknown == (NOT_BILLED,), "not before it has a region"
    filled = suite.with_targets(
        {
            name: target.model_copy(update={"region": "ap-northeast-1"})
            for name, target in suite.targets.items()
        }
    )
    costs = costs_of(filled)
    told = f"{NOT_BILLED}, these are the list prices of ap-northeast-1 for the same requests"
    assert costs["regional/read-64kib"].unknown == (told,)
    assert costs["regional/read-64kib"].usd_per_million_operations == pytest.approx(0.37)
    assert costs["express-same-zone/read-64kib"].usd is None
    assert told in costs["express-same-zone/read-64kib"].unknown


@pytest.mark.parametrize(
    ("url", "unknown"),
    [
        ("http://127.0.0.1:9000", ("what the server at 127.0.0.1 charges",)),
        ("https://evilamazonaws.com", ("what the server at evilamazonaws.com charges",)),
        ("https://s3.us-east-1.amazonaws.com", ()),
    ],
)
def test_only_amazons_own_endpoints_have_amazons_prices(url: str, unknown: tuple[str, ...]) -> None:
    text = SUITE.replace("some-bucket, region", f'some-bucket, endpoint_url: "{url}", region', 1)
    read = costs_of(parse_suite(text, "s.yaml"))["plain/read"]
    assert read.unknown == unknown
    assert (read.usd is None) == bool(unknown)


def test_logs_that_are_yet_to_be_copied_have_no_price() -> None:
    suite = parse_suite(SUITE, "s.yaml").with_logs_from("s3://my-trail/AWSLogs/")
    for config_id in ("plain", "files"):
        scan = costs_of(suite)[f"{config_id}/scan"]
        assert (scan.usd, scan.received_bytes) == (None, None)
        assert scan.unknown == ("how many logs there are to copy",)


def test_a_cell_that_is_never_measured_has_no_row() -> None:
    text = SUITE.replace(
        "  nothing: {access_path: {kind: noop}, target: plain}\n",
        "  nothing: {access_path: {kind: boto3_transfer, engine: crt}, target: fast}\n",
    ).replace("workloads:", "workloads:\n  up: {kind: file_upload, size: 64}")
    assert "nothing/up" not in costs_of(parse_suite(text, "s.yaml"))
