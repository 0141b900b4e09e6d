"""The `s3bench athena` commands: the results as tables, for Amazon Athena and for DuckDB."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from configs.choices import known_configurations
from configs.errors import UserError
from flows.report_commands import ResultsOption
from tasks.reports.progress import SafeConsole

if TYPE_CHECKING:
    from tasks.results.athena import Unseen
    from tasks.results.sql_queries import Query

_NIGHTS: Final = 30
_SHOWN: Final = 10

athena_app = typer.Typer(help="The results as tables, for Amazon Athena and DuckDB.", no_args_is_help=True)

DatabaseOption = Annotated[str, typer.Option("--database", help="The database, or schema, of the tables.")]


@athena_app.command()
def ddl(
    location: Annotated[str, typer.Option("--location", help="Where the results lie: s3://BUCKET/PREFIX.")],
    database: DatabaseOption = "s3bench",
    since: Annotated[str, typer.Option("--since", help="The first night of the tables.")] = "2026-01-01",
    replace: Annotated[
        bool, typer.Option("--replace", help="Drop each table first, which removes no file.")
    ] = False,
    look: Annotated[
        bool, typer.Option("--look/--no-look", help="List the results for what the tables would not show.")
    ] = True,
) -> None:
    """Print the statements that make the tables and views of a result store in Athena."""
    from tasks.results.athena import ddl as statements  # noqa: PLC0415 - pyarrow and scipy load slowly

    known = known_configurations()
    made = statements(location, known, database=database, since_dt=since, replace=replace)
    typer.echo(";\n\n".join(statement.sql for statement in made) + ";")
    if look:
        _tell_unseen(location, known, since)


@athena_app.command()
def duckdb(results: ResultsOption = "results", database: DatabaseOption = "s3bench") -> None:
    """Print the same tables and views for DuckDB, over a folder or S3."""
    from tasks.results.duckdb_views import duckdb_views  # noqa: PLC0415 - as above
    from tasks.results.store import open_existing_store  # noqa: PLC0415 - as above

    typer.echo(duckdb_views(open_existing_store(results), database), nl=False)


@athena_app.command()
def queries(  # noqa: PLR0913, PLR0917 - one parameter for each option
    name: Annotated[str | None, typer.Argument(help="A query; without it all are listed.")] = None,
    schedule: Annotated[str, typer.Option("--schedule", help="Whose nights.")] = "nightly",
    since: Annotated[
        str | None, typer.Option("--since", help=f"The first night; {_NIGHTS} to the last without it.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="The last night; today's UTC date without it.")
    ] = None,
    config_a: Annotated[str | None, typer.Option("--config-a", help="Of a ratio: this one …")] = None,
    config_b: Annotated[str | None, typer.Option("--config-b", help="… by this one.")] = None,
    database: DatabaseOption = "s3bench",
) -> None:
    """Print a query that answers a question over many nights, in Athena and in DuckDB; or list them."""
    from tasks.results import sql_queries  # noqa: PLC0415 - as above
    from tasks.results.athena import checked_date  # noqa: PLC0415 - as above

    if name is None:
        for query in sql_queries.queries():
            typer.echo(_in_the_list(query))
        return
    chosen = sql_queries.query(name)
    last = checked_date("the last night", until) if until else f"{datetime.now(UTC).date()}"
    days = timedelta(days=_NIGHTS - 1)
    first = since or f"{datetime.fromisoformat(last).date() - days}"
    asked = sql_queries.Asked(schedule, first, last, config_a, config_b)
    typer.echo(f"{chosen.filled(asked, database)};")


def _in_the_list(query: "Query") -> str:
    options = [name.replace("_", "-") for name in query.parameters]
    return f"{query.name}\n    {query.answers}\n    {' '.join(f'--{option}' for option in options)}"


def _tell_unseen(location: str, known: tuple[str, ...], since: str) -> None:
    """Say on the other stream what the tables would silently leave out, or that nobody could look."""
    from tasks.results.athena import unseen  # noqa: PLC0415 - as above
    from tasks.results.store import open_store  # noqa: PLC0415 - as above

    console = SafeConsole(stderr=True, soft_wrap=True, highlight=False)
    try:
        found = unseen(open_store(location), known, since)
    except UserError as error:
        console.print(f"nobody could look for what the tables will not show: {error}", markup=False)
        return
    for line in _warnings(found, since):
        console.print(line, style="yellow", markup=False)


def _warnings(found: "Unseen", since: str) -> list[str]:
    lines = []
    if found.configuration_ids:
        lines.append(
            f"the table samples will not show {_and_more(found.configuration_ids)}: no suite that is known "
            "has them; name the folder of their suites by S3BENCH_SUITES, or query samples_all, which does"
        )
    if found.nights:
        lines.append(f"no table will show {_and_more(found.nights)}, before {since}: give an earlier --since")
    return lines


def _and_more(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
