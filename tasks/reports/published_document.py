"""A run beside the published results: their value, ours by the same statistic, what else is not the same."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from tasks.reports import wording
from tasks.reports.counterparts import Pair, pairs
from tasks.reports.document import Document, Section, Table
from tasks.reports.published_claims import claimed_ratios, claims_table
from tasks.stats.published import numbers, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from configs.run_record import RunRecord
    from tasks.reports.view import Report
    from tasks.stats.summary_types import Ratio

_LAB: Final = (
    "LOCAL LAB: these numbers are not comparable with the published ones, which are of Amazon S3: a server "
    "on this machine answered, without a network in between. No ratio is given."
)
_NOTHING: Final = (
    "NOTHING of this run has a published counterpart: those are in the suites e1-cloudtrail-s3-files to "
    "e5-express-boto3."
)


def published_document(report: "Report") -> Document:
    """The whole comparison.

    Raises:
        UserError: the run is incomplete, so that nobody knows what its cells were asked, or where.
    """
    record = report.record
    if record is None and report.unread:
        raise UserError(
            f"{report.unread[0]}: without its record, run {report.run_id} cannot be set beside published "
            "results"
        )
    if record is None:
        raise UserError(
            f"run {report.run_id} ended before it could write its record, so that it cannot be set beside "
            "published results: name a complete run with --run"
        )
    found = pairs(report, record)
    ratios = {} if record.lab else claimed_ratios(report, found)
    return Document(
        title=f"Run {wording.printable(report.run_id)} beside the published results",
        alerts=(
            *wording.imported(record.measured_by),
            *([_LAB] if record.lab else []),
            *wording.not_read(report.unread),
            *([] if found else [_NOTHING]),
        ),
        facts=(("Suite", record.suite), ("Night", record.dt)),
        sections=(
            *_source_sections(found, ratios, record),
            _counted(found, wording.corrected_for(sum(one.p_value is not None for one in ratios.values()))),
        ),
        method=(),
    )


def published_sections(report: "Report") -> tuple[Section, ...]:
    """For the page of a run: each experiment of which it has a counterpart; none for most runs."""
    record = report.record
    found = pairs(report, record) if record else []
    if record is None or not found:
        return ()
    ratios = {} if record.lab else claimed_ratios(report, found)
    corrected = wording.corrected_for(sum(one.p_value is not None for one in ratios.values()))
    return tuple(
        replace(
            section,
            heading=f"Beside the published results: {section.heading}",
            sentences=(*section.sentences, *corrected),
            alerts=(_LAB,) if record.lab else (),
            tables=tuple(replace(table, detail=True) for table in section.tables),
            anchor=f"published-{place + 1}",
        )
        for place, section in enumerate(_source_sections(found, ratios, record))
    )


def _source_sections(
    found: "Sequence[Pair]", ratios: "Mapping[tuple[str, str, str], Ratio]", record: "RunRecord"
) -> list[Section]:
    """One for each experiment that has any of the pairs."""
    return [
        _source_section(source, mine, ratios, record)
        for source in reference().sources
        if (mine := [one for one in found if one.figure.source == source])
    ]


def _source_section(
    source: str, found: "Sequence[Pair]", ratios: "Mapping[tuple[str, str, str], Ratio]", record: "RunRecord"
) -> Section:
    about = reference().sources[source]
    return Section(
        heading=f"{about.experiment} {source}, published {about.published}",
        sentences=(f"Theirs: {about.venue}, {about.region}.", *about.remarks),
        tables=tuple(
            table
            for table in (
                claims_table(about, found, ratios, lab=record.lab),
                _values_table(found, lab=record.lab),
                _conditions_table(found),
            )
            if table.rows
        ),
    )


def _values_table(found: "Sequence[Pair]", *, lab: bool) -> Table:
    rows = [
        (
            one.cell.cell_id,
            _what(one),
            one.figure.statistic,
            wording.milliseconds(one.figure.value_ns),
            f"{one.figure.n:,}" if one.figure.n else "not stated",
            _ours(one),
            f"{one.summary.distribution.n:,}" if one.summary.distribution else "0",
            _ratio(one, lab=lab),
            _differing(one),
        )
        for one in found
    ]
    header = ("Cell", "of", "statistic", "theirs, ms", "n", "ours, ms", "n", "ours by theirs", "not the same")
    return Table("Published values and ours", header, tuple(rows), frozenset({1, 2, 7, 8}))


def _what(one: Pair) -> str:
    """The published series and, where it is not the whole, the stage."""
    stage = "" if one.figure.stage == "total_ns" else f", {wording.STAGE_NAMES[one.figure.stage]}"
    return f"{one.figure.config}, {one.figure.workload} {one.figure.op}, {one.figure.size}{stage}"


def _ours(one: Pair) -> str:
    if one.summary.distribution is None:
        return wording.NONE
    match one.figure.statistic:
        case "p50" | "p90" | "p99":
            return wording.quantile(getattr(one.summary.distribution, one.figure.statistic))
        case _:
            return wording.milliseconds(one.ours_ns or 0)


def _ratio(one: Pair, *, lab: bool) -> str:
    """Ours by theirs, or a dash and why there is none."""
    reason = _why_no_ratio(one, lab=lab)
    if reason or one.ours_ns is None:
        return f"{wording.NONE} {reason}"
    return wording.three_digits(one.ours_ns / one.figure.value_ns)


def _why_no_ratio(one: Pair, *, lab: bool) -> str:
    if lab:
        return "local lab"
    if one.figure.statistic == "loop total":
        return "the loop's count was not stated"
    if one.verdict("data") == "differs":
        return "unlike data"
    return one.why_no_time


def _differing(one: Pair) -> str:
    """The names of the conditions that differ, and of those that are not known to be the same."""
    differing = [condition.name for condition in one.conditions if condition.verdict == "differs"]
    n = one.summary.distribution.n if one.summary.distribution else 0
    if one.figure.n not in {None, n}:
        differing.append("n")
    unknown = [condition.name for condition in one.conditions if condition.verdict == "not known"]
    parts = [", ".join(differing), f"not known: {', '.join(unknown)}" if unknown else ""]
    return "; ".join(part for part in parts if part) or "nothing"


def _conditions_table(found: "Sequence[Pair]") -> Table:
    """Every condition once for each of our configurations, with the workloads in which it holds."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in found:
        for condition in one.conditions:
            key = (one.cell.config_id, condition.name, condition.theirs, condition.ours, condition.verdict)
            workloads = rows.setdefault(key, [])
            if one.cell.workload_id not in workloads:
                workloads.append(one.cell.workload_id)
    several = len({one.cell.workload_id for one in found}) > 1
    shown = [(*key, *([", ".join(workloads)] if several else [])) for key, workloads in rows.items()]
    return Table(
        "Conditions",
        ("Configuration", "condition", "theirs", "ours", "verdict", *(["in workloads"] if several else [])),
        wording.printable_rows(shown),
        frozenset({1, 2, 3, 4, 5}),
    )


def _counted(found: "Sequence[Pair]", corrected: tuple[str, ...]) -> Section:
    """How many of the published numbers have a counterpart; and what the verdicts above are corrected for."""
    published = Counter(number.source for number in numbers())
    figures = {one.figure for one in found}
    met = Counter(dict.fromkeys(published, 0))
    for figure in figures:
        met[figure.source] += figure.numbers
    rows = [
        (source, f"{count:,}", f"{met[source]:,}", f"{count - met[source]:,}")
        for source, count in published.items()
    ]
    total, with_ours = published.total(), met.total()
    rows.append(("all", f"{total:,}", f"{with_ours:,}", f"{total - with_ours:,}"))
    return Section(
        "Published numbers",
        sentences=corrected,
        tables=(
            Table(
                "How many of them this run has a counterpart of",
                ("Source", "numbers", "with", "without"),
                tuple(rows),
            ),
        ),
    )
