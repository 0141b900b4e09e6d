"""Task: measure all cells of a run. Never retried.

One task for all of them, since nothing of Prefect may happen between blocks: a task run keeps its server
busy for a while after it has ended.
"""

import contextlib
import os
from typing import Literal

from botocore.exceptions import BotoCoreError, ClientError
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.access.cleanup import remove_run
from tasks.access.s3_client import control_client
from tasks.reports.progress import Reporter
from tasks.results.samples import samples_table, skipped_table
from tasks.results.store import Store
from tasks.results.writer import write_cell
from tasks.venues.host_lock import host_lock
from tasks.venues.launch import Launch
from tasks.venues.local import LocalVenue
from tasks.venues.places import Place
from tasks.venues.session import CellMeasurement, SessionPlan, measure_cells, run_prefix
from tasks.venues.stopwatch import Stopwatch

_WAIT_FOR_HOST_S = 3600.0


@task(cache_policy=NO_CACHE, persist_result=False, retries=0)
def measure(
    plan: SessionPlan, place: Place, store: Store, launch: Launch, stopwatch: Stopwatch
) -> tuple[CellMeasurement, ...]:
    """Measure every cell, store each as soon as it has ended, and remove what was written to buckets."""
    progress = launch.reporter
    venue = LocalVenue(place.environment, place.suite.block_timeout_s)
    holder = f"run {plan.run.run_id} (process {os.getpid()})"
    with contextlib.ExitStack() as held:
        with stopwatch.of("wait"):
            held.enter_context(host_lock(holder, _WAIT_FOR_HOST_S, progress.note))
            launch.settle()
        try:
            with stopwatch.of("measure"):
                return measure_cells(
                    plan,
                    venue,
                    on_block=lambda done, total, cell_id: progress.advance("measuring", done, total, cell_id),
                    on_cell=lambda measurement: _store_cell(store, plan, measurement),
                )
        finally:
            _remove_what_was_written(plan, place, progress)


def _remove_what_was_written(plan: SessionPlan, place: Place, progress: Reporter) -> None:
    for bucket_id in sorted({plan.suite.bucket_id(cell.configuration.target) for cell in plan.suite.cells()}):
        target, prefix = plan.suite.bucket(bucket_id), run_prefix(plan, bucket_id)
        try:
            remove_run(control_client(target, place.environment), target.bucket, prefix)
        except (BotoCoreError, ClientError) as error:
            # What was measured is worth more than a clean bucket: say what is left, and go on.
            progress.note(f"what this run wrote below s3://{target.bucket}/{prefix} is still there: {error}")


def _store_cell(store: Store, plan: SessionPlan, measurement: CellMeasurement) -> None:
    config_id, workload_id = measurement.cell.config_id, measurement.cell.workload_id
    if measurement.blocks:
        table = samples_table(plan.run, config_id, workload_id, measurement.blocks)
    else:
        skipped = measurement.status == "skipped"
        outcome: Literal["skipped", "error"] = "skipped" if skipped else "error"
        error = None if skipped else "CellFailed"
        table = skipped_table(
            plan.run, config_id, workload_id, measurement.reason, outcome=outcome, error=error
        )
    write_cell(store, plan.run, config_id, workload_id, table)
