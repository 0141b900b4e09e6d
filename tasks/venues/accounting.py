"""From what blocks told of themselves to the record of the run."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from statistics import median

from configs.lab_delays import Delays
from configs.manifest import LocalTree
from configs.redaction import redactor
from configs.run_record import CellRecord, DatasetRecord, Environment, HarnessCost
from tasks.kernel.environment import machine
from tasks.venues.session import CellMeasurement, SessionPlan

_PROJECT_ROOT = Path(__file__).resolve().parents[2]


def cell_records(
    measurements: Iterable[CellMeasurement], delays: Delays | None = None
) -> tuple[CellRecord, ...]:
    """How each cell ended.

    Args:
        measurements: of the whole run.
        delays: what the AWS-shaped lab added by host name; None elsewhere.
    """
    clean = redactor()  # of what a suite says: what blocks tell is clean
    return tuple(
        CellRecord(
            config_id=item.cell.config_id,
            workload_id=item.cell.workload_id,
            status=item.status,
            reason=item.reason,
            cache_state=item.cache_state,
            proof=item.proof,
            parameters={name: clean(value) for name, value in item.cell.asked.items()},
            added_delay_ms=None if delays is None else _added_delay_ms(item, delays),
        )
        for item in measurements
    )


def _added_delay_ms(item: CellMeasurement, delays: Delays) -> float | None:
    """Of the hosts that were seen to be asked; None without any, and where they differ in it."""
    asked = ", ".join(filter(None, (proof.get("host") for proof in item.proofs.values())))
    found = {delays.of(host) for host in asked.split(", ")} if asked else set()
    return found.pop() if len(found) == 1 else None


def dataset_records(plan: SessionPlan) -> tuple[DatasetRecord, ...]:
    """What each dataset held; the same data in several buckets is named once."""
    records = {name: _tree_record(plan, name, tree) for name, tree in plan.trees.items()}
    for (_, name), manifest in plan.manifests.items():
        config = plan.suite.datasets[name]
        records[name] = DatasetRecord(
            name=name,
            kind=config.kind,
            objects=len(manifest.objects),
            records=manifest.records,
            size_bytes=manifest.size_bytes,
            seed=manifest.seed,
            source=getattr(config, "source", ""),
            left_out=manifest.left_out,
            prefixes=_prefixes_of(plan, name),
        )
    return tuple(records.values())


def _prefixes_of(plan: SessionPlan, name: str) -> tuple[str, ...]:
    """Where a dataset lies in its buckets; housekeeping tells by them which datasets are still read."""
    found = {manifest.prefix for (_, other), manifest in plan.manifests.items() if other == name}
    return tuple(sorted(found))


def _tree_record(plan: SessionPlan, name: str, tree: LocalTree) -> DatasetRecord:
    """A file tree that lies on the local disk, and in no bucket before it is uploaded."""
    config = plan.suite.datasets[name]
    return DatasetRecord(
        name=name,
        kind=config.kind,
        objects=len(tree.objects),
        records=0,
        size_bytes=sum(item.size_bytes for item in tree.objects),
        seed=getattr(config, "seed", None),
    )


def environment(measurements: Iterable[CellMeasurement]) -> Environment:
    """The host that measured, else the environment of a function; this host where nothing was measured."""
    here_first = sorted(measurements, key=lambda item: item.cell.venue is not None)
    found = next((item.machine for item in here_first if item.machine is not None), None) or machine()
    return Environment(git_commit=git_commit(), **asdict(found))


def harness_cost(measurements: Iterable[CellMeasurement]) -> HarnessCost | None:
    """What measuring cost, over all blocks; None where nothing was measured."""
    costs = [cost for item in measurements for cost in item.costs]
    if not costs:
        return None
    wall_ns = sum(cost.loop.wall_ns for cost in costs)
    gaps_ns = [cost.loop.gap_ns for cost in costs if cost.loop.gap_ns]  # a block of one operation has none
    return HarnessCost(
        timer_resolution_ns=min(cost.timer_resolution_ns for cost in costs),
        timed_nothing_ns=int(median(cost.timed_nothing_ns for cost in costs)),
        loop_gap_ns=int(median(gaps_ns)) if gaps_ns else 0,
        cpu_share=sum(cost.loop.cpu_ns for cost in costs) / wall_ns if wall_ns else 0.0,
    )


def git_commit() -> str:
    """The checkout's commit, `+dirty` where it has changes; `unknown` where git cannot tell."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return "unknown"
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return commit if changes == "" else f"{commit}+{'unknown' if changes is None else 'dirty'}"


def _git(*arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    try:
        answer = subprocess.run(
            [git, *arguments], cwd=_PROJECT_ROOT, capture_output=True, text=True, check=False, timeout=10
        )
    except subprocess.TimeoutExpired:  # a slow disk must not cost a night
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
