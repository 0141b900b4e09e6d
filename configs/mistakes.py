"""From what pydantic found wrong in a suite to messages that name file, line and key."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from configs.base import IDENTIFIER_PATTERN, Model
from configs.documents import shortened
from configs.fitness import UnfitPartsError
from configs.kinds import no_such_kind
from configs.overlays import Stack, suggestion
from configs.suite import Suite
from configs.targets import MUST_BE_GIVEN
from configs.workloads import NOT_FOR_SUITES

LAB_OVERLAYS = "lab"
"""The folder beside suites that holds what lays each of them into the local lab."""

_PLACEHOLDER = "FILL-IN"
"""How a value ends that a suite ships with and that is none."""

_MOST_TOLD = 50
"""Mistakes that are told: nobody reads more, and each is looked up in all documents."""

_LONGEST_KEY = 200

_PLACES = (("targets",), ("venues",))
_TO_BE_GIVEN = "; give it with --set "

_WRONG_KINDS = frozenset({"union_tag_invalid", "union_tag_not_found", NOT_FOR_SUITES})
"""Types of pydantic's errors."""


def lab_overlay(suite: Path) -> Path:
    """Where the lab overlay of a suite lies, if it has one."""
    return suite.parent / LAB_OVERLAYS / suite.name


def explain(
    error: ValidationError, stack: Stack, model: type[Model] = Suite, at: tuple[str, ...] = ()
) -> str:
    """One line for every mistake.

    Args:
        error: what pydantic found.
        stack: the documents.
        model: what was to be made of them.
        at: where in the documents that model begins.
    """
    found = error.errors(include_url=False)
    lines = [line for details in found[:_MOST_TOLD] for line in _lines(details, stack, model, at)]
    told = list(dict.fromkeys([*lines, *_not_filled_in(stack)]))
    if len(found) > _MOST_TOLD:
        told.append(f"{stack.documents[0].where}: and {len(found) - _MOST_TOLD:,} more mistakes")
    return "\n".join(told)


def _lines(details: ErrorDetails, stack: Stack, model: type[Model], at: tuple[str, ...]) -> list[str]:
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, UnfitPartsError):
        return [
            _at(problem.place, stack)
            + problem.message
            + (_how_to_fill_in(problem.place, stack) if problem.missing else "")
            for problem in cause.problems
        ]
    path = (*at, *_path(details["loc"], _below(stack.values, at)))
    if details["type"] in _WRONG_KINDS:
        return [_at((*path, "kind"), stack) + no_such_kind(path[0], _below(stack.values, (*path, "kind")))]
    return [_at(path, stack) + _what_is_wrong(details, path, stack, model) + _how_to_fill_in(path, stack)]


def _not_filled_in(stack: Stack) -> Iterable[str]:
    """What the suite's own check of its targets would say, which runs only when all else is right."""
    targets = stack.values.get("targets")
    if stack.values.get("lab") or not isinstance(targets, Mapping):
        return
    for name, target in targets.items():
        kind = target.get("kind") if isinstance(target, Mapping) else None
        key, message = MUST_BE_GIVEN.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        if key and target.get(key) is None:
            path = ("targets", name, key)
            yield _at(path, stack) + message + _how_to_fill_in(path, stack)


def _at(path: tuple[str, ...], stack: Stack) -> str:
    document, line = stack.holder(path)
    key = ".".join(path)
    if document.where == f"--set {key}":
        return f"{document.where}: "
    place = f"{document.where}:{line}" if line else document.where
    shown = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"
    return f"{place}: {shown}: " if key else f"{place}: "


def _how_to_fill_in(path: tuple[str, ...], stack: Stack) -> str:
    """For what a suite leaves to be given, or names with a placeholder: how to give it."""
    first = stack.documents[0]
    if path[:1] not in _PLACES or len(path) != 3 or stack.holder(path)[0] is not first:  # noqa: PLR2004
        return ""
    has_overlay = lab_overlay(Path(first.where)).is_file()
    if first.found(path)[0] == len(path) and not has_overlay:
        return ""
    lab = ", or run it in the local lab with --in-lab" if has_overlay else ""
    return f"{_TO_BE_GIVEN}{'.'.join(path)}=… or --targets FILE{lab}"


def is_to_be_given(line: str) -> bool:
    """Whether a line of `explain` is about what a suite leaves to whoever runs it."""
    return _TO_BE_GIVEN in line


def _what_is_wrong(details: ErrorDetails, path: tuple[str, ...], stack: Stack, model: type[Model]) -> str:
    kind = details["type"]
    if kind == "extra_forbidden":
        known = _fields_at(_schema_of(model), details["loc"][:-1])
        return f"unknown key{suggestion(path[-1], known, stack.siblings(path))}"
    if kind == "missing":
        return "this key is missing"
    given = details["input"]
    if isinstance(given, str) and given.endswith(_PLACEHOLDER):
        return "this key is to be filled in"
    shown = f" (given: {shortened(given)})" if isinstance(given, str | int | float) else ""
    if kind.startswith("byte_size"):
        return f"this is no size; write bytes as a number, or with a unit such as 64 KiB or 16 MiB{shown}"
    if details.get("ctx", {}).get("pattern") == IDENTIFIER_PATTERN:
        return (
            f"an id starts with a lower-case letter and goes on with at most 63 of a-z, 0-9, _ and -{shown}"
        )
    return details["msg"].removeprefix("Value error, ") + shown


def _path(loc: tuple[int | str, ...], values: object) -> tuple[str, ...]:
    """The keys of a pydantic location, as far as they are written, and its last step.

    Pydantic puts the tag of a discriminated union into the location; such steps are in no file.
    """
    node = values
    path: list[str] = []
    tag_of: object = None
    for index, step in enumerate(loc):
        if isinstance(node, Mapping) and node.get("kind") == step and tag_of is not node:
            tag_of = node
        elif (isinstance(node, Mapping) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        ):
            node = node[step]  # type: ignore[index] # an int for a list, any key for a mapping
            path.append(str(step))
        elif index == len(loc) - 1 and step != "[key]":
            path.append(str(step))
    return tuple(path)


def _below(values: object, path: tuple[str, ...]) -> object:
    for step in path:
        values = values.get(step) if isinstance(values, Mapping) else None
    return values


@lru_cache(maxsize=8)
def _schema_of(model: type[Model]) -> dict[str, Any]:
    """Made once for all mistakes: it takes 20 ms."""
    return model.model_json_schema()


def _fields_at(schema: dict[str, Any], loc: tuple[int | str, ...]) -> list[str]:
    """The keys that the model at a location knows."""
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
