"""Whether a run in the AWS-shaped lab found the delays that the lab added: there the answer is known."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from configs.run_record import CellRecord
    from tasks.reports.view import Report

_SHARE: Final = 0.05
_LEAST_MS: Final = 1.0
_HOW: Final = (
    "Expected: the difference of what the lab adds for the hosts that were asked, as often as one operation "
    "meets it: once for a request; for a first request also for the connection, its TLS, and a session."
)


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """By how much p50 of a configuration should differ from its baseline's, and by how much it does."""

    config_id: str
    baseline_id: str
    workload_id: str
    expected_ms: float
    found_ms: float

    @property
    def was_found(self) -> bool:
        """Within 5 % or 1 ms, whichever is larger."""
        return abs(self.found_ms - self.expected_ms) <= max(_LEAST_MS, _SHARE * abs(self.expected_ms))


def known_answers(report: "Report") -> tuple[KnownAnswer, ...]:
    """One for each configuration and workload of which both delays are known; none outside that lab."""
    p50_ms = {
        (one.config_id, one.workload_id): one.distribution.p50.value_ns / 1e6
        for one in report.summaries
        if one.stage == "total_ns" and one.operation not in BESIDES and one.distribution
    }
    added_ms = {
        (cell.config_id, cell.workload_id): cell.added_delay_ms * _times_met(cell)
        for cell in (report.record.cells if report.record else ())
        if cell.status == "measured" and cell.added_delay_ms is not None and _times_met(cell)
    }
    answers = []
    for (config_id, workload_id), mine_ms in added_ms.items():
        cell, baseline_id = (config_id, workload_id), report.comparison.baselines.get(workload_id, "")
        base = (baseline_id, workload_id)
        if cell != base and base in added_ms and p50_ms.keys() >= {cell, base}:
            expected_ms, found_ms = mine_ms - added_ms[base], p50_ms[cell] - p50_ms[base]
            answers.append(KnownAnswer(config_id, baseline_id, workload_id, expected_ms, found_ms))
    return tuple(answers)


def _times_met(cell: "CellRecord") -> int:
    """How often one operation waits for its host's delay; 0 where that is not known.

    Of other clients nobody knows beforehand how many requests and connections one operation takes.
    """
    asked = cell.parameters
    if asked.get("access_path.kind") != "boto3_api":
        return 0
    match asked.get("workload.kind"):
        case "blob_read" | "blob_write":
            return 1
        case "first_request":
            is_directory = asked.get("target.kind") == "directory_bucket"
            return 4 if is_directory and asked.get("target.sessions") == "True" else 3
    return 0


def known_answers_section(report: "Report") -> Section:
    """A verdict for every known answer; no table outside the AWS-shaped lab."""
    answers = known_answers(report)
    rows = tuple(
        (
            one.config_id,
            one.baseline_id,
            one.workload_id,
            wording.three_digits(one.expected_ms),
            wording.three_digits(one.found_ms),
            "yes" if one.was_found else "NO",
        )
        for one in answers
    )
    header = ("Configuration", "against", "workload", "expected", "found", "right")
    title = "Difference of p50, ms; right within 5 % or 1 ms, whichever is larger"
    missed = sum(not one.was_found for one in answers)
    brief = f"{len(answers) - missed} of {len(answers)} were found"
    return Section(
        "Known answers",
        sentences=(f"{brief}.", _HOW),
        alerts=(_alert(missed, len(answers)),) if missed else (),
        tables=(Table(title, header, rows, prose=frozenset({1, 2})),) if rows else (),
        anchor="known-answers",
        brief=brief,
    )


def _alert(missed: int, known: int) -> str:
    return (
        f"WRONG: {missed} of {known} known answers {'was' if missed == 1 else 'were'} not found. Other work "
        "on this machine may be in the way: measure again while it is quiet, and trust no difference before."
    )
