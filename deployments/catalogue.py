"""What is deployed: the names, schedules, limits and default parameters of all deployments of a host.

`deployments/prefect.yaml` says the same for a shared server with work pools; a test holds the two together.
One deployment alone measures on a host: limits of two deployments do not exclude each other (measured with
Prefect 3.9), so that the nightly run and those by hand are runs of the same one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from configs.base import Model
from configs.parameters import (
    BenchmarkParameters,
    CompareParameters,
    HousekeepingParameters,
    PrepareParameters,
)

FLOW_RUNS_AT_ONCE: Final = 1
"""On a host, of all deployments together: what runs beside a measurement disturbs it."""

TAG: Final = "s3bench"
"""Of every flow run of ours."""


class Operation(BaseSettings):
    """What an operator sets for a host, as environment variables `S3BENCH_…`."""

    model_config = SettingsConfigDict(env_prefix="S3BENCH_", frozen=True)

    data: Path = Path(".serve")
    """The folder of the server: its database, its log, its clients' settings."""
    port: Annotated[int, Field(ge=1, le=65535)] = 4200
    """Of the server, on 127.0.0.1."""
    results: Annotated[str, Field(min_length=1)] = "results"
    lab: Path = Path(".lab")
    timezone: str = "UTC"
    """Of all schedules. In most zones one night of the year has no 02:30, and another has two."""
    nightly_suite: str = "nightly"
    nightly_in_lab: bool = True
    """False: on the targets of `nightly_targets`, or of the suite itself."""
    nightly_targets: str | None = None
    nightly_cron: str = "30 2 * * *"
    compare_cron: str = "0 7 * * *"
    housekeeping_cron: str = "0 9 * * 0"
    alert_block: str | None = None
    """A notification block of the server that alarms go to, such as `slack-webhook/ops`."""
    alert_webhook: str | None = None
    """An address that alarms are sent to by POST, where there is no such block."""
    nights_apart_s: Annotated[int, Field(ge=1)] = 26 * 3600
    """An alarm is raised where no night has been completed for this long."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A schedule of a deployment."""

    slug: str
    cron: str
    timezone: str


@dataclass(frozen=True, slots=True)
class Deployed:
    """One deployment, which has the name of its flow."""

    name: Literal["benchmark", "prepare-datasets", "compare-history", "housekeeping"]
    entrypoint: str
    """The flow, as `file:function`, relative to the project."""
    description: str
    parameters: Model
    """The defaults of its form, and what its schedules run with."""
    schedules: tuple[Planned, ...] = ()

    @property
    def module(self) -> str:
        """The module of the flow."""
        return self.entrypoint.partition(":")[0].removesuffix(".py").replace("/", ".")

    @property
    def function(self) -> str:
        """The name of the flow in its module."""
        return self.entrypoint.partition(":")[2]

    @property
    def default_parameters(self) -> dict[str, dict[str, object]]:
        """As Prefect keeps them."""
        return {"parameters": self.parameters.model_dump(mode="json")}


def deployments(operation: Operation) -> tuple[Deployed, ...]:
    """All deployments of a host."""
    zone = operation.timezone
    nightly = BenchmarkParameters(
        suite=operation.nightly_suite,
        in_lab=operation.nightly_in_lab,
        targets_file=operation.nightly_targets,
        results=operation.results,
        lab_folder=str(operation.lab),
    )
    overlays = nightly.model_dump(include={"suite", "in_lab", "targets_file", "lab_folder"})
    return (
        Deployed(
            "benchmark",
            "flows/benchmark.py:benchmark",
            "Measures every cell of a suite on this host, every night and whenever it is run by hand.",
            nightly,
            (Planned("nightly", operation.nightly_cron, zone),),
        ),
        Deployed(
            "prepare-datasets",
            "flows/prepare_datasets.py:prepare_datasets",
            "Makes the datasets of a suite be there, so that the next run of it begins to measure at once.",
            PrepareParameters(**overlays),
        ),
        Deployed(
            "compare-history",
            "flows/compare_history.py:compare_history",
            "Looks back over the nights: which are missing, and what has become slower or faster.",
            CompareParameters(results=operation.results, cron=operation.nightly_cron, timezone=zone),
            (Planned("every-morning", operation.compare_cron, zone),),
        ),
        Deployed(
            "housekeeping",
            "flows/housekeeping.py:housekeeping",
            "Puts finished months of results into one file each, and lists datasets that nothing uses.",
            HousekeepingParameters(results=operation.results, **overlays),
            (Planned("every-sunday", operation.housekeeping_cron, zone),),
        ),
    )
