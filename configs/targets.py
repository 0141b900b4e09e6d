"""Where bytes lie: buckets, and mounted file systems that show one."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from configs.base import Identifier, Model

BUCKET_NAME_PATTERN = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"


class BucketTarget(Model):
    """A general-purpose bucket; everything of ours lies below `prefix`."""

    kind: Literal["bucket"] = "bucket"
    bucket: Annotated[str, Field(pattern=BUCKET_NAME_PATTERN)]
    prefix: str = "s3bench"
    region: str | None = None
    endpoint_url: Annotated[str, Field(pattern=r"^https?://[^/\s]+$")] | None = None
    """None: Amazon's own endpoint for the region."""

    @field_validator("prefix")
    @classmethod
    def _stays_below_itself(cls, prefix: str) -> str:
        parts = prefix.split("/")
        if not prefix or any(part in {"", ".", ".."} for part in parts):
            message = (
                f"{prefix!r} is no prefix of ours: "
                "give names joined by single slashes, such as 'team/s3bench'"
            )
            raise ValueError(message)
        return prefix


class MountTarget(Model):
    """A mounted file system that shows a bucket."""

    kind: Literal["mount"] = "mount"
    shows: Identifier
    """The name of the bucket target whose objects appear here."""
    path: Path | None = None
    """Where it is mounted; the local lab fills it in."""
    root_prefix: str = ""
    """The key prefix that the mount's root stands for (S3 Files: the file system's or access point's)."""
    fstype: str | None = None
    """The file system type that the mount table must show at `path`; none accepts any mount."""


TargetConfig = Annotated[BucketTarget | MountTarget, Field(discriminator="kind")]
