"""What is done and timed. Repeats are per cell and run, and are spread over the run's blocks."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, model_validator

from configs.base import Identifier, Model, Size


class _Repeated(Model):
    iterations: Annotated[int, Field(ge=1, le=10_000_000)] = 105
    """Operations of one cell in one run, warm-ups included."""
    warmup: NonNegativeInt = 5
    """How many of them are warm-ups: measured and kept, but marked. Every block starts with its share."""

    @model_validator(mode="after")
    def _something_is_counted(self) -> "_Repeated":
        if self.warmup >= self.iterations:
            message = (
                f"warmup {self.warmup} leaves nothing of iterations {self.iterations}: "
                "warm-ups are part of the iterations, so give fewer"
            )
            raise ValueError(message)
        return self


class _Concurrent(_Repeated):
    concurrency: Annotated[int, Field(ge=1, le=256)] = 1
    """Threads of the measuring process that do the operations at the same time, each its share."""


class BlobRead(_Concurrent):
    """Read a whole object: the same one each time (`single`), or another one each time (`unique`)."""

    kind: Literal["blob_read"] = "blob_read"
    dataset: Identifier
    read_mode: Literal["single", "unique"] = "single"


class BlobWrite(_Concurrent):
    """Write random bytes to a new key each time."""

    kind: Literal["blob_write"] = "blob_write"
    size: Size


class CloudTrailScan(_Repeated):
    """List the logs, read, gunzip and parse each, count its records (experiment E1).

    Simple: one elapsed time for all of it. Staged: each stage of each file timed on its own as well.
    """

    concurrency: ClassVar[int] = 1
    kind: Literal["cloudtrail_scan"] = "cloudtrail_scan"
    dataset: Identifier
    staged: bool = False


WorkloadConfig = Annotated[BlobRead | BlobWrite | CloudTrailScan, Field(discriminator="kind")]
