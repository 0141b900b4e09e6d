"""What a function is asked by the events of experiments E2 and E5, and what its environment tells it.

Fields, defaults and refusals are those of the experiments (lambda-s3-files, express-boto3), so that whoever
has their events can send them to a function of ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from configs.base import Model
from configs.errors import UserError
from configs.targets import AnyBucket, BucketTarget, DirectoryBucketTarget, MountTarget

SIZES_BYTES: Final = {"small": 64 * 1024, "large": 16 * 1024**2}
"""What the sizes of E2 stand for."""

_DIRECTORY_BUCKET_SUFFIX: Final = "--x-s3"

Label = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
"""What a function calls its configuration, such as `A_s3_sdk`."""


class BlobEvent(Model):
    """An event of E2: one invocation loops over reads or writes, or writes what reads need."""

    model_config = ConfigDict(strict=True)  # true is no 1, and "5" no number

    op: Literal["setup", "read", "write"]
    size: Literal["small", "large"] = "small"
    read_mode: Literal["single", "unique"] = "single"
    read_dataset: Annotated[str, Field(pattern=r"^([A-Za-z0-9_-]{1,64})?$")] = ""
    """Which of several datasets of a size; the one without a name where it is empty."""
    iterations: Annotated[int, Field(ge=0, le=1_000_000)] = 105
    warmup: NonNegativeInt = 5
    create_unique: bool = False
    """Of `setup`: write the objects of `unique` reads too."""
    unique_count: Annotated[int, Field(ge=0, le=10_000)] = 105

    @model_validator(mode="after")
    def _warmups_are_iterations(self) -> Self:
        if self.warmup > self.iterations:
            raise ValueError(f"warmup {self.warmup} is more than iterations {self.iterations}")
        return self

    @property
    def size_bytes(self) -> int:
        """Of one object."""
        return SIZES_BYTES[self.size]


class FileEvent(Model):
    """An event of E5: `count` uploads or downloads, one after another."""

    model_config = ConfigDict(strict=True)

    method: Literal["upload", "download"]
    count: Annotated[int, Field(ge=1, le=100_000)] = 1000
    file_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")] = "sample.csv"


class FunctionSettings(Model):
    """What a function is and reaches: from its environment variables."""

    config: Label
    bucket: str
    prefix: str = "s3bench"
    region: str | None = None
    endpoint_url: str | None = None
    mount: Path | None = None
    mount_root_prefix: str = ""
    mount_shows_bucket: bool = True
    """False: it is a file system of its own, such as EFS, which setup fills through the mount."""

    @property
    def bucket_target(self) -> AnyBucket:
        """The bucket; a directory bucket by its name."""
        if self.bucket.endswith(_DIRECTORY_BUCKET_SUFFIX):
            return DirectoryBucketTarget(bucket=self.bucket, prefix=self.prefix, region=self.region)
        return BucketTarget(
            bucket=self.bucket, prefix=self.prefix, region=self.region, endpoint_url=self.endpoint_url
        )

    @property
    def mount_target(self) -> MountTarget | None:
        """The mount that is measured; None where the function reaches the bucket by the SDK."""
        if self.mount is None:
            return None
        return MountTarget(shows="bucket", path=self.mount, root_prefix=self.mount_root_prefix)


_VARIABLES: Final = {
    "config": "S3BENCH_CONFIG",
    "bucket": "S3BENCH_BUCKET",
    "prefix": "S3BENCH_PREFIX",
    "region": "AWS_REGION",
    "endpoint_url": "S3BENCH_ENDPOINT_URL",
    "mount": "S3BENCH_MOUNT",
    "mount_root_prefix": "S3BENCH_MOUNT_ROOT_PREFIX",
    "mount_shows_bucket": "S3BENCH_MOUNT_SHOWS_BUCKET",
}
"""Lambda itself sets AWS_REGION."""


def settings_of(environment: Mapping[str, str]) -> FunctionSettings:
    """What a function's environment variables say.

    Raises:
        UserError: if one is missing or cannot be, with its name.
    """
    given = {name: value for name, key in _VARIABLES.items() if (value := environment.get(key))}
    try:
        settings = FunctionSettings.model_validate(given)
        targets = (settings.bucket_target, settings.mount_target)
    except ValidationError as error:
        problems = ((str(item["loc"][0]) if item["loc"] else "", item["msg"]) for item in error.errors())
        told = "; ".join(f"{_VARIABLES.get(name, name)}: {what}" for name, what in problems)
        raise UserError(f"the function's environment variables: {told}") from error
    if None not in targets and not f"{settings.prefix}/".startswith(settings.mount_root_prefix):
        raise UserError(
            f"the function's environment variables: S3BENCH_PREFIX {settings.prefix!r} does not lie below "
            f"S3BENCH_MOUNT_ROOT_PREFIX {settings.mount_root_prefix!r}, so that the mount cannot show it"
        )
    return settings


def event_of(event: Mapping[str, object]) -> BlobEvent | FileEvent:
    """What an event asks: E2's has `op`, E5's has `method`.

    Raises:
        UserError: if it cannot be, with each field that is wrong.
    """
    model: type[BlobEvent | FileEvent] = BlobEvent if "op" in event else FileEvent
    try:
        return model.model_validate(dict(event))
    except ValidationError as error:
        problems = ((".".join(map(str, item["loc"])), item["msg"]) for item in error.errors())
        told = "; ".join(f"{name}: {what}" if name else what for name, what in problems)
        raise UserError(f"the event: {told}") from error
