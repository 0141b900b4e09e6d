"""What several clients would ask of Amazon S3: each of them what one would."""

from dataclasses import asdict

from configs.loading import parse_suite
from tasks.stats.cost import RequestCounts
from tasks.workloads.plan import plan_suite

SUITE = """\
name: s
blocks: 2
targets: {b: {kind: bucket, bucket: some-bucket, region: us-east-1}}
configurations:
  one: {access_path: {kind: boto3_api}, target: b}
  four: {access_path: {kind: boto3_api}, target: b, clients: 4}
datasets: {d: {kind: blobs, size: 64 KiB, unique_count: 80}}
workloads:
  read: {kind: blob_read, dataset: d, read_mode: unique, iterations: 20, warmup: 4, concurrency: 2}
  write: {kind: blob_write, size: 1 MiB, iterations: 3000, warmup: 4}
"""


def test_every_client_sends_what_one_alone_would() -> None:
    suite = parse_suite(SUITE, "s.yaml")
    plan = plan_suite(suite)
    cells = {one.cell.cell_id: one for one in plan.cells}
    for workload in ("read", "write"):
        alone, together = cells[f"one/{workload}"], cells[f"four/{workload}"]
        assert alone.requests is not None
        assert together.requests is not None
        assert asdict(together.requests) == {
            kind: 4 * count for kind, count in asdict(alone.requests).items()
        }
        assert together.operations == 4 * alone.operations
        assert (together.bytes_read, together.bytes_written) == (
            4 * (alone.bytes_read or 0),
            4 * alone.bytes_written,
        )
    reads = RequestCounts(**{kind: 5 * count for kind, count in asdict(cells["one/read"].requests).items()})
    writes = RequestCounts(**{kind: 5 * count for kind, count in asdict(cells["one/write"].requests).items()})
    assert plan.requests == reads + writes + plan.preparing["b"], "the data is prepared once for all"
