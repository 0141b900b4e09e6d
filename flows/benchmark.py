"""Flow: one run of a suite, from its file to stored samples and a report."""

import contextlib
import dataclasses
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from prefect import flow

from configs.loading import suite_of
from configs.parameters import BenchmarkParameters
from configs.run_record import RunIdentity, dt_of
from configs.suite import Suite
from flows.prepare_datasets import prepare_datasets
from tasks.measure import measure
from tasks.prepare import find_obstacles, prepare_tree
from tasks.publish import publish
from tasks.record import record
from tasks.results.store import Store, open_store
from tasks.venues.accounting import suite_sha256
from tasks.venues.host_lock import WAIT_FOR_HOST_S, host_lock
from tasks.venues.launch import Launch, current_launch, launched
from tasks.venues.places import place_of
from tasks.venues.session import SessionPlan
from tasks.workloads.plan import refuse_above_cap


@flow(name="benchmark", flow_run_name="{parameters.suite}", retries=0)
def benchmark(parameters: BenchmarkParameters) -> str:
    """Prepare the data, measure every cell, store and report; returns the run's id."""
    launch = current_launch()
    suite = suite_of(parameters)
    refuse_above_cap(suite)
    store = open_store(parameters.results)
    store.check_writable()
    with contextlib.ExitStack() as held:
        if not launch.holds_host:
            with launch.stopwatch.of("wait"):
                holder = f"a flow run of suite {suite.name} (process {os.getpid()})"
                held.enter_context(host_lock(holder, WAIT_FOR_HOST_S, launch.reporter.note))
        held.enter_context(launched(launch))
        run_id = measure_suite(parameters, suite, store, launch)
    publish(store, run_id)
    return run_id


def measure_suite(parameters: BenchmarkParameters, suite: Suite, store: Store, launch: Launch) -> str:
    """All that has the host for itself: preparing, measuring, recording."""
    started_at = datetime.now(UTC)
    run_id = f"{started_at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    with place_of(suite, Path(parameters.lab_folder)) as place:
        manifests = prepare_datasets(parameters)
        refuse_above_cap(suite, manifests)
        plan = SessionPlan(
            run=RunIdentity(run_id=run_id, dt=dt_of(started_at)),
            suite=place.suite,
            suite_sha256=suite_sha256(suite),
            seed=seed_of(parameters, suite),
            manifests=manifests,
            obstacles={},
            scratch=place.scratch,
            trees={
                name: prepare_tree(place, name, config, launch)
                for name, config in suite.local_trees().items()
            },
            delays=place.delays,
        )
        plan = dataclasses.replace(plan, obstacles=find_obstacles(plan, place, launch))
        measurements = measure(plan, place, store, launch)
        record(plan, store, measurements, started_at, launch)
    return run_id


def seed_of(parameters: BenchmarkParameters, suite: Suite) -> int:
    """The given seed, or the suite's, or a fresh one."""
    given = parameters.seed if parameters.seed is not None else suite.seed
    return given if given is not None else secrets.randbits(31)
