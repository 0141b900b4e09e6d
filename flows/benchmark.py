"""Flow: one run of a suite, from its file to stored samples and a report.

It is given no more than names, since Prefect stores what a flow is given: credentials must not be in it.
"""

import contextlib
import dataclasses
import secrets
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import BenchmarkParameters
from configs.run_record import Night, RunIdentity, RunRecord, dt_of
from configs.suite import Suite
from flows.endings import ended, ending_of
from flows.lateness import skipped_stale, this_night
from flows.parent_watch import watch_parent
from flows.prepare_datasets import prepare_all
from flows.quiet import keep_prefect_still
from flows.run_events import tell_of_completed_night, tell_of_failed_cell, told_patiently
from flows.run_names import name_of_benchmark, seed_of
from flows.run_reporter import reported
from tasks.measure import measure
from tasks.patience import patient
from tasks.prepare import find_obstacles, prepare_tree
from tasks.publish import publish, show_artifact
from tasks.record import Circumstances, record
from tasks.reports.plan_table import cost_lines
from tasks.results.store import Store, open_store
from tasks.venues.accounting import environment
from tasks.venues.guard import guarded
from tasks.venues.launch import Launch, holding_host
from tasks.venues.places import place_of
from tasks.venues.session import SessionPlan
from tasks.workloads.plan import plan_suite, refuse_above_cap

keep_prefect_still()


@flow(name="benchmark", flow_run_name=name_of_benchmark, retries=0)
def benchmark(parameters: BenchmarkParameters) -> State[str]:
    """Prepare the data of a suite, measure every cell of it on this host, store and report.

    Args:
        parameters: What is measured, and where the results go. A list opens by its arrow.
    """
    watch_parent()
    return ended(lambda: skipped_stale(parameters.skip_when_late_minutes) or _run(parameters))


def _run(parameters: BenchmarkParameters) -> State[str]:
    """The whole run; its result is its id."""
    suite, night = suite_of(parameters), this_night()
    refuse_above_cap(suite, parameters.max_usd)
    store = open_store(parameters.results)
    store.check_writable()
    with contextlib.ExitStack() as held:
        launch = held.enter_context(reported("measuring"))
        if not launch.holds_host:
            for line in cost_lines(suite, plan_suite(suite)):
                launch.reporter.note(line)
        what = f"a flow run of suite {suite.name}"
        held.enter_context(holding_host(launch, what, parameters.wait_for_host_s))
        lab = Path(parameters.lab_folder) if suite.lab else None
        held.enter_context(guarded(lab, launch.reporter.note, holds_host=True))
        run = _measured(parameters, suite, store, launch, night)
        _tell_of(run, night, launch)  # first: no report that fails may keep an alarm from somebody
        _show(run, store, launch)
    return ending_of(run)


def _show(run: RunRecord, store: Store, launch: Launch) -> None:
    """Page and artifacts; the run is stored, so that whatever keeps them away has lost nothing of it."""
    try:
        for shown in patient(publish, launch)(store, run.run_id, launch):
            patient(show_artifact, launch)(shown)
    except (UserError, OSError) as error:
        command = f"s3bench report --results {store.location} --run {run.run_id}"
        message = (
            f"run {run.run_id} is measured and stored, but its page is missing: {error}: "
            f"`{command}` shows the run"
        )
        raise UserError(message) from error


def _tell_of(run: RunRecord, night: Night | None, launch: Launch) -> None:
    """What alarms wait for, patiently: nothing is measured any more."""
    to_tell = [partial(tell_of_failed_cell, run.run_id, cell) for cell in run.failed_cells]
    if night is not None:
        to_tell.append(partial(tell_of_completed_night, night, run.run_id, len(run.failed_cells)))
    if untold := told_patiently(to_tell, launch.retry_after_s):
        launch.reporter.note(f"the Prefect server did not take {untold} of {len(to_tell)} events of this run")


def _measured(
    parameters: BenchmarkParameters, suite: Suite, store: Store, launch: Launch, night: Night | None
) -> RunRecord:
    """Preparing, measuring, recording."""
    started_at = datetime.now(UTC)
    run_id = f"{started_at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    with place_of(suite, Path(parameters.lab_folder)) as place:
        manifests = prepare_all(place, launch)
        refuse_above_cap(suite, parameters.max_usd, manifests)
        plan = SessionPlan(
            run=RunIdentity(run_id=run_id, dt=night.dt if night else dt_of(started_at)),
            suite=place.suite,
            suite_sha256=suite.sha256,
            seed=seed_of(parameters, suite),
            manifests=manifests,
            obstacles={},
            scratch=place.scratch,
            trees={
                name: prepare_tree(place, name, config, launch)
                for name, config in suite.local_trees().items()
            },
            delays=place.delays,
            dask_scheduler=parameters.dask_scheduler,
        )
        obstacles = patient(find_obstacles, launch)(plan, place, launch)
        plan = dataclasses.replace(plan, obstacles=obstacles)
        measurements = measure(plan, place, store, launch)
        circumstances = Circumstances(
            started_at, datetime.now(UTC), launch.stopwatch.timing(), environment(measurements)
        )
        return patient(record, launch)(plan, store, measurements, circumstances, night)
