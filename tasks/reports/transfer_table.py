"""What stands beside the time of transfers: throughput, processor time, and the start-up of the client."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.stage_tables import by_configuration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.stats.summary_types import Distribution, Summary

TRANSFERS: Final = ("read", "write", "first_read", "upload", "download", "upload_tree", "download_tree")
"""Operations that move bytes and do little else: scans gunzip and parse as well, a lag is no transfer."""

_COLUMNS: Final = ("MB/s", "real", "user CPU", "system CPU", "start-up", "share")

_PROCESSOR: Final = {"user CPU": "user_ns", "system CPU": "system_ns"}


def transfer_table(summaries: "Sequence[Summary]") -> Table:
    """One row for each configuration of a workload; columns of what happened nowhere are left out.

    Args:
        summaries: those of one workload, all operations and stages.
    """
    moved = [summary for summary in summaries if summary.operation in TRANSFERS]
    sizes = {summary.config_id: summary.size_bytes for summary in moved}
    started = by_configuration([summary for summary in summaries if summary.operation == "start_up"])
    rows = {
        config_id: _cells(stages, sizes[config_id], started.get(config_id, {}).get("total_ns"))
        for config_id, stages in by_configuration(moved).items()
    }
    kept = [name for name in _COLUMNS if any(name in cells for cells in rows.values())]
    return Table(
        title="At p50: throughput (size by time, MB = 10⁶ bytes), times in ms, start-up by the whole time",
        header=("Configuration", *kept),
        rows=tuple(
            (config_id, *(cells.get(name, wording.NONE) for name in kept))
            for config_id, cells in (rows if kept else {}).items()
        ),
    )


def _cells(
    stages: "dict[str, Distribution]", size_bytes: int | None, start_up: "Distribution | None"
) -> dict[str, str]:
    """By column; without those that say nothing."""
    real = stages["total_ns"].p50
    cells = {"MB/s": wording.throughput(size_bytes, real)} if size_bytes else {}
    processor = {name: stages[stage] for name, stage in _PROCESSOR.items() if stage in stages}
    cells |= {name: wording.quantile(figures.p50) for name, figures in processor.items()}
    if start_up is not None:
        cells |= {
            "start-up": wording.quantile(start_up.p50),
            "share": wording.share_of_quantiles(start_up.p50, real),
        }
    if processor or start_up is not None:
        cells["real"] = wording.quantile(real)
    return cells
