"""A session interleaves the blocks, hands every cell on once, and loses nothing when it is interrupted."""

import pytest

from configs.block import BlockSpec
from configs.loading import parse_suite
from configs.manifest import DatasetObject, Manifest
from configs.run_record import RunIdentity
from tasks.kernel.samples import SampleColumns
from tasks.venues.session import CellMeasurement, SessionPlan, measure_cells
from tasks.venues.wire import BlockOutcome

SUITE = """
name: s
blocks: 5
targets: {b: {kind: bucket, bucket: bucket, endpoint_url: "http://127.0.0.1:9"}}
datasets: {d: {kind: blobs, size: 64, unique_count: 23}}
configurations:
  one: {access_path: {kind: noop}, target: b}
  two: {access_path: {kind: noop}, target: b}
workloads:
  read: {kind: blob_read, dataset: d, read_mode: unique, iterations: 23, warmup: 5}
  write: {kind: blob_write, size: 64}
"""


def a_plan(seed: int = 1, skipped: dict[str, str] | None = None) -> SessionPlan:
    objects = tuple(
        DatasetObject(key=f"s3bench/datasets/d/{number:02d}", size_bytes=64, sha256="0" * 64)
        for number in range(24)
    )
    manifest = Manifest(dataset="d", prefix="s3bench/datasets/d/", fingerprint="", seed=1, objects=objects)
    return SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        suite=parse_suite(SUITE, "s.yaml"),
        seed=seed,
        manifests={("b", "d"): manifest},
        skipped=skipped or {},
    )


class FakeVenue:
    """Remembers what it was asked; fails or interrupts where it is told to."""

    def __init__(self, fail: str = "", interrupt_at: int = -1) -> None:
        self.specs: list[BlockSpec] = []
        self.fail = fail
        self.interrupt_at = interrupt_at

    def run(self, spec: BlockSpec) -> BlockOutcome:
        if len(self.specs) == self.interrupt_at:
            raise KeyboardInterrupt
        self.specs.append(spec)
        samples = SampleColumns()
        samples.grow(spec.iterations, "read")
        if spec.cell.cell_id == self.fail and spec.block == 2:
            return BlockOutcome("failed", samples, "broke")
        return BlockOutcome("measured", samples)


def run(venue: FakeVenue, plan: SessionPlan) -> tuple[list[CellMeasurement], tuple[CellMeasurement, ...]]:
    handed_on: list[CellMeasurement] = []
    measured = measure_cells(plan, venue, lambda *_: None, handed_on.append)
    return handed_on, measured


def test_every_cell_is_handed_on_once_with_all_its_blocks() -> None:
    handed_on, measured = run(FakeVenue(), a_plan())
    assert sorted(item.cell.cell_id for item in handed_on) == [
        "one/read",
        "one/write",
        "two/read",
        "two/write",
    ]
    assert all(len(item.blocks) == 5 for item in measured)


def test_blocks_of_all_cells_alternate_in_the_order_of_the_seed() -> None:
    venues = [FakeVenue(), FakeVenue(), FakeVenue()]
    for venue, seed in zip(venues, (1, 1, 2), strict=True):
        run(venue, a_plan(seed))
    orders = [[spec.cell.cell_id for spec in venue.specs] for venue in venues]
    assert orders[0] == orders[1] != orders[2]
    for start in range(0, 20, 4):
        assert len(set(orders[0][start : start + 4])) == 4


def test_iterations_and_warmups_are_spread_over_the_blocks() -> None:
    venue = FakeVenue()
    run(venue, a_plan())
    reads = sorted((s for s in venue.specs if s.cell.cell_id == "one/read"), key=lambda s: s.block)
    assert [spec.iterations for spec in reads] == [5, 5, 5, 4, 4]
    assert [spec.warmup for spec in reads] == [1] * 5


def test_no_two_blocks_of_unique_reads_share_an_object() -> None:
    venue = FakeVenue()
    run(venue, a_plan())
    keys = [item.key for spec in venue.specs if spec.cell.cell_id == "one/read" for item in spec.objects]
    assert len(keys) == len(set(keys)) == 23


def test_all_blocks_write_below_the_run_and_never_below_the_same_prefix() -> None:
    venue = FakeVenue()
    run(venue, a_plan())
    prefixes = [spec.write_prefix for spec in venue.specs]
    assert len(set(prefixes)) == len(prefixes)
    assert all(prefix.startswith("s3bench/runs/20260101T020000Z-00000000/") for prefix in prefixes)


def test_a_failed_block_ends_its_cell_and_no_other_and_keeps_what_was_measured() -> None:
    venue = FakeVenue(fail="one/write")
    handed_on, measured = run(venue, a_plan())
    by_id = {item.cell.cell_id: item for item in measured}
    assert (by_id["one/write"].status, by_id["one/write"].reason) == ("failed", "broke")
    assert [block for block, _ in by_id["one/write"].blocks] == [0, 1, 2]
    assert all(len(item.blocks) == 5 for name, item in by_id.items() if name != "one/write")
    assert len(handed_on) == 4


def test_an_unreachable_target_skips_its_cells_with_the_reason() -> None:
    venue = FakeVenue()
    _, measured = run(venue, a_plan(skipped={"b": "fusermount3 is missing"}))
    assert venue.specs == []
    assert {(item.status, item.reason) for item in measured} == {("skipped", "fusermount3 is missing")}


def test_an_interrupted_session_hands_on_what_it_has() -> None:
    handed_on: list[CellMeasurement] = []
    with pytest.raises(KeyboardInterrupt):
        measure_cells(a_plan(), FakeVenue(interrupt_at=6), lambda *_: None, handed_on.append)
    assert sum(len(item.blocks) for item in handed_on) == 6
    assert len({item.cell.cell_id for item in handed_on}) == len(handed_on) == 4


def test_progress_counts_every_block_up_to_all() -> None:
    told: list[tuple[int, int]] = []
    measure_cells(a_plan(), FakeVenue(), lambda done, total, _: told.append((done, total)), lambda _: None)
    assert told == [(done, 20) for done in range(21)]
