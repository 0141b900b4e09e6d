"""Task: make one dataset be there, whole. Retried, unlike measuring: it changes no result."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.datasets import DatasetConfig
from configs.errors import UserError
from configs.manifest import Manifest
from configs.targets import MountTarget
from tasks.access.s3_client import control_client, default_client
from tasks.datasets.prepare import prepare_dataset
from tasks.datasets.visibility import wait_until_visible
from tasks.reports.progress import Reporter
from tasks.venues.places import Place
from tasks.venues.stopwatch import Stopwatch

_VISIBLE_WITHIN_S = 120.0  # S3 Files shows new objects after about 30 s


@task(task_run_name="prepare-{name}-in-{bucket_id}", cache_policy=NO_CACHE, persist_result=False)
def prepare(  # noqa: PLR0913, PLR0917 - a place, a dataset and the run that both belong to
    place: Place, bucket_id: str, name: str, config: DatasetConfig, progress: Reporter, stopwatch: Stopwatch
) -> Manifest:
    """Prepare a dataset in a bucket, and wait until the mounts that show the bucket show it."""
    with stopwatch.of("prepare"):
        manifest = _prepare_in_bucket(place, bucket_id, name, config, progress)
        _wait_for_mounts(place, bucket_id, manifest)
    return manifest


def _prepare_in_bucket(
    place: Place, bucket_id: str, name: str, config: DatasetConfig, progress: Reporter
) -> Manifest:
    target = place.suite.bucket(bucket_id)
    return prepare_dataset(
        control_client(target, place.environment),
        target.bucket,
        target.prefix,
        name,
        config,
        source_client=default_client,
        progress=lambda done, total: progress.advance(f"preparing {name}", done, total, ""),
    )


def _wait_for_mounts(place: Place, bucket_id: str, manifest: Manifest) -> None:
    for target_id, mount in place.suite.targets.items():
        if not isinstance(mount, MountTarget) or mount.shows != bucket_id or mount.path is None:
            continue
        missing = wait_until_visible(mount.path, mount.root_prefix, manifest, _VISIBLE_WITHIN_S)
        if missing:
            raise UserError(f"target {target_id}: {missing}")
