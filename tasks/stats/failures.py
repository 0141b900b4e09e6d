"""What went wrong in a run, by kind: from its samples alone, so that an incomplete run can tell it too."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow.compute as pc

from tasks.stats.series import is_timed

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Failed operations of one cell that failed in the same way."""

    config_id: str
    workload_id: str
    operation: str
    error: str
    http_status: int | None
    count: int
    warmups: int
    """How many of `count` were warm-ups."""
    example: str
    """The message of one of them."""


@dataclass(frozen=True, slots=True)
class CellFailure:
    """A cell that was skipped or failed as a whole."""

    config_id: str
    workload_id: str
    outcome: Literal["skipped", "failed"]
    reason: str


def failure_kinds(samples: "pa.Table") -> list[FailureKind]:
    """The failed operations by cell, operation, kind and HTTP status, most frequent first."""
    key = ["workload_id", "config_id", "operation", "error", "http_status"]
    failed = samples.filter(pc.and_(is_timed(samples), pc.equal(samples["outcome"], "error")))
    failed = failed.set_column(
        failed.schema.get_field_index("warmup"), "warmup", failed["warmup"].cast("int64")
    )
    counted = failed.group_by(key).aggregate([([], "count_all"), ("warmup", "sum"), ("message", "min")])
    kinds = [
        FailureKind(
            config_id=row["config_id"],
            workload_id=row["workload_id"],
            operation=row["operation"],
            error=row["error"] or "unknown",
            http_status=row["http_status"],
            count=row["count_all"],
            warmups=row["warmup_sum"] or 0,
            example=row["message_min"] or "",
        )
        for row in counted.to_pylist()
    ]
    return sorted(
        kinds, key=lambda kind: (-kind.count, kind.workload_id, kind.config_id, kind.operation, kind.error)
    )


def cell_failures(samples: "pa.Table") -> list[CellFailure]:
    """The cells that have one row as a whole instead of operations, by workload and configuration."""
    rows = samples.filter(pc.invert(is_timed(samples)))
    wanted = rows.select(["workload_id", "config_id", "outcome", "error", "message"]).to_pylist()
    found = {
        CellFailure(
            config_id=row["config_id"],
            workload_id=row["workload_id"],
            outcome="skipped" if row["outcome"] == "skipped" else "failed",
            reason=row["message"] or row["error"] or "no reason was given",
        )
        for row in wanted
    }
    return sorted(found, key=lambda failure: (failure.workload_id, failure.config_id, failure.reason))
