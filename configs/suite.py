"""A suite: which configurations do which workloads over which data, how often, and what that may cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, PositiveFloat, model_validator

from configs.access_paths import AccessPathConfig
from configs.base import Identifier, Model, Seed
from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, DatasetConfig
from configs.errors import UserError
from configs.targets import BucketTarget, MountTarget, TargetConfig
from configs.workloads import BlobRead, BlobWrite, CloudTrailScan, WorkloadConfig


class Configuration(Model):
    """Venue × access path × target: one way of reaching the data."""

    access_path: AccessPathConfig
    target: Identifier
    venue: Literal["local"] = "local"
    workloads: Annotated[tuple[Identifier, ...], Field(min_length=1)] | None = None
    """The workloads that it does; none means all of the suite."""


class Cell(Model):
    """One configuration × one workload: one series over time."""

    config_id: Identifier
    workload_id: Identifier
    configuration: Configuration
    workload: WorkloadConfig
    target: TargetConfig

    @property
    def cell_id(self) -> str:
        """The name of the series, the same in every run."""
        return f"{self.config_id}/{self.workload_id}"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place of a suite."""

    place: tuple[str, ...]
    message: str


class UnfitPartsError(ValueError):
    """Parts of a suite that are right on their own do not fit together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{'.'.join(item.place)}: {item.message}" for item in problems))
        self.problems = problems


class Suite(Model):
    """Everything that one run does."""

    version: Literal[1] = 1
    name: Identifier
    description: str = ""
    lab: bool = False
    """True: its targets lie in the local lab, which fills in endpoints and mount paths."""
    blocks: Annotated[int, Field(ge=1, le=100)] = 5
    """Short runs of each cell, each in a process of its own, interleaved with those of the other cells."""
    block_timeout_s: PositiveFloat = 900.0
    seed: Seed | None = None
    """Seed of the order of blocks; none takes a fresh one, which the run stores."""
    max_cost_usd: PositiveFloat | None = 1.0
    """A run whose estimate is above this does not start; none switches the cap off."""
    baseline: Identifier | None = None
    """The configuration that ratios are relative to; none takes the first."""
    targets: dict[Identifier, TargetConfig]
    datasets: dict[Identifier, DatasetConfig] = {}
    configurations: Annotated[dict[Identifier, Configuration], Field(min_length=1)]
    workloads: Annotated[dict[Identifier, WorkloadConfig], Field(min_length=1)]

    @model_validator(mode="after")
    def _parts_fit_together(self) -> "Suite":
        problems = [*self._target_problems(), *self._configuration_problems(), *self._workload_problems()]
        if problems:
            raise UnfitPartsError(tuple(problems))
        return self

    def _target_problems(self) -> Iterator[Problem]:
        for name, target in self.targets.items():
            if not isinstance(target, MountTarget):
                continue
            if not isinstance(self.targets.get(target.shows), BucketTarget):
                message = f"{target.shows!r} is not a bucket among the targets"
                yield Problem(("targets", name, "shows"), message)
            if target.path is None and not self.lab:
                yield Problem(("targets", name, "path"), "say where the file system is mounted")

    def _configuration_problems(self) -> Iterator[Problem]:
        if self.baseline is not None and self.baseline not in self.configurations:
            yield Problem(("baseline",), f"{self.baseline!r} is not among the configurations")
        for name, configuration in self.configurations.items():
            place = ("configurations", name)
            target = self.targets.get(configuration.target)
            access_path = configuration.access_path
            if target is None:
                yield Problem((*place, "target"), f"{configuration.target!r} is not among the targets")
            elif target.kind != access_path.serves:
                message = (
                    f"{access_path.kind} reaches a {access_path.serves}, "
                    f"but target {configuration.target!r} is a {target.kind}"
                )
                yield Problem((*place, "target"), message)
            done = configuration.workloads or tuple(self.workloads)
            if access_path.requests == "none" and any(
                not isinstance(self.workloads.get(name), BlobWrite) for name in done
            ):
                message = f"{access_path.kind} has nothing to read: give it workloads that write"
                yield Problem((*place, "workloads"), message)
            for wanted in configuration.workloads or ():
                if wanted not in self.workloads:
                    yield Problem((*place, "workloads"), f"{wanted!r} is not among the workloads")

    def _workload_problems(self) -> Iterator[Problem]:
        for name, workload in self.workloads.items():
            place = ("workloads", name)
            parts = self.blocks * workload.concurrency
            if workload.iterations < parts:
                message = (
                    f"{workload.iterations} operations cannot be spread over {parts} parts: "
                    f"every thread of each of the {self.blocks} blocks needs one"
                )
                yield Problem((*place, "iterations"), message)
            if 0 < workload.warmup < parts:
                message = (
                    f"{workload.warmup} warm-ups leave some of the {parts} parts of a run without one, and "
                    f"their first operation counts: give 0, or at least {parts}"
                )
                yield Problem((*place, "warmup"), message)
            if isinstance(workload, BlobRead):
                dataset = self.datasets.get(workload.dataset)
                if not isinstance(dataset, Blobs):
                    message = f"{workload.dataset!r} is not a dataset of blobs"
                    yield Problem((*place, "dataset"), message)
                elif workload.read_mode == "unique" and dataset.unique_count < workload.iterations:
                    message = (
                        f"{workload.iterations} unique reads need as many objects, but "
                        f"datasets.{workload.dataset}.unique_count is {dataset.unique_count}"
                    )
                    yield Problem((*place, "iterations"), message)
            elif isinstance(workload, CloudTrailScan):
                logs = self.datasets.get(workload.dataset)
                if not isinstance(logs, CloudTrailGenerated | CloudTrailCopied):
                    message = f"{workload.dataset!r} is not a dataset of CloudTrail logs"
                    yield Problem((*place, "dataset"), message)

    @property
    def baseline_config_id(self) -> str:
        """The configuration that ratios are relative to."""
        return self.baseline or next(iter(self.configurations))

    def bucket_id(self, target_id: str) -> str:
        """The bucket target whose objects a target shows: itself, or the one behind a mount."""
        target = self.targets[target_id]
        return target.shows if isinstance(target, MountTarget) else target_id

    def bucket(self, bucket_id: str) -> BucketTarget:
        """A bucket target by its id."""
        target = self.targets[bucket_id]
        if not isinstance(target, BucketTarget):
            raise TypeError(bucket_id)  # the suite's own validation lets no other kind through
        return target

    def target_ids(self) -> list[str]:
        """The targets that cells reach; not those of access paths that reach nothing."""
        reaching = [cell for cell in self.cells() if cell.configuration.access_path.requests != "none"]
        return sorted({cell.configuration.target for cell in reaching})

    def bucket_ids(self) -> list[str]:
        """The bucket targets whose objects cells reach."""
        return sorted({self.bucket_id(target_id) for target_id in self.target_ids()})

    def datasets_by_bucket(self) -> dict[tuple[str, str], DatasetConfig]:
        """What must be prepared: by bucket target and dataset name, each once."""
        return {
            (self.bucket_id(cell.configuration.target), cell.workload.dataset): self.datasets[
                cell.workload.dataset
            ]
            for cell in self.cells()
            if not isinstance(cell.workload, BlobWrite)
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
            )
            for workload_id, workload in self.workloads.items()
            for config_id, configuration in self.configurations.items()
            if configuration.workloads is None or workload_id in configuration.workloads
        )

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
        """The same suite with its targets filled in."""
        return self._changed(targets=targets)

    def _changed(self, **fields: object) -> "Suite":
        return type(self).model_validate({**dict(BaseModel.__iter__(self)), **fields})
