"""Samples that nobody measured: what a block of a cell of an example store holds.

Times are lognormal around a typical one, and 2 % of the requests take twice as long and more. The columns are
those that the client of the cell would fill, so that tables and pictures of a report have something to show.
"""

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from configs.datasets import Blobs
from configs.workloads import (
    BlobRead,
    BlobWrite,
    CloudTrailScan,
    FileDownload,
    FileUpload,
    FirstRequest,
)
from tasks.kernel.samples import NULL, Failure, SampleColumns
from tasks.kernel.schedule import share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from configs.suite import Cell, Suite
    from configs.workloads import WorkloadConfig

TYPICAL_MS: "Final[Mapping[str, Mapping[str, float]]]" = {
    "scan": {"boto3": 9200.0, "rust": 8280.0, "mount": 3680.0, "express-boto3": 2760.0},
    "read-64kib": {"boto3": 24.0, "rust": 21.6, "mount": 6.0, "express-boto3": 7.2},
    "read-64kib-by-16": {"boto3": 32.0, "rust": 25.6, "mount": 9.6, "express-boto3": 9.6},
    "read-16mib": {"boto3": 216.0, "rust": 172.8, "mount": 129.6, "express-boto3": 151.2},
    "write-64kib": {"boto3": 38.0, "rust": 38.0, "mount": 19.0, "express-boto3": 9.5},
    "write-16mib": {"boto3": 320.0, "rust": 272.0, "mount": 400.0, "express-boto3": 224.0},
    "first-64kib": {"boto3": 92.0, "express-boto3": 64.4},
    "up-16mib": {"boto3-files": 260.0, "boto3-crt-files": 182.0, "aws-cli": 910.0},
    "down-16mib": {"boto3-files": 230.0, "boto3-crt-files": 138.0, "aws-cli": 874.0},
}
"""p50 of an operation of each cell before anything changes, in milliseconds, by workload and configuration.

Invented, in the order of what was published. A ratio of two is what a comparison should find.
"""

RECORDS: Final = 11_395
LOG_BYTES: Final = 4_322_243
"""Of all logs together, as in experiment E1."""

_GUNZIP_MS: Final = 36.0
_PARSE_MS: Final = 70.0
_START_UP_MS: Final = 560.0
_START_UPS: Final = 3
_SLOW: Final = 0.02
_FAILED: Final = 0.0004
_BLOCK_SD: Final = 0.015
_BETWEEN_OPERATIONS_US: Final = 300
_SPREAD: "Final[Mapping[str, float]]" = {
    "read": 0.25,
    "write": 0.25,
    "first_read": 0.2,
    "scan": 0.06,
    "upload": 0.1,
    "download": 0.1,
    "start_up": 0.04,
}
"""Standard deviation of the natural logarithm of the times."""
_THROTTLED: Final = Failure("SlowDown", "SYNTHETIC: Please reduce your request rate.", 503, 2)


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Which block of a cell in which night, and how slow the night is for the cell."""

    number: int
    started_us: int
    """Epoch microseconds."""
    factor: float
    """Of the typical time."""


def block_samples(
    suite: "Suite", cell: "Cell", place: BlockPlace, draw: np.random.Generator
) -> tuple[SampleColumns, int]:
    """What a block recorded, and when it ended in epoch microseconds."""
    operation, size_bytes, files = _what_it_does(suite, cell.workload)
    typical_ns = TYPICAL_MS[cell.workload_id][cell.config_id] * 1e6
    typical_ns *= place.factor * math.exp(draw.normal(0, _BLOCK_SD))
    worker, seq, warmup = _numbered(cell.workload, suite.blocks, place.number)
    total_ns = _times_ns(operation, typical_ns, len(seq), draw)
    started_us = place.started_us + _starts_us(total_ns, worker)
    columns = {
        "worker": worker,
        "seq": seq,
        "started_us": started_us,
        "size_bytes": np.full(len(seq), size_bytes),
        "total_ns": total_ns,
        **({"files": np.full(len(seq), files), "records": np.full(len(seq), RECORDS)} if files else {}),
        **_stages(cell, operation, total_ns, draw),
    }
    made = _columns(operation, columns, warmup)
    _name_objects(made, cell.workload, suite, place.number)
    if _speaks_http(cell):
        _fail_some(made, draw)
    if cell.configuration.access_path.kind == "aws_cli":
        start_ups = _start_ups(place, draw)
        start_ups.extend(made)
        made = start_ups
    return made, int(started_us[-1] + total_ns[-1] // 1000 + _BETWEEN_OPERATIONS_US)


def _what_it_does(suite: "Suite", workload: "WorkloadConfig") -> tuple[str, int, int]:
    """The operation, and the bytes and files of one."""
    match workload:
        case CloudTrailScan():
            return "scan", LOG_BYTES, _files_of(suite, workload.dataset)
        case BlobWrite():
            return "write", int(workload.size), 0
        case FileUpload():
            return "upload", int(workload.size), 0
        case BlobRead():
            return "read", _blob_bytes(suite, workload.dataset), 0
        case FirstRequest():
            return "first_read", _blob_bytes(suite, workload.dataset), 0
        case FileDownload():
            return "download", _blob_bytes(suite, workload.dataset), 0
    raise TypeError(workload.kind)  # no other kind is in the suite


def _files_of(suite: "Suite", dataset: str) -> int:
    return int(getattr(suite.datasets[dataset], "files", 0))


def _blob_bytes(suite: "Suite", dataset: str) -> int:
    config = suite.datasets[dataset]
    return int(config.size) if isinstance(config, Blobs) else 0


def _numbered(
    workload: "WorkloadConfig", blocks: int, number: int
) -> "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]":
    """Thread, number within it, and whether it is a warm-up, of each operation of a block."""
    threads = workload.concurrency
    counts = share(workload.iterations, blocks, number), share(workload.warmup, blocks, number)
    each = [share(counts[0], threads, thread) for thread in range(threads)]
    warm = [share(counts[1], threads, thread) for thread in range(threads)]
    seq = np.concatenate([np.arange(count, dtype=np.int64) for count in each])
    return np.repeat(np.arange(threads), each), seq, seq < np.repeat(warm, each)


def _times_ns(operation: str, typical_ns: float, n: int, draw: np.random.Generator) -> "NDArray[np.int64]":
    times = typical_ns * draw.lognormal(0, _SPREAD[operation], n)
    slow = draw.random(n) < _SLOW
    times[slow] *= 2 + draw.exponential(1, np.count_nonzero(slow))
    return times.astype(np.int64)


def _starts_us(total_ns: "NDArray[np.int64]", worker: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """One after the other in each thread, all threads from the same moment on."""
    lasted = total_ns // 1000 + _BETWEEN_OPERATIONS_US
    before = np.cumsum(lasted) - lasted
    first = np.searchsorted(worker, np.arange(int(worker[-1]) + 1))
    begun: NDArray[np.int64] = before - before[first][worker]
    return begun


def _stages(
    cell: "Cell", operation: str, total_ns: "NDArray[np.int64]", draw: np.random.Generator
) -> "dict[str, NDArray[np.int64]]":
    """The stages that the client of the cell shows."""
    kind = cell.configuration.access_path.kind
    if operation == "scan":
        return _stages_of_scan(total_ns, draw)
    if operation == "read" and kind in {"boto3_api", "obstore"}:
        shares = {"ttfb_ns": 0.8 if cell.workload_id.startswith("read-64kib") else 0.15}
    elif operation == "first_read":
        session = {"session_ns": 0.2} if cell.target.kind == "directory_bucket" else {}
        shares = {"connect_ns": 0.04, "tls_ns": 0.15, **session, "ttfb_ns": 0.9}
    elif kind == "aws_cli":
        shares = {"user_ns": 0.6, "system_ns": 0.08}
    else:
        return {}
    return {stage: _part(total_ns, of_it, draw) for stage, of_it in shares.items()}


def _stages_of_scan(
    total_ns: "NDArray[np.int64]", draw: np.random.Generator
) -> "dict[str, NDArray[np.int64]]":
    """Gunzip and parse take the processor as long on every path; the rest is reading."""
    n = len(total_ns)
    found = {
        "list_ns": _part(total_ns, 0.02, draw),
        "gunzip_ns": (_GUNZIP_MS * 1e6 * draw.lognormal(0, 0.03, n)).astype(np.int64),
        "parse_ns": (_PARSE_MS * 1e6 * draw.lognormal(0, 0.03, n)).astype(np.int64),
    }
    rest_ns = total_ns - np.sum(list(found.values()), axis=0)
    return found | {"read_ns": _part(rest_ns, 1.0, draw)}


def _part(whole_ns: "NDArray[np.int64]", most: float, draw: np.random.Generator) -> "NDArray[np.int64]":
    """At most this share of each, and by a tenth less at the least."""
    part_ns: NDArray[np.int64] = (whole_ns * most * (1 - 0.1 * draw.random(len(whole_ns)))).astype(np.int64)
    return part_ns


def _columns(
    operation: str, values: "Mapping[str, NDArray[np.int64]]", warmup: "NDArray[np.bool_]"
) -> SampleColumns:
    """The kernel's own columns, filled all at once."""
    n = len(warmup)
    made = SampleColumns()
    made.grow(n, operation)
    for name, column in values.items():
        made.integers[name] = array("q", column.astype(np.int64, copy=False).tobytes())
    made.warmup = array("b", warmup.astype(np.int8).tobytes())
    return made


def _name_objects(made: SampleColumns, workload: "WorkloadConfig", suite: "Suite", block: int) -> None:
    """Reads of another object each time, as many as there are."""
    if not isinstance(workload, BlobRead | FirstRequest | FileDownload):
        return
    config = suite.datasets[workload.dataset]
    unique = config.unique_count if isinstance(config, Blobs) else 1
    for row in range(len(made)):
        name = f"unique/{(block * len(made) + row) % unique:06d}.bin"
        made.object_key[row] = made.key_index(f"s3bench/datasets/{workload.dataset}/{name}")


def _speaks_http(cell: "Cell") -> bool:
    """Whether its client tells the status of an answer."""
    return cell.configuration.access_path.kind in {"boto3_api", "boto3_transfer"}


def _fail_some(made: SampleColumns, draw: np.random.Generator) -> None:
    """All are answered; a few are told to slow down."""
    n = len(made)
    made.integers["http_status"] = array("q", [200]) * n
    made.integers["retries"] = array("q", [0]) * n
    for row in np.flatnonzero(draw.random(n) < _FAILED).tolist():
        made.fail(row, _THROTTLED)


def _start_ups(place: BlockPlace, draw: np.random.Generator) -> SampleColumns:
    """The program alone, before it moves anything."""
    seq = np.arange(_START_UPS, dtype=np.int64)
    total_ns = _times_ns("start_up", _START_UP_MS * 1e6, _START_UPS, draw)
    values = {
        "worker": np.zeros_like(seq),
        "seq": seq,
        "started_us": place.started_us + np.cumsum(total_ns // 1000) - total_ns // 1000,
        "total_ns": total_ns,
        "user_ns": (total_ns * 0.85).astype(np.int64),
        "system_ns": (total_ns * 0.1).astype(np.int64),
    }
    made = _columns("start_up", values, np.zeros(_START_UPS, np.bool_))
    made.integers["size_bytes"] = array("q", [NULL]) * _START_UPS
    return made
