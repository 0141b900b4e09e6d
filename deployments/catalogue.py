"""What is deployed: the names, schedules, limits and default parameters of all deployments of a host.

`deployments/prefect.yaml` says the same for a shared server with work pools; a test holds the two together.
One deployment alone measures on a host: limits of two deployments do not exclude each other (measured with
Prefect 3.9), so that the nightly run and those by hand are runs of the same one.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from configs.base import Model
from configs.choices import refuse_missing_suites
from configs.errors import UserError
from configs.loading import suite_of
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

WORK_POOLS: Final = {"s3bench-host": "-on-host", "s3bench-ecs": "-on-ecs"}
"""Of a shared server: what the names of their deployments have after the name of the flow."""

_OF_THE_COMMAND: Final = (
    " (here S3BENCH_NIGHTLY_TARGETS=FILE is --targets, S3BENCH_NIGHTLY_IN_LAB=true is --in-lab, and nothing "
    "is --set)"
)
_FIELDS_OF_CRON: Final = 5
_RUN_S: Final = 2 * 3600
"""For a night's run; one of these hours is for the night on which clocks are set."""
_FROM: Final = datetime(2024, 1, 1, tzinfo=UTC)
_FOR: Final = timedelta(days=4 * 365 + 1)
_OCCURRENCES: Final = 3000
"""At most: of a schedule that comes more often than nightly no pause is long."""


def _cron(text: str) -> str:
    """Refuse what is no schedule of five fields, or one that never comes."""
    if len(text.split()) != _FIELDS_OF_CRON:  # a sixth would be seconds, which libraries place differently
        raise _no_cron("this is no schedule of five fields")
    try:
        next(CronSim(text, datetime.now(UTC)))
    except CronSimError as error:
        raise _no_cron(str(error)) from error
    except StopIteration:
        raise _no_cron("such a day never comes") from None
    return text


def _no_cron(why: str) -> PydanticCustomError:
    message = "{why}: give minute, hour, day, month and weekday, such as 30 2 * * *"
    return PydanticCustomError("cron", message, {"why": why})


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise PydanticCustomError(
            "timezone", "no such time zone: give an IANA name, such as UTC or Europe/Berlin"
        ) from error
    return name


def _nights_apart_s(settings: dict[str, Any]) -> int:
    """The longest that `nightly_cron` pauses, with the lateness that a night may have, and its run."""
    cron = settings.get("nightly_cron", "30 2 * * *")  # none where it is refused
    late_minutes: int = BenchmarkParameters.model_fields["skip_when_late_minutes"].default
    return _longest_pause_s(cron) + 60 * late_minutes + _RUN_S


def _longest_pause_s(cron: str) -> int:
    """Over all years from one leap year to the next, so that it is the same whenever it is asked for."""
    previous, longest = None, timedelta()
    for due, _ in zip(CronSim(cron, _FROM), range(_OCCURRENCES), strict=False):
        if previous is not None:
            longest = max(longest, due - previous)
            if due >= _FROM + _FOR:
                break
        previous = due
    return int(longest.total_seconds())


Cron = Annotated[str, AfterValidator(_cron)]


class Operation(BaseSettings):
    """What an operator sets for a host, as environment variables `S3BENCH_…`."""

    model_config = SettingsConfigDict(env_prefix="S3BENCH_", env_ignore_empty=True, frozen=True)

    data: Path = Path(".serve")
    """The folder of the server: its database, its log, its clients' settings."""
    port: Annotated[int, Field(ge=1, le=65535)] = 4200
    """Of the server, on 127.0.0.1."""
    results: Annotated[str, Field(min_length=1)] = "results"
    lab: Path = Path(".lab")
    timezone: Annotated[str, AfterValidator(_timezone)] = "UTC"
    """Of all schedules. In most zones one night of the year has no 02:30, and another has two."""
    nightly_suite: str = "nightly"
    nightly_in_lab: bool = True
    """False: on the targets of `nightly_targets`, or of the suite itself."""
    nightly_targets: str | None = None
    nightly_cron: Cron = "30 2 * * *"
    compare_cron: Cron = "0 7 * * *"
    housekeeping_cron: Cron = "0 9 * * 0"
    alert_block: str | None = None
    """A notification block of the server that alarms go to, such as `slack-webhook/ops`."""
    alert_webhook: str | None = None
    """An address that alarms are sent to by POST, where there is no such block."""
    pool: str = "s3bench-host"
    """The work pool of a shared server that `deployments.worker` works for."""
    home: Path = Path()
    """Where the project lies on the hosts of that pool: what `deployments/prefect.yaml` makes of it."""
    nights_apart_s: Annotated[int, Field(ge=1)] = Field(default_factory=_nights_apart_s)
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


def nightly_parameters(operation: Operation) -> BenchmarkParameters:
    """What a night measures."""
    return BenchmarkParameters(
        suite=operation.nightly_suite,
        in_lab=operation.nightly_in_lab,
        targets_file=operation.nightly_targets,
        results=operation.results,
        lab_folder=str(operation.lab),
    )


def refuse_unknown_suite(operation: Operation) -> None:
    """Find a mistake in the nightly suite while somebody is there to see it.

    Raises:
        UserError: there is no such suite, it has no such targets, or the folder of suites is missing.
    """
    refuse_missing_suites()
    if operation.nightly_in_lab and operation.nightly_targets:
        message = (
            f"S3BENCH_NIGHTLY_TARGETS={operation.nightly_targets}: so is S3BENCH_NIGHTLY_IN_LAB set (true by "
            "default): the lab would be measured under the names of those targets: set "
            "S3BENCH_NIGHTLY_IN_LAB=false, or unset S3BENCH_NIGHTLY_TARGETS"
        )
        raise UserError(message)
    try:
        suite_of(nightly_parameters(operation))
    except UserError as error:
        names = "S3BENCH_NIGHTLY_SUITE (with S3BENCH_NIGHTLY_IN_LAB and S3BENCH_NIGHTLY_TARGETS)"
        here = _OF_THE_COMMAND if "--targets" in str(error) else ""
        raise UserError(f"{names}: {error}{here}") from error


def deployments(operation: Operation) -> tuple[Deployed, ...]:
    """All deployments of a host."""
    zone = operation.timezone
    nightly = nightly_parameters(operation)
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
