"""Which code does which workload: one line each, named and not imported, as access paths are."""

import pkgutil
from typing import Final

from configs.block import BlockSpec
from tasks.access.protocol import AccessPath
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import SampleColumns
from tasks.kernel.start import CommonStart

WORKLOADS: Final = {
    "blob_read": "tasks.workloads.blob:measure_reads",
    "blob_write": "tasks.workloads.blob:measure_writes",
    "cloudtrail_scan": "tasks.workloads.cloudtrail_scan:measure_scans",
    "first_request": "tasks.workloads.first_request:measure_first_requests",
    "file_upload": "tasks.workloads.file_transfer:measure_uploads",
    "file_download": "tasks.workloads.file_transfer:measure_downloads",
    "tree_upload": "tasks.workloads.tree_transfer:measure_tree_uploads",
    "tree_download": "tasks.workloads.tree_transfer:measure_tree_downloads",
    "sync_lag": "tasks.workloads.sync_lag:measure_sync_lag",
}


def measure_workload(
    spec: BlockSpec, access: AccessPath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """Do one block of a workload with a connected access path, and record every operation.

    Args:
        spec: the block.
        access: the connected client.
        samples: where every operation is recorded.
        start: where to wait for the other clients that measure the same block; None where there is none. A
            suite lets only workloads have some that take it.

    Raises:
        UnsupportedError: if the access path cannot do this workload, or not fairly.
    """
    measure = pkgutil.resolve_name(WORKLOADS[spec.cell.workload.kind])
    cost: LoopCost = measure(spec, access, samples, **({} if start is None else {"start": start}))
    return cost
