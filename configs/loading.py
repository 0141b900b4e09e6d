"""Reading a suite: its file, and what is laid over it. Every mistake is named with its file, line and key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from configs.choices import known_suites, suite_folders
from configs.crt_workloads import with_counterparts
from configs.documents import Document, parse_document, read_document
from configs.errors import UserError
from configs.mistakes import explain, is_to_be_given, lab_overlay
from configs.overlays import Stack, setting_document, suggestion
from configs.parameters import SuiteParameters
from configs.suite import Suite

_KEYS: Final = tuple(Suite.model_fields)
_PLACES: Final = ("targets", "venues")
"""What a targets file tells: where things are for whoever runs a suite."""


def load_suite(
    name_or_path: str,
    *,
    in_lab: bool = False,
    targets_file: str | None = None,
    settings: Sequence[str] = (),
) -> Suite:
    """Read a shipped suite by its name, or any suite by its path, with what is laid over it.

    Args:
        name_or_path: which suite.
        in_lab: whether its lab overlay is laid over it: `lab/<file name>` beside the suite.
        targets_file: a YAML file with the keys `targets` and `venues`, laid over that.
        settings: `path.to.key=value` each, laid over that one after another.

    Raises:
        UserError: There is no such file, it is no YAML, or what they give together is no suite.
    """
    path = suite_path(name_or_path)
    stack = Stack.of(read_document(path, "suite", _KEYS))
    if in_lab and (_is_file(lab_overlay(path)) or not stack.values.get("lab")):
        stack = stack.over(_lab_document(path))
    if targets_file:
        stack = stack.over(_targets_document(Path(targets_file), stack))
    for setting in settings:
        stack = stack.over(setting_document(setting, stack))
    return _suite(stack)


def suite_of(parameters: SuiteParameters) -> Suite:
    """The suite as a run's parameters want it.

    Raises:
        UserError: if there is no such suite, or no such configuration in it.
    """
    suite = load_suite(
        parameters.suite,
        in_lab=parameters.in_lab,
        targets_file=parameters.targets_file,
        settings=parameters.settings,
    )
    if parameters.only:
        suite = suite.only(tuple(parameters.only))
    return suite.with_logs_from(parameters.logs_from) if parameters.logs_from else suite


def mistakes_in(name_or_path: str) -> tuple[str, ...]:
    """What keeps a suite from being run, whatever targets are laid over it: a line for each mistake."""
    try:
        load_suite(name_or_path)
    except UserError as error:
        return tuple(line for line in str(error).splitlines() if not is_to_be_given(line))
    return ()


def raw_suite(name_or_path: str) -> dict[str, object]:
    """What the file of a suite says, unchecked: one whose buckets are yet to be named is no suite.

    Raises:
        UserError: There is no such file, or it is no YAML.
    """
    return read_document(suite_path(name_or_path), "suite", _KEYS).values


def suite_path(name_or_path: str) -> Path:
    """Where a suite lies.

    Raises:
        UserError: if there is no such suite, with those that are known by name.
    """
    for folder in suite_folders():
        known = folder / f"{name_or_path}.yaml"
        if "/" not in name_or_path and _is_file(known):
            return known
    path = Path(name_or_path)
    if not _is_file(path):
        names = ", ".join(known_suites())
        message = f"{name_or_path}: no such suite; give the path of a YAML file, or a name: {names}"
        raise UserError(message)
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or none at all
        return False


def parse_suite(text: str, where: str) -> Suite:
    """Make a suite of YAML text; `where` names its file in messages.

    Raises:
        UserError: with one line for every mistake.
    """
    return _suite(Stack.of(parse_document(text, where, "suite", _KEYS, Path(where).parent)))


def _suite(stack: Stack) -> Suite:
    values = with_counterparts(stack)
    try:
        return Suite.model_validate(values)
    except ValidationError as error:
        raise UserError(explain(error, stack)) from error


def _lab_document(suite: Path) -> Document:
    overlay = lab_overlay(suite)
    if not _is_file(overlay):
        raise UserError(f"{suite}: this suite has no lab overlay, which would be {overlay}")
    return read_document(overlay, "lab overlay", _KEYS)


def _targets_document(path: Path, below: Stack) -> Document:
    document = read_document(path, "targets file", _PLACES)
    for part in document.values:
        if part not in _PLACES:
            line = document.found((part,))[1]
            raise UserError(f"{path}:{line}: {part}: a targets file has the keys targets and venues alone")
    for part in _PLACES:
        known, given = below.values.get(part), document.values.get(part)
        if not isinstance(known, Mapping) or not isinstance(given, Mapping):
            continue  # not a mapping: named with its line when the suite is made
        for name in given:
            if name not in known:
                line = document.found((part, name))[1]
                told = f"the suite has no such {part.removesuffix('s')}{suggestion(name, known)}"
                raise UserError(f"{path}:{line}: {part}.{name}: {told}")
    return document
