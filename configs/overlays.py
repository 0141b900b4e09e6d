"""Documents laid over each other: a suite, its lab overlay, a file of targets, single settings.

Mappings are merged key by key; anything else is replaced, by `null` as well. A `null` for a whole target,
venue, dataset, configuration or workload takes it out of the suite, since there null has no other meaning.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from configs.documents import Document, Steps, shortened, unseen_in
from configs.errors import UserError

NAMED_PARTS: Final = ("targets", "venues", "datasets", "configurations", "workloads")
"""The sections of a suite whose keys are names that the suite itself gives."""

Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Stack:
    """Documents in the order in which they were laid, and what they give together."""

    documents: tuple[Document, ...]
    values: Values

    @classmethod
    def of(cls, document: Document) -> "Stack":
        """One document alone."""
        return cls((document,), document.values)

    def over(self, document: Document) -> "Stack":
        """The same with one more on top."""
        values = merged(self.values, document.values)
        return Stack((*self.documents, document), without_removed(values, self.values))

    def holder(self, path: Steps) -> tuple[Document, int]:
        """Which document holds the value at a path, and in which line (0: none).

        For what is in no document it is the first of those that come nearest: the place to write it.
        """
        found = [(document, *document.found(path)) for document in self.documents]
        deepest = max(steps for _, steps, _ in found)
        holders = [(document, line) for document, steps, line in found if steps == deepest]
        return holders[-1] if deepest == len(path) else holders[0]

    def siblings(self, path: Steps) -> list[str]:
        """The keys that are written beside a path's last, in the same document."""
        node: object = self.holder(path)[0].values
        for step in path[:-1]:
            node = node.get(step) if isinstance(node, Mapping) else None
        return [str(key) for key in node] if isinstance(node, Mapping) else []


def merged(below: Values, above: Values) -> dict[str, object]:
    """Lay one mapping over another.

    Merging is idempotent, and associative for documents that agree on which of their values are mappings;
    a value that replaces a mapping, and is replaced by one again, makes the order of merging matter.
    """
    return _merged(below, above, {})


def _merged(
    below: Values, above: Values, made: dict[tuple[int, int], dict[str, object]]
) -> dict[str, object]:
    """`made` holds what was merged already: written out, a few lines of aliases could fill the memory."""
    pair = (id(below), id(above))
    if pair not in made:
        result = dict(below)
        for key, value in above.items():
            under = below.get(key)
            both = isinstance(under, Mapping) and isinstance(value, Mapping)
            result[key] = _merged(under, value, made) if both else value  # type: ignore[arg-type] # both are
        made[pair] = result
    return made[pair]


def without_removed(values: Values, before: Values) -> Values:
    """Leave out named parts of `before` that have come to be null."""

    def kept(part: str, named: object) -> object:
        had = before.get(part)
        if part not in NAMED_PARTS or not isinstance(named, Mapping) or not isinstance(had, Mapping):
            return named
        return {name: value for name, value in named.items() if value is not None or had.get(name) is None}

    return {part: kept(part, named) for part, named in values.items()}


def setting_document(setting: str, below: Stack) -> Document:
    """A document of one `path.to.key=value`, whose value is read as a YAML scalar.

    Raises:
        UserError: It is not of that form, or what the path leads through is not in the suite.
    """
    if told := unseen_in(setting, "\n\t"):
        raise UserError(f"--set: {told}")
    written, equals, text = setting.partition("=")
    path = written.strip().split(".")
    where = f"--set {written.strip()}"
    if not equals or not all(path) or not written.isprintable():
        shown = setting if setting.isprintable() else shortened(setting)
        raise UserError(f"--set {shown}: write it as --set path.to.key=value")
    node: object = below.values
    for number, step in enumerate(path[:-1]):
        through = ".".join(path[: number + 1])
        if not isinstance(node, Mapping) or step not in node:
            known = [str(key) for key in node] if isinstance(node, Mapping) else []
            raise UserError(f"{where}: the suite has no {through}{suggestion(step, known)}")
        node = node[step]
        if not isinstance(node, Mapping):
            raise UserError(f"{where}: {through} is no mapping: no key lies below it")
    content: object = _scalar(text.strip(), where)
    for step in reversed(path):
        content = CommentedMap({step: content})
    if not isinstance(content, CommentedMap):
        raise TypeError(setting)  # a path has a step at least
    return Document(where, content, Path())


def _scalar(text: str, where: str) -> object:
    try:
        value: object = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{where}: {shortened(text)} is no YAML value; put quotes around a text") from error
    if isinstance(value, dict | list | set):
        raise UserError(
            f"{where}: {shortened(text)} is more than one value; give a number, true, false, null or text"
        )
    if told := unseen_in(value, "\n\t"):
        raise UserError(f"{where}: {told}")
    return value if isinstance(value, str | int | float | None) else text  # a date is a text here


def suggestion(key: str, known: Iterable[str], taken: Iterable[str] = ()) -> str:
    """What else a wrong key may have meant, to be put behind a message."""
    held = set(taken) - {key}
    free = [name for name in known if name not in held]
    near = nearest(key, free)
    if near:
        return f"; did you mean {near!r}?"
    return f"; known here: {', '.join(known)}" if known else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The one of the known words that a wrong one looks like; empty where it looks like none."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), "")
