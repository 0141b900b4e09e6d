"""Whether a run in the AWS-shaped lab found the delays that the lab added: there the answer is known."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from configs.run_record import CellRecord
    from tasks.reports.view import Report
    from tasks.stats.summary_types import Quantile, Summary

_SHARE: Final = 0.05
_LEAST_MS: Final = 1.0
_LARGEST_BYTES: Final = 1024 * 1024
"""Of larger objects the transfer itself takes so long that its own differences hide those of delays."""
_HOW: Final = (
    "Expected: the difference of what the lab adds for the hosts that were asked, as often as one operation "
    "meets it: once for a request; for a first request also for the connection, its TLS, and a session. No "
    "verdict where p50 differs for other reasons too: several operations at a time, an object above 1 MiB, "
    "a 95 % interval of p50 wider than the tolerance."
)


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """By how much p50 of a configuration should differ from its baseline's, and by how much it does."""

    config_id: str
    baseline_id: str
    workload_id: str
    expected_ms: float
    found_ms: float
    unclear: str
    """Why the two cannot be compared; empty where they can."""

    @property
    def verdict(self) -> str:
        """`yes` within the tolerance, `NO` beyond it, or why neither can be said."""
        if self.unclear:
            return f"cannot tell: {self.unclear}"
        return "yes" if abs(self.found_ms - self.expected_ms) <= _tolerance_ms(self.expected_ms) else "NO"


def _tolerance_ms(expected_ms: float) -> float:
    return max(_LEAST_MS, _SHARE * abs(expected_ms))


def known_answers(report: "Report") -> tuple[KnownAnswer, ...]:
    """One for each configuration and workload of which both delays are known; none outside that lab."""
    measured = {
        (one.config_id, one.workload_id): (one, one.distribution.p50)
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
        if cell != base and base in added_ms and measured.keys() >= {cell, base}:
            expected_ms = mine_ms - added_ms[base]
            found_ms = (measured[cell][1].value_ns - measured[base][1].value_ns) / 1e6
            both = (measured[cell], measured[base])
            together = _concurrent(report.parameters(*cell)) or _concurrent(report.parameters(*base))
            unclear = together or _unclear(both, _tolerance_ms(expected_ms))
            answers.append(KnownAnswer(config_id, baseline_id, workload_id, expected_ms, found_ms, unclear))
    return tuple(answers)


def _concurrent(asked: "Mapping[str, str]") -> str:
    """Operations at the same time wait for each other and for the processor, not for the delay alone."""
    concurrency = int(asked.get("workload.concurrency", "1")) * int(asked.get("configuration.clients", "1"))
    return "" if concurrency == 1 else f"{concurrency} operations at a time"


def _unclear(both: "Iterable[tuple[Summary, Quantile]]", tolerance_ms: float) -> str:
    """Why p50 of a cell, or of its baseline's, does not tell a delay to within the tolerance."""
    for one, p50 in both:
        if one.size_bytes is not None and one.size_bytes > _LARGEST_BYTES:
            return "an object above 1 MiB"
        if p50.low_ns is None or p50.high_ns is None:
            return f"p50 of {one.config_id} has no interval: too few samples, or too many that failed"
        width_ms = (p50.high_ns - p50.low_ns) / 1e6
        if width_ms > tolerance_ms:
            return f"p50 of {one.config_id} has an interval {wording.three_digits(width_ms)} ms wide"
    return ""


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
            one.verdict,
        )
        for one in answers
    )
    header = ("Configuration", "against", "workload", "expected", "found", "right")
    title = "Difference of p50, ms; right within 5 % or 1 ms, whichever is larger"
    clear = [one.verdict for one in answers if not one.unclear]
    missed = clear.count("NO")
    brief = f"{len(clear) - missed} of {len(clear)} were found"
    if len(clear) < len(answers):
        brief += f", {len(answers) - len(clear)} cannot be told"
    return Section(
        "Known answers",
        sentences=(f"{brief}.", _HOW),
        alerts=(_alert(missed, len(clear)),) if missed else (),
        tables=(Table(title, header, rows, prose=frozenset({1, 2, 5})),) if rows else (),
        anchor="known-answers",
        brief=brief,
    )


def _alert(missed: int, known: int) -> str:
    return (
        f"WRONG: {missed} of {known} known answers {'was' if missed == 1 else 'were'} not found. Other work "
        "on this machine may be in the way: measure again while it is quiet, and trust no difference before."
    )
