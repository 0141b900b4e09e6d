"""Lines of samples that a program of others printed: `s3_access_benchmark_v1`, as in experiment E2.

Nothing in them is trusted: names become names of files only after they were checked, and numbers that no
operation can have are refused.
"""

import hashlib
import re
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from configs.base import IDENTIFIER_PATTERN

LINE_SCHEMA: Final = "s3_access_benchmark_v1"

_MOST_MS: Final = 900_000.0
"""The longest that an invocation of Lambda takes (AWS Lambda Developer Guide, quotas)."""
_LEAST_MS: Final = 1e-6
"""A nanosecond: less would be stored as 0, of which no ratio and no logarithm can be taken."""
_MOST_BYTES: Final = 50 * 10**12
"""The largest object of Amazon S3 (Amazon S3 User Guide, since December 2025)."""
_MOST_COUNT: Final = 10_000_000
_MOST_ID_LENGTH: Final = 64
_UNITS: Final = (("gib", 1024**3), ("mib", 1024**2), ("kib", 1024))

Count = Annotated[int, Field(ge=0, le=_MOST_COUNT)]


class SampleLine(BaseModel):
    """One counted operation; fields that a later version may add are passed over."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    line_schema: Literal["s3_access_benchmark_v1"] = Field(alias="schema")
    config: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
    op: Literal["read", "write"]
    size: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,32}$")]
    read_mode: Literal["single", "unique", ""] | None
    read_dataset: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")] | None
    bytes: Annotated[int, Field(gt=0, le=_MOST_BYTES)]
    sample_index: Count
    sample_count: Count
    warmup: Count | bool
    elapsed_ms: Annotated[float, Field(ge=_LEAST_MS, le=_MOST_MS, allow_inf_nan=False)]
    cold_invocation: bool
    request_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
    runtime: Annotated[str, Field(pattern=r"^[\x20-\x7e]{0,64}$")]

    @property
    def total_ns(self) -> int:
        """How long the operation took, in nanoseconds as the store has it."""
        return round(self.elapsed_ms * 1e6)

    @property
    def config_id(self) -> str:
        """The configuration's id here: `A_s3_sdk` is `a_s3_sdk`."""
        return self.config.lower()

    @property
    def workload_id(self) -> str:
        """The workload's id here, as the suite of E2 names it: `read-64kib-unique`, `write-16mib`."""
        read_mode = (self.read_mode or "single") if self.op == "read" else ""
        return _workload_id(self.op, self.bytes, read_mode, self.read_dataset or "")


class Logged(NamedTuple):
    """A line and when the log had it; None where that is not told."""

    line: SampleLine
    at: datetime | None


@lru_cache(maxsize=4096)
def _workload_id(operation: str, size_bytes: int, read_mode: str, dataset: str) -> str:
    """One id for each of the four; a dataset's name that an id cannot hold as it is leaves a mark in it."""
    name = "-".join(filter(None, (operation, size_name(size_bytes), read_mode, dataset.lower())))
    if dataset != dataset.lower() or len(name) > _MOST_ID_LENGTH:
        mark = hashlib.sha256(dataset.encode()).hexdigest()[:8]
        name = f"{name[: _MOST_ID_LENGTH - len(mark) - 1]}-{mark}"
    if re.fullmatch(IDENTIFIER_PATTERN, name) is None:
        raise ValueError(name)  # the patterns of a line let nothing else through
    return name


def size_name(size_bytes: int) -> str:
    """A size as ids have it: `64kib`, `16mib`, `1400b`."""
    for unit, unit_bytes in _UNITS:
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes}{unit}"
    return f"{size_bytes}b"


def what_is_wrong(error: ValidationError) -> str:
    """Every field that is wrong, in words that hold nothing of the line itself."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{item['loc'][0]}: {item['msg']}" if item["loc"] else item["msg"] for item in problems)
