"""One block of one cell, from its specification to its outcome: the same code on every venue."""

import contextlib

from configs.block import BlockSpec
from configs.errors import UserError
from configs.workloads import cache_use
from tasks.access.protocol import AccessPath
from tasks.access.registry import access_path
from tasks.kernel.calibration import timed_nothing_ns, timer_resolution_ns
from tasks.kernel.environment import machine
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import SampleColumns
from tasks.kernel.start import CommonStart
from tasks.venues.wire import BlockCost, BlockOutcome
from tasks.workloads.registry import measure_workload


def run_block(spec: BlockSpec, start: CommonStart | None = None) -> BlockOutcome:
    """Connect, measure, verify, and tell how it ended; a wrong label or a lost client is an outcome too.

    Args:
        spec: the block.
        start: where this client waits, connected and warmed up, for others; None where it is the only one.
    """
    samples = SampleColumns()
    cache_state = ""
    proof: dict[str, str] | None = None
    try:
        access = access_path(spec.cell.configuration.access_path, spec.cell.target)
        access.connect(spec.cell.workload.concurrency)
        with contextlib.closing(access):
            cache_state = _cache_state(spec, access)
            proof = access.proof()
            loop = measure_workload(spec, access, samples, start)
            proof = access.proof()  # again: what it counts is of the whole block
    except UnsupportedError as reason:
        return BlockOutcome("skipped", samples, str(reason), proof, cache_state, machine())
    except (LabelError, UserError) as reason:
        return _broken_off(samples, str(reason), proof, cache_state)
    except Exception as error:  # noqa: BLE001 - outside the clock any client error ends this cell, not the run
        return _broken_off(samples, f"{type(error).__name__}: {error}", proof, cache_state)
    cost = BlockCost(timer_resolution_ns(), timed_nothing_ns(), loop)
    if loop.not_begun:
        samples.drop_unmeasured()
        why = (start.why_not if start is not None else "") or _unfinished(spec, loop)
        return BlockOutcome("failed", samples, why, proof, cache_state, machine(), cost)
    return BlockOutcome("measured", samples, "", proof, cache_state, machine(), cost)


def _broken_off(
    samples: SampleColumns, reason: str, proof: dict[str, str] | None, cache_state: str
) -> BlockOutcome:
    samples.drop_unmeasured()
    return BlockOutcome("failed", samples, reason, proof, cache_state, machine())


def _unfinished(spec: BlockSpec, loop: LoopCost) -> str:
    done = spec.iterations - loop.not_begun
    return (
        f"the block did not end within block_timeout_s: {done} of {spec.iterations} operations were done: "
        "give it more time, or the workload fewer iterations"
    )


def _cache_state(spec: BlockSpec, access: AccessPath) -> str:
    state: str = getattr(access.cache_states, cache_use(spec.cell.workload))
    return state
