"""What keeps cells from being measured: a target that is absent or not set up, a mount of another bucket."""

from configs.suite import Cell
from configs.targets import BucketTarget, MountTarget
from configs.workloads import LeftOut, ReadingWorkload
from tasks.access.mount_fill import fill_mount
from tasks.access.mount_io import mounted_at
from tasks.access.s3_client import control_client
from tasks.datasets.visibility import wait_until_in_bucket, wait_until_visible
from tasks.reports.progress import Reporter
from tasks.venues.acceleration import what_hinders
from tasks.venues.places import Place
from tasks.venues.session import Obstacle, SessionPlan, run_prefix

_WITHIN_S = 150.0  # S3 Files shows new objects after about 30 s and exports after 60 s without a write

_COPIED_WITHIN_S = 3600.0


def obstacles_of(plan: SessionPlan, place: Place, reporter: Reporter) -> dict[str, Obstacle]:
    """By cell id: why it cannot be measured. Each target is asked once for each kind of use."""
    found: dict[str, Obstacle] = {}
    answers: dict[tuple[str, bool], str] = {}
    cells = plan.suite.cells()
    for done, cell in enumerate(cells):
        target_id = cell.configuration.target
        if isinstance(cell.workload, LeftOut):
            found[cell.cell_id] = Obstacle("skipped", cell.workload.reason)
            continue
        if target_id in place.unreachable:
            found[cell.cell_id] = Obstacle("skipped", place.unreachable[target_id])
            continue
        if cell.configuration.access_path.requests == "none":
            continue
        if target_id in place.misled:
            found[cell.cell_id] = Obstacle("failed", place.misled[target_id])
            continue
        use = (target_id, cell.workload.writes)
        if use not in answers:
            reporter.advance("checking targets", done, len(cells), target_id)
            answers[use] = _what_is_wrong(plan, place, cell, reporter)
        if answers[use]:
            found[cell.cell_id] = Obstacle("failed", answers[use])
    reporter.advance("checking targets", len(cells), len(cells), "")
    return found


def _what_is_wrong(plan: SessionPlan, place: Place, cell: Cell, reporter: Reporter) -> str:
    target = cell.target
    if isinstance(target, MountTarget):
        return _what_is_wrong_with_mount(plan, place, cell, target, reporter)
    if isinstance(target, BucketTarget):
        return ""
    return what_hinders(target, place.environment, reporter.note)


def _what_is_wrong_with_mount(
    plan: SessionPlan, place: Place, cell: Cell, target: MountTarget, reporter: Reporter
) -> str:
    if target.path is None or mounted_at(target.path) is None:
        return ""  # the access path itself tells what is not mounted
    bucket_id = plan.suite.bucket_id(cell.configuration.target)
    if not target.shows_bucket:
        return _fill(plan, place, bucket_id, target) if isinstance(cell.workload, ReadingWorkload) else ""
    if not isinstance(cell.workload, ReadingWorkload):
        bucket = plan.suite.bucket(bucket_id)
        client = control_client(bucket, place.environment)
        prefix = run_prefix(plan, bucket_id)
        return wait_until_in_bucket(target, client, bucket.bucket, prefix, _WITHIN_S, reporter.note)
    missing = (
        wait_until_visible(target, manifest, _WITHIN_S, reporter.note)
        for (bucket, _), manifest in plan.manifests.items()
        if bucket == bucket_id
    )
    return next((answer for answer in missing if answer), "")


def _fill(plan: SessionPlan, place: Place, bucket_id: str, target: MountTarget) -> str:
    """Copy the data of its bucket to a file system that shows none."""
    bucket = plan.suite.bucket(bucket_id)
    client = control_client(bucket, place.environment)
    reasons = (
        fill_mount(target, client, bucket.bucket, manifest.objects, _COPIED_WITHIN_S)
        for (filled, _), manifest in plan.manifests.items()
        if filled == bucket_id
    )
    return next((reason for reason in reasons if reason), "")
