"""Where bytes lie: buckets of three kinds, and mounted file systems that show one."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator

from configs.base import Identifier, Line, LocalPath, Model, is_path_below, is_prefix

BUCKET_NAME_PATTERN = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"
ZONE_ID_PATTERN = r"[a-z0-9]+(-[a-z0-9]+)+"
"""Such as apne1-az4, or usw2-lax1-az1 for a Local Zone."""
DIRECTORY_BUCKET_PATTERN = rf"^[a-z0-9][a-z0-9-]*--(?P<zone_id>{ZONE_ID_PATTERN})--x-s3$"

Region = Annotated[str, Field(max_length=32, pattern=r"^[a-z]{2,}(-[a-z]+)+-[0-9]+$")]
"""An AWS region, such as ap-northeast-1."""


_ENDPOINT_PATTERN = r"https?://([A-Za-z0-9][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?"


def _is_endpoint(url: str) -> str:
    try:
        is_one = re.fullmatch(_ENDPOINT_PATTERN, url) is not None and urlsplit(url).port != 0
    except ValueError:  # a port or an address in brackets that is none
        is_one = False
    if not is_one:
        message = "it is no endpoint: give http:// or https:// with a host and, where it is another, its port"
        raise ValueError(message)
    return url


Endpoint = Annotated[
    str,
    AfterValidator(_is_endpoint),
]
"""Where a service is, with nothing behind the host and its port, and no password before it."""


class _Bucket(Model):
    """What all kinds of buckets share; everything of ours lies below `prefix`."""

    bucket: Annotated[str, Field(min_length=3, max_length=63)]
    prefix: str = "s3bench"
    region: Region | None = None

    @field_validator("prefix")
    @classmethod
    def _stays_below_itself(cls, prefix: str) -> str:
        if not is_prefix(prefix):
            message = (
                f"{prefix[:80]!r} is no prefix of ours: give names joined by single slashes, such as "
                "'team/s3bench', of letters, digits and !_.()=+@,:- alone"
            )
            raise ValueError(message)
        return prefix


class BucketTarget(_Bucket):
    """A general-purpose bucket, through its region's ordinary endpoint."""

    kind: Literal["bucket"] = "bucket"
    endpoint_url: Endpoint | None = None
    """None: Amazon's own endpoint for the region."""

    @field_validator("bucket")
    @classmethod
    def _is_general_purpose(cls, bucket: str) -> str:
        _refuse_unless(BUCKET_NAME_PATTERN, bucket)
        if bucket.endswith("--x-s3"):
            message = f"{bucket} is a directory bucket (S3 Express One Zone): write kind: directory_bucket"
            raise ValueError(message)
        return bucket


class DirectoryBucketTarget(_Bucket):
    """A directory bucket of S3 Express One Zone: `<name>--<zone id>--x-s3`."""

    kind: Literal["directory_bucket"] = "directory_bucket"
    sessions: bool = True
    """Sign with CreateSession's credentials, as SDKs do; false signs every request with one's own."""
    zone: Literal["same", "other"] | None = None
    """Where it lies from the client, checked where the client's zone can be told; none claims nothing.

    Where it cannot be told, as outside EC2, the proof says that nobody checked the claim.
    """

    @field_validator("bucket")
    @classmethod
    def _is_directory_bucket(cls, bucket: str) -> str:
        if re.fullmatch(DIRECTORY_BUCKET_PATTERN, bucket) is None:
            message = (
                f"{bucket!r} is no directory bucket: their names end in --<zone id>--x-s3, "
                "such as logs--apne1-az4--x-s3"
            )
            raise ValueError(message)
        return bucket

    @property
    def zone_id(self) -> str:
        """The id of the zone in its name, such as apne1-az4, or usw2-lax1-az1 for a Local Zone."""
        found = re.fullmatch(DIRECTORY_BUCKET_PATTERN, self.bucket)
        return found["zone_id"] if found else ""


class AcceleratedBucketTarget(_Bucket):
    """A general-purpose bucket through Transfer Acceleration; what is not measured goes the ordinary way."""

    kind: Literal["accelerated_bucket"] = "accelerated_bucket"

    @field_validator("bucket")
    @classmethod
    def _can_be_accelerated(cls, bucket: str) -> str:
        _refuse_unless(BUCKET_NAME_PATTERN, bucket)
        if "." in bucket:
            message = f"{bucket} has a dot in its name: Transfer Acceleration serves no such bucket"
            raise ValueError(message)
        if bucket.endswith("--x-s3"):
            message = f"{bucket} is a directory bucket: Transfer Acceleration serves none"
            raise ValueError(message)
        return bucket


AnyBucket = BucketTarget | DirectoryBucketTarget | AcceleratedBucketTarget
"""A target that is a bucket, whatever its kind: what preparing and cleaning up work on."""

BUCKET_KINDS = ("bucket", "directory_bucket", "accelerated_bucket")


class MountTarget(Model):
    """A mounted file system, which shows a bucket as a rule."""

    kind: Literal["mount"] = "mount"
    shows: Identifier
    """The name of the bucket target whose objects appear here."""
    path: LocalPath | None = None
    """Where it is mounted; the local lab fills it in, and takes none from a suite."""
    root_prefix: Annotated[str, Field(pattern=r"^([^/]+/)*$")] = ""
    """The key prefix, with its trailing slash, that the mount's root stands for.

    On S3 Files it is the file system's prefix and the access point's folder, joined. The prefix of the bucket
    that it shows must lie below it; the local lab mounts whole buckets.
    """
    fstype: Line | None = None
    """The file system type that the mount table must show at `path`; none accepts any mount."""
    shows_bucket: Annotated[bool, Field(exclude_if=bool)] = True
    """False: a file system of its own, such as EFS. `shows` then names the bucket that has the datasets, from
    which what is read is copied there before it is measured.

    True is not written, so that suites and series of before go on.
    """
    file_system_id: Annotated[str, Field(pattern=r"^fs-[0-9a-f]{17,40}$")] | None = None
    """The S3 Files file system that efs-utils must have mounted there; the kernel shows it as nfs4 only."""

    def path_of(self, key: str) -> Path:
        """Where an object appears on the mount.

        Raises:
            ValueError: if it does not appear there, or the mount has no path.
        """
        below = key.removeprefix(self.root_prefix)
        # A path that begins with a slash replaces all that it is joined to.
        is_below = key.startswith(self.root_prefix) and is_path_below(below.removesuffix("/"))
        if self.path is None or not is_below:
            shown = self.root_prefix or "the bucket"
            message = f"{key!r} does not lie on a mount at {self.path} that shows {shown}"
            raise ValueError(message)
        return self.path / below


TargetConfig = Annotated[AnyBucket | MountTarget, Field(discriminator="kind")]


MUST_BE_GIVEN: Final = {
    "mount": ("path", "say where the file system is mounted"),
    "directory_bucket": ("region", "say in which region the directory bucket lies"),
}
"""By kind of target: the key that nothing but the local lab fills in, and what answers its absence."""


def _refuse_unless(pattern: str, bucket: str) -> None:
    if re.fullmatch(pattern, bucket) is None:
        message = (
            f"{bucket!r} is no bucket name: 3 to 63 of a-z, 0-9, . and -, with a letter or digit at both ends"
        )
        raise ValueError(message)
