"""Path against path: two configurations in every statistic, and all of a run in one matrix."""

from typing import TYPE_CHECKING, Final

from tasks.kernel.samples import BESIDES
from tasks.reports import wording
from tasks.reports.document import Document, Section, Table
from tasks.stats.paths import tested
from tasks.stats.summary_types import NO_DIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasks.reports.paths_view import PathsView
    from tasks.reports.view import Report
    from tasks.stats.paths import Figure, PathComparison, PathRatio
    from tasks.stats.summary_types import Ratio

_INCOMPLETE: Final = (
    "INCOMPLETE: this run ended before it could write its record. Where it was measured, and whether in the "
    "local lab, is not known."
)
_NO_RECORD: Final = (
    "INCOMPLETE: this run has no record that can be read. Where it was measured, and whether in the local "
    "lab, is not known."
)
_LAB: Final = "LOCAL LAB: these numbers describe this machine, not Amazon S3."
_BOUNDS: Final = "≥ x: the operations do not tell the quantile, which lies above x; (x): nor any bound of it."
_MEDIAN_NIGHT: Final = (
    "A configuration's own figure is that of its median night, as far as the operations of that night tell "
    "it; n counts all nights that were paired. A ratio is of the nights' own quantiles, and its interval "
    "from their spread: it may tell a winner where one night alone does not tell the quantile."
)
_ROBUST: Final = (
    "robust: the Hodges-Lehmann estimate, which a few wild pairs do not move; shown where it is farther from "
    "the ratio than half the interval is wide."
)
_MOST_COLUMNS: Final = 6
"""Configurations side by side, above which they stand below one another."""
_BEST: Final = "best"
_SIGNS: Final = {NO_DIFFERENCE: "≈", "undecided": "?"}


def paths_document(view: "PathsView") -> Document:
    """Two configurations against each other, as text."""
    one, other = view.config_ids
    return Document(
        title=f"{one} against {other}",
        alerts=_alerts(view),
        facts=(*view.facts, ("Ratio", f"{one} by {other}: below 1, {one} is faster")),
        sections=(*_sections(view), *_signs(view)),
        method=(),
    )


def _alerts(view: "PathsView") -> tuple[str, ...]:
    return (
        *([wording.SYNTHETIC] if view.is_synthetic else []),
        *wording.imported(view.measured_by),
        *([_NO_RECORD if view.unread else _INCOMPLETE] if view.is_incomplete else []),
        *([_LAB] if view.is_lab else []),
        *wording.not_read(view.unread),
    )


def _sections(view: "PathsView") -> list[Section]:
    left_out = tuple(
        (one.pairing.workload_id, night.config_id, f"{night.nights:,}", night.why)
        for one in view.comparisons
        for night in one.pairing.left_out
    )
    refused = tuple(
        (one.pairing.workload_id, wording.printable(one.refusal)) for one in view.comparisons if one.refusal
    )
    closing = (
        Table("Not compared", ("Workload", "reason"), refused, frozenset({1})),
        Table(
            "Nights that were left out",
            ("Workload", "configuration", "nights", "reason"),
            left_out,
            frozenset({1, 3}),
        ),
    )
    tables = tuple(table for table in closing if table.rows)
    return [
        *(
            Section(
                f"Workload {one.pairing.workload_id}",
                tables=(_table(one),),
                workload_id=one.pairing.workload_id,
            )
            for one in view.comparisons
            if not one.refusal
        ),
        *([Section("Left out", tables=tables)] if tables else []),
    ]


def _table(one: "PathComparison") -> Table:
    pairing = one.pairing
    unit = f"{pairing.unit}s"
    return Table(
        f"Time of one {pairing.operation.replace('_', ' ')}, ms; {pairing.pairs:,} {unit} that both have",
        (
            "Statistic",
            pairing.config_id,
            "n",
            pairing.other_id,
            "n",
            "ratio (95 % interval)",
            "verdict",
            unit,
        ),
        tuple(_row(row) for row in one.rows),
        frozenset({5, 6}),
    )


def _row(row: "PathRatio") -> tuple[str, ...]:
    figures = [cell for figure in row.figures for cell in (_figure(figure), f"{figure.n:,}")]
    if row.ratio is None:
        return (row.statistic, *figures, wording.NONE, f"no ratio: {row.reason}", wording.NONE)
    ratio = row.ratio
    return (row.statistic, *figures, wording.ratio_interval(ratio), wording.winner(ratio), f"{ratio.pairs:,}")


def _figure(figure: "Figure") -> str:
    if figure.quantile is None:
        return wording.milliseconds(figure.value_ns)
    return wording.quantile(figure.quantile)


def _signs(view: "PathsView") -> list[Section]:
    """How figures are read; nothing where there is none."""
    ratios = [row.ratio for one in view.comparisons for row in one.rows if row.ratio]
    sentences = (
        f"ratio: the geometric mean over paired {view.unit}s, with a 95 % t interval.",
        *wording.corrected_for(tested(view.comparisons)),
        *([_MEDIAN_NIGHT] if view.unit == "night" else []),
        _BOUNDS,
        *([_ROBUST] if any(ratio.robust_apart is not None for ratio in ratios) else []),
    )
    has_figures = any(one.rows for one in view.comparisons)
    return [Section("How to read these tables", sentences=sentences)] if has_figures else []


def who_wins(report: "Report") -> Table:
    """Every configuration beside the best of each workload, by p50; no row where nothing was compared.

    A cell is `best`, or the ratio to the best with a word or a sign: `1.34, slower`, `1.02, ≈` where no
    difference was seen, `1.05, ?` with too few blocks; else why there is no ratio. Workloads are the rows,
    unless there are many configurations.
    """
    ratios = report.comparison.of_whole_operations()
    matrix = {
        workload_id: _standings(report, workload_id, ratios)
        for workload_id in report.workload_ids
        if any(key[0] == workload_id for key in ratios)
    }
    config_ids = tuple(dict.fromkeys(config_id for row in matrix.values() for config_id in row))
    title = "Who wins where: p50 by that of the workload's best; ≈ no difference to it was seen"
    if len(config_ids) <= max(_MOST_COLUMNS, len(matrix)):
        header, rows = (
            ("Workload", *config_ids),
            [
                (workload_id, *(row.get(config_id, wording.NONE) for config_id in config_ids))
                for workload_id, row in matrix.items()
            ],
        )
    else:
        header, rows = (
            ("Configuration", *matrix),
            [
                (config_id, *(row.get(config_id, wording.NONE) for row in matrix.values()))
                for config_id in config_ids
            ],
        )
    return Table(title, header, wording.printable_rows(rows), frozenset(range(1, len(header))))


def _standings(
    report: "Report", workload_id: str, ratios: "Mapping[tuple[str, str, str], Ratio]"
) -> dict[str, str]:
    """What is said of each configuration of a workload, in the order of the suite."""
    said = {
        one.config_id: "not compared"
        for one in report.series
        if one.workload_id == workload_id and one.operation not in BESIDES
    }
    compared = {key[1] for key in ratios if key[0] == workload_id}
    best_id = _best([config_id for config_id in said if config_id in compared], workload_id, ratios)
    for config_id in said:
        if config_id == best_id:
            said[config_id] = _BEST
        elif ratio := ratios.get((workload_id, config_id, best_id)):
            said[config_id] = (
                f"{wording.three_digits(ratio.value)}, {_SIGNS.get(ratio.verdict, ratio.verdict)}"
            )
    said |= {one.config_id: one.outcome for one in report.cell_failures if one.workload_id == workload_id}
    return said


def _best(
    config_ids: "Sequence[str]", workload_id: str, ratios: "Mapping[tuple[str, str, str], Ratio]"
) -> str:
    """The one with the smallest p50: nobody that it was compared with is below it."""
    best_id = config_ids[0]
    for config_id in config_ids[1:]:
        ratio = ratios.get((workload_id, config_id, best_id))
        if ratio is not None and ratio.value < 1:
            best_id = config_id
    return best_id
