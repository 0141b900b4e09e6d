"""The access paths that a suite may name: one variant per client, with the settings that change a result."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from configs.base import Line, Model, Seconds, Size
from configs.targets import (
    BUCKET_KINDS,
    AcceleratedBucketTarget,
    BucketTarget,
    DirectoryBucketTarget,
    TargetConfig,
)

Requests = Literal["one_per_object", "hidden", "none"]
"""How many requests reach the service: `hidden` ones are a mount's own, which nobody can count beforehand."""

Ability = Literal["objects", "first_requests", "files", "trees", "both_sides"]
"""What an access path can do, and a workload needs.

`objects` are read and written in memory, `first_requests` made by a fresh client each time, `files` moved
from and to a local disk, `trees` as well but whole folders at once; `both_sides` sees a bucket and its mount.
"""

Executable = Line
"""A program's name, looked up on the PATH and then beside Python, or its path."""


class Boto3Api(Model):
    """boto3 `get_object` and `put_object`, one request after another.

    The defaults are the client settings of experiment E2 (lambda-s3-files).
    """

    serves: ClassVar[tuple[str, ...]] = BUCKET_KINDS
    abilities: ClassVar[tuple[Ability, ...]] = ("objects", "first_requests")
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["boto3_api"] = "boto3_api"
    connect_timeout_s: Seconds = 3.0
    read_timeout_s: Seconds = 60.0
    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 3
    retry_mode: Literal["legacy", "standard", "adaptive"] = "standard"
    upload_checksums: Literal["when_supported", "when_required"] | None = None
    """Whether uploads carry a checksum that no operation asks for; none takes the client's own default."""
    download_checksums: Literal["when_supported", "when_required"] | None = None
    """Whether reads ask for an object's checksum and check it, which is timed; none is the client's default.

    boto3 does so by default, where an object has one; obstore and mounts check none.
    """


class MountIo(Model):
    """File input and output on a mounted file system that shows a bucket.

    A read is open, read to the end, close; a write is open, write, flush, fsync, close.
    """

    serves: ClassVar[tuple[str, ...]] = ("mount",)
    abilities: ClassVar[tuple[Ability, ...]] = ("objects", "both_sides")
    requests: ClassVar[Requests] = "hidden"
    kind: Literal["mount_io"] = "mount_io"
    read_size: Size | None = None
    """Bytes asked for by one read call; none reads all in one. On S3 Files it chooses the path."""


class Obstore(Model):
    """obstore, the Python face of the Rust crate object_store: `get` and `put` of whole objects."""

    serves: ClassVar[tuple[str, ...]] = BUCKET_KINDS
    abilities: ClassVar[tuple[Ability, ...]] = ("objects",)
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["obstore"] = "obstore"
    connect_timeout_s: Seconds = 3.0
    read_timeout_s: Seconds = 60.0
    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 3


class TransferManager(Model):
    """boto3 `upload_file` and `download_file`, by one of its two engines.

    The sizes are boto3's own defaults; the CRT engine chooses its concurrency itself, and `threads` says only
    how many connections it is to have open before the first sample.
    """

    serves: ClassVar[tuple[str, ...]] = BUCKET_KINDS
    abilities: ClassVar[tuple[Ability, ...]] = ("files",)
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["boto3_transfer"] = "boto3_transfer"
    engine: Literal["classic", "crt"] = "classic"
    multipart_threshold: Size = Size(8 * 1024**2)
    part_size: Size = Size(8 * 1024**2)
    threads: Annotated[int, Field(ge=1, le=256)] = 10


class AwsCli(Model):
    """The AWS CLI: `aws s3 cp` for files, and `sync` or `cp --recursive` for trees; a process each time."""

    serves: ClassVar[tuple[str, ...]] = BUCKET_KINDS
    abilities: ClassVar[tuple[Ability, ...]] = ("files", "trees")
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["aws_cli"] = "aws_cli"
    executable: Executable = "aws"
    engine: Literal["classic", "crt"] = "classic"
    """The CLI's transfer client; only version 2 has both, and would choose by the machine if it were let."""
    tree_command: Literal["sync", "cp"] = "sync"
    """`cp` is `cp --recursive`. On directory buckets the CLI refuses `sync`: `cp --recursive` runs there."""


class S5cmd(Model):
    """s5cmd `cp`, the fast command line that people compare with; a process each time."""

    serves: ClassVar[tuple[str, ...]] = ("bucket", "accelerated_bucket")
    abilities: ClassVar[tuple[Ability, ...]] = ("files", "trees")
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["s5cmd"] = "s5cmd"
    executable: Executable = "s5cmd"
    workers: Annotated[int, Field(ge=1, le=1024)] = 256


class NoOp(Model):
    """Moves nothing: what it measures is the cost of the harness itself."""

    serves: ClassVar[tuple[str, ...]] = BUCKET_KINDS
    abilities: ClassVar[tuple[Ability, ...]] = ("objects",)
    requests: ClassVar[Requests] = "none"
    kind: Literal["noop"] = "noop"


AccessPathConfig = Annotated[
    Boto3Api | MountIo | Obstore | TransferManager | AwsCli | S5cmd | NoOp, Field(discriminator="kind")
]


def why_unsupported(access_path: AccessPathConfig, target: TargetConfig) -> str:
    """Why a client cannot measure a target that it serves; empty where nothing written here keeps it."""
    match access_path, target:
        case TransferManager(engine="crt"), BucketTarget(endpoint_url=str(url)) if url.startswith("http:"):
            return (
                f"boto3's CRT engine speaks TLS alone, and {url} does not: "
                "measure it at Amazon S3, or in the AWS-shaped lab (lab: aws-shaped)"
            )
        case TransferManager(engine="crt"), AcceleratedBucketTarget():
            return (
                "boto3 gives its CRT engine no accelerate setting, so that its requests would go to the "
                "regional host: write engine: classic for Transfer Acceleration"
            )
        case TransferManager(engine="crt"), DirectoryBucketTarget(sessions=False):
            return (
                "boto3's CRT engine signs for a directory bucket with a session always: "
                "write sessions: true, or engine: classic"
            )
        case Obstore(), DirectoryBucketTarget(sessions=False):
            return "obstore signs for directory buckets with a session only: use boto3_api, or sessions: true"
    return ""
