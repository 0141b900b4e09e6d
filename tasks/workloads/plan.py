"""What a suite would do: counted from its file alone, without asking any service."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, DatasetConfig
from configs.errors import UserError
from configs.manifest import Manifest
from configs.suite import Cell, Suite
from configs.workloads import BlobRead, BlobWrite
from tasks.stats.cost import Estimate, RequestCounts, estimate

_KEYS_A_PAGE = 1000
_BYTES_A_LOG = 14_312  # experiment E1: 4,322,243 bytes in 302 files


@dataclass(frozen=True, slots=True)
class CellPlan:
    """What one cell would do in all its blocks. None: not known before the data is there."""

    cell: Cell
    operations: int
    requests: RequestCounts | None
    """None where a mount makes its own requests, or the number of logs is not known yet."""
    bytes_read: int | None
    bytes_written: int


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What a run would do, cell by cell, after preparing its data."""

    cells: tuple[CellPlan, ...]
    preparing: RequestCounts
    prepared_bytes: int
    unknown: tuple[str, ...]
    """What the sums do not hold, in words."""

    @property
    def requests(self) -> RequestCounts:
        """All requests that can be counted beforehand."""
        known = [self.preparing, *(plan.requests for plan in self.cells if plan.requests)]
        return RequestCounts(
            put=sum(counts.put for counts in known),
            get=sum(counts.get for counts in known),
            list=sum(counts.list for counts in known),
            head=sum(counts.head for counts in known),
            delete=sum(counts.delete for counts in known),
            stored_bytes=self.prepared_bytes,
        )


def plan_suite(suite: Suite, manifests: Mapping[tuple[str, str], Manifest] | None = None) -> SuitePlan:
    """Count what a suite would do.

    Args:
        suite: what is to run.
        manifests: what was prepared, by bucket target and dataset; with it copied logs can be counted too.
    """
    held = {name: (len(one.objects), one.size_bytes) for (_, name), one in (manifests or {}).items()}
    sizes_by_name = {name: held.get(name) or _size(config) for name, config in suite.datasets.items()}
    cells = tuple(_plan_cell(suite, cell, sizes_by_name) for cell in suite.cells())
    sizes = {place: sizes_by_name[place[1]] for place in suite.datasets_by_bucket()}
    known = [size for size in sizes.values() if size is not None]
    objects = sum(files for files, _ in known)
    return SuitePlan(
        cells=cells,
        preparing=RequestCounts(put=objects + len(sizes), list=2 * len(sizes) + objects // _KEYS_A_PAGE),
        prepared_bytes=sum(size_bytes for _, size_bytes in known),
        unknown=tuple(_unknown(cells, sizes)),
    )


def cost_of(suite: Suite, plan: SuitePlan) -> Estimate:
    """The list price of all that can be counted, in the dearest region of the suite's buckets."""
    if suite.lab:
        return Estimate(usd=Decimal(0), unknown=())
    buckets = {suite.bucket_id(cell.cell.configuration.target) for cell in plan.cells}
    regions = sorted({suite.bucket(bucket).region or "that no target names" for bucket in buckets})
    return max((estimate(plan.requests, region) for region in regions), key=lambda one: one.usd)


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
            f"{'; '.join(cost.unknown)}; write max_cost_usd: null to run without a cap"
        )
        raise UserError(message)
    if cost.usd > Decimal(str(suite.max_cost_usd)):
        message = (
            f"suite {suite.name} would cost about {cost.usd:.2f} USD, which is above its cap "
            f"max_cost_usd: {suite.max_cost_usd:g}; raise the cap, or run fewer configurations with --only"
        )
        raise UserError(message)


def _plan_cell(suite: Suite, cell: Cell, sizes: Mapping[str, tuple[int, int] | None]) -> CellPlan:
    workload = cell.workload
    operations = workload.iterations
    access = cell.configuration.access_path
    if isinstance(workload, BlobWrite):
        counts = RequestCounts(
            put=operations,
            head=operations,
            delete=operations,
            list=suite.blocks,
            stored_bytes=0,
        )
        return CellPlan(
            cell, operations, _reaching(access.requests, counts), 0, operations * int(workload.size)
        )
    if isinstance(workload, BlobRead):
        dataset = suite.datasets[workload.dataset]
        size_bytes = int(dataset.size) if isinstance(dataset, Blobs) else 0
        counts = RequestCounts(get=operations, list=suite.blocks)
        return CellPlan(cell, operations, _reaching(access.requests, counts), operations * size_bytes, 0)
    size = sizes[workload.dataset]
    if size is None:
        return CellPlan(cell, operations, None, None, 0)
    files, size_bytes = size
    pages = -(-files // _KEYS_A_PAGE)
    counts = RequestCounts(get=operations * files, list=operations * pages + suite.blocks)
    return CellPlan(cell, operations, _reaching(access.requests, counts), operations * size_bytes, 0)


def _reaching(kind: str, counts: RequestCounts) -> RequestCounts | None:
    if kind == "hidden":
        return None
    return counts if kind == "one_per_object" else RequestCounts()


def _size(config: DatasetConfig) -> tuple[int, int] | None:
    """Objects and bytes of a dataset; None for logs that are yet to be copied."""
    match config:
        case Blobs():
            return config.unique_count + 1, (config.unique_count + 1) * int(config.size)
        case CloudTrailGenerated():
            return config.files, config.files * _BYTES_A_LOG
        case CloudTrailCopied():
            return None


def _unknown(
    cells: tuple[CellPlan, ...], sizes: Mapping[tuple[str, str], tuple[int, int] | None]
) -> list[str]:
    unknown = []
    hidden = sorted(
        {plan.cell.config_id for plan in cells if plan.cell.configuration.access_path.requests == "hidden"}
    )
    if hidden:
        unknown.append(f"the requests that the mounts of {', '.join(hidden)} make")
    copied = sorted({name for (_, name), size in sizes.items() if size is None})
    if copied:
        unknown.append(f"how many logs there are to copy for {', '.join(copied)}")
    return unknown
