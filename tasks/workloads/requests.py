"""What a cell asks of Amazon S3, counted from its suite alone.

At least these: what a client repeats, the sessions of directory buckets, and the few objects that are read
back to verify uploads are not in it. Of a file tree each file counts as one request, though its few large
files are moved in parts. `tests/workloads/test_requests.py` holds this against what clients really send.
Of an S3 Files mount nobody sees the requests; Amazon's own rules of metering stand in for them.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from configs.access_paths import AccessPathConfig, AwsCli, MountIo, NoOp, S5cmd, TransferManager
from configs.datasets import Blobs
from configs.suite import Cell, Suite
from configs.targets import AcceleratedBucketTarget, DirectoryBucketTarget, MountTarget
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
from tasks.stats import s3_files
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
    objects: int | None = 0
    """Those that its operations read or write, each time that they do."""
    metered: RequestCounts | None = None
    """What an S3 Files mount is charged for besides `requests`; None of all others, and if not known yet."""
    around: RequestCounts = field(default_factory=RequestCounts)
    """The part of all this that no operation needs: connections are opened, written data is looked up
    and removed."""

    @property
    def charged(self) -> RequestCounts | None:
        """All that Amazon charges for; None where that is not known."""
        known = [counts for counts in (self.requests, self.metered) if counts is not None]
        return sum(known[1:], known[0]) if known else None

    @property
    def opens_sessions(self) -> bool:
        """Whether its clients ask for sessions of a directory bucket, which are not counted."""
        target = self.cell.target
        return (
            isinstance(target, DirectoryBucketTarget)
            and target.sessions
            and self.cell.configuration.access_path.requests != "none"
            and bool(self.operations)
        )

    @property
    def leaves_amazon(self) -> bool:
        """Whether it downloads by the edge, so that the ordinary transfer out is charged as well."""
        return isinstance(self.cell.target, AcceleratedBucketTarget) and bool(self.bytes_read)


def is_s3_files(cell: Cell) -> bool:
    """Whether its mount is one whose charges are known; of other mounts nobody knows what they ask for."""
    return isinstance(cell.target, MountTarget) and cell.target.file_system_id is not None


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
    return CellPlan(
        cell,
        operations=clients * one.operations,
        requests=None if one.requests is None else one.requests * clients,
        bytes_read=None if one.bytes_read is None else clients * one.bytes_read,
        bytes_written=clients * one.bytes_written,
        objects=None if one.objects is None else clients * one.objects,
        metered=None if one.metered is None else one.metered * clients,
        around=one.around * clients,
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
            plan = CellPlan(cell, operations, None, 0, operations * int(workload.size), operations)
            own, after = _uploads(cell, suite.blocks, operations, int(workload.size))
            return _counted(suite, plan, own, after)
        case BlobRead() | FirstRequest() | FileDownload():
            dataset = suite.datasets[workload.dataset]
            size_bytes = int(dataset.size) if isinstance(dataset, Blobs) else 0
            plan = CellPlan(cell, operations, None, operations * size_bytes, 0, operations)
            return _counted(suite, plan, _downloads(cell, operations, size_bytes))


def _skipped(cell: Cell) -> CellPlan:
    return CellPlan(cell, 0, RequestCounts(), 0, 0)


def _counted(
    suite: Suite, plan: CellPlan, own: RequestCounts, after: RequestCounts | None = None
) -> CellPlan:
    """With the requests of the operations themselves, of the paths whose requests can be counted.

    Every block sends some before its first sample, and some after its last.
    """
    access_path = plan.cell.configuration.access_path
    match access_path.requests:
        case "hidden":
            return _metered(plan) if is_s3_files(plan.cell) else plan
        case "none":
            return replace(plan, requests=RequestCounts())
    connections = _connections(access_path, plan.cell.workload.concurrency)
    around = RequestCounts(list=suite.blocks * connections) + (after or RequestCounts())
    moved = RequestCounts(sent_bytes=plan.bytes_written, received_bytes=plan.bytes_read or 0)
    return replace(plan, requests=own + moved + around, around=around)


def _metered(plan: CellPlan) -> CellPlan:
    """A cell on an S3 Files mount: files of unlike sizes count as if all had their mean size."""
    objects = plan.objects or 0
    mean_bytes = -(-((plan.bytes_read or 0) + plan.bytes_written) // max(1, objects))
    if plan.cell.workload.writes:
        removed = s3_files.deletions(objects)
        return replace(plan, metered=s3_files.writes(objects, mean_bytes) + removed, around=removed)
    counts = s3_files.reads(objects, mean_bytes)
    if isinstance(plan.cell.workload, CloudTrailScan):
        counts += s3_files.listings(plan.operations)
    return replace(plan, metered=counts)


def _of_many(suite: Suite, cell: Cell, size: tuple[int, int] | None) -> CellPlan:
    """A cell whose every operation takes a whole dataset."""
    operations = cell.workload.iterations
    if size is None:
        return CellPlan(cell, operations, None, None, 0, None)
    files, size_bytes = size
    pages = operations * max(1, -(-files // KEYS_A_PAGE))
    if cell.workload.writes:
        # The listing that a sync begins with finds nothing; ours, of what has come to be there, does.
        own = RequestCounts(put=operations * files, list=operations if _syncs(cell) else 0)
        after = RequestCounts(list=pages, delete=operations * files)
        plan = CellPlan(cell, operations, None, 0, operations * size_bytes, operations * files)
        return _counted(suite, plan, own, after)
    plan = CellPlan(cell, operations, None, operations * size_bytes, 0, operations * files)
    return _counted(suite, plan, RequestCounts(get=operations * files, list=pages))


def _sync_lag(cell: Cell, workload: SyncLag) -> CellPlan:
    """The mount's part of it, one PUT or GET for each write, and at most all looks that fit into its time."""
    operations = workload.iterations
    looks = int(workload.timeout_s * 1000 / workload.poll_interval_ms) if workload.seen_by == "get" else 1
    moved_bytes = operations * int(workload.size)
    removed = RequestCounts(delete=operations)
    counts = RequestCounts(
        put=operations, get=operations * looks, sent_bytes=moved_bytes, received_bytes=moved_bytes
    )
    plan = CellPlan(cell, operations, counts + removed, moved_bytes, moved_bytes, operations, around=removed)
    if not is_s3_files(cell):
        return plan
    if workload.seen_by == "get":
        removed += s3_files.deletions(operations)
    return replace(plan, metered=_lag_metered(workload), around=removed)


def _lag_metered(workload: SyncLag) -> RequestCounts:
    """What S3 Files counts besides the requests, each look at least once."""
    operations, size_bytes = workload.iterations, int(workload.size)
    match workload.seen_by:
        case "get":
            counts = s3_files.writes(operations, size_bytes) + s3_files.deletions(operations)
        case "open":
            counts = s3_files.imports(operations, size_bytes) + s3_files.reads(operations, size_bytes)
        case "ls":
            counts = s3_files.imports(operations, size_bytes) + s3_files.listings(operations)
    return replace(counts, put=0, get=0, file_stored_bytes=0)


def _uploads(
    cell: Cell, blocks: int, operations: int, size_bytes: int
) -> tuple[RequestCounts, RequestCounts]:
    """The uploads themselves, and what follows: what a block uploads is listed afterwards, and deleted."""
    puts = _parts(cell.configuration.access_path).puts(size_bytes)
    pages = sum(-(-share(operations, blocks, block) // KEYS_A_PAGE) for block in range(blocks))
    return RequestCounts(put=operations * puts), RequestCounts(list=pages, delete=operations)


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
