"""The names of the files of a result store, below its location.

The version of the schema is the first folder of each, since no reader can mix types.
"""

import re
from typing import Final

from configs.base import IDENTIFIER_PATTERN
from configs.run_record import DT_PATTERN, RUN_ID_PATTERN, RunIdentity
from tasks.results.schema import VERSION_FOLDER

_DT: Final = rf"dt=(?P<dt>{DT_PATTERN.strip('^$')})"
_RUN: Final = rf"(?P<run_id>{RUN_ID_PATTERN.strip('^$')})"
_IDENTIFIER: Final = IDENTIFIER_PATTERN.strip("^$")

SAMPLES_FOLDER: Final = f"{VERSION_FOLDER}/samples"
RUNS_FOLDER: Final = f"{VERSION_FOLDER}/runs"
NIGHTLY_FOLDER: Final = f"{VERSION_FOLDER}/nightly"
COSTS_FOLDER: Final = f"{VERSION_FOLDER}/costs"
CHANGES_FOLDER: Final = f"{VERSION_FOLDER}/changes"
TOLD_FOLDER: Final = f"{VERSION_FOLDER}/told"
TOLD_NAME: Final = f"{TOLD_FOLDER}/told.parquet"
MONTHLY_FOLDER: Final = f"{VERSION_FOLDER}/samples_monthly"

SAMPLES_NAME: Final = re.compile(
    rf"{SAMPLES_FOLDER}/{_DT}/config=(?P<config_id>{_IDENTIFIER})/{_RUN}"
    rf"\.(?P<workload_id>{_IDENTIFIER})\.parquet"
)
"""The names that `samples_name` makes."""

RUN_NAME: Final = re.compile(rf"{RUNS_FOLDER}/{_DT}/{_RUN}\.parquet")
"""The names that `run_name` makes."""


def samples_name(run: RunIdentity, config_id: str, workload_id: str) -> str:
    """The file of one cell of a run, below the store's location.

    Raises:
        ValueError: if an id is missing or is not an identifier: readers would percent-encode it, or file
            it under a partition that no query names.
    """
    for what, value in (("config_id", config_id), ("workload_id", workload_id)):
        if not isinstance(value, str) or re.fullmatch(IDENTIFIER_PATTERN, value) is None:
            raise ValueError(f"{what} {value!r} cannot name a partition: it must match {IDENTIFIER_PATTERN}")
    return f"{SAMPLES_FOLDER}/dt={run.dt}/config={config_id}/{run.run_id}.{workload_id}.parquet"


def run_name(run: RunIdentity) -> str:
    """The file that holds the row of a run, below the store's location."""
    return f"{RUNS_FOLDER}/dt={run.dt}/{run.run_id}.parquet"


def nightly_name(run: RunIdentity) -> str:
    """The file that holds the summaries of a run, below the store's location."""
    return f"{NIGHTLY_FOLDER}/dt={run.dt}/{run.run_id}.parquet"


def costs_name(run: RunIdentity) -> str:
    """The file that holds what each cell of a run costs, below the store's location."""
    return f"{COSTS_FOLDER}/dt={run.dt}/{run.run_id}.parquet"


def changes_name(schedule: str) -> str:
    """The file that holds the changes of all nights of a schedule, below the store's location."""
    return f"{CHANGES_FOLDER}/{schedule}.parquet"


def monthly_name(month: str) -> str:
    """The file that holds all samples of a finished month, such as `2026-01`, below the store's location."""
    return f"{MONTHLY_FOLDER}/month={month}/samples.parquet"
