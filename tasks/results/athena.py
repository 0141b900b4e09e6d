"""The tables of a store for Amazon Athena: DDL made of the Arrow schemas, so that the two cannot drift apart.

Partitions are projected: Athena works out from the table's properties which folders there may be, and nothing
has to be registered when a run has ended. What lies outside the range or the list of configurations is not
returned, and nobody is told: so the list comes from the suites, and `unseen` finds what a store has besides.

The view `samples_all` has every sample of every run that came to its end, once. A month's file is made of
landing files that stay, so a reader of both must choose. It chooses for each run: the month's file where that
has all cells of the run, the landing files where not. Then a run that arrives after its month was compacted
is read from its own files, and none is ever read from both. It costs a list of the cells in months' files.

Rejected: `dt NOT IN (SELECT DISTINCT dt FROM samples_monthly)`, which loses the late files of a night that
the month's file has already. Rejected: naming the compacted months in the view, which is wrong from the first
late file on until somebody makes the view anew. Rejected: a boundary such as "two months ago", which loses
months when the housekeeping stood still.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

import pyarrow as pa
from scipy.stats import norm, t

from configs.base import IDENTIFIER_PATTERN
from configs.errors import UserError
from configs.targets import BUCKET_NAME_PATTERN
from tasks.results.names import (
    CHANGES_FOLDER,
    COSTS_FOLDER,
    MONTHLY_FOLDER,
    NIGHTLY_FOLDER,
    RUNS_FOLDER,
    SAMPLES_FOLDER,
    SAMPLES_NAME,
)
from tasks.results.schema import CHANGES, COSTS, NIGHTLY, RUNS, SAMPLES, SAMPLES_MONTHLY
from tasks.results.store import Store

DATABASE: Final = "s3bench"
SINCE_DT: Final = "2026-01-01"
"""No run is older than the first version."""

SQL_FOLDER: Final = Path(__file__).with_name("sql")
VIEWS: Final = ("cells", "nights", "samples_all", "student_t")
"""In an order in which they can be made."""

_DATABASE_PATTERN: Final = r"^[a-z][a-z0-9_]{0,127}$"
_PREFIX_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*$"
_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.timestamp("ms", tz="UTC"): "timestamp",
}
_T_ROWS: Final = 100
_FIRST_S3: Final = "2006-03-14"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A folder of a store as a table."""

    name: str
    folder: str
    schema: pa.Schema
    partitions: tuple[str, ...]
    """The names in the path that are its columns too, from the top."""

    @property
    def pattern(self) -> str:
        """A glob of all its files, below the store's location. What lies deeper is read as well."""
        deeper = ["config=*"] if self.folder == SAMPLES_FOLDER else []
        own = [f"{name}=*" for name in self.partitions]
        return "/".join([self.folder, *dict.fromkeys(own + deeper), "*.parquet"])


TABLES: Final = (
    StoredTable("samples", SAMPLES_FOLDER, SAMPLES, ("dt", "config")),
    StoredTable("samples_by_night", SAMPLES_FOLDER, SAMPLES, ("dt",)),
    StoredTable("samples_monthly", MONTHLY_FOLDER, SAMPLES_MONTHLY, ("month",)),
    StoredTable("runs", RUNS_FOLDER, RUNS, ("dt",)),
    StoredTable("nightly", NIGHTLY_FOLDER, NIGHTLY, ("dt",)),
    StoredTable("costs", COSTS_FOLDER, COSTS, ("dt",)),
    StoredTable("changes", CHANGES_FOLDER, CHANGES, ()),
)
"""`samples_by_night` has the files of `samples`: one list of a folder for each night instead of one for each
night and configuration, which the column `config_id` then tells."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, which Athena takes alone."""

    name: str
    sql: str
    """Without a semicolon."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """What a store has and the tables would not show."""

    configuration_ids: tuple[str, ...]
    """Not in the list of the table `samples`."""
    nights: tuple[str, ...]
    """Before the tables begin."""


def ddl(
    location: str,
    configuration_ids: Iterable[str],
    *,
    database: str = DATABASE,
    since_dt: str = SINCE_DT,
    replace: bool = False,
) -> tuple[Statement, ...]:
    """All statements that make the database, its tables and its views, in the order to run them.

    Args:
        location: `s3://BUCKET/PREFIX`, where the results lie.
        configuration_ids: those that the table `samples` shows.
        database: its name in Athena.
        since_dt: the first night of all tables.
        replace: drop each table first; Athena drops what it knows of it, and no file.

    Raises:
        UserError: if something of it cannot stand in a statement.
    """
    where, name = checked_location(location), checked_database(database)
    first = checked_date("the first night", since_dt)
    ids = sorted({checked_configuration(one) for one in configuration_ids})
    if not ids:
        raise UserError("no configuration is known: the table samples would show nothing")
    statements = [Statement("database", f"CREATE DATABASE IF NOT EXISTS `{name}`")]
    for table in TABLES:
        if replace:
            dropped = f"DROP TABLE IF EXISTS `{name}`.`{table.name}`"
            statements.append(Statement(f"drop_{table.name}", dropped))
        statements.append(Statement(table.name, _create_table(table, where, name, first, ids)))
    return (*statements, *(Statement(view, view_sql(view, name)) for view in VIEWS))


def view_sql(view: str, database: str, folder: str = "views") -> str:
    """The statement that makes a view of `VIEWS`; `folder` has its text."""
    text = (SQL_FOLDER / folder / f"{view}.sql").read_text(encoding="utf-8").rstrip()
    columns = {
        f"{what}_columns": ",\n".join(f"  {alias}.{column}" for column in SAMPLES_MONTHLY.names)
        for what, alias in (("monthly", "m"), ("landing", "s"))
    }
    return text.format(database=database, **columns, **_student_t())


def unseen(store: Store, configuration_ids: Iterable[str], since_dt: str) -> Unseen:
    """What lies in a store and would not be shown by the tables.

    Raises:
        UserError: if it cannot be listed.
    """
    matches = [match for name in store.names(SAMPLES_FOLDER) if (match := SAMPLES_NAME.fullmatch(name))]
    found = {match["config_id"] for match in matches}
    nights = {match["dt"] for match in matches if match["dt"] < since_dt}
    return Unseen(tuple(sorted(found - set(configuration_ids))), tuple(sorted(nights)))


def checked_location(location: str) -> str:
    """The location without a slash at its end.

    Raises:
        UserError: if it is no `s3://BUCKET/PREFIX`, or Athena would hide what lies there.
    """
    where = location.rstrip("/")
    bucket, _, prefix = where.removeprefix("s3://").partition("/")
    if (
        not where.startswith("s3://")
        or re.fullmatch(BUCKET_NAME_PATTERN, bucket) is None
        or re.fullmatch(_PREFIX_PATTERN, prefix) is None
    ):
        raise UserError(
            f"location {location!r}: Athena reads s3://BUCKET/PREFIX alone, with a prefix of letters, "
            "digits, '_', '.' and '-', of which no part begins with '_' or '.', because Athena hides those"
        )
    return where


def checked_database(database: str) -> str:
    """The name of a database.

    Raises:
        UserError: if it is none.
    """
    if re.fullmatch(_DATABASE_PATTERN, database) is None:
        raise UserError(f"database {database!r}: give small letters, digits and '_', with a letter first")
    return database


def checked_configuration(config_id: str) -> str:
    """The id of a configuration.

    Raises:
        UserError: if it is none.
    """
    if re.fullmatch(IDENTIFIER_PATTERN, config_id) is None:
        raise UserError(f"configuration {config_id!r}: an id must match {IDENTIFIER_PATTERN}")
    return config_id


def checked_date(what: str, given: str) -> str:
    """A date.

    Raises:
        UserError: if it is none; `what` names it.
    """
    try:
        found = date.fromisoformat(given)
    except ValueError as error:
        raise UserError(f"{what} {given!r}: {error}: give a date such as 2026-01-31") from error
    if str(found) != given:  # 20260131 and 2026-W05-6 are dates too, and no partition
        raise UserError(f"{what} {given!r}: give a date such as {found}")
    if given < _FIRST_S3:
        raise UserError(f"{what} {given!r}: Amazon S3 began on {_FIRST_S3}: give a later date")
    return given


def columns_of(table: StoredTable) -> tuple[tuple[str, str], ...]:
    """The name and the type in Athena of each column, without those of the path."""
    return tuple((field.name, _TYPES[field.type]) for field in table.schema)


def properties_of(
    table: StoredTable, where: str, since_dt: str, configuration_ids: Sequence[str]
) -> dict[str, str]:
    """What makes Athena work out the partitions of a table.

    Args:
        table: whose.
        where: the location of the results, without a slash at its end.
        since_dt: the first night.
        configuration_ids: those that the table `samples` shows.
    """
    properties = {"classification": "parquet"}
    if table.partitions:
        properties |= {"projection.enabled": "true"}
        for name in table.partitions:
            for key, value in _projection(name, since_dt, configuration_ids).items():
                properties[f"projection.{name}.{key}"] = value
        template = "".join(f"{name}=${{{name}}}/" for name in table.partitions)
        properties["storage.location.template"] = f"{where}/{table.folder}/{template}"
    return properties


def _create_table(
    table: StoredTable, where: str, database: str, since_dt: str, configuration_ids: Sequence[str]
) -> str:
    columns = ",\n".join(f"  `{name}` {kind}" for name, kind in columns_of(table))
    lines = [f"CREATE EXTERNAL TABLE IF NOT EXISTS `{database}`.`{table.name}` (\n{columns}\n)"]
    if table.partitions:
        partitions = ", ".join(f"`{name}` string" for name in table.partitions)
        lines.append(f"PARTITIONED BY ({partitions})")
    properties = properties_of(table, where, since_dt, configuration_ids)
    told = ",\n".join(f"  '{key}' = '{value}'" for key, value in properties.items())
    lines += ["STORED AS PARQUET", f"LOCATION '{where}/{table.folder}/'", f"TBLPROPERTIES (\n{told}\n)"]
    return "\n".join(lines)


def _projection(partition: str, since_dt: str, configuration_ids: Sequence[str]) -> dict[str, str]:
    """How Athena works out the values of a partition. NOW is UTC, as `dt` is."""
    if partition == "config":
        return {"type": "enum", "values": ",".join(configuration_ids)}
    is_night = partition == "dt"
    return {
        "type": "date",
        "format": "yyyy-MM-dd" if is_night else "yyyy-MM",
        "range": f"{since_dt if is_night else since_dt[:7]},NOW",
        "interval": "1",
        "interval.unit": "DAYS" if is_night else "MONTHS",
    }


@lru_cache(maxsize=1)
def _student_t() -> dict[str, str]:
    """The numbers of the view `student_t`: t for 1 to 100, and the expansion for more degrees of freedom.

    Its terms are those of Abramowitz and Stegun, 26.7.5.
    """
    values = [f"({df}, {float(t.ppf(0.975, df)):.10e})" for df in range(1, _T_ROWS + 1)]
    rows = ",\n".join("    " + ", ".join(values[start : start + 4]) for start in range(0, _T_ROWS, 4))
    z = float(norm.ppf(0.975))
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    divided = (f"{term:.10e}{' / df' * power}" for power, term in enumerate(terms, start=1))
    return {"t_rows": rows, "t_expansion": "\n    + ".join([f"{z:.10e}", *divided])}
