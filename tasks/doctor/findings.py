"""What was found out before a run: a line for each check, in groups by what they are about."""

from dataclasses import dataclass
from typing import Final, Literal

from configs.redaction import redacted

Verdict = Literal["right", "warning", "wrong", "unknown"]

SIGNS: Final = {"right": "✓", "warning": "!", "wrong": "✗", "unknown": "?"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One check, with what was found."""

    verdict: Verdict
    """`wrong`: a run would measure something else, or not run. `unknown`: it could not be asked."""
    check: str
    found: str
    fix: str = ""
    """What to do; empty where there is nothing, or what was found says it."""


@dataclass(frozen=True, slots=True)
class Group:
    """The checks of one thing: this host, a target, a venue, the results store."""

    name: str
    findings: tuple[Finding, ...]


def lines_of(groups: tuple[Group, ...]) -> list[str]:
    """As people read them: the name of each group, then a line for each check."""
    lines: list[str] = []
    for group in groups:
        lines.append(group.name)
        for finding in group.findings:
            fix = f" → {finding.fix}" if finding.fix else ""
            lines.append(redacted(f"  {SIGNS[finding.verdict]} {finding.check}: {finding.found}{fix}"))
    return lines


def count(groups: tuple[Group, ...], verdict: Verdict) -> int:
    """How many checks ended so."""
    return sum(finding.verdict == verdict for group in groups for finding in group.findings)
