"""What went wrong in a run, by kind: from its samples alone, so that an incomplete run can tell it too."""

from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tasks.stats.series import is_timed

_PLAIN: Final = pa.schema(
    [
        ("workload_id", pa.string()),
        ("config_id", pa.string()),
        ("operation", pa.string()),
        ("error", pa.string()),
        ("http_status", pa.int32()),
        ("warmup", pa.bool_()),
        ("message", pa.string()),
        ("count_all", pa.int64()),
    ]
)
_KIND: Final = ("workload_id", "config_id", "operation", "error", "http_status")

FAILURE_COLUMNS: Final = (*_KIND, "outcome", "warmup", "block", "message")
"""The columns of the samples table that are read here."""


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
    wanted = samples.select([*_KIND, "warmup", "message"])
    failed = wanted.filter(pc.and_(is_timed(samples), pc.equal(samples["outcome"], "error")))
    # First with dictionaries, which have no least text, so that only unlike rows become plain text.
    unlike = failed.group_by(failed.column_names).aggregate([([], "count_all")])
    unlike = unlike.select(_PLAIN.names).cast(_PLAIN)
    warmups = pc.if_else(unlike["warmup"], unlike["count_all"], 0)
    counted = (
        unlike.append_column("warmups", warmups)
        .group_by(list(_KIND))
        .aggregate([("count_all", "sum"), ("warmups", "sum"), ("message", "min")])
    )
    kinds = [
        FailureKind(
            config_id=row["config_id"],
            workload_id=row["workload_id"],
            operation=row["operation"],
            error=row["error"] or "unknown",
            http_status=row["http_status"],
            count=row["count_all_sum"],
            warmups=row["warmups_sum"],
            example=row["message_min"] or "",
        )
        for row in counted.to_pylist()
    ]
    return sorted(
        kinds, key=lambda kind: (-kind.count, kind.workload_id, kind.config_id, kind.operation, kind.error)
    )


def cell_failures(samples: "pa.Table") -> list[CellFailure]:
    """The cells that have one row as a whole instead of operations, by workload and configuration."""
    wanted = samples.select(["workload_id", "config_id", "outcome", "error", "message"])
    rows = wanted.filter(pc.invert(is_timed(samples))).to_pylist()
    found = {
        CellFailure(
            config_id=row["config_id"],
            workload_id=row["workload_id"],
            outcome="skipped" if row["outcome"] == "skipped" else "failed",
            reason=row["message"] or row["error"] or "no reason was given",
        )
        for row in rows
    }
    return sorted(found, key=lambda failure: (failure.workload_id, failure.config_id, failure.reason))
