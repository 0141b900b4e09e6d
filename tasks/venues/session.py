"""A measuring session: the blocks of all cells, interleaved, and what became of each cell.

Each cell is handed on as soon as its last block has ended, and what is unfinished when the session is
interrupted is handed on as well, so that nothing measured is lost.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from configs.block import BlockSpec
from configs.lab_delays import Delays
from configs.manifest import DatasetObject, LocalTree, Manifest
from configs.run_record import RunIdentity
from configs.suite import Cell, Suite
from configs.workloads import BlobRead, FileDownload, FirstRequest, ReadingWorkload, TreeUpload
from tasks.kernel.environment import Machine
from tasks.kernel.samples import BESIDES, OPERATIONS, SampleColumns
from tasks.kernel.schedule import interleaved, share
from tasks.venues.scratch import folder_of_block
from tasks.venues.wire import BlockCost, BlockOutcome

CUT_SHORT: Final = "RunCutShort"
"""The kind of the error of a cell whose run ended before all its blocks had."""


class Venue(Protocol):
    """Where blocks run."""

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block; whatever goes wrong is an outcome."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the cells of a target cannot be measured: `skipped` where this machine lacks something."""

    status: Literal["skipped", "failed"]
    reason: str


@dataclass(slots=True)
class CellMeasurement:
    """What is known of one cell so far."""

    cell: Cell
    status: Literal["measured", "skipped", "failed"] = "measured"
    reason: str = ""
    error: str = "CellFailed"
    """The kind of the failure, where it failed."""
    ended: int = 0
    """Blocks that have ended, whether or not they have samples."""
    cache_state: str = ""
    proofs: dict[int, dict[str, str]] = field(default_factory=dict)
    """By block."""
    machine: Machine | None = None
    costs: list[BlockCost] = field(default_factory=list)
    blocks: list[tuple[int, SampleColumns]] = field(default_factory=list)
    """Empty again once the cell is stored."""
    stored_as: str = ""
    """The name of its file in the store."""

    def add(self, block: int, outcome: BlockOutcome) -> None:
        """Take in one block."""
        self.ended += 1
        self.status, self.reason = outcome.status, outcome.reason
        self.cache_state = outcome.cache_state or self.cache_state
        if outcome.proof:
            self.proofs[block] = outcome.proof
        self.machine = outcome.machine or self.machine
        if outcome.cost is not None:
            self.costs.append(outcome.cost)
        if len(outcome.samples):
            self.blocks.append((block, outcome.samples))

    @property
    def proof(self) -> dict[str, str]:
        """What all blocks prove together."""
        return merged_proof(self.proofs)

    def conclude(self) -> None:
        """Call a cell failed in which no counted operation succeeded: its errors are its result.

        What tells more of another operation (`BESIDES`) does not count: a scan of good files may be wrong.
        """
        if self.status == "measured" and (reason := why_nothing_succeeded(self.blocks)):
            self.status, self.reason = "failed", reason

    def cut_short(self, blocks: int) -> None:
        """Say of a cell that more was to be measured, so that it does not look whole."""
        if self.status == "measured":
            self.status, self.error = "failed", CUT_SHORT
            self.reason = how_much_was_measured(self.ended, blocks)


def how_much_was_measured(ended: int, blocks: int) -> str:
    """Of a cell whose run was cut short, by whatever it was."""
    return f"the run was cut short: {ended} of {blocks} blocks were measured"


def why_nothing_succeeded(blocks: Iterable[tuple[int, SampleColumns]]) -> str:
    """The errors of a cell in which no counted operation succeeded; empty where one did."""
    errors: Counter[str] = Counter()
    for _, samples in blocks:
        whole = [row for row, kind in enumerate(samples.operation) if OPERATIONS[kind] not in BESIDES]
        if any(not samples.warmup[row] and row not in samples.failures for row in whole):
            return ""
        errors.update(samples.failures[row].error for row in whole if row in samples.failures)
    worst = ", ".join(f"{error} ({count} times)" for error, count in errors.most_common(3))
    return f"no operation succeeded: {worst or 'none was done'}"


def merged_proof(proofs: Mapping[int, Mapping[str, str]], part: str = "block") -> dict[str, str]:
    """One value where all blocks say the same, else `20 to 22` of numbers, `a (blocks 0, 1); b (block 2)`.

    Args:
        proofs: what each block proved, by its number; what only some of them say counts for those.
        part: what the numbers are of; the clients of a block may have proofs of their own.
    """
    told: dict[str, dict[str, list[int]]] = {}
    for block, proof in proofs.items():
        for name, value in proof.items():
            told.setdefault(name, {}).setdefault(value, []).append(block)
    return {name: _joined(numbers_by_value, part) for name, numbers_by_value in told.items()}


def _joined(numbers_by_value: Mapping[str, list[int]], part: str) -> str:
    if len(numbers_by_value) == 1:
        return next(iter(numbers_by_value))
    try:
        ascending = sorted((end for value in numbers_by_value for end in value.split(" to ")), key=float)
    except ValueError:  # words
        return "; ".join(
            f"{value} ({part}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))})"
            for value, numbers in numbers_by_value.items()
        )
    return f"{ascending[0]} to {ascending[-1]}"


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """All that a session needs to know."""

    run: RunIdentity
    suite: Suite
    """With all its targets filled in."""
    suite_sha256: str
    """Of the suite as it was written, which is the same on every machine and in every lab."""
    seed: int
    manifests: dict[tuple[str, str], Manifest]
    """What was prepared, by the id of its bucket target and the name of the dataset."""
    obstacles: Mapping[str, Obstacle]
    """By the id of a cell: why it cannot be measured."""
    scratch: Path
    """A folder of ours on a local disk, for files that are moved."""
    trees: Mapping[str, LocalTree] = field(default_factory=dict)
    """The file trees to upload, by the name of the dataset."""
    delays: Delays | None = None
    """What the AWS-shaped lab adds by host name; None elsewhere."""
    dask_scheduler: str | None = None
    """Whose workers run the clients of cells that have several; None for a cluster of this run's own."""


def measure_cells(
    plan: SessionPlan,
    venue: Venue,
    on_block: Callable[[int, int, str], None],
    on_cell: Callable[[CellMeasurement], None],
    on_outcome: Callable[[Cell, int, BlockOutcome], None] = lambda *_: None,
) -> tuple[CellMeasurement, ...]:
    """Measure every cell of a suite.

    Args:
        plan: what to measure.
        venue: where.
        on_block: told before each block: how many have ended, of how many, and the next one's cell.
        on_cell: given each cell once, when nothing more is to be expected of it.
        on_outcome: given each block as soon as it has ended: its cell, its number, and what became of it.
    """
    measurements = {cell.cell_id: CellMeasurement(cell) for cell in plan.suite.cells()}
    rounds = interleaved(plan.suite.cells(), plan.suite.blocks, plan.seed)
    waiting = dict.fromkeys(measurements, plan.suite.blocks)
    try:
        for ended, (block, cell) in enumerate(rounds):
            measurement = measurements[cell.cell_id]
            waiting[cell.cell_id] -= 1
            if measurement.status == "measured":
                on_block(ended, len(rounds), cell.cell_id)
                _take_in(measurement, block, _run(plan, venue, cell, block), on_outcome)
            if waiting[cell.cell_id] == 0:
                del waiting[cell.cell_id]
                measurement.conclude()
                on_cell(measurement)
                # Stored now. A cell may have a million samples, and a run many cells.
                measurement.blocks.clear()
        on_block(len(rounds), len(rounds), "")
    finally:
        for measurement in map(measurements.__getitem__, waiting):
            if measurement.ended:
                measurement.cut_short(plan.suite.blocks)
                on_cell(measurement)
    return tuple(measurements.values())


def _take_in(
    measurement: CellMeasurement,
    block: int,
    outcome: BlockOutcome,
    on_outcome: Callable[[Cell, int, BlockOutcome], None],
) -> None:
    measurement.add(block, outcome)
    on_outcome(measurement.cell, block, outcome)


def _run(plan: SessionPlan, venue: Venue, cell: Cell, block: int) -> BlockOutcome:
    obstacle = plan.obstacles.get(cell.cell_id)
    if obstacle is not None:
        return BlockOutcome(obstacle.status, SampleColumns(), obstacle.reason)
    if cell.workload.needs not in {"files", "trees"}:
        return venue.run(block_spec(plan, cell, block))
    with folder_of_block(plan.scratch, plan.run.run_id, f"{cell.cell_id}/{block:03d}") as folder:
        return venue.run(block_spec(plan, cell, block, folder))


def block_spec(plan: SessionPlan, cell: Cell, block: int, scratch_folder: Path | None = None) -> BlockSpec:
    """What the worker of one block is told."""
    workload = cell.workload
    blocks = plan.suite.blocks
    bucket_id = plan.suite.bucket_id(cell.configuration.target)
    objects: tuple[DatasetObject, ...] = ()
    read_prefix, tree_folder = "", None
    if isinstance(workload, ReadingWorkload):
        manifest = plan.manifests[bucket_id, workload.dataset]
        objects, read_prefix = manifest.objects, manifest.prefix
        if isinstance(workload, BlobRead | FileDownload | FirstRequest):
            objects = _blobs(manifest, workload, cell.configuration.clients, blocks, block)
    elif isinstance(workload, TreeUpload):
        tree = plan.trees[workload.dataset]
        objects, tree_folder = tree.objects, tree.folder
    return BlockSpec(
        run=plan.run,
        cell=cell,
        block=block,
        iterations=share(workload.iterations, blocks, block),
        warmup=share(workload.warmup, blocks, block),
        seed=block_seed(plan.seed, cell.cell_id, block),
        objects=objects,
        read_prefix=read_prefix,
        write_prefix=f"{run_prefix(plan, bucket_id)}{cell.config_id}/{cell.workload_id}/{block:03d}/",
        scratch_folder=scratch_folder,
        tree_folder=tree_folder,
    )


def block_seed(seed: int, cell_id: str, block: int) -> int:
    """A seed of a block's own, so that no two write the same bytes; the same for the same run's seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{cell_id}/{block}".encode()).digest()[:7], "big")


def run_prefix(plan: SessionPlan, bucket_id: str) -> str:
    """The key prefix, with its trailing slash, below which this run writes, and nobody else does."""
    return f"{plan.suite.bucket(bucket_id).prefix}/runs/{plan.run.run_id}/"


def _blobs(
    manifest: Manifest,
    workload: BlobRead | FileDownload | FirstRequest,
    clients: int,
    blocks: int,
    block: int,
) -> tuple[DatasetObject, ...]:
    """One object for all, or for each block the objects that no other block of the cell reads.

    Several clients share those of their block, each of them doing as many operations as one would.
    """
    single, *unique = manifest.objects
    if workload.read_mode == "single":
        return (single,)
    start = clients * sum(share(workload.iterations, blocks, earlier) for earlier in range(block))
    return tuple(unique[start : start + clients * share(workload.iterations, blocks, block)])
