"""The suites that a form can offer, and their configurations.

Those that ship, and those of the operator's own folder, which `S3BENCH_SUITES` names.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from configs.errors import UserError
from configs.paths import expanded

SHIPPED_SUITES: Final = Path(__file__).parent / "suites"


def suite_folders() -> tuple[Path, ...]:
    """Where suites are looked for by name, the operator's own folder first."""
    own = os.environ.get("S3BENCH_SUITES")
    return (expanded(own), SHIPPED_SUITES) if own else (SHIPPED_SUITES,)


def refuse_missing_suites() -> None:
    """Find a mistake in the name of the operator's own folder, which would else only lack in the form.

    Raises:
        UserError: it is no folder that can be looked into.
    """
    for folder in suite_folders():
        try:
            next(folder.iterdir(), None)
        except OSError as error:
            message = f"S3BENCH_SUITES: {folder}: {error.strerror}: name the folder of your own suites"
            raise UserError(message) from error


def known_suites() -> tuple[str, ...]:
    """Names of all suites that can be run by name."""
    return tuple(sorted({path.stem for path in _suite_files()}))


def known_configurations() -> tuple[str, ...]:
    """Ids of the configurations of all those suites; a suite that cannot be read has none."""
    return tuple(sorted({name for path in _suite_files() for name in _configurations(path)}))


def troubles_of_suites() -> Iterator[str]:
    """A line for each suite of the operator's own folder that is not what its name in a form says."""
    for folder in suite_folders()[:-1]:
        for path in sorted(folder.glob("*.yaml")):
            yield from _troubles(path)


def _troubles(path: Path) -> Iterator[str]:
    if not _is_readable(path):
        yield f"S3BENCH_SUITES: {path} is no file that can be read: it is not offered"
        return
    if (SHIPPED_SUITES / path.name).is_file():
        yield f"S3BENCH_SUITES: {path} stands in for the suite {path.stem} that ships"
    content: object = None
    with contextlib.suppress(Exception):  # as in _configurations; mistakes_in tells of those
        content = YAML(typ="safe").load(path)
    name = content.get("name") if isinstance(content, dict) else None
    if name is not None and name != path.stem:
        yield f"S3BENCH_SUITES: {path} calls itself {name}: it is chosen as {path.stem}, and told as {name}"


def _suite_files() -> Iterator[Path]:
    for folder in suite_folders():
        yield from (path for path in folder.glob("*.yaml") if _is_readable(path))


def _is_readable(path: Path) -> bool:
    """Neither a folder nor a link that leads nowhere."""
    return path.is_file() and os.access(path, os.R_OK)


def _configurations(path: Path) -> list[str]:
    """What is wrong with a suite is said when it is run: a form is drawn all the same."""
    content: object = None
    with contextlib.suppress(Exception):  # YAML's own errors, and those of a value such as 2026-13-45
        content = YAML(typ="safe").load(path)
    found = content.get("configurations") if isinstance(content, dict) else None
    return [str(name) for name in found] if isinstance(found, dict) else []
