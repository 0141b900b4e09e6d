"""One block of one cell, from its specification to its outcome: the same code on every venue."""

from typing import Any

from configs.block import BlockSpec
from configs.workloads import BlobRead as BlobReadConfig
from configs.workloads import BlobWrite as BlobWriteConfig
from configs.workloads import CloudTrailScan
from tasks.access.protocol import AccessPath
from tasks.access.registry import access_path
from tasks.kernel.calibration import timed_nothing_ns, timer_resolution_ns
from tasks.kernel.environment import machine
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.kernel.loop import LoopCost, Operation, measure
from tasks.kernel.samples import SampleColumns
from tasks.venues.wire import BlockCost, BlockOutcome
from tasks.workloads.blob import BlobRead, BlobWrite
from tasks.workloads.cloudtrail_scan import SimpleScan, StagedScan


def run_block(spec: BlockSpec) -> BlockOutcome:
    """Connect, measure, verify, and tell how it ended; a wrong label or a lost client is an outcome too."""
    samples = SampleColumns()
    cache_state = ""
    proof: dict[str, str] | None = None
    try:
        access = access_path(spec.cell.configuration.access_path, spec.cell.target)
        cache_state = _cache_state(spec, access)
        access.connect()
        proof = access.proof()
        cost = _measure(spec, access, samples)
        access.close()
    except UnsupportedError as reason:
        return BlockOutcome("skipped", samples, str(reason), proof, cache_state, machine())
    except LabelError as reason:
        return BlockOutcome("failed", samples, str(reason), proof, cache_state, machine())
    except Exception as error:  # noqa: BLE001 - outside the clock any client error ends this cell, not the run
        reason_text = f"{type(error).__name__}: {error}"
        return BlockOutcome("failed", samples, reason_text, proof, cache_state, machine())
    return BlockOutcome("measured", samples, "", proof, cache_state, machine(), cost)


def _measure(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> BlockCost:
    loop: LoopCost
    if isinstance(spec.cell.workload, BlobWriteConfig):
        access.ready_for_writes(spec.write_prefix)
        write = BlobWrite(access, spec.write_prefix, spec.cell.workload.size, spec.seed, samples)
        loop = measure(write, samples, spec.iterations, spec.warmup)
        write.verify_and_remove()
    else:
        loop = measure(_reading(spec, access, samples), samples, spec.iterations, spec.warmup)
    return BlockCost(
        timer_resolution_ns=timer_resolution_ns(), timed_nothing_ns=timed_nothing_ns(), loop=loop
    )


def _reading(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> Operation[Any, Any]:
    workload = spec.cell.workload
    if isinstance(workload, CloudTrailScan):
        if workload.staged:
            return StagedScan(access, spec.read_prefix, spec.objects, samples)
        return SimpleScan(access, spec.read_prefix, spec.objects)
    return BlobRead(access, spec.objects, samples)


def _cache_state(spec: BlockSpec, access: AccessPath) -> str:
    workload = spec.cell.workload
    if isinstance(workload, BlobWriteConfig):
        return access.cache_states.write
    if isinstance(workload, BlobReadConfig) and workload.read_mode == "unique":
        return access.cache_states.unique
    return access.cache_states.single
