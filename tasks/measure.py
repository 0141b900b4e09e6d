"""Task: measure all cells of a run. Never retried.

One task for all of them, since nothing of Prefect may happen between blocks: a task run keeps its server
busy for a while after it has ended.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError
from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.errors import UserError
from configs.redaction import errors_without_secrets
from configs.targets import MountTarget
from tasks.access.cleanup import left_over_runs, remove_run, remove_run_from_mount
from tasks.access.s3_client import control_client
from tasks.fan_out import venue_of
from tasks.reports.progress import Reporter
from tasks.results.cells import EndedCell, store_cell
from tasks.results.store import Store
from tasks.venues import scratch
from tasks.venues.by_venue import venues_of
from tasks.venues.journal import Journal, JournalHeader, journalled
from tasks.venues.launch import Launch
from tasks.venues.places import Place
from tasks.venues.session import CellMeasurement, SessionPlan, Venue, measure_cells, run_prefix


@task(task_run_name="measure", cache_policy=NO_CACHE, persist_result=False, retries=0)
@errors_without_secrets()
def measure(plan: SessionPlan, place: Place, store: Store, launch: Launch) -> tuple[CellMeasurement, ...]:
    """Measure every cell, store each as soon as it has ended, and remove what was written to buckets."""
    with venue_of(plan, place, launch) as here:
        return _measure(venues_of(plan.suite, here, place), plan, place, store, launch)


def _measure(
    venue: Venue, plan: SessionPlan, place: Place, store: Store, launch: Launch
) -> tuple[CellMeasurement, ...]:
    report = launch.reporter
    _tend_left_overs(plan, place, report)
    scratch.remove_left_overs(plan.scratch)
    launch.settle()
    header = JournalHeader.of(plan.run, store, plan.suite.blocks, plan.scratch)
    try:
        with journalled(header, report.note) as journal, launch.stopwatch.of("measure"):
            return measure_cells(
                plan,
                venue,
                on_block=lambda done, total, cell_id: report.advance("measuring", done, total, cell_id),
                on_cell=lambda measurement: _store_cell(store, plan, journal, measurement),
                on_outcome=journal.keep,
            )
    finally:
        _tell_of_a_broken_lab(place, report)
        scratch.remove_run(plan.scratch, plan.run.run_id)
        _remove_what_was_written(plan, place, report)


def _tend_left_overs(plan: SessionPlan, place: Place, report: Reporter) -> None:
    """Remove what killed runs left in the lab, which is this host's alone; elsewhere only tell of it."""
    for bucket_id in place.bucket_ids():
        bucket = plan.suite.bucket(bucket_id)
        client = control_client(bucket, place.environment)
        for prefix in left_over_runs(client, bucket.bucket, bucket.prefix):
            if plan.suite.lab:
                remove_run(client, bucket.bucket, prefix, report.note)
            else:
                report.note(
                    f"s3://{bucket.bucket}/{prefix} is of a run that was killed, or that goes on elsewhere"
                )


def _store_cell(store: Store, plan: SessionPlan, journal: Journal, measurement: CellMeasurement) -> None:
    """Store a cell's samples, which the journal need not keep any longer."""
    cell = EndedCell(
        config_id=measurement.cell.config_id,
        workload_id=measurement.cell.workload_id,
        blocks=measurement.blocks,
        status=measurement.status,
        reason=measurement.reason,
        error=measurement.error,
    )
    measurement.stored_as = store_cell(store, plan.run, cell)
    journal.forget(cell.config_id, cell.workload_id)


def _remove_what_was_written(plan: SessionPlan, place: Place, report: Reporter) -> None:
    """First from the mounts, which would write it back later; then from the buckets, once each."""
    for target_id in plan.suite.target_ids():
        target = plan.suite.targets[target_id]
        if isinstance(target, MountTarget):
            prefix = run_prefix(plan, target.shows)
            with _told(report, target_id, prefix):
                remove_run_from_mount(target, prefix)
    for bucket_id in place.bucket_ids():
        bucket, prefix = plan.suite.bucket(bucket_id), run_prefix(plan, bucket_id)
        with _told(report, bucket_id, prefix):
            remove_run(control_client(bucket, place.environment), bucket.bucket, prefix, report.note)


def _tell_of_a_broken_lab(place: Place, report: Reporter) -> None:
    """Clients cannot: one that comes through a proxy takes that for broken."""
    if problem := place.what_is_broken():
        report.note(f"{problem}: errors since then are the lab's, whatever clients say of them")


@contextmanager
def _told(report: Reporter, target_id: str, prefix: str) -> Iterator[None]:
    """What was measured is worth more than a clean bucket: say what is left, and go on."""
    try:
        yield
    except (BotoCoreError, ClientError, OSError, UserError) as error:
        report.note(f"what this run wrote below {prefix} of {target_id} may still be there: {error}")
