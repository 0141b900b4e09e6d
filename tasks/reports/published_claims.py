"""What the experiments were about: how many times as long one way took as another, theirs and ours."""

from typing import TYPE_CHECKING

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.stats.published import figures, reference
from tasks.stats.ratios import ratio_by_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.reports.counterparts import Pair
    from tasks.reports.view import Report
    from tasks.stats.published import Figure, Source
    from tasks.stats.series import Series


def claims_table(report: "Report", source: "Source", found: "Sequence[Pair]", *, lab: bool) -> Table:
    """A row for each published ratio whose two sides both have a counterpart in the same workload.

    Ours is of the same statistic. Beside it stands the ratio of p50 paired by block, which has an interval.
    """
    rows = []
    for above, below in _published(source):
        for mine, other in _ours(found, above, below):
            rows.append(
                (
                    f"{above.config} by {below.config}",
                    f"{above.workload} {above.op}, {above.size}, {wording.STAGE_NAMES[above.stage]}",
                    above.statistic,
                    wording.three_digits(above.value_ns / below.value_ns),
                    wording.NONE if lab else _same_statistic(mine, other),
                    wording.NONE if lab else _by_block(report, mine, other),
                    f"{mine.cell.config_id} by {other.cell.config_id}, {mine.cell.workload_id}",
                )
            )
    return Table(
        "Published ratios and ours",
        ("Ratio", "of", "statistic", "theirs", "ours", "ours: p50 paired by block", "our cells"),
        tuple(rows),
        frozenset({1, 2, 4, 5, 6}),
    )


def _published(source: "Source") -> "Iterator[tuple[Figure, Figure]]":
    """Pairs of figures: the configuration that others were compared with, and one of them."""
    wanted = [
        one
        for one in figures()
        if reference().sources[one.source] is source
        and one.stage in source.claims.stages
        and one.statistic in source.claims.statistics
    ]
    for above in wanted:
        if above.config == source.reference:
            for below in wanted:
                if below.config != source.reference and below.series == above.series:
                    yield above, below


def _ours(found: "Sequence[Pair]", above: "Figure", below: "Figure") -> "list[tuple[Pair, Pair]]":
    """Ours of one workload; those of unlike commands only beside cells that have no other to stand beside."""
    both = [
        (mine, other)
        for mine in found
        for other in found
        if (mine.figure, other.figure) == (above, below) and mine.cell.workload_id == other.cell.workload_id
    ]
    with_like = {other.cell.cell_id for mine, other in both if mine.command == other.command}
    return [
        (mine, other)
        for mine, other in both
        if mine.command == other.command or other.cell.cell_id not in with_like
    ]


def _same_statistic(mine: "Pair", other: "Pair") -> str:
    reason = mine.why_no_time or other.why_no_time
    if reason or mine.ours_ns is None or not other.ours_ns:
        return f"{wording.NONE} {reason}"
    unlike_data = "" if mine.verdict("data") == "same" else ", of unlike data"
    return f"{wording.three_digits(mine.ours_ns / other.ours_ns)}{unlike_data}{_unlike_commands(mine, other)}"


def _unlike_commands(mine: "Pair", other: "Pair") -> str:
    if mine.command == other.command:
        return ""
    return f", of unlike commands ({mine.command}, {other.command})"


def _by_block(report: "Report", mine: "Pair", other: "Pair") -> str:
    above, below = _series(report, mine), _series(report, other)
    if mine.why_no_time or other.why_no_time or above is None or below is None:
        return wording.NONE
    ratio = ratio_by_block(above, below, mine.figure.stage)
    if ratio is None:
        return wording.NONE
    return wording.comparison(ratio) + _unlike_commands(mine, other)


def _series(report: "Report", pair: "Pair") -> "Series | None":
    key = (pair.cell.config_id, pair.cell.workload_id, pair.summary.operation)
    return next(
        (one for one in report.series if (one.config_id, one.workload_id, one.operation) == key), None
    )
