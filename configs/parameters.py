"""The parameters of the flows: what the form in the Prefect UI shows and what the command line fills in.

One model for each flow, whose fields are drawn in the order of their positions. Choices stand in the form's
schema and are looked at again when the suite is loaded: the command line also takes the path of a file.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from configs.base import Identifier, Line, Model, Seed
from configs.choices import known_configurations, known_suites


def _of_operator(name: str, default: str) -> Callable[[], str]:
    """What the operator of this process has set, so that a run by hand need not name it again."""
    return lambda: os.environ.get(name) or default


def _shown_default(default: Callable[[], str], position: int) -> Callable[[dict[str, Any]], None]:
    """Show it in the form too, where pydantic leaves out what is made."""
    return lambda schema: schema.update(position=position, default=default())


_RESULTS: Final = _of_operator("S3BENCH_RESULTS", "results")
_LAB: Final = _of_operator("S3BENCH_LAB", ".lab")
_CRON: Final = _of_operator("S3BENCH_NIGHTLY_CRON", "30 2 * * *")
_TIMEZONE: Final = _of_operator("S3BENCH_TIMEZONE", "UTC")

Results = Annotated[
    Line,
    Field(
        title="Results",
        description="Folder or s3://BUCKET/PREFIX that the Parquet files lie in",
        json_schema_extra=_shown_default(_RESULTS, 20),
    ),
]

LateAfterMinutes = Annotated[
    int,
    Field(
        ge=1,
        le=1440,
        title="Skip when late by, in minutes",
        description="A scheduled run that begins later than this is skipped: after a downtime Prefect starts "
        "every run that was missed",
        json_schema_extra={"position": 90},
    ),
]


def _suite_choices(schema: dict[str, Any]) -> None:
    from configs.loading import mistakes_in  # noqa: PLC0415 - which needs these models

    # A form has no place to say what is wrong with one: the operator is told when the deployments are served.
    schema.update(position=0, enum=[name for name in known_suites() if not mistakes_in(name)])


def _configuration_choices(schema: dict[str, Any]) -> None:
    schema.update(enum=list(known_configurations()))


class SuiteParameters(Model):
    """Which suite, and what is laid over it."""

    suite: Annotated[
        str,
        Field(
            min_length=1,
            title="Suite",
            description="What is measured over which data",
            json_schema_extra=_suite_choices,
        ),
    ] = "lab"
    in_lab: Annotated[
        bool,
        Field(
            title="In the local lab",
            description="Lay the suite's lab overlay over it: its targets in the lab, its work scaled down",
            json_schema_extra={"position": 1},
        ),
    ] = False
    targets_file: Annotated[
        Line | None,
        Field(
            title="Targets file",
            description="YAML file with the one key `targets`, laid over the suite's own targets",
            json_schema_extra={"position": 2},
        ),
    ] = None
    settings: Annotated[
        list[Annotated[str, Field(title="Setting", pattern=r"^[^=]+=")]],
        Field(
            title="Settings",
            description="Single values laid over the suite, such as targets.bucket.bucket=my-bucket",
            json_schema_extra={"position": 3},
        ),
    ] = []
    only: Annotated[
        list[Annotated[str, Field(title="Configuration", json_schema_extra=_configuration_choices)]],
        Field(
            title="Only these configurations",
            description="Configurations of the suite; none chosen runs all of them",
            json_schema_extra={"position": 4},
        ),
    ] = []
    logs_from: Annotated[
        Line | None,
        Field(
            title="CloudTrail logs from",
            description="Folder or s3://BUCKET/PREFIX to copy the logs from; empty uses the suite's own",
            json_schema_extra={"position": 5},
        ),
    ] = None
    lab_folder: Annotated[
        Line,
        Field(
            title="Lab folder",
            description="Where the local lab lives, for suites that use it",
            json_schema_extra=_shown_default(_LAB, 80),
        ),
    ] = Field(default_factory=_LAB)
    when_busy: Annotated[
        Literal["wait", "refuse"],
        Field(
            title="When the host is busy",
            description="What happens while another measurement runs on the same host",
            json_schema_extra={"position": 70},
        ),
    ] = "wait"
    wait_at_most_minutes: Annotated[
        int,
        Field(
            ge=1,
            le=1440,
            title="Wait at most, in minutes",
            description="For the other measurement to end",
            json_schema_extra={"position": 71},
        ),
    ] = 60

    @property
    def wait_for_host_s(self) -> float:
        """How long to wait for another measurement on the host."""
        return 60.0 * self.wait_at_most_minutes if self.when_busy == "wait" else 0.0


class PrepareParameters(SuiteParameters):
    """Which suite's datasets to prepare."""


class BenchmarkParameters(SuiteParameters):
    """What one run measures, and where its results go."""

    results: Results = Field(default_factory=_RESULTS)
    seed: Annotated[
        Seed | None,
        Field(
            title="Seed",
            description="Seed of the order of blocks; empty draws a fresh one, which the run stores",
            json_schema_extra={"position": 10},
        ),
    ] = None
    max_usd: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            title="Spend at most, in USD",
            description="A run whose estimate is above this does not start; Lambda counts by its upper "
            "bound. The suite's max_cost_usd holds too, so that the smaller one decides; unknown prices are "
            "refused unless that one is null",
            json_schema_extra={"position": 11},
        ),
    ] = 5.0
    dask_scheduler: Annotated[
        Annotated[str, Field(pattern=r"^(tcp|tls)://([^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$")] | None,
        Field(
            title="Dask scheduler",
            description="Whose workers run the clients of cells with several, such as tcp://host:8786; empty "
            "runs them on this host",
            json_schema_extra={"position": 60},
        ),
    ] = None
    skip_when_late_minutes: LateAfterMinutes = 180


class CompareParameters(Model):
    """Which results to look back over."""

    results: Results = Field(default_factory=_RESULTS)
    schedule: Annotated[
        Identifier,
        Field(
            title="Name of the schedule",
            description="Whose runs are the nights: the slug of a schedule of the deployment `benchmark`",
            json_schema_extra={"position": 21},
        ),
    ] = "nightly"
    cron: Annotated[
        str,
        Field(
            min_length=9,
            title="Schedule of the nights",
            description="Five fields of cron: when a run should have been",
            json_schema_extra=_shown_default(_CRON, 22),
        ),
    ] = Field(default_factory=_CRON)
    timezone: Annotated[
        str,
        Field(
            min_length=1,
            title="Time zone of that schedule",
            description="An IANA name, such as UTC or Europe/Berlin",
            json_schema_extra=_shown_default(_TIMEZONE, 23),
        ),
    ] = Field(default_factory=_TIMEZONE)
    nights: Annotated[
        int,
        Field(
            ge=2,
            le=3660,
            title="Nights",
            description="How many nights to look back",
            json_schema_extra={"position": 24},
        ),
    ] = 120
    skip_when_late_minutes: LateAfterMinutes = 720


class HousekeepingParameters(SuiteParameters):
    """What to tidy: finished months of results, and datasets that no suite uses any more."""

    results: Results = Field(default_factory=_RESULTS)
    compact_after_days: Annotated[
        int,
        Field(
            ge=1,
            le=366,
            title="Compact a month after, in days",
            description="A month is put into one file this long after its end",
            json_schema_extra={"position": 30},
        ),
    ] = 7
    unused_datasets: Annotated[
        Literal["leave", "list", "remove"],
        Field(
            title="Datasets that are no longer used",
            description="Of the suite's own targets: those of other suites and of older settings; copied "
            "logs are listed, never removed",
            json_schema_extra={"position": 31},
        ),
    ] = "list"
    unused_after_days: Annotated[
        int,
        Field(
            ge=1,
            le=3660,
            title="Unused after, in days",
            description="A dataset that no run has read for this long",
            json_schema_extra={"position": 32},
        ),
    ] = 30
    skip_when_late_minutes: LateAfterMinutes = 720
