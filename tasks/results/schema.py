"""The Parquet tables of a result store: their columns.

Athena, Trino, Spark and DuckDB read these files alike, so the types are the ones that all of them agree
on: no unsigned integer, no timestamp finer than milliseconds (`started_us` is exact), no column of type
null. The partition values `dt` and `config` stand in the path only (`names.py`), because readers quarrel
when a file holds them too with another type; `config_id` repeats the one inside the file.

Rejected: one row per stage (22 bytes for each operation instead of 15, and the stages of a request apart).
"""

from typing import Final

import pyarrow as pa

from tasks.kernel.samples import STAGES

# Schema history. A column may be added at the end, nullable; every other change takes a new version,
# and with it a new folder, because no reader can mix types.
# 1  first version: samples, runs, nightly
#    then at the end of samples: connect_ns, tls_ns, session_ns, ttfb_ns, user_ns, system_ns, response_ns
#    then tables of their own: samples_monthly, told, costs, changes
#    then at the end of runs: synthetic, measured_by
SCHEMA_VERSION: Final = 1

VERSION_FOLDER: Final = f"v{SCHEMA_VERSION}"

_MOMENT: Final = pa.timestamp("ms", tz="UTC")

_FIRST_STAGES: Final = ("list_ns", "read_ns", "gunzip_ns", "parse_ns", "total_ns")
"""Those that the first files had: columns are added at the end only."""

SAMPLES: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("config_id", pa.string()),
        ("workload_id", pa.string()),
        ("operation", pa.string()),
        ("outcome", pa.string()),
        ("warmup", pa.bool_()),
        ("block", pa.int32()),
        ("worker", pa.int32()),
        ("seq", pa.int64()),
        ("started_at", _MOMENT),
        ("started_us", pa.int64()),
        ("intended_us", pa.int64()),
        ("object_key", pa.string()),
        ("size_bytes", pa.int64()),
        ("files", pa.int64()),
        ("records", pa.int64()),
        ("http_status", pa.int32()),
        ("retries", pa.int32()),
        ("cold", pa.bool_()),
        ("error", pa.string()),
        ("message", pa.string()),
        *((stage, pa.int64()) for stage in _FIRST_STAGES),
        *((stage, pa.int64()) for stage in STAGES if stage not in _FIRST_STAGES),
    ]
)
"""One row per timed operation, errors and warm-ups included.

`outcome` is `ok`, `error` or `skipped`. A cell that was skipped, or failed as a whole, is one row without
an operation and without a time. Stages are in nanoseconds, null where they did not happen; `cold` is
null where nothing is claimed. `intended_us` and `response_ns`, from the moment at which an operation should
have begun to its end, are null in a closed loop. Of imported samples `message` is the id of the request (its
invocation) and `started_at` when the log had it; `started_us` is null.
"""

SAMPLES_MONTHLY: Final = pa.schema([("dt", pa.string()), *SAMPLES])
"""The rows of `SAMPLES` of a finished month, whose night stands in a column: the path names the month alone.

It comes first, because columns are added to `SAMPLES` at its end.
"""

RUNS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("schema_version", pa.int32()),
        ("status", pa.string()),
        ("suite", pa.string()),
        ("suite_sha256", pa.string()),
        ("lab", pa.bool_()),
        ("seed", pa.int64()),
        ("blocks", pa.int32()),
        ("baseline", pa.string()),
        ("started_at", _MOMENT),
        ("ended_at", _MOMENT),
        ("cells_measured", pa.int32()),
        ("cells_skipped", pa.int32()),
        ("cells_failed", pa.int32()),
        ("git_commit", pa.string()),
        ("wall_ms", pa.int64()),
        ("server_start_ms", pa.int64()),
        ("prepare_ms", pa.int64()),
        ("wait_ms", pa.int64()),
        ("measure_ms", pa.int64()),
        ("orchestration_ms", pa.int64()),
        ("cells_json", pa.string()),
        ("datasets_json", pa.string()),
        ("environment_json", pa.string()),
        ("harness_json", pa.string()),
        ("schedule", pa.string()),
        ("scheduled_at", _MOMENT),
        ("synthetic", pa.bool_()),
        ("measured_by", pa.string()),
    ]
)
"""One row per run, written last. `status` is `complete`, or `failed` where a cell failed. `schedule` and
`scheduled_at` are null in a run by hand. `synthetic` is true where nothing was measured: the samples are
made up, for demonstrations and tests; null in runs from before the column was there, which were measured.
`measured_by` tells who measured a run that was imported; it is empty or null where this harness did.

What nests is JSON, as the models of `configs/run_record.py` write it; `harness_json` is null where
nothing was measured.
"""

NIGHTLY: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("config_id", pa.string()),
        ("workload_id", pa.string()),
        ("operation", pa.string()),
        ("stage", pa.string()),
        ("n", pa.int64()),
        ("warmups", pa.int64()),
        ("errors", pa.int64()),
        ("min_ns", pa.int64()),
        ("avg_ns", pa.int64()),
        *(
            (f"{quantile}{bound}_ns", pa.int64())
            for quantile in ("p50", "p90", "p99")
            for bound in ("", "_low", "_high")
        ),
        ("max_ns", pa.int64()),
        ("files", pa.int64()),
        ("records", pa.int64()),
        ("size_bytes", pa.int64()),
    ]
)
"""One row per cell, operation and stage of a run. Times are null where no counted operation succeeded,
and a bound is null where the sample is too small to have it."""

COSTS: Final = pa.schema(
    [
        ("run_id", pa.string()),
        ("config_id", pa.string()),
        ("workload_id", pa.string()),
        ("operations", pa.int64()),
        ("put_requests", pa.int64()),
        ("get_requests", pa.int64()),
        ("list_requests", pa.int64()),
        ("head_requests", pa.int64()),
        ("sent_bytes", pa.int64()),
        ("received_bytes", pa.int64()),
        ("usd", pa.float64()),
        ("usd_per_million_operations", pa.float64()),
        ("usd_per_gb", pa.float64()),
        ("usd_per_gb_month", pa.float64()),
        ("unknown", pa.string()),
        ("prices_as_of", pa.string()),
    ]
)
"""One row per cell of a run: what it asked of Amazon at the least, and what that costs by the price list.

Requests and bytes are those of all its `operations`, warm-ups included; requests are null where a client
hides them. `usd` is what the whole cell costs, `usd_per_gb` by 2³⁰ bytes moved, `usd_per_gb_month` what
keeping data there costs. A price that is not known leaves its figure null, and `unknown` says why.
"""

CHANGES: Final = pa.schema(
    [
        ("schedule", pa.string()),
        ("config_id", pa.string()),
        ("workload_id", pa.string()),
        ("operation", pa.string()),
        ("meaning", pa.string()),
        ("stage", pa.string()),
        ("statistic", pa.string()),
        ("direction", pa.string()),
        ("status", pa.string()),
        ("since_dt", pa.string()),
        ("since_at", _MOMENT),
        ("known_at", _MOMENT),
        ("ratio", pa.float64()),
        ("noise", pa.float64()),
        ("before_ns", pa.int64()),
        ("after_ns", pa.int64()),
        ("nights_before", pa.int32()),
        ("nights_after", pa.int32()),
        ("method", pa.string()),
        ("version", pa.string()),
        ("settings_json", pa.string()),
    ]
)
"""One row per change that the comparison of a schedule's nights found; the file is written anew each time.

`config_id`, `workload_id`, `operation` and `meaning` are null where it is what all configurations share.
`status` is `watching` in the first nights of a change and `confirmed` later. `since_dt` is the UTC date of
the first night that differs, `known_at` the night with which it was found. `ratio` is after by before, what
all configurations share taken out; `noise` the robust standard deviation of the series' nightly logarithms.
`before_ns` and `after_ns` are medians as they were measured.
"""

TOLD: Final = pa.schema(
    [
        ("what", pa.string()),
        ("name", pa.string()),
        ("direction", pa.string()),
        ("at", _MOMENT),
    ]
)
"""What somebody has been told of already: one row for each night without a run, and for each change.

`what` is `night` or `change`, `name` the schedule or the series, `direction` `slower` for changes and null
for nights, `at` when the night was due or the change began.
"""

DICTIONARY_COLUMNS: Final = frozenset(
    {
        "dt",
        "run_id",
        "config_id",
        "workload_id",
        "operation",
        "outcome",
        "block",
        "worker",
        "object_key",
        "size_bytes",
        "files",
        "records",
        "http_status",
        "retries",
        "error",
        "message",
        "stage",
        "schedule",
        "meaning",
        "statistic",
        "direction",
        "status",
        "unknown",
        "prices_as_of",
        "method",
        "version",
        "settings_json",
    }
)
"""Columns of few unlike values. A dictionary over the times as well would cost two thirds more bytes."""
