"""The access paths that a suite may name: one variant per client, with the settings that change a result."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from configs.base import Model, Size

Requests = Literal["one_per_object", "hidden", "none"]
"""How many requests reach the service: `hidden` ones are a mount's own, which nobody can count beforehand."""


class Boto3Api(Model):
    """boto3 `get_object` and `put_object`, one request after another.

    The defaults are the client settings of experiment E2 (lambda-s3-files).
    """

    serves: ClassVar[str] = "bucket"
    requests: ClassVar[Requests] = "one_per_object"
    kind: Literal["boto3_api"] = "boto3_api"
    connect_timeout_s: PositiveFloat = 3.0
    read_timeout_s: PositiveFloat = 60.0
    max_attempts: PositiveInt = 3
    retry_mode: Literal["legacy", "standard", "adaptive"] = "standard"


class MountIo(Model):
    """File input and output on a mounted file system that shows a bucket.

    A read is open, read to the end, close; a write is open, write, flush, fsync, close.
    """

    serves: ClassVar[str] = "mount"
    requests: ClassVar[Requests] = "hidden"
    kind: Literal["mount_io"] = "mount_io"
    read_size: Size | None = None
    """Bytes asked for by one read call; none reads all in one. On S3 Files it chooses the path."""


class NoOp(Model):
    """Moves nothing: what it measures is the cost of the harness itself."""

    serves: ClassVar[str] = "bucket"
    requests: ClassVar[Requests] = "none"
    kind: Literal["noop"] = "noop"


AccessPathConfig = Annotated[Boto3Api | MountIo | NoOp, Field(discriminator="kind")]
