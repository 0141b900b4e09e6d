"""A session interleaves the blocks, hands every cell on once, and loses nothing when it is interrupted."""

from pathlib import Path
from typing import Literal

import pytest

from configs.block import BlockSpec
from configs.loading import parse_suite
from configs.manifest import DatasetObject, Manifest
from configs.run_record import RunIdentity
from configs.suite import Cell
from tasks.kernel.samples import Failure, SampleColumns
from tasks.venues.session import CellMeasurement, Obstacle, SessionPlan, measure_cells
from tasks.venues.wire import BlockOutcome

SUITE = """
name: s
blocks: 5
targets: {b: {kind: bucket, bucket: bucket, endpoint_url: "http://127.0.0.1:9"}}
datasets: {d: {kind: blobs, size: 64, unique_count: 23}}
configurations:
  one: {access_path: {kind: boto3_api}, target: b}
  two: {access_path: {kind: boto3_api}, target: b}
workloads:
  read: {kind: blob_read, dataset: d, read_mode: unique, iterations: 23, warmup: 5}
  write: {kind: blob_write, size: 64}
"""


def a_plan(seed: int = 1, obstacles: dict[str, Obstacle] | None = None) -> SessionPlan:
    objects = tuple(
        DatasetObject(key=f"s3bench/datasets/d/{number:02d}", size_bytes=64, sha256="0" * 64)
        for number in range(24)
    )
    manifest = Manifest(dataset="d", prefix="s3bench/datasets/d/", fingerprint="", seed=1, objects=objects)
    return SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        suite=parse_suite(SUITE, "s.yaml"),
        suite_sha256="",
        seed=seed,
        manifests={("b", "d"): manifest},
        obstacles=obstacles or {},
        scratch=Path("unused"),
    )


class FakeVenue:
    """Remembers what it was asked; fails or interrupts where it is told to."""

    def __init__(self, fail: str = "", all_wrong: str = "", interrupt_at: int = -1) -> None:
        self.specs: list[BlockSpec] = []
        self.fail = fail
        self.all_wrong = all_wrong
        self.interrupt_at = interrupt_at

    def run(self, spec: BlockSpec) -> BlockOutcome:
        if len(self.specs) == self.interrupt_at:
            raise KeyboardInterrupt
        self.specs.append(spec)
        samples = SampleColumns()
        samples.grow(spec.iterations, "read")
        if spec.cell.cell_id == self.all_wrong:
            for row in range(spec.iterations):
                samples.fail(row, Failure("AccessDenied", "no"))
        if spec.cell.cell_id == self.fail and spec.block == 2:
            return BlockOutcome("failed", samples, "broke")
        return BlockOutcome("measured", samples)


def run(venue: FakeVenue, plan: SessionPlan) -> "tuple[dict[str, list[int]], dict[str, CellMeasurement]]":
    """The blocks that each cell was handed on with, in that order, and all cells at the end."""
    handed_on: dict[str, list[int]] = {}

    def on_cell(item: CellMeasurement) -> None:
        assert item.cell.cell_id not in handed_on
        handed_on[item.cell.cell_id] = [block for block, _ in item.blocks]

    measured = measure_cells(plan, venue, lambda *_: None, on_cell)
    return handed_on, {item.cell.cell_id: item for item in measured}


def test_every_cell_is_handed_on_once_with_all_its_blocks() -> None:
    handed_on, measured = run(FakeVenue(), a_plan())
    assert handed_on == {name: [0, 1, 2, 3, 4] for name in ("one/read", "one/write", "two/read", "two/write")}
    assert {item.status for item in measured.values()} == {"measured"}


def test_samples_are_let_go_once_their_cell_is_handed_on() -> None:
    _, measured = run(FakeVenue(), a_plan())
    assert all(item.blocks == [] for item in measured.values())


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
    handed_on, measured = run(FakeVenue(fail="one/write"), a_plan())
    assert (measured["one/write"].status, measured["one/write"].reason) == ("failed", "broke")
    assert handed_on["one/write"] == [0, 1, 2]
    assert all(blocks == [0, 1, 2, 3, 4] for name, blocks in handed_on.items() if name != "one/write")


def test_a_cell_in_which_no_operation_succeeded_has_failed_with_its_errors() -> None:
    _, measured = run(FakeVenue(all_wrong="two/read"), a_plan())
    assert measured["two/read"].status == "failed"
    assert measured["two/read"].reason == "no operation succeeded: AccessDenied (23 times)"
    assert measured["one/read"].status == "measured"


def test_good_files_of_scans_that_are_all_wrong_make_no_good_cell() -> None:
    samples = SampleColumns()
    samples.grow(2, "scan")
    samples.grow(6, "scan_file")
    for row in range(2):
        samples.fail(row, Failure("WrongCounts", "11394 records"))
    measurement = CellMeasurement(a_plan().suite.cells()[0])
    measurement.add(0, BlockOutcome("measured", samples))
    measurement.conclude()
    assert (measurement.status, measurement.reason) == (
        "failed",
        "no operation succeeded: WrongCounts (2 times)",
    )


def test_a_proof_that_changed_between_blocks_says_so_and_counters_become_a_range() -> None:
    measurement = CellMeasurement(a_plan().suite.cells()[0])
    seen = [("a.example", "9"), ("a.example", "10"), ("b.example", "12")]
    for block, (host, requests) in enumerate(seen):
        proof = {"client": "boto3 1.44.8", "host": host, "requests_in_block": requests}
        measurement.add(block, BlockOutcome("measured", SampleColumns(), proof=proof))
    measurement.add(3, BlockOutcome("failed", SampleColumns(), "broke"))
    assert measurement.proof == {
        "client": "boto3 1.44.8",
        "host": "a.example (blocks 0, 1); b.example (block 2)",
        "requests_in_block": "9 to 12",
    }


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_cell_with_an_obstacle_is_not_tried_and_says_why(status: Literal["skipped", "failed"]) -> None:
    venue = FakeVenue()
    obstacle = Obstacle(status, "fusermount3 is missing")
    handed_on, measured = run(venue, a_plan(obstacles={"one/read": obstacle, "two/write": obstacle}))
    assert {spec.cell.cell_id for spec in venue.specs} == {"one/write", "two/read"}
    assert (measured["one/read"].status, measured["one/read"].reason) == (status, "fusermount3 is missing")
    assert handed_on["two/write"] == []


def test_no_two_blocks_have_the_same_seed_and_the_same_run_seed_gives_the_same() -> None:
    venues = [FakeVenue(), FakeVenue()]
    for venue in venues:
        run(venue, a_plan())
    seeds = [{(spec.cell.cell_id, spec.block): spec.seed for spec in venue.specs} for venue in venues]
    assert len(set(seeds[0].values())) == 20
    assert seeds[0] == seeds[1]


def test_an_interrupted_session_hands_on_what_it_has() -> None:
    handed_on: list[CellMeasurement] = []
    with pytest.raises(KeyboardInterrupt):
        measure_cells(a_plan(), FakeVenue(interrupt_at=6), lambda *_: None, handed_on.append)
    assert sum(len(item.blocks) for item in handed_on) == 6
    assert len({item.cell.cell_id for item in handed_on}) == len(handed_on) == 4
    assert {(item.status, item.error) for item in handed_on} == {("failed", "RunCutShort")}
    assert [item.reason for item in handed_on] == [
        f"the run was cut short: {len(item.blocks)} of 5 blocks were measured" for item in handed_on
    ]


def test_a_cell_that_was_whole_when_the_session_was_interrupted_stays_measured() -> None:
    handed_on: list[CellMeasurement] = []
    with pytest.raises(KeyboardInterrupt):
        measure_cells(a_plan(), FakeVenue(interrupt_at=19), lambda *_: None, handed_on.append)
    assert [item.status for item in handed_on] == ["measured"] * 3 + ["failed"]
    assert handed_on[-1].reason == "the run was cut short: 4 of 5 blocks were measured"


def test_a_cell_that_failed_without_a_sample_is_handed_on_by_an_interrupted_session_too() -> None:
    handed_on: list[CellMeasurement] = []
    obstacle = {"one/read": Obstacle("failed", "no mount")}
    with pytest.raises(KeyboardInterrupt):
        measure_cells(
            a_plan(obstacles=obstacle), FakeVenue(interrupt_at=6), lambda *_: None, handed_on.append
        )
    assert {item.cell.cell_id: item.reason for item in handed_on}["one/read"] == "no mount"


def test_every_outcome_is_told_once_before_the_next_block_begins() -> None:
    told: list[tuple[str, int]] = []
    venue = FakeVenue(fail="one/write")

    def on_outcome(cell: Cell, block: int, outcome: BlockOutcome) -> None:
        told.append((cell.cell_id, block))
        assert len(told) == len(venue.specs)
        assert outcome.status == ("failed" if told[-1] == ("one/write", 2) else "measured")

    measure_cells(a_plan(), venue, lambda *_: None, lambda _: None, on_outcome)
    assert told == [(spec.cell.cell_id, spec.block) for spec in venue.specs]
    assert len(told) == 18  # the cell that failed has two blocks less


def test_progress_counts_every_block_up_to_all() -> None:
    told: list[tuple[int, int]] = []
    measure_cells(a_plan(), FakeVenue(), lambda done, total, _: told.append((done, total)), lambda _: None)
    assert told == [(done, 20) for done in range(21)]
