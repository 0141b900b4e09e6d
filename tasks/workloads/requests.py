"""What a cell asks of Amazon S3, counted from its suite alone.

At least these: what a client repeats, the sessions of directory buckets, and the few objects that are read
back to verify uploads are not in it. Of a file tree each file counts as one request, though its few large
files are moved in parts. `tests/workloads/test_requests.py` holds this against what clients really send.
"""

from dataclasses import asdict, dataclass
from typing import Final

from configs.access_paths import AccessPathConfig, AwsCli, MountIo, NoOp, S5cmd, TransferManager
from configs.datasets import Blobs
from configs.suite import Cell, Suite
from configs.workloads import (
    BlobRead,
    BlobWrite,
    CloudTrailScan,
    FileDownload,
    FileUpload,
    FirstRequest,
    LeftOut,
    SyncLag,
    TreeDownload,
    TreeUpload,
)
from tasks.kernel.schedule import share
from tasks.stats.cost import RequestCounts

KEYS_A_PAGE: Final = 1000
_CLI_PART_BYTES: Final = 8 * 1024**2  # multipart_threshold and multipart_chunksize of the AWS CLI
_S5CMD_PART_BYTES: Final = 50 * 1024**2  # --part-size of s5cmd's cp
_MORE_THAN_ANY_OBJECT: Final = 2**63


@dataclass(frozen=True, slots=True)
class CellPlan:
    """What one cell would do in all its blocks. None: not known before the data is there."""

    cell: Cell
    operations: int
    requests: RequestCounts | None
    """None where a mount makes its own requests, or the number of logs is not known yet."""
    bytes_read: int | None
    bytes_written: int


@dataclass(frozen=True, slots=True)
class _Parts:
    """How a client cuts up what it moves."""

    threshold_bytes: int
    """From this size on an object is moved in parts."""
    part_bytes: int

    def of(self, size_bytes: int) -> int:
        """Into how many parts an object goes; 1 where it is moved whole."""
        return 1 if size_bytes < self.threshold_bytes else -(-size_bytes // self.part_bytes)

    def puts(self, size_bytes: int) -> int:
        """PUT and POST requests of one upload: around the parts, one creates and one completes it."""
        return self.of(size_bytes) if size_bytes < self.threshold_bytes else self.of(size_bytes) + 2


def plan_cell(suite: Suite, cell: Cell, dataset_size: tuple[int, int] | None) -> CellPlan:
    """Count what a cell would do, all of its clients together.

    Args:
        suite: what the cell belongs to.
        cell: which one.
        dataset_size: objects and bytes of the dataset that it reads or uploads; None where not known yet.
    """
    one, clients = _plan_client(suite, cell, dataset_size), cell.configuration.clients
    counts = None if one.requests is None else asdict(one.requests)
    return CellPlan(
        cell,
        operations=clients * one.operations,
        requests=None
        if counts is None
        else RequestCounts(**{kind: clients * count for kind, count in counts.items()}),
        bytes_read=None if one.bytes_read is None else clients * one.bytes_read,
        bytes_written=clients * one.bytes_written,
    )


def _plan_client(suite: Suite, cell: Cell, dataset_size: tuple[int, int] | None) -> CellPlan:
    """What one client of a cell would do."""
    workload = cell.workload
    operations = workload.iterations
    if cell.unsupported:
        return _skipped(cell)
    match workload:
        case LeftOut():
            return _skipped(cell)
        case SyncLag():
            return _sync_lag(cell, workload)
        case CloudTrailScan() | TreeDownload() | TreeUpload():
            return _of_many(suite, cell, dataset_size)
        case BlobWrite() | FileUpload():
            moved_bytes = operations * int(workload.size)
            counts = _uploads(cell, suite.blocks, operations, int(workload.size))
            return _counted(suite, cell, counts, 0, moved_bytes)
        case BlobRead() | FirstRequest() | FileDownload():
            dataset = suite.datasets[workload.dataset]
            size_bytes = int(dataset.size) if isinstance(dataset, Blobs) else 0
            counts = _downloads(cell, operations, size_bytes)
            return _counted(suite, cell, counts, operations * size_bytes, 0)


def _skipped(cell: Cell) -> CellPlan:
    return CellPlan(cell, 0, RequestCounts(), 0, 0)


def _counted(
    suite: Suite, cell: Cell, counts: RequestCounts, read_bytes: int, written_bytes: int
) -> CellPlan:
    """With what every block sends before its first sample, for the paths whose requests can be counted."""
    access_path = cell.configuration.access_path
    requests: RequestCounts | None = RequestCounts()
    if access_path.requests == "hidden":
        requests = None
    elif access_path.requests == "one_per_object":
        opened = RequestCounts(list=suite.blocks * _connections(access_path, cell.workload.concurrency))
        requests = counts + opened + RequestCounts(sent_bytes=written_bytes, received_bytes=read_bytes)
    return CellPlan(cell, cell.workload.iterations, requests, read_bytes, written_bytes)


def _of_many(suite: Suite, cell: Cell, size: tuple[int, int] | None) -> CellPlan:
    """A cell whose every operation takes a whole dataset."""
    operations = cell.workload.iterations
    if size is None:
        return CellPlan(cell, operations, None, None, 0)
    files, size_bytes = size
    pages = operations * max(1, -(-files // KEYS_A_PAGE))
    if cell.workload.writes:
        # The listing that a sync begins with finds nothing; ours, of what has come to be there, does.
        listed = pages + (operations if _syncs(cell) else 0)
        counts = RequestCounts(put=operations * files, list=listed, delete=operations * files)
        return _counted(suite, cell, counts, 0, operations * size_bytes)
    counts = RequestCounts(get=operations * files, list=pages)
    return _counted(suite, cell, counts, operations * size_bytes, 0)


def _sync_lag(cell: Cell, workload: SyncLag) -> CellPlan:
    """The mount's part of it, one PUT or GET for each write, and at most all looks that fit into its time."""
    operations = workload.iterations
    looks = int(workload.timeout_s * 1000 / workload.poll_interval_ms) if workload.seen_by == "get" else 1
    moved_bytes = operations * int(workload.size)
    counts = RequestCounts(
        put=operations,
        get=operations * looks,
        delete=operations,
        sent_bytes=moved_bytes,
        received_bytes=moved_bytes,
    )
    return CellPlan(cell, operations, counts, moved_bytes, moved_bytes)


def _uploads(cell: Cell, blocks: int, operations: int, size_bytes: int) -> RequestCounts:
    """What a block uploads is listed afterwards, and deleted."""
    puts = _parts(cell.configuration.access_path).puts(size_bytes)
    pages = sum(-(-share(operations, blocks, block) // KEYS_A_PAGE) for block in range(blocks))
    return RequestCounts(put=operations * puts, list=pages, delete=operations)


def _downloads(cell: Cell, operations: int, size_bytes: int) -> RequestCounts:
    """Most clients that move files look at the size first."""
    access_path = cell.configuration.access_path
    gets = _parts(access_path).of(size_bytes)
    return RequestCounts(
        get=operations * gets, head=operations if _looks_before_downloads(access_path) else 0
    )


def _parts(access_path: AccessPathConfig) -> _Parts:
    match access_path:
        case TransferManager():
            return _Parts(int(access_path.multipart_threshold), int(access_path.part_size))
        case AwsCli():
            return _Parts(_CLI_PART_BYTES, _CLI_PART_BYTES)
        case S5cmd():
            return _Parts(_S5CMD_PART_BYTES, _S5CMD_PART_BYTES)
        case _:
            return _Parts(_MORE_THAN_ANY_OBJECT, _MORE_THAN_ANY_OBJECT)


def _looks_before_downloads(access_path: AccessPathConfig) -> bool:
    match access_path:
        case TransferManager():
            return access_path.engine == "classic"
        case AwsCli() | S5cmd():
            return True
        case _:
            return False


def _connections(access_path: AccessPathConfig, concurrency: int) -> int:
    """How many connections a block opens, with a listing each."""
    match access_path:
        case MountIo() | NoOp():
            return 0
        case TransferManager():
            return access_path.threads if access_path.engine == "classic" else 1
        case _:
            return concurrency


def _syncs(cell: Cell) -> bool:
    access_path = cell.configuration.access_path
    return (
        isinstance(access_path, AwsCli)
        and access_path.tree_command == "sync"
        and cell.target.kind != "directory_bucket"
    )
