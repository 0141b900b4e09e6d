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

    @field_validator("bucket")
    @classmethod
    def _is_general_purpose(cls, bucket: str) -> str:
        if bucket.endswith("--x-s3"):
            message = f"{bucket} is a directory bucket (S3 Express One Zone), which is not measured yet"
            raise ValueError(message)
        return bucket

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
    root_prefix: Annotated[str, Field(pattern=r"^([^/]+/)*$")] = ""
    """The key prefix, with its trailing slash, that the mount's root stands for.

    On S3 Files it is the file system's prefix and the access point's folder, joined.
    """
    fstype: str | None = None
    """The file system type that the mount table must show at `path`; none accepts any mount."""

    def path_of(self, key: str) -> Path:
        """Where an object appears on the mount.

        Raises:
            ValueError: if it does not appear there, or the mount has no path.
        """
        below = key.removeprefix(self.root_prefix)
        if self.path is None or not key.startswith(self.root_prefix) or ".." in below.split("/"):
            message = (
                f"{key} does not lie on a mount at {self.path} that shows {self.root_prefix or 'the bucket'}"
            )
            raise ValueError(message)
        return self.path / below


TargetConfig = Annotated[BucketTarget | MountTarget, Field(discriminator="kind")]
