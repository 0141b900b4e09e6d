"""The tables in Athena are those of the schema, with all known configurations and with nobody else's text."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from configs.errors import UserError
from tasks.results.athena import SINCE_DT, TABLES, VIEWS, Unseen, ddl, unseen
from tasks.results.store import open_store
from tests.results.sql_store import SqlStore

LOCATION = "s3://amzn-s3-demo-bucket/s3bench"
IDS = ("rust", "boto3", "mount")
WRITTEN_AS = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.timestamp("ms", tz="UTC"): "timestamp",
}
IN_PATH = {
    "samples": ("dt", "config"),
    "samples_by_night": ("dt",),
    "samples_monthly": ("month",),
    "runs": ("dt",),
    "nightly": ("dt",),
    "costs": ("dt",),
    "changes": (),
}


@pytest.fixture(scope="module")
def statements() -> dict[str, str]:
    return {statement.name: statement.sql for statement in ddl(LOCATION, IDS)}


def properties_of(sql: str) -> dict[str, str]:
    return dict(re.findall(r"'([^']+)' = '([^']*)'", sql))


def test_all_statements_are_understood_in_athenas_dialect(statements: dict[str, str]) -> None:
    assert list(statements) == ["database", *IN_PATH, *VIEWS]
    for name, sql in statements.items():
        (parsed,) = sqlglot.parse(sql, read="athena")
        assert isinstance(parsed, exp.Create), name


@pytest.mark.parametrize("name", IN_PATH)
def test_a_table_has_the_columns_of_its_files_and_those_of_its_path(
    sql_store: SqlStore, statements: dict[str, str], name: str
) -> None:
    (pattern,) = (table.pattern for table in TABLES if table.name == name)
    path = next(sql_store.root.glob(pattern))
    in_file = {field.name: WRITTEN_AS[field.type] for field in pq.read_schema(path)}
    names_in_path = [part.partition("=")[0] for part in path.relative_to(sql_store.root).parts if "=" in part]
    assert tuple(names_in_path[: len(IN_PATH[name])]) == IN_PATH[name]
    table = sqlglot.parse_one(statements[name], read="athena")
    columns = {column.name: column.kind.sql("hive").lower() for column in table.find_all(exp.ColumnDef)}
    assert columns == in_file | dict.fromkeys(IN_PATH[name], "string")
    assert not in_file.keys() & set(IN_PATH[name]), "a column of the file has the name of a partition"


@pytest.mark.parametrize("name", IN_PATH)
def test_every_partition_is_projected_and_its_folder_is_where_the_files_lie(
    sql_store: SqlStore, statements: dict[str, str], name: str
) -> None:
    told = properties_of(statements[name])
    (location,) = re.findall(r"LOCATION '([^']+)'", statements[name])
    assert location.startswith(f"{LOCATION}/v1/")
    assert location.endswith("/")
    folder = sql_store.root / location.removeprefix(f"{LOCATION}/")
    assert next(folder.rglob("*.parquet"), None)
    if not IN_PATH[name]:
        assert "projection.enabled" not in told
        return
    assert told["projection.enabled"] == "true"
    assert told["storage.location.template"] == location + "".join(f"{p}=${{{p}}}/" for p in IN_PATH[name])
    for partition in IN_PATH[name]:
        assert told[f"projection.{partition}.type"] == ("enum" if partition == "config" else "date")


def test_the_range_begins_with_the_first_night_and_the_list_has_every_configuration_once() -> None:
    sql = {one.name: one.sql for one in ddl(LOCATION, [*IDS, "rust"], since_dt="2026-02-14")}
    assert properties_of(sql["samples"])["projection.dt.range"] == "2026-02-14,NOW"
    assert properties_of(sql["samples"])["projection.config.values"] == "boto3,mount,rust"
    assert properties_of(sql["samples_monthly"])["projection.month.range"] == "2026-02,NOW"


def test_to_replace_drops_each_table_before_it_is_made_and_no_view() -> None:
    made = [one.name for one in ddl(LOCATION, IDS, replace=True)]
    for name in IN_PATH:
        assert made.index(name) == made.index(f"drop_{name}") + 1
    assert sum(name.startswith("drop_") for name in made) == len(IN_PATH)


@pytest.mark.parametrize(
    ("location", "database", "since_dt", "config_id", "told"),
    [
        ("results", "s3bench", SINCE_DT, "boto3", "location 'results'"),
        ("s3://bucket", "s3bench", SINCE_DT, "boto3", "location 's3://bucket'"),
        ("s3://bucket/a//b", "s3bench", SINCE_DT, "boto3", "location"),
        ("s3://bucket/_hidden", "s3bench", SINCE_DT, "boto3", "because Athena hides those"),
        ("s3://bucket/a/.b", "s3bench", SINCE_DT, "boto3", "because Athena hides those"),
        ("s3://bucket/it's", "s3bench", SINCE_DT, "boto3", "location"),
        (LOCATION, "S3 Bench", SINCE_DT, "boto3", "database 'S3 Bench'"),
        (LOCATION, "a`; DROP", SINCE_DT, "boto3", "database"),
        (LOCATION, "s3bench", "2026-13-01", "boto3", "the first night '2026-13-01'"),
        (LOCATION, "s3bench", "20260101", "boto3", "give a date such as 2026-01-01"),
        (LOCATION, "s3bench", SINCE_DT, "boto3,rust", "configuration 'boto3,rust'"),
        (LOCATION, "s3bench", SINCE_DT, "a'b", "configuration"),
    ],
)
def test_what_cannot_stand_in_a_statement_is_refused(
    location: str, database: str, since_dt: str, config_id: str, told: str
) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        ddl(location, [config_id], database=database, since_dt=since_dt)


def test_a_list_without_configurations_is_refused() -> None:
    with pytest.raises(UserError, match="no configuration is known"):
        ddl(LOCATION, [])


def test_what_the_tables_would_not_show_is_found(tmp_path: Path, sql_store: SqlStore) -> None:
    assert unseen(sql_store.store, IDS, "2026-01-05") == Unseen((), ())
    assert unseen(sql_store.store, ["boto3"], "2026-01-07") == Unseen(
        ("mount", "rust"), ("2026-01-05", "2026-01-06")
    )
    assert unseen(open_store(tmp_path), IDS, SINCE_DT) == Unseen((), ())


def test_a_statement_is_taken_alone(statements: dict[str, str]) -> None:
    assert not [name for name, sql in statements.items() if ";" in sql]
