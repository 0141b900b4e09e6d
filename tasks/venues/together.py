"""One block by several clients at the same time: what each of them does, and what came of all together.

Each client does all operations of the block in a process of its own, with its own seed, its own keys for what
it writes and, where each read is of another object, its own objects. A `single` read is of the same object by
all of them. They connect and warm up, wait for one another, and begin what counts at one moment.

A client is late whose first counted operation began more than `LATE_MS` after that moment: the block stands,
its proof says so, and its throughput is of the window in which all were active. Where a client died, failed
or never came to the start, the block is failed, and the samples of all clients are kept. Clients on several
hosts have several clocks, whose distance from the run's is measured before each block: each client is told
the start as its own clock shows it, and its samples are put on the clock of the run. One that is off by more
than the same bound, or cannot be read as closely as that, has no common start.
"""

import hashlib
from array import array
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal

from configs.block import BlockSpec
from configs.workloads import BlobRead, FileDownload, FirstRequest
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import BESIDES, NULL, OPERATIONS, SampleColumns
from tasks.venues.session import merged_proof
from tasks.venues.wire import GIVEN_UP, BlockCost, BlockOutcome

LATE_MS: Final = 100.0
"""How long after the common start a client may begin without being called late."""

_OF_A_BLOCK: Final = "_in_block"
"""How names end in a proof of what a client counted over its block."""


def split(spec: BlockSpec) -> tuple[BlockSpec, ...]:
    """What each client of a block does, in the order of their numbers."""
    return tuple(_part(spec, number) for number in range(spec.cell.configuration.clients))


def _part(spec: BlockSpec, number: int) -> BlockSpec:
    own = f"{number:03d}"
    return spec.model_copy(
        update={
            "seed": int.from_bytes(hashlib.sha256(f"{spec.seed}/{own}".encode()).digest()[:7], "big"),
            "objects": _objects(spec, number),
            "write_prefix": f"{spec.write_prefix}{own}/",
            "scratch_folder": spec.scratch_folder / own if spec.scratch_folder else None,
        }
    )


def _objects(spec: BlockSpec, number: int) -> tuple[object, ...]:
    """The client's share of the objects where each is read once; else all of them."""
    workload = spec.cell.workload
    if not isinstance(workload, BlobRead | FileDownload | FirstRequest) or workload.read_mode == "single":
        return spec.objects
    share = len(spec.objects) // spec.cell.configuration.clients
    return spec.objects[number * share : (number + 1) * share]


def merge(
    spec: BlockSpec,
    outcomes: Sequence[BlockOutcome],
    start_us: int | None,
    clocks_apart_ms: float | None = None,
) -> BlockOutcome:
    """One outcome of what all clients did.

    Args:
        spec: the block, as it was split.
        outcomes: one for each client, in the order of their numbers.
        start_us: the common start, in microseconds since 1970; None where there was none.
        clocks_apart_ms: how far the clock of a client's host is from ours at most; None where nobody looked.
    """
    status = _status(outcomes)
    samples = SampleColumns()
    for number, outcome in enumerate(outcomes):
        samples.extend(_numbered(outcome.samples, number * spec.cell.workload.concurrency))
    return BlockOutcome(
        status=status,
        samples=samples,
        reason="" if status == "measured" else _reason(outcomes, status),
        proof=_proof(outcomes, start_us, clocks_apart_ms),
        cache_state=next((one.cache_state for one in outcomes if one.cache_state), ""),
        machine=next((one.machine for one in outcomes if one.machine is not None), None),
        cost=_cost(outcomes),
    )


def late_by_ms(outcomes: Sequence[BlockOutcome], start_us: int) -> dict[int, float]:
    """How long after the common start each client began what counts, by its number, in milliseconds."""
    begun = {number: _begun_us(outcome.samples) for number, outcome in enumerate(outcomes)}
    return {number: (at_us - start_us) / 1000 for number, at_us in begun.items() if at_us is not None}


def moved_in_time(samples: SampleColumns, by_us: int) -> None:
    """Put the starts of samples on another clock."""
    started_us = samples.integers.get("started_us", array("q"))
    for row, at_us in enumerate(started_us if by_us else ()):
        if at_us != NULL:
            started_us[row] = at_us + by_us


def _begun_us(samples: SampleColumns) -> int | None:
    """When the first operation began that counts; None where none did."""
    started_us = samples.integers.get("started_us", array("q"))
    return min(
        (
            started_us[row]
            for row, kind in enumerate(samples.operation)
            if not samples.warmup[row] and OPERATIONS[kind] not in BESIDES and started_us[row] != NULL
        ),
        default=None,
    )


def _numbered(samples: SampleColumns, first_worker: int) -> SampleColumns:
    """The same samples, whose threads are numbered among those of all clients."""
    workers = samples.integers.get("worker", array("q"))
    for row, worker in enumerate(workers):
        if worker != NULL:
            workers[row] = first_worker + worker
    return samples


def _status(outcomes: Sequence[BlockOutcome]) -> Literal["measured", "skipped", "failed"]:
    """Skipped where a client cannot measure it here and no other failed for a reason of its own."""
    if any(one.status == "failed" and one.reason != GIVEN_UP for one in outcomes):
        return "failed"
    if any(one.status == "skipped" for one in outcomes):
        return "skipped"
    return "failed" if any(one.status == "failed" for one in outcomes) else "measured"


def _reason(outcomes: Sequence[BlockOutcome], status: str) -> str:
    """Who failed of what; those that only gave up since another failed are not named."""
    told: dict[str, list[int]] = {}
    for number, outcome in enumerate(outcomes):
        if outcome.status == status:
            told.setdefault(outcome.reason, []).append(number)
    if len(told) > 1:
        told.pop(GIVEN_UP, None)
    return "; ".join(f"{_clients(numbers, len(outcomes))}: {reason}" for reason, numbers in told.items())


def _clients(numbers: Sequence[int], of: int) -> str:
    if len(numbers) == of:
        return f"each of {of} clients"
    return f"client{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))} of {of}"


def _proof(
    outcomes: Sequence[BlockOutcome], start_us: int | None, clocks_apart_ms: float | None
) -> dict[str, str]:
    """What the clients proved, and how they were together."""
    proofs = {number: one.proof for number, one in enumerate(outcomes) if one.proof}
    ended = sum(one.status == "measured" for one in outcomes)
    proof = merged_proof(proofs, "client") | _sums(list(proofs.values()))
    proof["clients"] = f"{ended} of {len(outcomes)} to the end"
    late_ms = {} if start_us is None else late_by_ms(outcomes, start_us)
    if len(late_ms) > 1:
        proof["clients_began_within_ms"] = f"{max(late_ms.values()) - min(late_ms.values()):.1f}"
    if late := [f"client {number} began {by:.0f} ms late" for number, by in late_ms.items() if by > LATE_MS]:
        proof["late_clients"] = ", ".join(late)
    if clocks_apart_ms is not None:
        proof["clocks_apart_ms"] = f"{clocks_apart_ms:.2f}"
    machines = {one.machine.cpu_model: None for one in outcomes if one.machine is not None}
    if len(machines) > 1:
        proof["processors"] = ", ".join(machines)
    return proof


def _sums(proofs: Sequence[dict[str, str]]) -> dict[str, str]:
    """What is counted of a whole block, as its requests are, of all clients together."""
    names = {name for proof in proofs for name in proof if name.endswith(_OF_A_BLOCK)}
    counts = {name: [proof.get(name, "") for proof in proofs] for name in names}
    return {name: str(sum(map(int, found))) for name, found in counts.items() if all(map(str.isdigit, found))}


def _cost(outcomes: Sequence[BlockOutcome]) -> BlockCost | None:
    """Of all processes: their wall and processor time summed, which gives the share of one of them."""
    costs = [one.cost for one in outcomes if one.cost is not None]
    if not costs:
        return None
    gaps_ns = [cost.loop.gap_ns for cost in costs if cost.loop.gap_ns]
    return BlockCost(
        timer_resolution_ns=min(cost.timer_resolution_ns for cost in costs),
        timed_nothing_ns=int(median(cost.timed_nothing_ns for cost in costs)),
        loop=LoopCost(
            wall_ns=sum(cost.loop.wall_ns for cost in costs),
            cpu_ns=sum(cost.loop.cpu_ns for cost in costs),
            gap_ns=int(median(gaps_ns)) if gaps_ns else 0,
            not_begun=sum(cost.loop.not_begun for cost in costs),
        ),
    )
