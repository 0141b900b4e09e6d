"""The tables and views of `athena.py` for DuckDB, over a folder or over S3: the same names, columns, rows.

Each view has all columns of this version, null where a file is older, and is empty where no file is there
yet: so every query that ships runs on every store.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from configs.errors import UserError
from tasks.results.athena import DATABASE, TABLES, VIEWS, StoredTable, checked_database, view_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasks.results.store import Store

_TYPES: "Final[Mapping[pa.DataType, str]]" = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.timestamp("ms", tz="UTC"): "TIMESTAMP WITH TIME ZONE",
}
_UNLIKE: Final = frozenset({"cells"})
"""Views that need what the two call otherwise, JSON: their text for DuckDB lies in `sql/duckdb`."""


def duckdb_views(store: "Store", database: str = DATABASE) -> str:
    """The statements that make a schema with all tables and views, for a connection of DuckDB.

    Args:
        store: where the results lie.
        database: the name of the schema.

    Raises:
        UserError: if the store cannot be listed, or DuckDB would read other things out of its path.
    """
    schema = checked_database(database)
    root = _readable(store.location)
    statements = ["SET TimeZone = 'UTC'", f"CREATE SCHEMA IF NOT EXISTS {schema}"]
    if root.startswith("s3://"):
        statements[:0] = [
            "INSTALL httpfs",
            "LOAD httpfs",
            "INSTALL aws",
            "LOAD aws",
            "CREATE OR REPLACE SECRET s3bench (TYPE s3, PROVIDER credential_chain)",
        ]
    is_empty = {folder: not store.names(folder) for folder in {table.folder for table in TABLES}}
    statements += [_view(table, root, schema, is_empty=is_empty[table.folder]) for table in TABLES]
    statements += [view_sql(view, schema, "duckdb" if view in _UNLIKE else "views") for view in VIEWS]
    return "".join(f"{statement};\n" for statement in statements)


def _view(table: StoredTable, root: str, schema: str, *, is_empty: bool) -> str:
    columns = [(field.name, _TYPES[field.type]) for field in table.schema]
    columns += [(name, "VARCHAR") for name in table.partitions]
    typed = ",\n".join(f"  CAST(NULL AS {kind}) AS {name}" for name, kind in columns)
    text = f"CREATE OR REPLACE VIEW {schema}.{table.name} AS\nSELECT\n{typed}\nWHERE false"
    if is_empty:
        return text
    in_path = re.findall(r"(\w+)=\*", table.pattern)
    files = f"'{globbed(root)}/{table.pattern}', union_by_name = true"
    if in_path:
        types = ", ".join(f"'{name}': VARCHAR" for name in in_path)
        files += f", hive_partitioning = true, hive_types = {{{types}}}"
    unnamed = [name for name in in_path if name not in table.partitions]
    chosen = f"* EXCLUDE ({', '.join(unnamed)})" if unnamed else "*"
    return f"{text}\nUNION ALL BY NAME\nSELECT {chosen} FROM read_parquet({files})"


def _readable(location: str) -> str:
    """The whole path. DuckDB reads columns out of folders such as `config=x` above the store as well."""
    root = location if "://" in location else str(Path(location).absolute())
    if "=" in root or "\\" in root:
        raise UserError(
            f"results at {root}: DuckDB takes a folder NAME=VALUE for a column of every row, and \\ for a "
            "stroke: name the results by a link, or move them to a place, without those signs"
        )
    return root


def globbed(root: str) -> str:
    """A path as it stands in a glob and in a literal."""
    return re.sub(r"([*?\[])", r"[\1]", root).replace("'", "''")
