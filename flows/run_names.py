"""Names of flow runs that say suite, date and seed, and the seed itself: the name has to know it first."""

import hashlib
from datetime import UTC, datetime
from typing import Final

from prefect.runtime import flow_run

from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import BenchmarkParameters, SuiteParameters
from configs.run_record import dt_of
from configs.suite import Suite
from flows.lateness import this_night

_FRESH_SEEDS: Final = 2**31


def name_of_benchmark() -> str:
    """As `lab 2026-11-30 seed 1234567`; without the seed where the suite cannot be read."""
    parameters = flow_run.get_parameters()["parameters"]
    night = this_night()
    dt = night.dt if night else dt_of(datetime.now(UTC))
    try:
        suite = suite_of(parameters)
    except UserError:  # the flow says it
        return f"{parameters.suite} {dt}"
    return f"{suite.name} {dt} seed {seed_of(parameters, suite)}"


def name_of_preparing() -> str:
    """As `lab 2026-11-30`."""
    parameters: SuiteParameters = flow_run.get_parameters()["parameters"]
    return f"{parameters.suite} {dt_of(datetime.now(UTC))}"


def seed_of(parameters: BenchmarkParameters, suite: Suite) -> int:
    """The given seed, or the suite's, or one of this flow run alone, which is drawn from its id."""
    given = parameters.seed if parameters.seed is not None else suite.seed
    if given is not None:
        return given
    digest = hashlib.sha256((flow_run.get_id() or "").encode()).digest()
    return int.from_bytes(digest[:8], "big") % _FRESH_SEEDS
