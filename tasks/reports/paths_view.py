"""Two configurations set against each other, ready to be shown; here those of one run, paired by block."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from configs.errors import UserError
from tasks.kernel.samples import BESIDES
from tasks.reports.view import asked_of_cells
from tasks.stats.likeness import Likeness, called
from tasks.stats.paths import Pairing, PathComparison, compare_by_block, corrected_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.reports.view import Report
    from tasks.stats.summary_types import Unit

_MOST_SHOWN: Final = 20
"""Names that a message lists at the most."""


@dataclass(frozen=True, slots=True)
class PathsView:
    """What was compared, and of what."""

    config_ids: tuple[str, str]
    """Whose figures are divided, and by whose."""
    unit: "Unit"
    facts: tuple[tuple[str, str], ...]
    """Which run, or which nights."""
    comparisons: tuple[PathComparison, ...]
    """One for each workload; verdicts are corrected for all of them."""
    is_lab: bool
    is_synthetic: bool
    is_incomplete: bool
    measured_by: str = ""
    """Who did, where the run was imported."""
    unread: tuple[str, ...] = ()
    """Files that could not be read, in words: what they hold is missing here."""


def paths_of_run(report: "Report", config_ids: tuple[str, str], workload_ids: "Sequence[str]") -> PathsView:
    """Two configurations within one run.

    Args:
        report: of the run.
        config_ids: whose figures are divided, and by whose.
        workload_ids: of which workloads; of all that both do where none is named.

    Raises:
        UserError: if the run has no such configuration or workload, or the two do none in common.
    """
    record = report.record
    cells = _cells(report)
    wanted = wanted_workloads(cells, config_ids, workload_ids, f"run {report.run_id}")
    return PathsView(
        config_ids=config_ids,
        unit="block",
        facts=_facts(report),
        comparisons=corrected_together(
            [_within_run(report, workload_id, config_ids, cells) for workload_id in wanted]
        ),
        is_lab=record is not None and record.lab,
        is_synthetic=record is not None and record.synthetic,
        is_incomplete=record is None,
        measured_by="" if record is None else record.measured_by,
        unread=report.unread,
    )


def wanted_workloads(
    cells: "Sequence[tuple[str, str]]", config_ids: tuple[str, str], named: "Sequence[str]", where: str
) -> tuple[str, ...]:
    """The workloads that are named, or else those that both configurations do, in the order of the cells.

    Args:
        cells: workload and configuration of all that there are.
        config_ids: the two configurations.
        named: by the user.
        where: that is, for a message.

    Raises:
        UserError: if there is no such configuration or workload, or the two do none in common.
    """
    one, other = config_ids
    if one == other:
        raise UserError(f"{one} and {other} are the same: name two configurations")
    done = {config_id: _done_by(cells, config_id) for config_id in dict.fromkeys(cell[1] for cell in cells)}
    for config_id in config_ids:
        if config_id not in done:
            raise UserError(f"{where} has no configuration {config_id}: it has {_listed(sorted(done))}")
    known = tuple(dict.fromkeys(cell[0] for cell in cells))
    for workload_id in named:
        if workload_id not in known:
            raise UserError(f"{where} has no workload {workload_id}: it has {_listed(known)}")
    common = tuple(workload_id for workload_id in done[one] if workload_id in done[other])
    if not named and not common:
        raise UserError(
            f"in {where} {one} and {other} have no workload in common: {one} does {_listed(done[one])}; "
            f"{other} does {_listed(done[other])}"
        )
    return tuple(dict.fromkeys(named)) or common


def _done_by(cells: "Sequence[tuple[str, str]]", config_id: str) -> tuple[str, ...]:
    """The workloads of a configuration."""
    return tuple(dict.fromkeys(workload_id for workload_id, one in cells if one == config_id))


def _listed(names: "Sequence[str]") -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return (", ".join(names[:_MOST_SHOWN]) or "none") + more


def _cells(report: "Report") -> list[tuple[str, str]]:
    """Workload and configuration of everything that is known of a run, skipped and failed cells too."""
    cells = [(one.workload_id, one.config_id) for one in (report.record.cells if report.record else ())]
    cells += [(one.workload_id, one.config_id) for one in report.series]
    cells += [(one.workload_id, one.config_id) for one in report.cell_failures]
    return list(dict.fromkeys(cells))


def _within_run(
    report: "Report", workload_id: str, config_ids: tuple[str, str], cells: "Sequence[tuple[str, str]]"
) -> PathComparison:
    pairing = Pairing(*config_ids, workload_id, "", "block", 0)
    for config_id in config_ids:
        if reason := _why_unmeasured(report, workload_id, config_id, cells):
            return PathComparison(pairing, (), reason)
    one, other = (
        next(
            one
            for one in report.series
            if (one.workload_id, one.config_id) == (workload_id, config_id) and one.operation not in BESIDES
        )
        for config_id in config_ids
    )
    likeness = Likeness((), asked_of_cells(report.record), (called(config_ids[0]), called(config_ids[1])))
    return compare_by_block(one, other, likeness)


def _why_unmeasured(
    report: "Report", workload_id: str, config_id: str, cells: "Sequence[tuple[str, str]]"
) -> str:
    """Why there is nothing to compare of a cell; empty where there is."""
    if (workload_id, config_id) not in cells:
        return f"{config_id} does not do this workload"
    for one in report.cell_failures:
        if (one.workload_id, one.config_id) == (workload_id, config_id):
            ended = "was skipped" if one.outcome == "skipped" else "failed"
            return f"{config_id}'s cell {ended}: {one.reason}"
    has_samples = any(
        (one.workload_id, one.config_id) == (workload_id, config_id) and one.operation not in BESIDES
        for one in report.series
    )
    return "" if has_samples else f"{config_id} has no samples of this workload"


def _facts(report: "Report") -> tuple[tuple[str, str], ...]:
    record = report.record
    if record is None:
        return (("Run", report.run_id), ("Unit", "block"))
    return (
        ("Run", report.run_id),
        ("Suite", record.suite),
        ("Night", record.dt),
        ("Unit", f"block: {record.blocks} of each cell"),
    )
