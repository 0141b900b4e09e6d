"""The queries that ship, for Athena and for DuckDB alike: each answers one question over many nights.

They are written in what both understand, so that the text that is checked on DuckDB is the text that runs in
Athena, and people on a laptop need no other one. The rules that every figure depends on stand in the views
(`sql/views`): which run of a night counts, what ended, and where its samples are read from.
"""

import re
from dataclasses import dataclass, fields
from typing import Final

from configs.base import IDENTIFIER_PATTERN
from configs.errors import UserError
from tasks.kernel.samples import BESIDES
from tasks.results.athena import DATABASE, SQL_FOLDER, checked_configuration, checked_database, checked_date

_FOLDER: Final = SQL_FOLDER / "queries"
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_PAIRS: Final = "{pairs}"
_NAME_ENDING: Final = "_name"
_BESIDES: Final = ", ".join(f"'{operation}'" for operation in sorted(BESIDES))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query is asked for; one has no value for what it does not need."""

    schedule: str
    since: str
    """The first night, as a UTC date."""
    until: str
    """The last one."""
    config_a: str | None = None
    config_b: str | None = None
    """A ratio is that of the first by the second."""


PARAMETERS: Final = tuple(field.name for field in fields(Asked))


@dataclass(frozen=True, slots=True)
class Query:
    """A query with places for its parameters."""

    name: str
    template: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """What it depends on, of `PARAMETERS`."""
        named = {name.removesuffix(_NAME_ENDING) for name in _PLACEHOLDER.findall(self.template)}
        return tuple(name for name in PARAMETERS if name in named)

    @property
    def answers(self) -> str:
        """What it answers: its first sentence, without the values of its parameters."""
        said = " ".join(line.removeprefix("-- ") for line in self._comment)
        return re.split(r"(?<=[a-z])[.:] ", f"{said} ")[0] + "."

    def filled(self, asked: Asked, database: str = DATABASE) -> str:
        """The query for these parameters, whose comment names them; without a semicolon.

        Raises:
            UserError: if a parameter is missing, or is none.
        """
        values = _checked(self, asked)
        names = {f"{name}{_NAME_ENDING}": value for name, value in values.items()}
        literals = {name: f"'{value}'" for name, value in values.items()}
        told = ", ".join(f"{name} = {literals[name]}" for name in self.parameters)
        comment = "\n".join([*self._comment, f"-- Parameters: {told}."])
        statement = self.template.split("\n", len(self._comment))[-1].rstrip()
        return f"{comment}\n{statement}".format(
            database=checked_database(database), besides=_BESIDES, **literals, **names
        )

    @property
    def _comment(self) -> list[str]:
        lines = self.template.splitlines()
        end = next(place for place, line in enumerate(lines) if not line.startswith("--"))
        return lines[:end]


def queries() -> tuple[Query, ...]:
    """All queries that ship, by name."""
    pairs = (SQL_FOLDER / "pairs.sql").read_text(encoding="utf-8").rstrip()
    return tuple(
        Query(path.stem, path.read_text(encoding="utf-8").replace(_PAIRS, pairs))
        for path in sorted(_FOLDER.glob("*.sql"))
    )


def query(name: str) -> Query:
    """One of them.

    Raises:
        UserError: if there is none of that name.
    """
    known = {one.name: one for one in queries()}
    if name not in known:
        raise UserError(f"no query {name!r}: there are {', '.join(known)}")
    return known[name]


def _checked(one: Query, asked: Asked) -> dict[str, str]:
    """The values of the parameters that a query needs."""
    since = checked_date("the first night", asked.since)
    until = checked_date("the last night", asked.until)
    if since > until:
        raise UserError(f"the first night {since} is after the last one {until}: exchange them")
    if re.fullmatch(IDENTIFIER_PATTERN, asked.schedule) is None:
        raise UserError(f"schedule {asked.schedule!r}: it must match {IDENTIFIER_PATTERN}")
    values = {"schedule": asked.schedule, "since": since, "until": until}
    for name in ("config_a", "config_b"):
        config_id = getattr(asked, name)
        if config_id is not None:
            values[name] = checked_configuration(config_id)
    if surplus := sorted(values.keys() & {"config_a", "config_b"} - set(one.parameters)):
        raise UserError(f"the query {one.name} has no {surplus[0]}: it tells of all configurations")
    if missing := [name for name in one.parameters if name not in values]:
        needed = " and ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise UserError(f"the query {one.name} needs {needed}: ids of configurations, such as boto3")
    return {name: values[name] for name in one.parameters}
