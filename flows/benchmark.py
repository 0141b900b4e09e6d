"""Flow: one run of a suite, from its file to stored samples and a report."""

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
from tasks.publish import publish
from tasks.record import record
from tasks.results.store import open_store
from tasks.venues.launch import current_launch
from tasks.venues.places import place_of
from tasks.venues.session import SessionPlan
from tasks.venues.stopwatch import Stopwatch
from tasks.workloads.plan import refuse_above_cap


@flow(name="benchmark", flow_run_name="{parameters.suite}", retries=0)
def benchmark(parameters: BenchmarkParameters) -> str:
    """Prepare the data, measure every cell, store and report; returns the run's id."""
    launch = current_launch()
    stopwatch = Stopwatch(launch.started_ns, launch.server_start_ms)
    started_at = datetime.now(UTC)
    identity = RunIdentity(run_id=f"{started_at:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", dt=dt_of(started_at))
    suite = suite_of(parameters)
    refuse_above_cap(suite)
    store = open_store(parameters.results)
    store.check_writable()
    with place_of(suite, Path(parameters.lab_folder)) as place:
        plan = SessionPlan(
            run=identity,
            suite=place.suite,
            seed=seed_of(parameters, suite),
            manifests=prepare_datasets(place, stopwatch),
            skipped=place.unreachable,
        )
        measurements = measure(plan, place, store, launch, stopwatch)
        record(plan, store, measurements, started_at, stopwatch.timing())
    publish(store, identity.run_id)
    return identity.run_id


def seed_of(parameters: BenchmarkParameters, suite: Suite) -> int:
    """The given seed, or the suite's, or a fresh one."""
    given = parameters.seed if parameters.seed is not None else suite.seed
    return given if given is not None else secrets.randbits(31)
