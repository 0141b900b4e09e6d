"""Everything that a report of one run shows, computed once and shared by the terminal and the HTML page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasks.stats.agreement import Agreement, CellStatus, agreements
from tasks.stats.failures import (
    FAILURE_COLUMNS,
    CellFailure,
    FailureKind,
    cell_failures,
    failure_kinds,
)
from tasks.stats.ratios import Comparison, compare
from tasks.stats.series import SERIES_COLUMNS, Series, split
from tasks.stats.summaries import summaries_of
from tasks.stats.throughput import Crew

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from configs.run_record import RunRecord
    from tasks.stats.cell_cost import CellCost
    from tasks.stats.summary_types import Summary

REPORT_COLUMNS: Final = tuple(dict.fromkeys((*SERIES_COLUMNS, *FAILURE_COLUMNS)))
"""The columns of the samples table that a report is made from."""


@dataclass(frozen=True, slots=True)
class Report:
    """One run, ready to be shown; cells stand in the order of the suite."""

    run_id: str
    record: "RunRecord | None"
    """None: the run is incomplete, since it was stopped before it could write its record."""
    baseline_id: str | None
    """None where there is no configuration at all."""
    series: tuple[Series, ...]
    summaries: "tuple[Summary, ...]"
    comparison: Comparison
    agreements: tuple[Agreement, ...]
    failures: tuple[FailureKind, ...]
    cell_failures: tuple[CellFailure, ...]
    costs: "tuple[CellCost, ...]" = ()
    """What its cells cost; none of a run from before that was stored, or that is incomplete."""
    unread: tuple[str, ...] = ()
    """Files of the run that could not be read, in words: what they hold is missing here."""

    @property
    def workload_ids(self) -> tuple[str, ...]:
        """The workloads with samples."""
        return tuple(dict.fromkeys(one.workload_id for one in self.series))

    def parameters(self, config_id: str, workload_id: str) -> "Mapping[str, str]":
        """What the suite asked of a cell: see `CellRecord.parameters`; empty where that is not known."""
        cells = self.record.cells if self.record else ()
        found = (one for one in cells if (one.config_id, one.workload_id) == (config_id, workload_id))
        return next((cell.parameters for cell in found), {})


def build_report(
    record: "RunRecord | None",
    run_id: str,
    samples: "pa.Table",
    costs: "tuple[CellCost, ...]" = (),
    unread: tuple[str, ...] = (),
) -> Report:
    """Compute a report from a run's record, None where it has none, and its samples.

    The baseline is the record's. Without a record it is the first configuration with a successful
    operation, in alphabetical order.

    Args:
        record: what the run says of itself.
        run_id: the run's id.
        samples: its samples, the columns `REPORT_COLUMNS` at least; text may be dictionary-encoded.
        costs: what its cells cost.
        unread: its files that could not be read, in words.
    """
    series = _in_suite_order(split(samples, _crews(record), crews_known=record is not None), record)
    unmeasured = _cell_failures(record, samples)
    statuses = _statuses(record, series, unmeasured)
    failed_cells = {cell for cell, status in statuses.items() if status == "failed"}
    baseline_id = record.baseline if record else min((one.config_id for one in series if one.n), default=None)
    return Report(
        run_id=run_id,
        record=record,
        baseline_id=baseline_id,
        series=series,
        summaries=tuple(summary for one in series for summary in summaries_of(one)),
        comparison=compare(series, baseline_id, failed_cells, statuses, asked_of_cells(record))
        if baseline_id
        else Comparison((), (), {}),
        agreements=agreements(samples, statuses),
        failures=tuple(failure_kinds(samples)),
        cell_failures=unmeasured,
        costs=costs,
        unread=unread,
    )


def asked_of_cells(record: "RunRecord | None") -> "dict[tuple[str, str], Mapping[str, str]] | None":
    """What the suite asked of every cell, by workload and configuration; None where no record tells it."""
    if record is None:
        return None
    return {(cell.workload_id, cell.config_id): cell.parameters for cell in record.cells}


def _crews(record: "RunRecord | None") -> dict[tuple[str, str], Crew]:
    """Who measured every cell of the workloads that have cells of several clients, so that all are alike."""
    cells = record.cells if record else ()
    several = {cell.workload_id for cell in cells if "configuration.clients" in cell.parameters}
    return {
        (cell.workload_id, cell.config_id): Crew(
            clients=int(cell.parameters.get("configuration.clients", "1")),
            threads=int(cell.parameters.get("workload.concurrency", "1")),
        )
        for cell in cells
        if cell.workload_id in several
    }


def _in_suite_order(series: list[Series], record: "RunRecord | None") -> tuple[Series, ...]:
    cells = record.cells if record else ()
    places = {(cell.workload_id, cell.config_id): place for place, cell in enumerate(cells)}
    return tuple(sorted(series, key=lambda one: places.get((one.workload_id, one.config_id), len(places))))


def _cell_failures(record: "RunRecord | None", samples: "pa.Table") -> tuple[CellFailure, ...]:
    """From the record, which has every cell; without one from the rows that stand for whole cells."""
    if record is None:
        return tuple(cell_failures(samples))
    return tuple(
        CellFailure(cell.config_id, cell.workload_id, cell.status, cell.reason or "no reason was given")
        for cell in record.cells
        if cell.status != "measured"
    )


def _statuses(
    record: "RunRecord | None", series: tuple[Series, ...], unmeasured: tuple[CellFailure, ...]
) -> dict[tuple[str, str], CellStatus]:
    """How every cell ended, by workload and configuration: without a record, those that left a row."""
    if record:
        return {(cell.workload_id, cell.config_id): cell.status for cell in record.cells}
    with_samples: dict[tuple[str, str], CellStatus] = {
        (one.workload_id, one.config_id): "measured" for one in series
    }
    return with_samples | {(cell.workload_id, cell.config_id): cell.outcome for cell in unmeasured}
