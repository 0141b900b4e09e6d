"""Everything that a run needs, looked at before one: grouped by target, venue and store."""

from collections.abc import Iterator, Sequence

import boto3

from configs.errors import UserError
from configs.parameters import BenchmarkParameters
from configs.suite import Cell, Suite
from configs.targets import BucketTarget, MountTarget
from configs.venues import LambdaVenueConfig
from configs.workloads import LeftOut
from tasks.doctor.buckets import checks_of_bucket
from tasks.doctor.findings import Finding, Group
from tasks.doctor.functions import checks_of_function
from tasks.doctor.host import (
    clients_of_this_host,
    credentials_of_this_host,
    region_of_this_host,
    zone_of_this_host,
)
from tasks.doctor.labels import environment_of, label_of
from tasks.doctor.mounts import checks_of_mount
from tasks.doctor.results import checks_of_results
from tasks.reports.plan_table import cost_lines
from tasks.venues.places import Place
from tasks.workloads.plan import plan_suite, refuse_above_cap


def examine(place: Place, parameters: BenchmarkParameters, *, writes: bool) -> tuple[Group, ...]:
    """Look at what a run with these parameters would meet; nothing is changed, and nothing measured.

    Args:
        place: the suite with its targets, and the environment of its clients.
        parameters: those of the run.
        writes: whether the results store is tried by writing a file, which is removed again.

    Raises:
        UserError: if the AWS settings of this machine are at fault.
    """
    results = Group(
        f"results {parameters.results}", tuple(checks_of_results(parameters.results, writes=writes))
    )
    with environment_of(place.environment):  # as the measuring processes have it; the store has one's own
        groups = [
            Group("this host", tuple(_of_host(place.suite))),
            Group("cost", (_cost(place.suite, parameters.max_usd),)),
            *_of_buckets(place),
            *_of_mounts(place),
            *_of_functions(place),
            Group("not measured", tuple(_left_out(place))),
        ]
    return (*(group for group in groups if group.findings), results)


def _of_host(suite: Suite) -> Iterator[Finding]:
    if not suite.lab:
        session = boto3.Session()
        if any(_is_amazons(suite, target_id) for target_id in suite.target_ids()):
            yield credentials_of_this_host(session)
        yield zone_of_this_host(session, suite)
        yield from region_of_this_host(session, suite)
    yield from clients_of_this_host(suite)


def _is_amazons(suite: Suite, target_id: str) -> bool:
    bucket = suite.bucket(suite.bucket_id(target_id))
    return not isinstance(bucket, BucketTarget) or bucket.endpoint_url is None


def _cost(suite: Suite, max_usd: float) -> Finding:
    try:
        refuse_above_cap(suite, max_usd)
    except UserError as error:
        return Finding("wrong", "estimate", str(error))
    if suite.lab:
        return Finding("right", "estimate", "none, since it runs in the local lab")
    plan = plan_suite(suite)
    *left_out, told = cost_lines(suite, plan)
    told = told.removeprefix("cost: ")
    if "; unknown: " in told:
        return Finding("unknown", "estimate", told)
    besides = [line for line in left_out if line.startswith("not counted: ")]
    return Finding("right", "estimate", "; ".join([told, *besides]))


def _measured(place: Place, *, venue: LambdaVenueConfig | None) -> list[Cell]:
    """The cells of a venue that would not be skipped."""
    return [
        cell
        for cell in place.suite.cells()
        if cell.venue == venue
        and not isinstance(cell.workload, LeftOut)
        and not cell.unsupported
        and cell.configuration.target not in place.unreachable
        and cell.configuration.access_path.requests != "none"
    ]


def _of_buckets(place: Place) -> Iterator[Group]:
    """Each bucket that is reached in whatever way, with the clients of this host that reach it themselves."""
    suite = place.suite
    reached = dict.fromkeys(suite.bucket_id(target_id) for target_id in suite.target_ids())
    for bucket_id in reached:
        target = suite.bucket(bucket_id)
        name = f"target {bucket_id} ({target.kind} {target.bucket})"
        if bucket_id in place.misled:
            yield Group(name, (Finding("wrong", "endpoint", place.misled[bucket_id]),))
            continue
        findings = list(
            checks_of_bucket(
                target,
                place.environment,
                in_lab=bool(suite.lab),
                is_behind_s3_files=_is_behind_s3_files(suite, bucket_id),
            )
        )
        # The clients of one that does not answer would say the same again.
        if not any(finding.verdict == "wrong" and finding.check == "answers" for finding in findings):
            findings += _labels(_measured(place, venue=None), bucket_id)
        yield Group(name, tuple(findings))


def _is_behind_s3_files(suite: Suite, bucket_id: str) -> bool:
    return any(
        isinstance(target, MountTarget) and target.shows == bucket_id and target.file_system_id is not None
        for target in suite.targets.values()
    )


def _labels(cells: Sequence[Cell], target_id: str) -> list[Finding]:
    configurations = {cell.config_id: cell for cell in cells if cell.configuration.target == target_id}
    return [
        label_of(config_id, cell.configuration.access_path, cell.target)
        for config_id, cell in configurations.items()
    ]


def _of_mounts(place: Place) -> Iterator[Group]:
    by_target: dict[str, list[Cell]] = {}
    for cell in _measured(place, venue=None):
        by_target.setdefault(cell.configuration.target, []).append(cell)
    for target_id, cells in by_target.items():
        target = cells[0].target
        if isinstance(target, MountTarget):
            writes = any(cell.workload.writes for cell in cells)
            findings = checks_of_mount(target, cells[0].bucket.prefix, writes=writes)
            yield Group(f"target {target_id} (mount {target.path})", tuple(findings))


def _of_functions(place: Place) -> Iterator[Group]:
    for name, venue in place.suite.venues.items():
        cells = _measured(place, venue=venue)
        if cells:
            findings = checks_of_function(venue, cells, place.environment, place.suite.block_timeout_s)
            yield Group(f"venue {name} (Lambda function {venue.function})", tuple(findings))


def _left_out(place: Place) -> Iterator[Finding]:
    for name, reason in plan_suite(place.suite).left_out.items():
        yield Finding("warning", name, f"would be skipped: {reason}")
    for name, reason in place.unreachable.items():
        yield Finding("warning", f"target {name}", f"its cells would be skipped: {reason}")
