"""What is done and timed. Repeats are per cell and run, and are spread over the run's blocks."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, NonNegativeInt, model_validator
from pydantic_core import PydanticCustomError

from configs.access_paths import Ability
from configs.base import Identifier, Model, Seconds, Size

CacheUse = Literal["single", "unique", "scan", "write"]
"""Which of a client's cache states a workload meets: the fields of `CacheStates`."""

BEGIN_WITHIN: Final = 0.9
"""Of `block_timeout_s`: from then on a block begins no operation, and ends by itself with what it has.

What is left is for the operation that is under way then, for looking at what was written, and cleaning up.
"""


class _Repeated(Model):
    needs: ClassVar[Ability] = "objects"
    writes: ClassVar[bool] = False
    """Whether it writes below the run's own prefix of the bucket."""
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


class _OneByOne(_Repeated):
    concurrency: ClassVar[int] = 1
    rate_per_s: ClassVar[float | None] = None


class _Concurrent(_Repeated):
    concurrency: Annotated[int, Field(ge=1, le=256)] = 1
    """Threads of the measuring process that do the operations at the same time, each its share."""
    rate_per_s: Annotated[
        float | None, Field(gt=0, le=1_000_000, allow_inf_nan=False, exclude_if=lambda rate: rate is None)
    ] = None
    """Of a client: how many operations should begin in a second, whatever those before them take (open loop).

    `concurrency` is how many can be under way; what is due meanwhile waits, and its response time counts
    that. None: a closed loop, in which each thread begins an operation when its last one has ended. None is
    not written, so that suites and series of before go on.
    """


class BlobRead(_Concurrent):
    """Read a whole object: the same one each time (`single`), or another one each time (`unique`)."""

    kind: Literal["blob_read"] = "blob_read"
    dataset: Identifier
    read_mode: Literal["single", "unique"] = "single"


class BlobWrite(_Concurrent):
    """Write random bytes to a new key each time."""

    writes: ClassVar[bool] = True
    kind: Literal["blob_write"] = "blob_write"
    size: Size


class CloudTrailScan(_OneByOne):
    """List the logs, read, gunzip and parse each, count its records (experiment E1).

    Simple: one elapsed time for all of it. Staged: each stage of each file timed on its own as well.
    """

    kind: Literal["cloudtrail_scan"] = "cloudtrail_scan"
    dataset: Identifier
    staged: bool = False


class FirstRequest(_OneByOne):
    """Read an object with a fresh client each time: connection, TLS, session, first byte, and the whole."""

    needs: ClassVar[Ability] = "first_requests"
    kind: Literal["first_request"] = "first_request"
    dataset: Identifier
    read_mode: Literal["single", "unique"] = "single"
    iterations: Annotated[int, Field(ge=1, le=10_000_000)] = 30


class FileUpload(_OneByOne):
    """Upload a local file of random bytes to a new key each time (experiments E4 and E5)."""

    needs: ClassVar[Ability] = "files"
    writes: ClassVar[bool] = True
    kind: Literal["file_upload"] = "file_upload"
    size: Size


class FileDownload(_OneByOne):
    """Download an object to a new local file each time (experiments E4 and E5)."""

    needs: ClassVar[Ability] = "files"
    kind: Literal["file_download"] = "file_download"
    dataset: Identifier
    read_mode: Literal["single", "unique"] = "single"


class TreeUpload(_OneByOne):
    """Upload a local folder of files to an empty prefix (experiment E3)."""

    needs: ClassVar[Ability] = "trees"
    writes: ClassVar[bool] = True
    kind: Literal["tree_upload"] = "tree_upload"
    dataset: Identifier
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 5
    warmup: NonNegativeInt = 0


class TreeDownload(_OneByOne):
    """Download all that lies below a prefix to an empty local folder (experiment E3)."""

    needs: ClassVar[Ability] = "trees"
    kind: Literal["tree_download"] = "tree_download"
    dataset: Identifier
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 5
    warmup: NonNegativeInt = 0


class SyncLag(_OneByOne):
    """How long it takes until what was written on one side of a mount is seen whole on the other.

    The clock runs from the end of the write (of close on the mount, of PutObject in the bucket) to the end
    of the first look that sees all of it. Looks begin `poll_interval_ms` apart, which bounds the resolution.
    """

    needs: ClassVar[Ability] = "both_sides"
    writes: ClassVar[bool] = True
    kind: Literal["sync_lag"] = "sync_lag"
    size: Size
    seen_by: Literal["get", "open", "ls"]
    """`get`: written on the mount, looked for by GetObject. `open`, `ls`: put, looked for on the mount."""
    poll_interval_ms: Annotated[float, Field(gt=0, le=3_600_000, allow_inf_nan=False)] = 100.0
    timeout_s: Seconds = 300.0
    """A write that is not seen by then is a failed operation."""
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 10
    warmup: NonNegativeInt = 0


NOT_FOR_SUITES: Final = "not_for_suites"
"""The type of pydantic's error where a suite names a kind that only we make."""


class LeftOut(Model):
    """A workload of a file that others wrote, which has no counterpart here: its cells are skipped.

    Suites do not write it: it is what reading a workload file gives (`configs/crt_workloads.py`).
    """

    needs: ClassVar[Ability] = "objects"
    writes: ClassVar[bool] = False
    iterations: ClassVar[int] = 0
    warmup: ClassVar[int] = 0
    concurrency: ClassVar[int] = 1
    rate_per_s: ClassVar[float | None] = None
    kind: Literal["left_out"] = "left_out"
    reason: str
    """Why, in words that name the file."""

    @model_validator(mode="before")
    @classmethod
    def _is_not_written(cls, given: object) -> object:
        if isinstance(given, Mapping) and "kind" in given:
            raise PydanticCustomError(NOT_FOR_SUITES, "suites do not write it")
        return given


ReadingWorkload = BlobRead | CloudTrailScan | FirstRequest | FileDownload | TreeDownload
"""Workloads whose dataset lies in the bucket."""

WorkloadConfig = Annotated[
    BlobRead
    | BlobWrite
    | CloudTrailScan
    | FirstRequest
    | FileUpload
    | FileDownload
    | TreeUpload
    | TreeDownload
    | SyncLag
    | LeftOut,
    Field(discriminator="kind"),
]


def cache_use(workload: WorkloadConfig) -> CacheUse:
    """Which cache state a workload meets."""
    match workload:
        case CloudTrailScan() | TreeDownload():
            return "scan"
        case BlobRead() | FirstRequest() | FileDownload():
            return workload.read_mode
        case BlobWrite() | FileUpload() | TreeUpload() | SyncLag() | LeftOut():
            return "write"
