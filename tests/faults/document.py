"""The tables of FAULTS.md, as data."""

import re
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).resolve().parents[2] / "FAULTS.md"

_TOLD = re.compile(
    r"(?:ok|`(?P<error>\w+)`)(?: (?P<status>\d{3}))?(?:, (?P<retries>\d+) retr(?:y|ies))?", re.ASCII
)
_NOT_ASKED = "–"


@dataclass(frozen=True)
class Told:
    """What a client reports of one operation; an empty error is success, None is what it does not tell."""

    error: str
    http_status: int | None
    retries: int | None

    @classmethod
    def parse(cls, text: str) -> "Told":
        found = _TOLD.fullmatch(text)
        assert found is not None, f"{text!r} is no outcome, such as `SlowDown` 503, 1 retry"
        status, retries = found["status"], found["retries"]
        return cls(found["error"] or "", int(status) if status else None, int(retries) if retries else None)


def headings() -> list[str]:
    """Those that have a table."""
    return [part.partition("\n")[0] for part in _sections() if "\n|" in part]


def rows(heading: str) -> list[dict[str, str]]:
    """The rows of the table below a heading, by the names of its columns."""
    (section,) = (part for part in _sections() if part.startswith(f"{heading}\n"))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    names, _, *found = ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
    return [dict(zip(names, row, strict=True)) for row in found]


def _sections() -> list[str]:
    return re.split(r"^#+ ", FAULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)


def told_by(heading: str, path: str) -> dict[str, Told]:
    """By fault: what one access path reports, where it is asked."""
    cells = {row["fault"]: row.get(f"`{path}`", _NOT_ASKED) for row in rows(heading)}
    return {fault: Told.parse(cell) for fault, cell in cells.items() if cell != _NOT_ASKED}
