"""Which modules of this project a Lambda function needs: its handler, what that imports, and so on.

It reads the code and runs none of it. What only type checkers import is left out; modules that are loaded by
a name in a table (`registry.py`) are seen by that name.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OURS: Final = re.compile(r"(configs|tasks)(\.\w+)*")


def needed_modules(entry: str, root: Path) -> dict[str, Path]:
    """The file of each module by its dotted name, packages above it too.

    Args:
        entry: the dotted name of the module to begin with.
        root: the folder of the project.
    """
    found: dict[str, Path] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        file = _file_of(name, root)
        if file is None or name in found:
            continue
        found[name] = file
        waiting += [name.rpartition(".")[0], *names_in(file)]
    return found


def names_in(file: Path) -> Iterator[str]:
    """The dotted names in a module that may be modules: of imports, and of texts that name ours."""
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        match waiting.pop():
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=otherwise):
                waiting += otherwise
                continue
            case ast.Import(names=names):
                yield from (item.name for item in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{item.name}" for item in names)
            case ast.Constant(value=str(text)) if _OURS.fullmatch(text.partition(":")[0]):
                yield text.partition(":")[0]
            case node:
                waiting += ast.iter_child_nodes(node)


def _file_of(name: str, root: Path) -> Path | None:
    """The file of a module of ours; none of all others, and of what a module defines."""
    if not _OURS.fullmatch(name):
        return None
    place = root.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)
