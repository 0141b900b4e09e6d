"""Which code does which workload: one line each, named and not imported, as access paths are."""

import pkgutil
from typing import Final

from configs.block import BlockSpec
from tasks.access.protocol import AccessPath
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import SampleColumns

WORKLOADS: Final = {
    "blob_read": "tasks.workloads.blob:measure_reads",
    "blob_write": "tasks.workloads.blob:measure_writes",
    "cloudtrail_scan": "tasks.workloads.cloudtrail_scan:measure_scans",
}


def measure_workload(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> LoopCost:
    """Do one block of a workload with a connected access path, and record every operation.

    Raises:
        UnsupportedError: if the access path cannot do this workload, or not fairly.
    """
    cost: LoopCost = pkgutil.resolve_name(WORKLOADS[spec.cell.workload.kind])(spec, access, samples)
    return cost
