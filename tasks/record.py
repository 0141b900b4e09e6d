"""Task: store what a run found: the night's exact quantiles, then the run's own row, which completes it."""

from datetime import UTC, datetime

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.run_record import Night, RunRecord
from tasks.results.reader import StoredRun
from tasks.results.store import Store
from tasks.results.writer import write_nightly, write_run
from tasks.stats.series import SERIES_COLUMNS
from tasks.stats.summaries import summarise
from tasks.venues.accounting import cell_records, dataset_records, environment, harness_cost
from tasks.venues.launch import Launch
from tasks.venues.session import CellMeasurement, SessionPlan


@task(task_run_name="record", cache_policy=NO_CACHE, persist_result=False)
def record(
    plan: SessionPlan,
    store: Store,
    measurements: tuple[CellMeasurement, ...],
    started_at: datetime,
    launch: Launch,
    night: Night | None = None,
) -> RunRecord:
    """Summarise the samples as they were stored, not as they were held, and complete the run.

    Args:
        plan: what was to be measured.
        store: where the samples lie.
        measurements: how each cell ended.
        started_at: when the run began.
        launch: how it was started.
        night: the night that the run measures; none for a run by hand.
    """
    names = tuple(item.stored_as for item in measurements)
    stored = StoredRun(store, plan.run.run_id, plan.run.dt, None, names)
    summaries = [summary for cell in stored.cells(SERIES_COLUMNS) for summary in summarise(cell)]
    write_nightly(store, plan.run, summaries)
    whole = RunRecord(
        run_id=plan.run.run_id,
        dt=plan.run.dt,
        suite=plan.suite.name,
        suite_sha256=plan.suite_sha256,
        lab=bool(plan.suite.lab),
        seed=plan.seed,
        blocks=plan.suite.blocks,
        baseline=plan.suite.baseline_config_id,
        started_at=started_at,
        ended_at=datetime.now(UTC),
        cells=cell_records(measurements, plan.delays),
        datasets=dataset_records(plan),
        environment=environment(measurements),
        harness=harness_cost(measurements),
        timing=launch.stopwatch.timing(),
        schedule=night.schedule if night else None,
        scheduled_at=night.scheduled_at if night else None,
    )
    write_run(store, whole)
    return whole
