"""The packages that are locked in `requirements/`, for the commands that look at them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from configs.errors import UserError

FOLDER: Final = Path(__file__).resolve().parents[1] / "requirements"
LOCKS: Final = ("runtime", "lambda", "dev")

_PACKAGE: Final = re.compile(
    r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)==(?P<version>[0-9a-z.!+-]+)(?: ; (?P<marker>[^\\]+?))?"
    r"(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
)


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One package of a lock."""

    name: str
    version: str
    marker: str
    """For which Pythons and machines; empty for all."""


def locked_packages(path: Path) -> list[LockedPackage]:
    """All packages of a lock; of one name there may be several versions, each for other Pythons.

    Raises:
        UserError: it holds anything else than versions with hashes.
    """
    return list(_packages(path.read_text(encoding="utf-8"), path.name))


def _packages(text: str, name: str) -> Iterator[LockedPackage]:
    for line in re.sub(r" \\\n +", " ", text).splitlines():
        found = _PACKAGE.fullmatch(line)
        if found is None:
            raise UserError(
                f"{name}: {line[:80]!r} is not a package with its version and sha256 hashes: make lock"
            )
        yield LockedPackage(found["name"], found["version"], found["marker"] or "")
