"""YAML documents of a suite, and where in them each value is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from configs.errors import UserError

Steps = Sequence[str]
"""The keys from the top of a document to a value."""


_LARGEST: Final = 256 * 1024
"""Bytes of one document: the largest suite that ships has 6,000; the slowest YAML of so many takes 10 s."""

_SHOWN: Final = 200
"""Characters of what was given, in a message."""

_CLOSED_BY_A_CHARACTER = frozenset({"flow mapping", "flow sequence", "quoted scalar"})
"""What ruamel says that it was reading, of which a forgotten end is noticed later."""


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping, and where it comes from."""

    where: str
    """Its file, or the option that it was given by: what messages begin with."""
    content: CommentedMap
    folder: Path = Path()
    """What paths in it are relative to."""

    @property
    def values(self) -> dict[str, object]:
        """The same values in plain containers, without ruamel's marks.

        What an alias repeats is one object here too: written out, a few lines could fill the memory.
        """
        plain: dict[str, object] = _plain(self.content, {})
        return plain

    def found(self, path: Steps) -> tuple[int, int]:
        """How many steps of a path are in this document, and the line of the last of them, or 0."""
        node: object = self.content
        steps = line = 0
        for step in path:
            below = _step(node, step)
            if below is None:
                break
            node, here = below
            steps, line = steps + 1, here or line
        return steps, line


def read_document(path: Path, what: str, keys: Steps) -> Document:
    """Read a file; `what` and `keys` say in messages what it should be: a suite, with which keys.

    Raises:
        UserError: It cannot be read, or is no mapping in YAML.
    """
    try:
        with path.open("rb") as file:  # which may have no end, such as /dev/zero
            content = file.read(_LARGEST + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise UserError(f"{path}: this is no {what}: it is no text file in UTF-8") from error
        raise UserError(f"{path}: the {what} cannot be read: {error}") from error
    if len(content) > _LARGEST:
        raise UserError(f"{path}: this is no {what}: it is larger than {_LARGEST:,} bytes")
    return parse_document(text, str(path), what, keys, path.parent)


def parse_document(text: str, where: str, what: str, keys: Steps, folder: Path) -> Document:
    """Make a document of YAML text.

    Raises:
        UserError: It is no mapping in YAML.
    """
    try:
        content = YAML(typ="rt").load(StringIO(text))
    except MarkedYAMLError as error:
        raise UserError(f"{where}{_no_yaml(error)}") from error
    except (YAMLError, ValueError) as error:  # a character or a tagged value that YAML does not allow
        message = f"{where}: this is no valid YAML: {' '.join(str(error).split())}"
        raise UserError(message) from error
    except RecursionError as error:
        raise UserError(f"{where}: this is no {what}: it is nested too deeply") from error
    except Exception as error:  # ruamel's own slips, such as on a mapping that is merged into itself
        raise UserError(f"{where}: this is no valid YAML: {type(error).__name__}") from error
    if not isinstance(content, CommentedMap):
        raise UserError(f"{where}: a {what} is a mapping with the keys {', '.join(keys)}")
    for line, told in _unseen_texts(content):
        raise UserError(f"{where}{f':{line}' if line else ''}: {told}")
    return Document(where, content, folder)


def shortened(given: object) -> str:
    """What was given, as it stands in a message: on one line, and not longer than anybody reads."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def unseen_in(text: object, allowed: str = "") -> str:
    """What to say of a text with characters that nobody sees, or that a terminal obeys; empty for any other.

    They would stand in messages, names and reports, where they hide or turn what else is there.
    """
    if not isinstance(text, str):
        return ""
    sign = next((sign for sign in text if not (sign.isprintable() or sign in allowed)), "")
    return (
        f"{shortened(text)} has the character U+{ord(sign):04X}, which nobody sees: write it without"
        if sign
        else ""
    )


def _unseen_texts(content: CommentedMap) -> Iterator[tuple[int, str]]:
    """What `unseen_in` says of keys and texts, each with its line or 0; what aliases repeat once."""
    seen: set[int] = set()
    nodes: list[Any] = [content]
    while nodes:
        node = nodes.pop()
        if id(node) in seen or not isinstance(node, CommentedMap | CommentedSeq):
            continue
        seen.add(id(node))
        pairs = node.items() if isinstance(node, CommentedMap) else enumerate(node)
        for key, value in pairs:
            mark = (node.lc.data or {}).get(key)
            if told := unseen_in(key) or unseen_in(value, "\n\t"):
                yield mark[0] + 1 if mark else 0, told
            nodes.append(value)


def _no_yaml(error: MarkedYAMLError) -> str:
    """The line and what is wrong there.

    What is open to the end of the text, or to what cannot be in it, is wrong where it begins: a bracket that
    was not closed is noticed lines below.
    """
    begin, noticed = error.context_mark, error.problem_mark
    problem = error.problem or error.context
    opened = (error.context or "").removeprefix("while parsing a ").removeprefix("while scanning a ")
    if begin and noticed and begin.line < noticed.line and opened in _CLOSED_BY_A_CHARACTER:
        problem = f"the {opened} that begins here: {problem} in line {noticed.line + 1}"
        noticed = begin
    mark = noticed or begin
    return f"{f':{mark.line + 1}' if mark else ''}: this is no valid YAML: {problem}"


def _plain(node: Any, made: dict[int, Any]) -> Any:
    if id(node) not in made:
        if isinstance(node, CommentedMap):
            made[id(node)] = {str(key): _plain(value, made) for key, value in node.items()}
        elif isinstance(node, CommentedSeq):
            made[id(node)] = [_plain(item, made) for item in node]
        else:
            return node
    return made[id(node)]


def _step(node: object, step: str) -> tuple[object, int] | None:
    """What lies one step below a node, with its line; 0 for the line of what a merge key brought in."""
    if isinstance(node, CommentedMap):
        key = next((key for key in node if str(key) == step), None)
        if key is None:
            return None
        mark = (node.lc.data or {}).get(key)
        return node[key], mark[0] + 1 if mark else 0
    if isinstance(node, CommentedSeq) and step.isdigit() and int(step) < len(node):
        return node[int(step)], node.lc.item(int(step))[0] + 1
    return None
