"""A plan counts what a suite would do, and adds up what that costs by each target's own prices."""

from decimal import Decimal

import pytest

from configs.errors import UserError
from configs.loading import load_suite, parse_suite
from tasks.reports.plan_table import cost_lines
from tasks.workloads.plan import SuitePlan, cost_of, plan_suite, refuse_above_cap

GB = 2**30
SUITE = """\
version: 1
name: kinds
blocks: 1
max_cost_usd: 1
targets:
  plain: {kind: bucket, bucket: some-bucket, region: us-east-1}
  fast: {kind: accelerated_bucket, bucket: some-bucket, region: us-east-1}
  express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1}
configurations:
  plain: {access_path: {kind: boto3_api}, target: plain}
  fast: {access_path: {kind: boto3_api}, target: fast}
  express: {access_path: {kind: boto3_api}, target: express}
workloads:
  write: {kind: blob_write, size: 1 GiB, iterations: 1, warmup: 0}
"""
MOUNTED = "mounted: {access_path: {kind: mount_io}, target: mount}"
REQUESTS = Decimal("0.005") * 3 / 1000  # PUT, the listing before it, and the one after it


def usd(plan_of: str) -> Decimal:
    suite = parse_suite(plan_of, "s.yaml")
    return cost_of(suite, plan_suite(suite)).usd


def cell(plan: SuitePlan, cell_id: str) -> tuple[int, ...]:
    found = next(each for each in plan.cells if each.cell.cell_id == cell_id).requests
    assert found is not None
    return found.put, found.get, found.list, found.head


def test_each_cell_is_charged_by_the_prices_of_its_own_target() -> None:
    express = Decimal("0.00113") * 3 / 1000 + Decimal("0.0032")
    assert usd(SUITE) == REQUESTS + (REQUESTS + Decimal("0.04")) + express


def test_what_a_block_writes_is_listed_afterwards_a_thousand_at_a_time() -> None:
    many = SUITE.replace("blocks: 1", "blocks: 2").replace("iterations: 1,", "iterations: 5001,")
    plan = plan_suite(parse_suite(many, "s.yaml"))
    opened, pages = 2, 3 + 3  # 2,501 and 2,500 writes
    assert cell(plan, "plain/write") == (5001, 0, opened + pages, 0)


def test_two_regions_are_each_charged_by_their_own_prices() -> None:
    tokyo = SUITE.replace(
        "fast: {kind: accelerated_bucket, bucket: some-bucket, region: us-east-1}", ""
    ).replace("  fast: {access_path: {kind: boto3_api}, target: fast}\n", "")
    both = tokyo.replace(
        "express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1}",
        "express: {kind: bucket, bucket: other-bucket, region: ap-northeast-1}",
    )
    in_tokyo = Decimal("0.0047") * 3 / 1000
    assert usd(both) == REQUESTS + in_tokyo


def test_preparing_goes_through_the_ordinary_endpoint_and_is_charged_so() -> None:
    reads = SUITE.replace(
        "write: {kind: blob_write, size: 1 GiB, iterations: 1, warmup: 0}",
        "read: {kind: blob_read, dataset: d, iterations: 1, warmup: 0}",
    ).replace("workloads:", "datasets:\n  d: {kind: blobs, size: 1 GiB, unique_count: 1}\nworkloads:")
    plan = plan_suite(parse_suite(reads, "s.yaml"))
    assert {name: counts.sent_bytes for name, counts in plan.preparing.items()} == {
        "plain": 2 * GB,
        "fast": 2 * GB,
        "express": 2 * GB,
    }
    assert plan.requests.stored_bytes == 6 * GB
    assert "the ordinary transfer out of what fast downloads" in plan.unknown
    only_fast = parse_suite(reads, "s.yaml").only(("fast",))
    prepared = Decimal("0.005") * 5 / 1000 + 2 * Decimal("0.023")  # 2 objects, a manifest, 2 listings
    read = Decimal("0.0004") / 1000 + Decimal("0.005") / 1000 + Decimal("0.04")
    assert cost_of(only_fast, plan_suite(only_fast)).usd == prepared + read


def test_a_cap_that_a_price_is_missing_for_cannot_be_held_to() -> None:
    suite = parse_suite(
        SUITE.replace(
            "logs--use1-az4--x-s3, region: us-east-1", "logs--apne1-az4--x-s3, region: ap-northeast-1"
        ),
        "s.yaml",
    )
    with pytest.raises(UserError, match=r"cannot be held to: .* ap-northeast-1, S3 Express One Zone: PUT"):
        refuse_above_cap(suite, 5.0)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("e1-cloudtrail-s3-files", False),
        ("e2-lambda-s3-files", True),
        ("e3-express-cli-sync", False),
        ("e4-transfer-acceleration", False),
        ("e5-express-boto3", False),
    ],
)
def test_an_experiment_has_a_cap_where_all_its_prices_are_known(name: str, known: bool) -> None:
    names = {
        target: "logs--apne1-az4--x-s3" if target.startswith("express") else "logs"
        for target in (
            "bucket",
            "standard",
            "express",
            "express_same_az",
            "express_other_az",
            "ordinary",
            "accelerated",
        )
    }
    has = load_suite(name, in_lab=True).targets
    settings = [f"targets.{target}.bucket={value}" for target, value in names.items() if target in has]
    if "mount" in has:
        settings += ["targets.mount.path=/mnt/x", "targets.mount.file_system_id=fs-0123456789abcdef0"]
    if "efs" in has:
        settings.append("targets.efs.path=/mnt/y")
    settings += [f"venues.{venue}.function=s3bench" for venue in load_suite(name, in_lab=True).venues]
    suite = load_suite(name, settings=settings)
    cost = cost_of(suite, plan_suite(suite))
    assert (suite.max_cost_usd is not None) == known == (not cost.unknown)
    refuse_above_cap(suite, 5.0)
    if suite.max_cost_usd is not None:
        assert Decimal(str(suite.max_cost_usd)) / 20 < cost.usd < Decimal(str(suite.max_cost_usd)) / 2


def test_sync_lag_counts_every_look_that_fits_into_its_time() -> None:
    plan = plan_suite(load_suite("e1-cloudtrail-s3-files", in_lab=True))
    assert cell(plan, "s3_files/seen-in-bucket") == (3, 9000, 0, 0)
    assert cell(plan, "s3_files/seen-by-ls") == (3, 3, 0, 0)


def test_a_tree_is_listed_by_a_sync_before_and_by_us_after_its_upload() -> None:
    plan = plan_suite(load_suite("e3-express-cli-sync", in_lab=True))
    opened = 3  # one listing in each of three blocks
    assert cell(plan, "standard/tree-up") == (3 * 242, 0, 3 + 3 + opened, 0)
    assert cell(plan, "standard_cp/tree-up") == (3 * 242, 0, 3 + opened, 0)
    assert cell(plan, "express_same_az/tree-down") == (0, 3 * 242, 3 + opened, 0)


def test_a_workload_that_is_left_out_is_told_in_the_plan_and_asks_for_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "new.run.json").write_text('{"version": 3}')
    text = f"{SUITE}  theirs: {{kind: crt_benchmark, file: new.run.json}}\n"
    (folder / "s.yaml").write_text(text)
    suite = load_suite(str(folder / "s.yaml"))
    reason = "new.run.json has no counterpart here: it is of version 3, and version 2 is known"
    assert f"skipped: theirs: {reason}" in cost_lines(suite, plan_suite(suite))
    assert cost_of(suite, plan_suite(suite)).usd == usd(SUITE)


@pytest.mark.parametrize(
    ("access_path", "target", "sessions", "reason"),
    [
        ("{kind: boto3_transfer, engine: crt}", "fast", True, "boto3 gives its CRT engine no accelerate"),
        ("{kind: boto3_transfer, engine: crt}", "express", False, "boto3's CRT engine signs for a directory"),
        ("{kind: boto3_transfer, engine: crt}", "express", True, ""),
        ("{kind: obstore}", "express", False, "obstore signs for directory buckets with a session only"),
        ("{kind: obstore}", "express", True, ""),
    ],
)
def test_what_a_client_can_never_measure_is_told_in_the_plan_and_asks_for_nothing(
    access_path: str, target: str, sessions: bool, reason: str
) -> None:
    text = SUITE.replace(
        "workloads:",
        f"  odd: {{access_path: {access_path}, target: {target}}}\nworkloads:\n"
        "  up: {kind: file_upload, size: 64, iterations: 1, warmup: 0}",
    ).replace("region: us-east-1}\nconf", f"region: us-east-1, sessions: {sessions}}}\nconf")
    suite = parse_suite(text, "s.yaml")
    plan = plan_suite(suite)
    workload = "write" if "obstore" in access_path else "up"
    (shown,) = [line for line in cost_lines(suite, plan) if line.startswith("skipped: ")] or [""]
    assert shown.startswith(f"skipped: odd/{workload}: {reason}" if reason else "")
    assert bool(shown) == bool(reason) == (cell(plan, f"odd/{workload}") == (0, 0, 0, 0))


@pytest.mark.parametrize(("sessions", "told"), [(True, True), (False, False)])
def test_sessions_that_are_not_counted_are_told(sessions: bool, told: bool) -> None:
    suite = parse_suite(
        SUITE.replace("region: us-east-1}\nconf", f"region: us-east-1, sessions: {sessions}}}\nconf"),
        "s.yaml",
    )
    line = (
        "not counted: CreateSession, which each new client of express asks for, at a price that is not known"
    )
    assert (line in cost_lines(suite, plan_suite(suite))) == told


FILES = SUITE.replace(
    "  express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1}",
    "  mount: {kind: mount, shows: plain, path: /mnt/x, file_system_id: fs-0123456789abcdef0}",
).replace("express: {access_path: {kind: boto3_api}, target: express}", MOUNTED)


def test_a_cap_holds_what_s3_files_charges_for() -> None:
    suite = parse_suite(FILES.replace("iterations: 1,", "iterations: 20,"), "s.yaml")
    cost = cost_of(suite.only(("mounted",)), plan_suite(suite.only(("mounted",)))).usd
    assert cost > 20 * (Decimal("0.06") + Decimal("0.03"))
    with pytest.raises(UserError, match=r"would cost about .* above its cap max_cost_usd: 1; raise the cap"):
        refuse_above_cap(suite, 5.0)
    assert "not counted: of the S3 Files mount of mounted: look-ups, reads in several parts" in "\n".join(
        cost_lines(suite, plan_suite(suite))
    )


def test_a_cap_cannot_be_held_to_where_the_prices_of_s3_files_are_not_known() -> None:
    suite = parse_suite(FILES.replace("us-east-1", "ap-southeast-1"), "s.yaml")
    with pytest.raises(UserError, match=r"cannot be held to: .* ap-southeast-1, S3 Files: reads; .* writes"):
        refuse_above_cap(suite, 5.0)


def test_of_another_mount_only_that_nobody_can_count_its_requests_is_told() -> None:
    suite = parse_suite(FILES.replace(", file_system_id: fs-0123456789abcdef0", ""), "s.yaml")
    lines = cost_lines(suite, plan_suite(suite))
    assert "not counted: the requests that the mounts of mounted make" in lines
    refuse_above_cap(suite, 5.0)
