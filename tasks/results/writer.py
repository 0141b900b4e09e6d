"""Writes a run into a store: each cell as it ends, then the summaries, and last the run's own row.

A run without that row was killed or is still going on; readers show it as incomplete. Every file has one
name and the same bytes each time it is made, so that writing a run again changes nothing.
"""

import io
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from configs.run_record import CellRecord, DatasetRecord, RunIdentity, RunRecord
from tasks.results.names import nightly_name, run_name, samples_name
from tasks.results.schema import DICTIONARY_COLUMNS, NIGHTLY, RUNS, SAMPLES
from tasks.results.store import Store
from tasks.stats.summary_types import Distribution, Quantile, Summary

CELLS_JSON: Final = TypeAdapter(tuple[CellRecord, ...])
"""How `cells_json` is written and read."""

DATASETS_JSON: Final = TypeAdapter(tuple[DatasetRecord, ...])
"""How `datasets_json` is written and read."""


def write_cell(store: Store, run: RunIdentity, config_id: str, workload_id: str, table: pa.Table) -> str:
    """Write the samples of one cell, and return the name under which they lie in the store.

    Args:
        store: Where to.
        run: The run that measured them.
        config_id: The cell's configuration, which becomes the partition.
        workload_id: The cell's workload.
        table: Rows of `SAMPLES`.

    Raises:
        ValueError: if the table has other columns, or rows of another run or cell.
        UserError: if the store cannot take it.
    """
    if table.schema != SAMPLES:
        raise ValueError(f"samples of {config_id}/{workload_id} have other columns than the schema")
    for column, value in (("run_id", run.run_id), ("config_id", config_id), ("workload_id", workload_id)):
        if pc.unique(table[column]).to_pylist() not in ([], [value]):
            raise ValueError(f"samples of {config_id}/{workload_id} hold another {column} than {value!r}")
    name = samples_name(run, config_id, workload_id)
    store.put(name, encoded(table))
    return name


def write_nightly(store: Store, run: RunIdentity, summaries: Sequence[Summary]) -> None:
    """Write the exact quantiles of a run, which a history over many nights reads instead of samples.

    Raises:
        UserError: if the store cannot take it.
    """
    rows = [_nightly_row(run, summary) for summary in summaries]
    store.put(nightly_name(run), encoded(pa.Table.from_pylist(rows, schema=NIGHTLY)))


def write_run(store: Store, record: RunRecord) -> None:
    """Write the row of a run: the last thing written, because it makes the run complete.

    Moments lose what is below a millisecond.

    Raises:
        UserError: if the store cannot take it.
    """
    statuses = [cell.status for cell in record.cells]
    row = {
        **record.model_dump(include=set(RUNS.names) & set(RunRecord.model_fields)),
        **record.timing.model_dump(),
        "status": "failed" if record.failed_cells else "complete",
        "cells_measured": statuses.count("measured"),
        "cells_skipped": statuses.count("skipped"),
        "cells_failed": statuses.count("failed"),
        "git_commit": record.environment.git_commit,
        "orchestration_ms": record.timing.orchestration_ms,
        "cells_json": CELLS_JSON.dump_json(record.cells).decode(),
        "datasets_json": DATASETS_JSON.dump_json(record.datasets).decode(),
        "environment_json": record.environment.model_dump_json(),
        "harness_json": record.harness.model_dump_json() if record.harness else None,
    }
    store.put(run_name(record), encoded(pa.Table.from_pylist([row], schema=RUNS)))


def _nightly_row(run: RunIdentity, summary: Summary) -> dict[str, str | int | None]:
    return {
        "run_id": run.run_id,
        "config_id": summary.config_id,
        "workload_id": summary.workload_id,
        "operation": summary.operation,
        "stage": summary.stage,
        "n": summary.distribution.n if summary.distribution else 0,
        "warmups": summary.warmups,
        "errors": summary.errors,
        "files": summary.files,
        "records": summary.records,
        "size_bytes": summary.size_bytes,
        **(_distribution_columns(summary.distribution) if summary.distribution else {}),
    }


def _distribution_columns(times: Distribution) -> dict[str, int | None]:
    return {
        "min_ns": times.min_ns,
        "avg_ns": times.avg_ns,
        **_quantile_columns("p50", times.p50),
        **_quantile_columns("p90", times.p90),
        **_quantile_columns("p99", times.p99),
        "max_ns": times.max_ns,
    }


def _quantile_columns(name: str, quantile: Quantile) -> dict[str, int | None]:
    return {
        f"{name}_ns": quantile.value_ns,
        f"{name}_low_ns": quantile.low_ns,
        f"{name}_high_ns": quantile.high_ns,
    }


def encoded(table: pa.Table) -> bytes:
    """The table as a Parquet file."""
    sink = io.BytesIO()
    with parquet_writer(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet_writer(
    sink: io.BytesIO, schema: pa.Schema, read_most: frozenset[str] = frozenset()
) -> pq.ParquetWriter:
    """What writes every Parquet file of a store.

    zstd 1 is as small as zstd 9 here and five times faster. The embedded Arrow schema would be a third of
    the footer and says nothing more. A checksum per page makes damage visible, which zstd alone does not.

    Args:
        sink: where to.
        schema: of what is written.
        read_most: columns that nearly every query reads: snappy unpacks them in half of zstd's time.
    """
    return pq.ParquetWriter(
        sink,
        schema,
        compression={name: "snappy" if name in read_most else "zstd" for name in schema.names},
        compression_level={name: 1 for name in schema.names if name not in read_most},
        use_dictionary=[name for name in schema.names if name in DICTIONARY_COLUMNS],
        store_schema=False,
        write_page_checksum=True,
    )
