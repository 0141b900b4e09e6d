import pyarrow as pa
import pytest

from configs.run_record import RunIdentity, RunRecord, Timing
from tasks.kernel.samples import STAGES
from tasks.results.names import RUN_NAME, SAMPLES_NAME, run_name, samples_name
from tasks.results.schema import (
    CHANGES,
    COSTS,
    DICTIONARY_COLUMNS,
    NIGHTLY,
    RUNS,
    SAMPLES,
    SAMPLES_MONTHLY,
    SCHEMA_VERSION,
    TOLD,
)

ATHENA_TYPES = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.timestamp("ms", tz="UTC"): "timestamp",
}
"""The Arrow types whose Parquet form Athena, Trino, Spark and DuckDB agree on."""

TABLES = pytest.mark.parametrize(
    "schema",
    [SAMPLES, RUNS, NIGHTLY, COSTS, CHANGES, TOLD],
    ids=["samples", "runs", "nightly", "costs", "changes", "told"],
)


@TABLES
def test_every_column_has_a_type_that_athena_takes(schema: pa.Schema) -> None:
    assert [field.name for field in schema if field.type not in ATHENA_TYPES] == []


@TABLES
def test_no_column_hides_a_partition_or_needs_quotes(schema: pa.Schema) -> None:
    assert {"dt", "config"}.isdisjoint(schema.names)
    assert all(name == name.lower() and name.isidentifier() for name in schema.names)
    assert len(set(schema.names)) == len(schema.names)


def test_every_stage_is_a_column_and_none_has_a_dictionary() -> None:
    assert set(STAGES) <= set(SAMPLES.names)
    assert DICTIONARY_COLUMNS.isdisjoint({*STAGES, "seq", "started_us", "started_at"})
    assert {
        name for schema in (SAMPLES_MONTHLY, NIGHTLY, COSTS, CHANGES) for name in schema.names
    } >= DICTIONARY_COLUMNS


def test_everything_that_a_run_says_of_itself_has_a_column() -> None:
    nested = {"cells", "datasets", "environment", "harness"}
    scalars = set(RunRecord.model_fields) - nested - {"dt", "timing"}
    assert {*scalars, *Timing.model_fields, *(f"{name}_json" for name in nested)} <= set(RUNS.names)


def test_names_hold_the_version_and_the_partitions(run: RunIdentity) -> None:
    name = samples_name(run, "boto3", "read_1k")
    assert SCHEMA_VERSION == 1
    assert name == "v1/samples/dt=2026-01-01/config=boto3/20260101T020000Z-1a2b3c4d.read_1k.parquet"
    assert SAMPLES_NAME.fullmatch(name)
    assert run_name(run) == "v1/runs/dt=2026-01-01/20260101T020000Z-1a2b3c4d.parquet"
    assert RUN_NAME.fullmatch(run_name(run))


@pytest.mark.parametrize("config_id", [None, "", "a b", "A", "a/../b", "../b", "a%20", "a\n", "1a"])
def test_an_id_that_cannot_be_a_partition_is_refused(run: RunIdentity, config_id: str | None) -> None:
    with pytest.raises(ValueError, match="cannot name a partition"):
        samples_name(run, config_id, "read_1k")  # type: ignore[arg-type] # None is one of the cases
    with pytest.raises(ValueError, match="cannot name a partition"):
        samples_name(run, "boto3", config_id)  # type: ignore[arg-type] # None is one of the cases
