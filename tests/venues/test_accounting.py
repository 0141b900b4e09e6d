"""What a run tells of its own cost."""

from configs.loading import parse_suite
from tasks.kernel.loop import LoopCost
from tasks.venues.accounting import harness_cost
from tasks.venues.session import CellMeasurement
from tasks.venues.wire import BlockCost

SUITE = """
name: s
targets: {b: {kind: bucket, bucket: bucket}}
configurations: {one: {access_path: {kind: boto3_api}, target: b}}
workloads: {write: {kind: blob_write, size: 64}}
"""


def gap_of_run(*gaps_ns: int) -> int:
    """The gap that a run tells of blocks with these."""
    costs = [BlockCost(1, 1, LoopCost(wall_ns=10, cpu_ns=5, gap_ns=gap_ns)) for gap_ns in gaps_ns]
    cost = harness_cost([CellMeasurement(parse_suite(SUITE, "s.yaml").cells()[0], costs=costs)])
    assert cost is not None
    return cost.loop_gap_ns


def test_blocks_of_one_operation_have_no_gap_and_do_not_lower_that_of_the_run() -> None:
    assert gap_of_run(0, 0, 0, 300, 500) == 400
    assert gap_of_run(0, 0) == 0
