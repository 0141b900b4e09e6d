"""A suite: which configurations do which workloads over which data, how often, and what that may cost."""

import hashlib
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from configs.access_paths import AccessPathConfig, why_unsupported
from configs.base import Identifier, LocalPath, Model, Seconds, Seed
from configs.datasets import CloudTrailCopied, CloudTrailGenerated, DatasetConfig, FileTree
from configs.errors import UserError
from configs.fitness import UnfitPartsError, problems_of
from configs.targets import (
    AnyBucket,
    MountTarget,
    TargetConfig,
)
from configs.venues import LOCAL, LambdaVenueConfig, why_not_in_lambda
from configs.workloads import (
    LeftOut,
    ReadingWorkload,
    TreeUpload,
    WorkloadConfig,
)


class Configuration(Model):
    """Venue × access path × target: one way of reaching the data."""

    access_path: AccessPathConfig
    target: Identifier
    venue: Identifier = LOCAL
    """Where its client runs: on this host, or in one of the suite's `venues`."""
    clients: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that measure a block of its cells at the same time, each doing all operations of the block.

    Each has a client of its own, and the workload's `concurrency` of threads. In Lambda it is an invocation.
    """
    workloads: Annotated[tuple[Identifier, ...], Field(min_length=1)] | None = None
    """The workloads that it does; none means all of the suite that its access path can do."""

    def can_do(self, workload: WorkloadConfig) -> bool:
        """Whether its access path is able to do a workload."""
        if self.access_path.requests == "none" and isinstance(workload, ReadingWorkload):
            return False
        if isinstance(workload, LeftOut):
            return True  # its cells are skipped with the reason, on every path
        return workload.needs in self.access_path.abilities


class Cell(Model):
    """One configuration × one workload: one series over time."""

    config_id: Identifier
    workload_id: Identifier
    configuration: Configuration
    workload: WorkloadConfig
    target: TargetConfig
    shown: AnyBucket | None = None
    """The bucket that a mount shows; none where the target is a bucket itself."""
    venue: LambdaVenueConfig | None = None
    """Where its client runs; none on this host."""

    @property
    def bucket(self) -> AnyBucket:
        """The bucket in which its bytes lie, whatever way they are reached."""
        found = self.shown if isinstance(self.target, MountTarget) else self.target
        if found is None:
            raise TypeError(self.cell_id)  # a suite fills it in for every mount
        return found

    @property
    def unsupported(self) -> str:
        """Why its client cannot measure its target, or run there, as far as is known: it is skipped."""
        access_path = self.configuration.access_path
        if self.workload.needs == "both_sides" and not getattr(self.target, "shows_bucket", True):
            return f"{self.workload.kind} needs a mount that shows its bucket, and this one shows none"
        reason = "" if self.venue is None else why_not_in_lambda(access_path, self.workload)
        return reason or why_unsupported(access_path, self.target)

    @property
    def cell_id(self) -> str:
        """The name of the series, the same in every run."""
        return f"{self.config_id}/{self.workload_id}"

    @property
    def asked(self) -> dict[str, str]:
        """What is asked of it: what was given or is a default, but no names of buckets, paths or hosts."""
        parts: dict[str, dict[str, object]] = {
            # One client is not written, so that series of before there could be several go on.
            "configuration": {
                "clients": self.configuration.clients if self.configuration.clients > 1 else None
            },
            "venue": _asked_of(self.venue),
            "access_path": self.configuration.access_path.model_dump(mode="json", exclude={"executable"}),
            "workload": self.workload.model_dump(mode="json"),
            "target": self.target.model_dump(
                mode="json", include={"kind", "sessions", "zone", "shows_bucket"}
            )
            | self.bucket.model_dump(mode="json", include={"region"}),
        }
        return {
            f"{part}.{name}": str(value)
            for part, values in parts.items()
            for name, value in values.items()
            if value is not None
        }


def _asked_of(venue: LambdaVenueConfig | None) -> dict[str, object]:
    """What of a venue makes another series. This host is not written, so that series of before go on."""
    if venue is None:
        return {}
    return venue.model_dump(mode="json", exclude={"function", "region", "endpoint_url"})


class Suite(Model):
    """Everything that one run does."""

    version: Literal[1] = 1
    name: Identifier
    description: str = ""
    lab: bool | Literal["aws-shaped"] = False
    """True: its targets lie in the local lab, which fills in endpoints and mount paths.

    `aws-shaped`: clients reach the lab by Amazon's own host names, directory and accelerated buckets too.
    """
    blocks: Annotated[int, Field(ge=1, le=100)] = 5
    """Short runs of each cell, each in a process of its own, interleaved with those of the other cells."""
    block_timeout_s: Seconds = 900.0
    seed: Seed | None = None
    """Seed of the order of blocks; none takes a fresh one, which the run stores."""
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = 1.0
    """A run whose estimate is above this does not start; none switches the cap off."""
    baseline: Identifier | None = None
    """The configuration that ratios are relative to; none takes the first."""
    scratch: LocalPath | None = None
    """A folder on a local disk for files that are moved; none takes one below the temporary folder."""
    targets: dict[Identifier, TargetConfig]
    venues: dict[Identifier, LambdaVenueConfig] = {}
    """Where clients run besides this host, which is always there as `local`."""
    datasets: dict[Identifier, DatasetConfig] = {}
    configurations: Annotated[dict[Identifier, Configuration], Field(min_length=1)]
    workloads: Annotated[dict[Identifier, WorkloadConfig], Field(min_length=1)]

    @field_validator("lab", mode="wrap")
    @classmethod
    def _is_a_lab(cls, given: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(given)
        except ValidationError as error:  # one for each type that it is not
            raise ValueError("write true, false or aws-shaped") from error

    @model_validator(mode="after")
    def _parts_fit_together(self) -> "Suite":
        problems = tuple(problems_of(self))
        if problems:
            raise UnfitPartsError(problems)
        return self

    @property
    def baseline_config_id(self) -> str:
        """The configuration that ratios are relative to."""
        return self.baseline or next(iter(self.configurations))

    @property
    def sha256(self) -> str:
        """Of its content: unlike means that a series may have changed its meaning."""
        # No venues are not written: suites of before there were any have not changed.
        without = None if self.venues else {"venues"}
        return hashlib.sha256(self.model_dump_json(exclude=without).encode()).hexdigest()

    def bucket_id(self, target_id: str) -> str:
        """The bucket target whose objects a target shows: itself, or the one behind a mount."""
        target = self.targets[target_id]
        return target.shows if isinstance(target, MountTarget) else target_id

    def bucket(self, bucket_id: str) -> AnyBucket:
        """A bucket target by its id."""
        target = self.targets[bucket_id]
        if isinstance(target, MountTarget):
            raise TypeError(bucket_id)  # the suite's own validation lets no other kind through
        return target

    def target_ids(self) -> list[str]:
        """The targets that cells reach; not those of access paths that reach nothing."""
        reaching = [cell for cell in self.cells() if cell.configuration.access_path.requests != "none"]
        return sorted({cell.configuration.target for cell in reaching})

    def datasets_by_bucket(self) -> dict[tuple[str, str], DatasetConfig]:
        """What must be prepared: by bucket target and dataset name, each once."""
        return {
            (self.bucket_id(cell.configuration.target), cell.workload.dataset): self.datasets[
                cell.workload.dataset
            ]
            for cell in self.cells()
            if isinstance(cell.workload, ReadingWorkload)
        }

    def local_trees(self) -> dict[str, FileTree]:
        """The file trees that are uploaded, by dataset name: they must lie on a local disk."""
        return {
            workload.dataset: tree
            for workload in (cell.workload for cell in self.cells())
            if isinstance(workload, TreeUpload)
            and isinstance(tree := self.datasets[workload.dataset], FileTree)
        }

    def cells(self) -> tuple[Cell, ...]:
        """Every configuration with every workload that it does, in the order of the file."""
        return tuple(
            Cell(
                config_id=config_id,
                workload_id=workload_id,
                configuration=configuration,
                workload=workload,
                target=self.targets[configuration.target],
                shown=self._shown_by(configuration.target),
                venue=self.venues.get(configuration.venue),
            )
            for workload_id, workload in self.workloads.items()
            for config_id, configuration in self.configurations.items()
            if (
                workload_id in configuration.workloads
                if configuration.workloads is not None
                else configuration.can_do(workload)
            )
        )

    def _shown_by(self, target_id: str) -> AnyBucket | None:
        bucket_id = self.bucket_id(target_id)
        return None if bucket_id == target_id else self.bucket(bucket_id)

    def with_logs_from(self, source: str) -> "Suite":
        """The same suite with its CloudTrail logs copied from `source`."""
        datasets = {
            name: CloudTrailCopied(source=source)
            if isinstance(dataset, CloudTrailGenerated | CloudTrailCopied)
            else dataset
            for name, dataset in self.datasets.items()
        }
        return self._changed(datasets=datasets)

    def only(self, config_ids: tuple[str, ...]) -> "Suite":
        """The same suite with these configurations alone.

        Raises:
            UserError: if one of them is not in the suite.
        """
        unknown = [config_id for config_id in config_ids if config_id not in self.configurations]
        if unknown:
            has = ", ".join(self.configurations)
            message = f"no configuration {', '.join(unknown)} in suite {self.name}: it has {has}"
            raise UserError(message)
        kept = {name: value for name, value in self.configurations.items() if name in config_ids}
        baseline = self.baseline if self.baseline in kept else None
        return self._changed(configurations=kept, baseline=baseline)

    def with_targets(self, targets: dict[str, TargetConfig]) -> "Suite":
        """The same suite with its targets filled in by the lab, which gives what nobody may write there."""
        return self.model_copy(update={"targets": targets})

    def with_venues(self, venues: dict[str, LambdaVenueConfig]) -> "Suite":
        """The same suite with the endpoints of its venues filled in by the lab."""
        return self.model_copy(update={"venues": venues})

    def used_venues(self) -> dict[str, LambdaVenueConfig]:
        """The venues of its configurations, without those of none."""
        used = {configuration.venue for configuration in self.configurations.values()}
        return {name: venue for name, venue in self.venues.items() if name in used}

    def _changed(self, **fields: object) -> "Suite":
        return type(self).model_validate({**dict(BaseModel.__iter__(self)), **fields})
