"""What the experiments were about: how many times as long one way took as another, theirs and ours."""

from typing import TYPE_CHECKING

from tasks.reports import wording
from tasks.reports.document import Table
from tasks.stats.pairs import corrected
from tasks.stats.published import figures, reference
from tasks.stats.ratios import ratio_by_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasks.reports.counterparts import Pair
    from tasks.reports.view import Report
    from tasks.stats.published import Figure, Source
    from tasks.stats.series import Series
    from tasks.stats.summary_types import Ratio

_Sides = tuple[str, str, str]
"""The cells of a ratio and its stage."""


def claimed_ratios(report: "Report", found: "Sequence[Pair]") -> "dict[_Sides, Ratio]":
    """Ours of p50 paired by block for every published ratio, their verdicts corrected for all of them.

    Args:
        report: of the run.
        found: its counterparts, of all sources that are shown together.
    """
    ratios = {}
    for source in reference().sources.values():
        for above, below in _published(source):
            for mine, other in _ours(found, above, below):
                if ratio := _by_block(report, mine, other):
                    ratios[_sides(mine, other)] = ratio
    return dict(zip(ratios, corrected(list(ratios.values())), strict=True))


def _sides(mine: "Pair", other: "Pair") -> _Sides:
    return mine.cell.cell_id, other.cell.cell_id, mine.figure.stage


def claims_table(
    source: "Source", found: "Sequence[Pair]", ratios: "Mapping[_Sides, Ratio]", *, lab: bool
) -> Table:
    """A row for each published ratio whose two sides both have a counterpart in the same workload.

    Ours is of the same statistic. Beside it stands the ratio of p50 paired by block, which has an interval.

    Args:
        source: who published.
        found: the counterparts of the source's figures.
        ratios: what `claimed_ratios` found.
        lab: whether the run was in the local lab, where nothing of ours is comparable.
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
                    wording.NONE if lab else _said(ratios, mine, other),
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


def _said(ratios: "Mapping[_Sides, Ratio]", mine: "Pair", other: "Pair") -> str:
    ratio = ratios.get(_sides(mine, other))
    return wording.NONE if ratio is None else wording.comparison(ratio) + _unlike_commands(mine, other)


def _by_block(report: "Report", mine: "Pair", other: "Pair") -> "Ratio | None":
    above, below = _series(report, mine), _series(report, other)
    if mine.why_no_time or other.why_no_time or above is None or below is None:
        return None
    return ratio_by_block(above, below, mine.figure.stage)


def _series(report: "Report", pair: "Pair") -> "Series | None":
    key = (pair.cell.config_id, pair.cell.workload_id, pair.summary.operation)
    return next(
        (one for one in report.series if (one.config_id, one.workload_id, one.operation) == key), None
    )
