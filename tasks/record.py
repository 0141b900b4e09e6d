"""Task: store what a run found: its exact quantiles, its costs, then its own row, which completes it.

It is given all that differs between two moments, so that a second attempt makes the same bytes: the first
one may have arrived although its answer was lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.redaction import errors_without_secrets
from configs.run_record import Environment, Night, RunRecord, Timing
from tasks.results.costs import write_costs
from tasks.results.reader import StoredRun
from tasks.results.store import Store
from tasks.results.writer import write_nightly, write_run
from tasks.stats.cell_cost import CellCost
from tasks.stats.series import SERIES_COLUMNS
from tasks.stats.summaries import summarise
from tasks.venues.accounting import cell_records, dataset_records, harness_cost
from tasks.venues.session import CellMeasurement, SessionPlan
from tasks.workloads.cell_costs import cell_costs
from tasks.workloads.plan import plan_suite


@dataclass(frozen=True, slots=True)
class Circumstances:
    """When and where a run was, and where its time went."""

    started_at: datetime
    ended_at: datetime
    timing: Timing
    environment: Environment


@task(task_run_name="record", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def record(
    plan: SessionPlan,
    store: Store,
    measurements: tuple[CellMeasurement, ...],
    circumstances: Circumstances,
    night: Night | None = None,
) -> RunRecord:
    """Summarise the samples as they were stored, not as they were held, and complete the run.

    Args:
        plan: what was to be measured.
        store: where the samples lie.
        measurements: how each cell ended.
        circumstances: of the run, until it was recorded.
        night: the night that the run measures; none for a run by hand.
    """
    names = tuple(item.stored_as for item in measurements)
    stored = StoredRun(store, plan.run.run_id, plan.run.dt, None, names)
    summaries = [summary for cell in stored.cells(SERIES_COLUMNS) for summary in summarise(cell)]
    write_nightly(store, plan.run, summaries)
    write_costs(store, plan.run, tuple(_costs(plan, measurements)))
    whole = RunRecord(
        run_id=plan.run.run_id,
        dt=plan.run.dt,
        suite=plan.suite.name,
        suite_sha256=plan.suite_sha256,
        lab=bool(plan.suite.lab),
        seed=plan.seed,
        blocks=plan.suite.blocks,
        baseline=plan.suite.baseline_config_id,
        started_at=circumstances.started_at,
        ended_at=circumstances.ended_at,
        cells=cell_records(measurements, plan.delays),
        datasets=dataset_records(plan),
        environment=circumstances.environment,
        harness=harness_cost(measurements),
        timing=circumstances.timing,
        schedule=night.schedule if night else None,
        scheduled_at=night.scheduled_at if night else None,
    )
    write_run(store, whole)
    return whole


def _costs(plan: SessionPlan, measurements: tuple[CellMeasurement, ...]) -> Iterator[CellCost]:
    """What the cells that were measured cost; of one that failed nobody knows how much of it was done."""
    statuses = {(item.cell.config_id, item.cell.workload_id): item.status for item in measurements}
    for cost in cell_costs(plan.suite, plan_suite(plan.suite, plan.manifests)):
        match statuses.get((cost.config_id, cost.workload_id)):
            case "measured":
                yield cost
            case "failed":
                unknown = (*cost.unknown, "how much of it was done, since the cell failed")
                yield replace(cost, usd=None, unknown=unknown)
