"""Writes an example store: nights that nobody measured, of the suite `nightly`, by the real writers.

Everything that reads results can read it, and every run says that it is synthetic. What it holds is known
beforehand: see `example_nights.TRUTHS`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from configs.choices import SHIPPED_SUITES
from configs.errors import UserError
from configs.loading import load_suite
from configs.run_record import RunIdentity, dt_of
from configs.suite import Cell, Suite
from tasks.kernel.samples import SampleColumns
from tasks.kernel.schedule import interleaved
from tasks.results.cells import EndedCell, cell_table
from tasks.results.costs import write_costs
from tasks.results.example_nights import (
    NEW_VERSION,
    OWN_SD,
    REDEFINED,
    SCHEDULE,
    ExampleOptions,
    Kind,
    holds,
    known_ratio,
    shared_logs,
)
from tasks.results.example_record import ExampleRun, example_record
from tasks.results.example_samples import BlockPlace, block_samples
from tasks.results.store import Store
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.cell_cost import CellCost
from tasks.stats.summaries import summarise

if TYPE_CHECKING:
    from tasks.stats.summary_types import Summary

CostsOf = Callable[[Suite], Sequence[CellCost]]
"""What the cells of a suite cost."""

README_NAME: Final = "README.txt"
"""No reader takes a name with this ending."""
_README: Final = """\
SYNTHETIC: nobody measured what lies here. It was made by `s3bench example`, for demonstrations and tests.
Do not let runs be stored here: they would stand among nights that never were.
"""
_PLACEHOLDERS: Final = (
    "targets.bucket.bucket=example-bucket",
    "targets.bucket.region=us-east-1",
    "targets.express.bucket=example--use1-az4--x-s3",
    "targets.express.region=us-east-1",
    "targets.mount.path=/mnt/example-bucket",
    "targets.mount.file_system_id=fs-00000000000000000",
)
_OWN_OUTLIERS: Final = 0.01
"""Of all nights of a cell: as slow as nobody can tell why."""
_BETWEEN_BLOCKS_US: Final = 1_500_000
_BLOCKS_OF_FAILED: Final = 4
_FAILURE: Final = "SYNTHETIC: /mnt/example-bucket is no longer mounted: mount it again"
_SKIPPED: Final = "SYNTHETIC: awscrt is not installed: pip install boto3[crt]"


@dataclass(frozen=True, slots=True)
class _Night:
    """A night that has a run, with all that its run is made of."""

    number: int
    of: int
    due_at: datetime
    suite: Suite
    shared_log: float
    draw: np.random.Generator

    def has(self, kind: Kind, cell: Cell | None = None) -> bool:
        return holds(kind, self.number, self.of, cell.cell_id if cell else "")


@dataclass(slots=True)
class _Measured:
    """What the blocks of a night recorded, and when the last one ended."""

    blocks: dict[str, list[tuple[int, SampleColumns]]] = field(default_factory=dict)
    """By cell."""
    ended_us: int = 0


def write_example(
    store: Store,
    options: ExampleOptions,
    costs_of: CostsOf,
    on_night: Callable[[int, str], None] = lambda _number, _dt: None,
) -> None:
    """Write all nights of an example store.

    Args:
        store: an empty one.
        options: which nights.
        costs_of: what the cells of a suite cost.
        on_night: is told the number of each night, from 1, and its date, when it is written.

    Raises:
        UserError: if the store cannot take them, or holds something already.
    """
    options.refuse_unfit()
    if store.names(""):
        raise UserError(f"{store.location} holds results already: an example store goes where nothing is")
    store.put(README_NAME, _README.encode())
    suites = (_suite(options, redefined=False), _suite(options, redefined=True))
    costs = tuple(costs_of(suite) for suite in suites)
    shared = shared_logs(options)
    for number, due_at in enumerate(options.due):
        if not holds(Kind.MISSING, number, options.nights):
            redefined = number in REDEFINED.nights(options.nights)
            draw = np.random.default_rng([options.seed, 2, number])
            night = _Night(number, options.nights, due_at, suites[redefined], float(shared[number]), draw)
            _write_night(store, night, costs[redefined])
        on_night(number + 1, dt_of(due_at))


def _suite(options: ExampleOptions, *, redefined: bool) -> Suite:
    path = str(SHIPPED_SUITES / f"{SCHEDULE}.yaml")
    suite = load_suite(path, settings=_PLACEHOLDERS)
    settings = []
    for workload_id, workload in suite.workloads.items():
        fewest = suite.blocks * workload.concurrency
        iterations = min(workload.iterations, max(fewest, options.samples or workload.iterations))
        if not redefined and any(cell_id.endswith(f"/{workload_id}") for cell_id in REDEFINED.cell_ids):
            iterations = iterations * 2 // 3
        # As the suite says, or none: fewer than one for each block and thread are refused.
        warmup = workload.warmup if 2 * workload.warmup <= iterations else 0
        of_it = f"workloads.{workload_id}"
        settings += [f"{of_it}.iterations={iterations}", f"{of_it}.warmup={warmup}"]
    return load_suite(path, settings=[*_PLACEHOLDERS, *settings])


def _write_night(store: Store, night: _Night, costs: Sequence[CellCost]) -> None:
    """All files of a run, in the order of a real one; of one that ended half-way only samples."""
    suffix = night.draw.integers(2**32)
    started_at = night.due_at + timedelta(seconds=float(night.draw.uniform(4, 9)))
    run = RunIdentity(run_id=f"{started_at:%Y%m%dT%H%M%SZ}-{suffix:08x}", dt=dt_of(night.due_at))
    measured = _measured(night, started_at)
    ended = [_ended(night, cell, measured) for cell in night.suite.cells()]
    summaries: list[Summary] = []
    for cell in ended:
        if not cell.blocks and cell.status == "measured":
            continue  # of a run that ended before it came to this one
        table = cell_table(run, cell)
        write_cell(store, run, cell.config_id, cell.workload_id, table)
        summaries += summarise(table)
    if night.has(Kind.INCOMPLETE):
        return
    write_nightly(store, run, summaries)
    kept = {(cell.config_id, cell.workload_id) for cell in ended if cell.status == "measured"}
    write_costs(store, run, [cost for cost in costs if (cost.config_id, cost.workload_id) in kept])
    is_new = night.number in NEW_VERSION.nights(night.of)
    told = ExampleRun(run, night.suite, night.number, is_new, night.due_at, started_at, measured.ended_us)
    write_run(store, example_record(told, ended))


def _measured(night: _Night, started_at: datetime) -> _Measured:
    """Every block of every cell, interleaved as a run does it."""
    cells = [cell for cell in night.suite.cells() if not night.has(Kind.SKIPPED, cell)]
    factors = {cell.cell_id: _factor(night, cell) for cell in cells}
    found = _Measured(ended_us=int(started_at.timestamp() * 1e6))
    order = interleaved(cells, night.suite.blocks, night.number)
    if night.has(Kind.INCOMPLETE):
        order = order[: len(order) // 2]
    for block, cell in order:
        if night.has(Kind.FAILED, cell) and block >= _BLOCKS_OF_FAILED:
            continue
        place = BlockPlace(block, found.ended_us + _BETWEEN_BLOCKS_US, factors[cell.cell_id])
        samples, found.ended_us = block_samples(night.suite, cell, place, night.draw)
        found.blocks.setdefault(cell.cell_id, []).append((block, samples))
    return found


def _factor(night: _Night, cell: Cell) -> float:
    """How slow the night is for a cell, of its typical time."""
    own = math.exp(night.shared_log + night.draw.normal(0, OWN_SD))
    if night.draw.random() < _OWN_OUTLIERS:
        own *= night.draw.uniform(1.3, 2.0)
    return float(own * known_ratio(cell.cell_id, night.number, night.of))


def _ended(night: _Night, cell: Cell, measured: _Measured) -> EndedCell:
    ids = (cell.config_id, cell.workload_id)
    blocks = measured.blocks.get(cell.cell_id, [])
    if night.has(Kind.SKIPPED, cell):
        return EndedCell(*ids, blocks, "skipped", _SKIPPED)
    if night.has(Kind.FAILED, cell):
        return EndedCell(*ids, blocks, "failed", _FAILURE, "LabelError")
    return EndedCell(*ids, blocks, "measured")
