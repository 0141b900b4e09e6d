"""Whether the parts of a suite, right on their own, fit together; and every place where they do not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from configs import lab_buckets
from configs.datasets import Blobs, CloudTrailCopied, CloudTrailGenerated, FileTree
from configs.targets import MUST_BE_GIVEN, AnyBucket, BucketTarget, DirectoryBucketTarget, MountTarget
from configs.venues import LOCAL
from configs.workloads import (
    BEGIN_WITHIN,
    BlobRead,
    CloudTrailScan,
    FileDownload,
    FirstRequest,
    LeftOut,
    SyncLag,
    TreeDownload,
    TreeUpload,
    WorkloadConfig,
)

if TYPE_CHECKING:
    from configs.suite import Configuration, Suite


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at one place of a suite."""

    place: tuple[str, ...]
    message: str
    missing: bool = False
    """Whether it is for the user to give, and nothing that is written is wrong."""


class UnfitPartsError(ValueError):
    """Parts of a suite that are right on their own do not fit together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{'.'.join(item.place)}: {item.message}" for item in problems))
        self.problems = problems


def problems_of(suite: "Suite") -> Iterator[Problem]:
    """Everything that does not fit."""
    yield from _target_problems(suite)
    yield from _venue_problems(suite)
    yield from _configuration_problems(suite)
    yield from _workload_problems(suite)


def _target_problems(suite: "Suite") -> Iterator[Problem]:
    for name, target in suite.targets.items():
        place = ("targets", name)
        if isinstance(target, MountTarget):
            yield from _mount_problems(suite, place, target)
        elif suite.lab is True and not isinstance(target, BucketTarget):
            message = f"the plain lab has no {target.kind}: write lab: aws-shaped"
            yield Problem((*place, "kind"), message)
        elif suite.lab and target.bucket not in lab_buckets.ALL:
            message = f"the lab has no bucket {target.bucket}: it has {', '.join(lab_buckets.ALL)}"
            yield Problem((*place, "bucket"), message)
        if not suite.lab and target.kind in MUST_BE_GIVEN:
            key, message = MUST_BE_GIVEN[target.kind]
            if getattr(target, key) is None:
                yield Problem((*place, key), message, missing=True)
        if not isinstance(target, MountTarget):
            yield from _nested_prefix_problems(suite, place, target)


def _nested_prefix_problems(suite: "Suite", place: tuple[str, ...], inner: AnyBucket) -> Iterator[Problem]:
    """What lies among the data or the runs of another target is taken for a part of those, and removed."""
    for name, outer in suite.targets.items():
        if isinstance(outer, MountTarget) or outer.bucket != inner.bucket:
            continue
        if f"{inner.prefix}/".startswith((f"{outer.prefix}/datasets/", f"{outer.prefix}/runs/")):
            message = (
                f"{inner.prefix} lies within the datasets or runs of target {name!r}, which are removed: "
                "give it a prefix beside those"
            )
            yield Problem((*place, "prefix"), message)


def _mount_problems(suite: "Suite", place: tuple[str, ...], target: MountTarget) -> Iterator[Problem]:
    bucket = suite.targets.get(target.shows)
    if not isinstance(bucket, BucketTarget | DirectoryBucketTarget):
        yield Problem((*place, "shows"), f"{target.shows!r} is not a bucket among the targets")
    elif suite.lab and target.root_prefix:
        message = "the lab mounts the whole bucket: leave root_prefix out, or write '' in an overlay"
        yield Problem((*place, "root_prefix"), message)
    elif not f"{bucket.prefix}/".startswith(target.root_prefix):
        message = (
            f"a mount whose root stands for {target.root_prefix} does not show {bucket.prefix}/, below which "
            f"all of ours lies: correct it, or let targets.{target.shows}.prefix begin with it"
        )
        yield Problem((*place, "root_prefix"), message)
    if not target.shows_bucket and target.file_system_id is not None:
        message = "an S3 Files file system shows its bucket: leave shows_bucket out, or file_system_id"
        yield Problem((*place, "shows_bucket"), message)
    if suite.lab and target.path is not None:
        message = "the lab says where it is mounted: leave path out, or write null in an overlay"
        yield Problem((*place, "path"), message)


def _venue_problems(suite: "Suite") -> Iterator[Problem]:
    if LOCAL in suite.venues:
        message = f"{LOCAL} is this host, which every suite has: give the function another name"
        yield Problem(("venues", LOCAL), message)
    for name, configuration in suite.configurations.items():
        if configuration.venue not in {LOCAL, *suite.venues}:
            message = f"{configuration.venue!r} is not among the venues: {', '.join((LOCAL, *suite.venues))}"
            yield Problem(("configurations", name, "venue"), message)


def _configuration_problems(suite: "Suite") -> Iterator[Problem]:
    if suite.baseline is not None and suite.baseline not in suite.configurations:
        yield Problem(("baseline",), f"{suite.baseline!r} is not among the configurations")
    for name, configuration in suite.configurations.items():
        place = ("configurations", name)
        target = suite.targets.get(configuration.target)
        access_path = configuration.access_path
        if target is None:
            yield Problem((*place, "target"), f"{configuration.target!r} is not among the targets")
        elif target.kind not in access_path.serves:
            message = (
                f"{access_path.kind} reaches {' or '.join(map(_one, access_path.serves))}, "
                f"but target {configuration.target!r} is {_one(target.kind)}"
            )
            yield Problem((*place, "target"), message)
        yield from _ability_problems(suite, (*place, "workloads"), configuration)
        yield from _client_problems(suite, place, configuration)


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _ability_problems(
    suite: "Suite", place: tuple[str, ...], configuration: "Configuration"
) -> Iterator[Problem]:
    kind = configuration.access_path.kind
    for wanted in configuration.workloads or ():
        if wanted not in suite.workloads:
            yield Problem(place, f"{wanted!r} is not among the workloads")
        elif not configuration.can_do(suite.workloads[wanted]):
            able = [name for name, one in suite.workloads.items() if configuration.can_do(one)]
            what = suite.workloads[wanted].kind
            message = f"{kind} cannot do {wanted!r} ({what}); it can do: {', '.join(able) or 'none here'}"
            yield Problem(place, message)
    if configuration.workloads is None and not any(map(configuration.can_do, suite.workloads.values())):
        yield Problem(place, f"{kind} can do none of the suite's workloads")


def _client_problems(
    suite: "Suite", place: tuple[str, ...], configuration: "Configuration"
) -> Iterator[Problem]:
    """What several clients cannot do at the same time, or lack objects for."""
    clients = configuration.clients
    for name, workload in suite.workloads.items() if clients > 1 else ():
        if not _does(configuration, name, workload):
            continue
        if isinstance(workload, TreeUpload | TreeDownload | SyncLag):
            what = "a lag" if isinstance(workload, SyncLag) else "a whole tree"
            message = (
                f"{clients} clients cannot measure {name!r} ({workload.kind}) together: {what} is for one; "
                "write clients: 1, or name its other workloads in workloads"
            )
            yield Problem((*place, "clients"), message)
        elif isinstance(workload, BlobRead | FileDownload | FirstRequest) and workload.read_mode == "unique":
            dataset = suite.datasets.get(workload.dataset)
            needed = clients * workload.iterations
            if isinstance(dataset, Blobs) and dataset.unique_count < needed:
                message = (
                    f"{workload.iterations} unique reads of {name!r} by each of {clients} clients need "
                    f"{needed} objects, but datasets.{workload.dataset}.unique_count is "
                    f"{dataset.unique_count}"
                )
                yield Problem((*place, "clients"), message)


def _workload_problems(suite: "Suite") -> Iterator[Problem]:
    for name, workload in suite.workloads.items():
        place = ("workloads", name)
        if isinstance(workload, LeftOut):
            continue
        yield from _repeat_problems(suite, place, workload)
        yield from _pace_problems(suite, place, workload)
        if isinstance(workload, SyncLag):
            yield from _time_problems(suite, place, workload)
        if isinstance(workload, CloudTrailScan):
            logs = suite.datasets.get(workload.dataset)
            if not isinstance(logs, CloudTrailGenerated | CloudTrailCopied):
                message = f"{workload.dataset!r} is not a dataset of CloudTrail logs"
                yield Problem((*place, "dataset"), message)
        elif isinstance(workload, TreeUpload | TreeDownload):
            if not isinstance(suite.datasets.get(workload.dataset), FileTree):
                yield Problem((*place, "dataset"), f"{workload.dataset!r} is not a dataset of a file tree")
        elif isinstance(workload, BlobRead | FileDownload | FirstRequest):
            yield from _blob_problems(suite, place, workload)


def _repeat_problems(suite: "Suite", place: tuple[str, ...], workload: WorkloadConfig) -> Iterator[Problem]:
    parts = suite.blocks * workload.concurrency
    if workload.iterations < parts:
        message = (
            f"{workload.iterations} operations cannot be spread over {parts} parts: "
            f"every thread of each of the {suite.blocks} blocks needs one"
        )
        yield Problem((*place, "iterations"), message)
    if 0 < workload.warmup < parts:
        message = (
            f"{workload.warmup} warm-ups leave some of the {parts} parts of a run without one, and "
            f"their first operation counts: give 0, or at least {parts}"
        )
        yield Problem((*place, "warmup"), message)
    elif workload.warmup and _has_several_clients(suite, place[-1]) and _warms_up_only(suite, workload):
        message = (
            f"{workload.iterations} operations with {workload.warmup} warm-ups among them leave some of the "
            f"{parts} parts of a run without one that counts, and clients begin together with the first one "
            f"of each thread: give at least {workload.warmup + parts} iterations"
        )
        yield Problem((*place, "iterations"), message)


def _pace_problems(suite: "Suite", place: tuple[str, ...], workload: WorkloadConfig) -> Iterator[Problem]:
    """Operations that are due when a block begins none any more would never be done."""
    in_a_block = -(-workload.iterations // suite.blocks)
    takes_s = in_a_block / workload.rate_per_s if workload.rate_per_s else 0.0
    if takes_s >= suite.block_timeout_s * BEGIN_WITHIN:
        message = (
            f"{in_a_block} operations of a block at {workload.rate_per_s:g} per second take {takes_s:g} s, "
            f"but block_timeout_s is {suite.block_timeout_s:g}, of which a tenth is kept for its end: raise "
            "one of the two, or give fewer iterations"
        )
        yield Problem((*place, "rate_per_s"), message)


def _has_several_clients(suite: "Suite", workload_id: str) -> bool:
    return any(
        configuration.clients > 1 and _does(configuration, workload_id, suite.workloads[workload_id])
        for configuration in suite.configurations.values()
    )


def _does(configuration: "Configuration", workload_id: str, workload: WorkloadConfig | LeftOut) -> bool:
    wanted = configuration.workloads
    return configuration.can_do(workload) if wanted is None else workload_id in wanted


def _warms_up_only(suite: "Suite", workload: WorkloadConfig) -> bool:
    """Whether a thread of a block has nothing but warm-ups to do."""
    of_blocks = set(
        zip(_shares(workload.iterations, suite.blocks), _shares(workload.warmup, suite.blocks), strict=True)
    )
    return any(
        count <= warmups
        for of_block in of_blocks
        for count, warmups in zip(*(_shares(total, workload.concurrency) for total in of_block), strict=True)
    )


def _shares(total: int, parts: int) -> list[int]:
    """How many of `total` fall to each of its parts, as blocks and threads share them out."""
    return [total // parts + (part < total % parts) for part in range(parts)]


def _time_problems(suite: "Suite", place: tuple[str, ...], workload: SyncLag) -> Iterator[Problem]:
    """A block in which nothing is ever seen must end by its own time-outs, so that its samples say so."""
    in_a_block = -(-workload.iterations // suite.blocks)
    longest_s = in_a_block * (workload.timeout_s + workload.poll_interval_ms / 1000)
    if longest_s >= suite.block_timeout_s * BEGIN_WITHIN:
        message = (
            f"{in_a_block} writes of a block, if none is seen within timeout_s {workload.timeout_s:g}, take "
            f"{longest_s:g} s, but block_timeout_s is {suite.block_timeout_s:g}, of which a tenth is kept "
            "for its end: "
            "raise that one, lower this one, or give fewer iterations"
        )
        yield Problem((*place, "timeout_s"), message)


def _blob_problems(
    suite: "Suite", place: tuple[str, ...], workload: BlobRead | FileDownload | FirstRequest
) -> Iterator[Problem]:
    dataset = suite.datasets.get(workload.dataset)
    if not isinstance(dataset, Blobs):
        yield Problem((*place, "dataset"), f"{workload.dataset!r} is not a dataset of blobs")
    elif workload.read_mode == "unique" and dataset.unique_count < workload.iterations:
        message = (
            f"{workload.iterations} unique reads need as many objects, but "
            f"datasets.{workload.dataset}.unique_count is {dataset.unique_count}"
        )
        yield Problem((*place, "iterations"), message)
