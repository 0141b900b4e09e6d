"""What changed of the environment from one night to the next, so that a step of a series can be explained.

A mark never splits a series: boto3 1.44 after boto3 1.43 is what somebody wants to see the effect of. Another
processor does, and is marked besides; see `history.HISTORY`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from configs.run_record import CellRecord, Environment

_OF_MACHINE: Final = {
    "python": "Python",
    "kernel": "kernel",
    "machine": "machine",
    "cpu_model": "processor",
    "cpu_count": "processors",
    "memory_bytes": "memory in bytes",
}
"""What of the environment is marked beside its packages, and how it is called."""
_HOST: Final = ("cpu_model", "cpu_count", "machine")
_OF_PROOF: Final = ("client", "http_client", "awscrt", "efs_utils")
"""What of a proof names a version."""
_VERSION: Final = re.compile(r"(?P<name>[A-Za-z][\w.-]*)[ /](?P<version>\d[\w.+-]*)")
_RUNS_THE_CLIENT: Final = frozenset({"python", "linux"})
"""What a client's name says of its own interpreter and kernel: no news of its own."""
_COMMIT_DIGITS: Final = 8
_NONE: Final = "none"


@dataclass(frozen=True, slots=True)
class EnvironmentMark:
    """Something of the environment is otherwise since a night."""

    since_at: datetime
    """The first night of it."""
    what: str
    """In words: `boto3 1.43.1 → 1.44.8`."""
    cells: frozenset[str] | None
    """The cells that it was seen in; None where it is of all of them."""

    def is_of(self, cell_id: str | None) -> bool:
        """Whether it may explain a change of a cell; None stands for what all configurations share."""
        return self.cells is None or (cell_id is not None and cell_id in self.cells)


@dataclass(frozen=True, slots=True)
class NightEnvironment:
    """In what a night was measured."""

    at: datetime
    suite: str
    suite_sha256: str
    lab: bool
    environment: Environment
    cells: Mapping[tuple[str, str], CellRecord]

    @property
    def host(self) -> Mapping[str, str]:
        """What of the machine makes its numbers another series, by the name of what it is."""
        return {name: str(getattr(self.environment, name)) for name in _HOST}


def environment_marks(nights: Sequence[NightEnvironment]) -> tuple[EnvironmentMark, ...]:
    """What changed from each night to the next one that was measured, by the night since when.

    Args:
        nights: those that count, in their order.
    """
    return tuple(mark for before, after in pairwise(nights) for mark in _marks(before, after))


def _marks(before: NightEnvironment, after: NightEnvironment) -> Iterator[EnvironmentMark]:
    seen = _unlike(before.environment.packages, after.environment.packages)
    yield from (EnvironmentMark(after.at, what, None) for what in seen)
    for name, words in _OF_MACHINE.items():
        was, now = (str(getattr(one.environment, name)) for one in (before, after))
        if was != now:
            yield EnvironmentMark(after.at, f"{words} {was} → {now}", None)
    if before.environment.git_commit != after.environment.git_commit:
        was, now = (_short(one.environment.git_commit) for one in (before, after))
        yield EnvironmentMark(after.at, f"harness {was} → {now}", None)
    if (before.suite, before.suite_sha256) != (after.suite, after.suite_sha256):
        was, now = (f"{one.suite} {one.suite_sha256[:_COMMIT_DIGITS]}" for one in (before, after))
        yield EnvironmentMark(after.at, f"suite {was} → {now}", None)
    yield from _of_clients(before, after, frozenset(seen))


def _of_clients(
    before: NightEnvironment, after: NightEnvironment, seen: frozenset[str]
) -> Iterator[EnvironmentMark]:
    """What the proofs of the cells say that the environment's packages did not say already."""
    cells_of: dict[str, set[str]] = {}
    for key, cell in after.cells.items():
        if key in before.cells:
            for what in _unlike(_versions(before.cells[key]), _versions(cell), both=True):
                cells_of.setdefault(what, set()).add(cell.cell_id)
    for what, cells in cells_of.items():
        if what not in seen:
            yield EnvironmentMark(after.at, what, frozenset(cells))


def _versions(cell: CellRecord) -> dict[str, str]:
    """The versions that a cell's proof names: of `client: boto3 1.44.8, botocore 1.44.8` both."""
    found: dict[str, str] = {}
    for name in _OF_PROOF:
        told = cell.proof.get(name, "")
        if told and told[0].isdigit():
            found[name] = told
        found |= {one["name"]: one["version"] for one in _VERSION.finditer(told)}
    return {name: version for name, version in found.items() if name.lower() not in _RUNS_THE_CLIENT}


def _unlike(before: Mapping[str, str], after: Mapping[str, str], *, both: bool = False) -> list[str]:
    """In words what has another version; with `both` only what both name: a cell that failed proves none."""
    names = sorted(before.keys() & after.keys() if both else before.keys() | after.keys())
    return [
        f"{name} {before.get(name, _NONE)} → {after.get(name, _NONE)}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _short(commit: str) -> str:
    """The first digits of a commit, and whether the checkout had changes."""
    digits, plus, rest = commit.partition("+")
    return f"{digits[:_COMMIT_DIGITS]}{plus}{rest}"
