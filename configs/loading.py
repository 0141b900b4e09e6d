"""Reading a suite file: every mistake is named with its file, line and key."""

import difflib
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from configs.base import IDENTIFIER_PATTERN
from configs.errors import UserError
from configs.parameters import BenchmarkParameters
from configs.suite import Suite, UnfitPartsError

SUITES_FOLDER: Final = Path(__file__).parent / "suites"


def load_suite(name_or_path: str) -> Suite:
    """Read a shipped suite by its name, or any suite by its path.

    Raises:
        UserError: if there is no such file, it is no YAML, or it is no suite.
    """
    path = suite_path(name_or_path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: the suite cannot be read: {error}"
        raise UserError(message) from error
    return parse_suite(text, str(path))


def suite_of(parameters: BenchmarkParameters) -> Suite:
    """The suite as a run's parameters want it.

    Raises:
        UserError: if there is no such suite, or no such configuration in it.
    """
    suite = load_suite(parameters.suite)
    if parameters.only:
        suite = suite.only(tuple(parameters.only))
    return suite.with_logs_from(parameters.logs_from) if parameters.logs_from else suite


def suite_path(name_or_path: str) -> Path:
    """Where a suite lies.

    Raises:
        UserError: if there is no such suite, with those that ship.
    """
    shipped = SUITES_FOLDER / f"{name_or_path}.yaml"
    if "/" not in name_or_path and _is_file(shipped):
        return shipped
    path = Path(name_or_path)
    if not _is_file(path):
        names = ", ".join(shipped_suites())
        message = f"{name_or_path}: no such suite; give the path of a YAML file, or one that ships: {names}"
        raise UserError(message)
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or none at all
        return False


def shipped_suites() -> tuple[str, ...]:
    """Names of the suites that ship."""
    return tuple(sorted(path.stem for path in SUITES_FOLDER.glob("*.yaml")))


def parse_suite(text: str, where: str) -> Suite:
    """Make a suite of YAML text; `where` names its file in messages.

    Raises:
        UserError: with one line for every mistake.
    """
    document = _document(text, where)
    try:
        return Suite.model_validate(_plain(document, {}))
    except ValidationError as error:
        lines = [line for details in error.errors() for line in _explain(details, document, where)]
        raise UserError("\n".join(lines)) from error


def _document(text: str, where: str) -> CommentedMap:
    try:
        document = YAML(typ="rt").load(StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        message = f"{where}{line}: this is no valid YAML: {error.problem or error.context}"
        raise UserError(message) from error
    except (YAMLError, ValueError) as error:  # a character or a tagged value that YAML does not allow
        message = f"{where}: this is no valid YAML: {' '.join(str(error).split())}"
        raise UserError(message) from error
    except RecursionError as error:
        message = f"{where}: this is no suite: it is nested too deeply"
        raise UserError(message) from error
    if not isinstance(document, CommentedMap):
        message = f"{where}: a suite is a mapping with the keys {', '.join(Suite.model_fields)}"
        raise UserError(message)
    return document


def _plain(node: Any, made: dict[int, Any]) -> Any:
    """The same values in plain containers, without ruamel's marks.

    What an alias repeats is one object here too: written out, a few lines of aliases could fill the memory.
    """
    if id(node) not in made:
        if isinstance(node, CommentedMap):
            made[id(node)] = {str(key): _plain(value, made) for key, value in node.items()}
        elif isinstance(node, CommentedSeq):
            made[id(node)] = [_plain(item, made) for item in node]
        else:
            return node
    return made[id(node)]


def _explain(details: ErrorDetails, document: CommentedMap, where: str) -> list[str]:
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, UnfitPartsError):
        return [_at(problem.place, document, where) + problem.message for problem in cause.problems]
    path, _, siblings = _locate(details["loc"], document)
    return [_at(details["loc"], document, where) + _what_is_wrong(details, path[-1:], siblings)]


def _at(loc: tuple[int | str, ...], document: CommentedMap, where: str) -> str:
    path, line, _ = _locate(loc, document)
    key = f"{'.'.join(path)}: " if path else ""
    return f"{where}:{line}: {key}" if line else f"{where}: {key}"


def _what_is_wrong(details: ErrorDetails, key: list[str], siblings: list[str]) -> str:
    kind = details["type"]
    if kind == "extra_forbidden":
        return f"unknown key{_suggestion(key[0], _known_keys(details['loc']), siblings)}"
    if kind == "missing":
        return "this key is missing"
    given = details["input"]
    shown = f" (given: {given!r})" if isinstance(given, str | int | float) else ""
    if kind.startswith("byte_size"):
        return f"this is no size; write bytes as a number, or with a unit such as 64 KiB or 16 MiB{shown}"
    if details.get("ctx", {}).get("pattern") == IDENTIFIER_PATTERN:
        return (
            f"an id starts with a lower-case letter and goes on with at most 63 of a-z, 0-9, _ and -{shown}"
        )
    return details["msg"].removeprefix("Value error, ") + shown


def _locate(loc: tuple[int | str, ...], document: CommentedMap) -> tuple[list[str], int, list[str]]:
    """Follow a pydantic location through the YAML: the keys that exist there, the line, the siblings.

    Pydantic puts the tag of a discriminated union into the location; such steps are in no file.
    """
    node: Any = document
    path: list[str] = []
    line = 0
    siblings: list[str] = []
    tag_of: Any = None
    for index, step in enumerate(loc):
        last = index == len(loc) - 1
        if isinstance(node, CommentedMap) and node.get("kind") == step and tag_of is not node:
            tag_of = node
        elif isinstance(node, CommentedMap) and step in node:
            line = node.lc.key(step)[0] + 1
            siblings = [str(key) for key in node]
            node = node[step]
            path.append(str(step))
        elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
            line = node.lc.item(step)[0] + 1
            node = node[step]
            path.append(str(step))
        elif last and step != "[key]":
            path.append(str(step))
    return path, line, siblings


def _known_keys(loc: tuple[int | str, ...]) -> Iterable[str]:
    """The keys that the model at a location knows."""
    return _fields_at(Suite.model_json_schema(), loc[:-1])


def _fields_at(schema: dict[str, Any], loc: tuple[int | str, ...]) -> list[str]:
    definitions = schema.get("$defs", {})
    node = schema
    for step in loc:
        node = _resolve(node, definitions)
        properties = node.get("properties", {})
        if step in properties:
            node = properties[step]
        elif "discriminator" in node and step in node["discriminator"]["mapping"]:
            node = {"$ref": node["discriminator"]["mapping"][step]}
        else:
            by_pattern = next(iter(node.get("patternProperties", {}).values()), None)
            node = by_pattern or node.get("items") or node
    return sorted(_resolve(node, definitions).get("properties", {}))


def _resolve(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    return definitions[reference.rsplit("/", 1)[1]] if reference else node


def _suggestion(key: str, known: Iterable[str], siblings: list[str]) -> str:
    free = [name for name in known if name not in siblings or name == key]
    near = difflib.get_close_matches(key, free, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known here: {', '.join(known)}" if known else ""
