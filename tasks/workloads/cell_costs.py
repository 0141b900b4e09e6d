"""What each cell of a suite costs, from its plan.

A cell's operations are priced by themselves, and the whole cell with what the harness asks around them. In
the plain lab, and at a server that is not Amazon's, nobody knows a price. The AWS-shaped lab bills nothing
either, but its targets are those of a region: what the same would cost there is told as just that.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from configs.suite import Suite
from configs.targets import AnyBucket, BucketTarget
from configs.workloads import SyncLag
from tasks.stats import s3_files
from tasks.stats.cell_cost import CellCost
from tasks.stats.cost import BYTES_PER_GB, Estimate, RequestCounts, estimate, in_short, load_prices
from tasks.workloads.plan import S3_FILES_LEFT_OUT, SuitePlan, hides_requests, tariff_of
from tasks.workloads.requests import CellPlan, is_s3_files

NOT_BILLED: Final = "local lab: nothing is billed"
_AMAZONS_HOSTS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


def cell_costs(suite: Suite, plan: SuitePlan) -> tuple[CellCost, ...]:
    """What each cell costs, in the order of the suite; none for a cell that is never measured.

    Args:
        suite: with its targets as they are reached.
        plan: of this suite.
    """
    return tuple(_cell_cost(suite, cell) for cell in plan.cells if cell.operations)


def _cell_cost(suite: Suite, plan: CellPlan) -> CellCost:
    charged = plan.charged
    unpriced = tuple(_without_prices(suite, plan))
    tariff = tariff_of(suite, plan.cell.configuration.target)
    estimates = None
    if charged is not None and not unpriced:
        estimates = (estimate(charged, tariff), estimate(charged - plan.around, tariff))
    moved_bytes = None if plan.bytes_read is None else plan.bytes_read + plan.bytes_written
    usd = _usd(estimates and estimates[0])
    priced = None if usd is None else load_prices().as_of(tariff)
    return CellCost(
        config_id=plan.cell.config_id,
        workload_id=plan.cell.workload_id,
        operations=plan.operations,
        **_shown_requests(plan),
        sent_bytes=plan.bytes_written,
        received_bytes=plan.bytes_read,
        usd=usd,
        usd_per_million_operations=_usd(estimates and estimates[1], plan.operations, 10**6),
        usd_per_gb=_usd(estimates and estimates[1], moved_bytes, BYTES_PER_GB),
        usd_per_gb_month=None if unpriced else _usd(estimate(_one_gb_kept(plan), tariff)),
        unknown=(
            *unpriced,
            *in_short(estimates[0].unknown if estimates else ()),
            *_left_out(suite, plan),
        ),
        prices_as_of=priced.isoformat() if priced else None,
    )


def _shown_requests(plan: CellPlan) -> dict[str, int | None]:
    """By kind; of a mount a part of them at most is known, so that all stay hidden."""
    counts = None if plan.cell.configuration.access_path.requests == "hidden" else plan.requests
    return {
        f"{kind}_requests": None if counts is None else getattr(counts, kind)
        for kind in ("put", "get", "list", "head")
    }


def _usd(cost: Estimate | None, by: int | None = 1, times: int = 1) -> float | None:
    """A known cost by some number of things; None where it is not known as a whole."""
    return float(cost.usd * times / by) if cost and by and not cost.unknown else None


def _one_gb_kept(plan: CellPlan) -> RequestCounts:
    """One GB for a month in files as the cell moves them: in the bucket, and on S3 Files where they stay."""
    moved_bytes = (plan.bytes_read or 0) + plan.bytes_written
    mean_bytes = -(-moved_bytes // max(1, plan.objects or 0))
    stays = plan.cell.workload.writes or s3_files.lies_there(mean_bytes)
    if not is_s3_files(plan.cell) or not mean_bytes or not stays:
        return RequestCounts(stored_bytes=BYTES_PER_GB)
    there_bytes = BYTES_PER_GB * s3_files.stored_bytes(mean_bytes) // mean_bytes
    return RequestCounts(stored_bytes=BYTES_PER_GB, file_stored_bytes=there_bytes)


def _without_prices(suite: Suite, plan: CellPlan) -> Iterator[str]:
    """Why no price applies to a cell at all."""
    if _is_unpriced_lab(suite, plan):
        yield NOT_BILLED
        return
    if server := _foreign_server(plan.cell.bucket):
        yield f"what the server at {server} charges"
    if hides_requests(plan):
        yield "what its mount asks for, which only S3 Files meters"
    elif plan.charged is None:
        yield "how many logs there are to copy"


def _left_out(suite: Suite, plan: CellPlan) -> Iterator[str]:
    """What is not in the sums although they are known."""
    if _is_unpriced_lab(suite, plan):
        return
    if suite.lab:
        yield f"{NOT_BILLED}, these are the list prices of {plan.cell.bucket.region} for the same requests"
    workload = plan.cell.workload
    if isinstance(workload, SyncLag) and workload.seen_by == "get":
        yield "that fewer looks are made than fit into its time"
    if plan.metered is not None:
        yield f"S3 Files: {S3_FILES_LEFT_OUT}"
    if plan.opens_sessions:
        yield "CreateSession, which each new client asks for, at a price that is not known"
    if plan.leaves_amazon:
        yield "the ordinary transfer out of what it downloads"


def _is_unpriced_lab(suite: Suite, plan: CellPlan) -> bool:
    """Whether it is a lab whose targets are not those of a region of Amazon's."""
    return bool(suite.lab) and (suite.lab != "aws-shaped" or plan.cell.bucket.region is None)


def _foreign_server(bucket: AnyBucket) -> str:
    """The host of a server that is not Amazon's; empty for Amazon's own."""
    url = bucket.endpoint_url if isinstance(bucket, BucketTarget) else None
    host = urlsplit(url).hostname or "" if url else ""
    return "" if host.endswith(_AMAZONS_HOSTS) else host
