"""What a suite would do: counted from its file alone, without asking any service."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Final

from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, DatasetConfig, FileTree
from configs.errors import UserError
from configs.manifest import Manifest
from configs.suite import Suite
from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget, MountTarget
from configs.workloads import LeftOut, ReadingWorkload
from tasks.stats import s3_files
from tasks.stats.cost import Estimate, RequestCounts, Tariff, estimate, total
from tasks.workloads.lambda_costs import lambda_bound
from tasks.workloads.requests import KEYS_A_PAGE, CellPlan, is_s3_files, plan_cell

S3_FILES_LEFT_OUT: Final = "look-ups, reads in several parts, and what a client's cache saves"
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
    imported: Mapping[str, RequestCounts] = field(default_factory=dict)
    """What S3 Files mounts are charged for when they first see prepared data, by the id of the mount."""

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
    imported: dict[str, RequestCounts] = {}
    for mount_id, name in _read_by_s3_files(suite):
        imported[mount_id] = imported.get(mount_id, RequestCounts()) + _importing(sizes[name])
    return SuitePlan(cells, preparing, tuple(_unknown(suite, cells, sizes)), imported)


def cost_of(suite: Suite, plan: SuitePlan) -> Estimate:
    """The list price of all that can be counted, each cell by the prices of its own target."""
    if suite.lab:
        return Estimate(usd=Decimal(0), unknown=())
    measuring = (
        estimate(cell.charged, tariff_of(suite, cell.cell.configuration.target))
        for cell in plan.cells
        if cell.charged is not None
    )
    preparing = (
        estimate(counts, dataclasses.replace(tariff_of(suite, target_id), accelerated=False))
        for target_id, counts in (*plan.preparing.items(), *plan.imported.items())
    )
    return total([*measuring, *preparing])


def tariff_of(suite: Suite, target_id: str) -> Tariff:
    """What decides the prices of a target: those of the bucket that it is or shows, and of S3 Files."""
    bucket, target = suite.bucket(suite.bucket_id(target_id)), suite.targets[target_id]
    return Tariff(
        region=bucket.region or "that no target names",
        storage_class="express_one_zone" if isinstance(bucket, DirectoryBucketTarget) else "standard",
        accelerated=isinstance(bucket, AcceleratedBucketTarget),
        files=isinstance(target, MountTarget) and target.file_system_id is not None,
    )


def refuse_above_cap(
    suite: Suite, max_usd: float, manifests: Mapping[tuple[str, str], Manifest] | None = None
) -> None:
    """Stop a run before its requests where its estimate is above a cap, or cannot be held to the suite's.

    Args:
        suite: what is to run.
        max_usd: what whoever starts it allows, in US dollars. The suite's own cap holds too, so that the
            smaller one decides. Of a suite without a cap only what is known of the estimate is held to it.
            What Lambda charges is held to both by its upper bound, since no estimate of it can be had.
        manifests: what was prepared, by bucket target and dataset.

    Raises:
        UserError: with the estimate and the cap, or with what has no known price.
    """
    plan = plan_suite(suite, manifests)
    bound = lambda_bound(suite, plan.cells)
    cost = total([cost_of(suite, plan), bound])
    unknown = "; ".join(cost.unknown)
    if unknown and suite.max_cost_usd is not None:
        message = (
            f"suite {suite.name} has a cap, max_cost_usd: {suite.max_cost_usd:g}, which cannot be held to: "
            f"{unknown}; to run without this cap, give --set max_cost_usd=null; what is known is then "
            f"held to --max-usd {max_usd:g} alone"
        )
        raise UserError(message)
    cap_usd, named = _smaller_cap(suite, max_usd)
    if cost.usd > Decimal(str(cap_usd)):
        besides = f" and what is not known ({unknown})" if unknown else ""
        message = (
            f"suite {suite.name} would cost {_about(cost, bound)}{besides}, which is above {named}; raise "
            "the cap, or run fewer configurations with --only"
        )
        raise UserError(message)


def _about(cost: Estimate, bound: Estimate) -> str:
    if not bound.usd:
        return f"about {cost.usd:.2f} USD"
    return f"at most {cost.usd:.2f} USD, of which {bound.usd:.2f} for Lambda if each block takes all its time"


def _smaller_cap(suite: Suite, max_usd: float) -> tuple[float, str]:
    """The cap that decides, in US dollars, and its name."""
    if suite.max_cost_usd is not None and suite.max_cost_usd <= max_usd:
        return suite.max_cost_usd, f"its cap max_cost_usd: {suite.max_cost_usd:g}"
    return max_usd, f"what this run may cost, --max-usd {max_usd:g} (in the form: Spend at most)"


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


def _read_by_s3_files(suite: Suite) -> dict[tuple[str, str], None]:
    """The S3 Files mounts and the datasets that are read through them, each pair once."""
    return {
        (cell.configuration.target, cell.workload.dataset): None
        for cell in suite.cells()
        if is_s3_files(cell) and isinstance(cell.workload, ReadingWorkload)
    }


def _importing(size: Size | None) -> RequestCounts:
    """What a mount copies of a dataset that it sees for the first time."""
    files, size_bytes = size or (0, 0)
    return s3_files.imports(files, -(-size_bytes // max(1, files)))


def _unknown(suite: Suite, cells: tuple[CellPlan, ...], sizes: Mapping[str, Size | None]) -> Iterator[str]:
    if hidden := _config_ids(plan for plan in cells if hides_requests(plan)):
        yield f"the requests that the mounts of {hidden} make"
    if metered := _config_ids(plan for plan in cells if plan.metered is not None):
        yield f"of the S3 Files mount of {metered}: {S3_FILES_LEFT_OUT}"
    copied = {name for _, name in suite.datasets_by_bucket() if sizes[name] is None}
    if copied:
        yield f"how many logs there are to copy for {', '.join(sorted(copied))}"
    if clients := _config_ids(plan for plan in cells if plan.opens_sessions):
        yield f"CreateSession, which each new client of {clients} asks for, at a price that is not known"
    if leaving := _config_ids(plan for plan in cells if plan.leaves_amazon):
        yield f"the ordinary transfer out of what {leaving} downloads"


def hides_requests(plan: CellPlan) -> bool:
    """Whether nobody can say what a cell's mount asks for."""
    return plan.cell.configuration.access_path.requests == "hidden" and not is_s3_files(plan.cell)


def _config_ids(plans: Iterable[CellPlan]) -> str:
    """The configurations of cells, in words; empty for none."""
    return ", ".join(sorted({plan.cell.config_id for plan in plans}))
