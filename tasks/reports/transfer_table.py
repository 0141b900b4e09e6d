"""What stands beside the time of transfers: throughput, processor time, and the start-up of the client."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.reports.stage_tables import by_configuration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.stats.series import Series
    from tasks.stats.summary_types import Distribution, Summary

TRANSFERS: Final = ("read", "write", "first_read", "upload", "download", "upload_tree", "download_tree")
"""Operations that move bytes and do little else: scans gunzip and parse as well, a lag is no transfer."""

_MB_PER_S: Final = "MB/s"
_PROCESSOR: Final = {"user CPU, ms": "user_ns", "system CPU, ms": "system_ns"}
_SHARE: Final = "start-up by real"
_COLUMNS: Final = (_MB_PER_S, "real, ms", *_PROCESSOR, "start-up, ms", _SHARE)
_THROUGHPUT: Final = "throughput (size by time, 1 MB = 10⁶ bytes)"
_REAL: Final = "wall (real) and processor (CPU) time"
_START_UP: Final = "start-up of the client"


def transfer_tables(summaries: "Sequence[Summary]", series: "Sequence[Series]") -> tuple[Table, ...]:
    """One row for each configuration of a workload; columns of what happened nowhere are left out.

    What several threads or clients moved together has a table of its own: the time of one operation tells
    nothing of that.

    Args:
        summaries: those of one workload, all operations and stages.
        series: those of the same workload.
    """
    if not any(one.together for one in series):
        return (_table(summaries, _COLUMNS),)
    moving = [one for one in series if one.operation in TRANSFERS]
    several = any(one.together and one.together.clients > 1 for one in moving)
    return (
        _clients_table(moving) if several else _threads_table(moving),
        _table(summaries, _COLUMNS[1:]),
    )


def _table(summaries: "Sequence[Summary]", columns: "Sequence[str]") -> Table:
    moved = [summary for summary in summaries if summary.operation in TRANSFERS]
    sizes = {summary.config_id: summary.size_bytes for summary in moved}
    started = by_configuration([summary for summary in summaries if summary.operation == "start_up"])
    rows = {
        config_id: _cells(stages, sizes[config_id], started.get(config_id, {}).get("total_ns"))
        for config_id, stages in by_configuration(moved).items()
    }
    kept = [name for name in columns if any(name in cells for cells in rows.values())]
    return Table(
        title=_title(kept),
        header=("Configuration", *kept),
        rows=tuple(
            (config_id, *(cells.get(name, wording.NONE) for name in kept))
            for config_id, cells in (rows if kept else {}).items()
        ),
    )


def _title(kept: "Sequence[str]") -> str:
    """What stands in the columns that are there."""
    parts = (
        (_THROUGHPUT, _MB_PER_S in kept),
        (_REAL, any(name in kept for name in _PROCESSOR)),
        (_START_UP, _SHARE in kept),
    )
    return f"At p50: {', '.join(text for text, is_there in parts if is_there)}"


def _threads_table(series: "Sequence[Series]") -> Table:
    """What several threads of one client moved together."""
    return Table(
        title="Throughput of all threads together: bytes of a block by its wall time, median over blocks",
        header=("Configuration", "threads", "blocks", "MB/s (10⁶ bytes)"),
        rows=tuple(
            (
                one.config_id,
                f"{one.together.threads:,}",
                f"{len(one.together.bytes_per_s):,}",
                wording.three_digits(median / 1e6),
            )
            for one in series
            if one.together and (median := one.together.median_bytes_per_s) is not None
        ),
    )


def _clients_table(series: "Sequence[Series]") -> Table:
    """What several clients moved together, and by the same rule what one did beside them."""
    return Table(
        title="Throughput of all clients together: bytes within the window in which all were active, by its "
        "length, median over blocks",
        header=("Configuration", "clients", "threads", "blocks", "all active", "MB/s (10⁶ bytes)"),
        rows=tuple(
            (
                one.config_id,
                f"{together.clients:,}",
                f"{together.threads:,}",
                f"{len(together.bytes_per_s):,}",
                wording.NONE if share is None else wording.share(share, 1),
                wording.NONE if median is None else wording.three_digits(median / 1e6),
            )
            for one in series
            if (together := one.together)
            for median, share in [(together.median_bytes_per_s, together.median_active_share)]
        ),
    )


def _cells(
    stages: "dict[str, Distribution]", size_bytes: int | None, start_up: "Distribution | None"
) -> dict[str, str]:
    """By column; without those that say nothing."""
    real = stages["total_ns"].p50
    cells = {_MB_PER_S: wording.throughput(size_bytes, real)} if size_bytes else {}
    processor = {name: stages[stage] for name, stage in _PROCESSOR.items() if stage in stages}
    cells |= {name: wording.quantile(figures.p50) for name, figures in processor.items()}
    if start_up is not None:
        cells |= {
            "start-up, ms": wording.quantile(start_up.p50),
            _SHARE: wording.share_of_quantiles(start_up.p50, real),
        }
    if processor or start_up is not None:
        cells["real, ms"] = wording.quantile(real)
    return cells
