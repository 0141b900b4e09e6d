"""What a suite would do: counted from its file alone, without asking any service."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from operator import add

from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, DatasetConfig, FileTree
from configs.errors import UserError
from configs.manifest import Manifest
from configs.suite import Suite
from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget
from configs.workloads import LeftOut
from tasks.stats.cost import Estimate, RequestCounts, Tariff, estimate, total
from tasks.workloads.requests import KEYS_A_PAGE, CellPlan, plan_cell

_BYTES_A_LOG = 14_312  # experiment E1: 4,322,243 bytes in 302 files

Size = tuple[int, int]
"""Objects and bytes of a dataset."""


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What a run would do, cell by cell, after preparing its data."""

    cells: tuple[CellPlan, ...]
    preparing: Mapping[str, RequestCounts]
    """By the id of the bucket target."""
    unknown: tuple[str, ...]
    """What the sums do not hold, in words."""

    @property
    def requests(self) -> RequestCounts:
        """All requests that can be counted beforehand."""
        known = [*self.preparing.values(), *(plan.requests for plan in self.cells if plan.requests)]
        return reduce(add, known, RequestCounts())

    @property
    def left_out(self) -> dict[str, str]:
        """Workloads whose cells are skipped, and single cells, with the reason."""
        cells = [plan.cell for plan in self.cells]
        workloads = {
            cell.workload_id: cell.workload.reason for cell in cells if isinstance(cell.workload, LeftOut)
        }
        return workloads | {cell.cell_id: cell.unsupported for cell in cells if cell.unsupported}


def plan_suite(suite: Suite, manifests: Mapping[tuple[str, str], Manifest] | None = None) -> SuitePlan:
    """Count what a suite would do.

    Args:
        suite: what is to run.
        manifests: what was prepared, by bucket target and dataset; with it copied logs can be counted too.
    """
    held = {name: (len(one.objects), one.size_bytes) for (_, name), one in (manifests or {}).items()}
    sizes = {name: held.get(name) or _size(config) for name, config in suite.datasets.items()}
    cells = tuple(
        plan_cell(suite, cell, sizes.get(getattr(cell.workload, "dataset", ""))) for cell in suite.cells()
    )
    preparing: dict[str, RequestCounts] = {}
    for bucket_id, name in suite.datasets_by_bucket():
        preparing[bucket_id] = preparing.get(bucket_id, RequestCounts()) + _preparing(sizes[name])
    return SuitePlan(cells, preparing, tuple(_unknown(suite, cells, sizes)))


def cost_of(suite: Suite, plan: SuitePlan) -> Estimate:
    """The list price of all that can be counted, each cell by the prices of its own target."""
    if suite.lab:
        return Estimate(usd=Decimal(0), unknown=())
    measuring = (
        estimate(cell.requests, _tariff_of(suite, cell.cell.configuration.target))
        for cell in plan.cells
        if cell.requests is not None
    )
    preparing = (
        estimate(counts, dataclasses.replace(_tariff_of(suite, bucket_id), accelerated=False))
        for bucket_id, counts in plan.preparing.items()
    )
    return total([*measuring, *preparing])


def _tariff_of(suite: Suite, target_id: str) -> Tariff:
    """What decides the prices of requests to a target: those of the bucket that it is or shows."""
    bucket = suite.bucket(suite.bucket_id(target_id))
    return Tariff(
        region=bucket.region or "that no target names",
        storage_class="express_one_zone" if isinstance(bucket, DirectoryBucketTarget) else "standard",
        accelerated=isinstance(bucket, AcceleratedBucketTarget),
    )


def refuse_above_cap(suite: Suite, manifests: Mapping[tuple[str, str], Manifest] | None = None) -> None:
    """Stop a run before its requests where its estimate is above the suite's cap, or cannot be made.

    Raises:
        UserError: with the estimate and the cap, or with what has no known price.
    """
    if suite.max_cost_usd is None:
        return
    cost = cost_of(suite, plan_suite(suite, manifests))
    if cost.unknown:
        message = (
            f"suite {suite.name} has a cap, max_cost_usd: {suite.max_cost_usd:g}, which cannot be held to: "
            f"{'; '.join(cost.unknown)}; to run without a cap, give --set max_cost_usd=null"
        )
        raise UserError(message)
    if cost.usd > Decimal(str(suite.max_cost_usd)):
        message = (
            f"suite {suite.name} would cost about {cost.usd:.2f} USD, which is above its cap "
            f"max_cost_usd: {suite.max_cost_usd:g}; raise the cap, or run fewer configurations with --only"
        )
        raise UserError(message)


def _size(config: DatasetConfig) -> Size | None:
    """Objects and bytes of a dataset; None for logs that are yet to be copied."""
    match config:
        case Blobs():
            return config.unique_count + 1, (config.unique_count + 1) * int(config.size)
        case CloudTrailGenerated():
            return config.files, config.files * _BYTES_A_LOG
        case FileTree():
            return config.scaled_files, config.scaled_files * int(config.mean_size)
        case CloudTrailCopied():
            return None


def _preparing(size: Size | None) -> RequestCounts:
    """One PUT for each object and the manifest, and a look at what is there, before and after."""
    files, size_bytes = size or (0, 0)
    return RequestCounts(
        put=files + 1, list=2 + files // KEYS_A_PAGE, sent_bytes=size_bytes, stored_bytes=size_bytes
    )


def _unknown(suite: Suite, cells: tuple[CellPlan, ...], sizes: Mapping[str, Size | None]) -> Iterator[str]:
    hidden = {
        plan.cell.config_id for plan in cells if plan.cell.configuration.access_path.requests == "hidden"
    }
    if hidden:
        yield f"the requests that the mounts of {', '.join(sorted(hidden))} make"
    copied = {name for _, name in suite.datasets_by_bucket() if sizes[name] is None}
    if copied:
        yield f"how many logs there are to copy for {', '.join(sorted(copied))}"
    sessions = {
        plan.cell.config_id
        for plan in cells
        if isinstance(plan.cell.target, DirectoryBucketTarget)
        and plan.cell.target.sessions
        and plan.cell.configuration.access_path.requests != "none"
        and plan.operations
    }
    if sessions:
        clients = ", ".join(sorted(sessions))
        yield f"CreateSession, which each new client of {clients} asks for, at a price that is not known"
    leaving = {
        plan.cell.config_id
        for plan in cells
        if isinstance(plan.cell.target, AcceleratedBucketTarget) and plan.bytes_read
    }
    if leaving:
        yield f"the ordinary transfer out of what {', '.join(sorted(leaving))} downloads"
