"""Tasks: make one dataset be there, whole, and find out which cells cannot be measured.

Their clients have bounded retries of their own; what fails after those and may pass is tried again later, as
`patience.py` says.
"""

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.datasets import DatasetConfig, FileTree
from configs.manifest import LocalTree, Manifest
from configs.redaction import errors_without_secrets
from tasks.access.s3_client import control_client, default_client
from tasks.datasets.file_tree import local_tree
from tasks.datasets.prepare import prepare_dataset
from tasks.venues.launch import Launch
from tasks.venues.obstacles import obstacles_of
from tasks.venues.places import Place
from tasks.venues.scratch import trees_folder
from tasks.venues.session import Obstacle, SessionPlan


@task(task_run_name="prepare-{name}-in-{bucket_id}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def prepare(place: Place, bucket_id: str, name: str, config: DatasetConfig, launch: Launch) -> Manifest:
    """Prepare a dataset in a bucket."""
    target = place.suite.bucket(bucket_id)
    with launch.stopwatch.of("prepare"):
        return prepare_dataset(
            control_client(target, place.environment),
            target.bucket,
            target.prefix,
            name,
            config,
            source_client=default_client,
            progress=lambda done, total: launch.reporter.advance(f"preparing {name}", done, total, ""),
        )


@task(task_run_name="prepare-tree-{name}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def prepare_tree(place: Place, name: str, config: FileTree, launch: Launch) -> LocalTree:
    """Make a file tree be on the local disk, to be uploaded."""
    with launch.stopwatch.of("prepare"):
        return local_tree(
            config,
            trees_folder(place.scratch),
            progress=lambda done, total: launch.reporter.advance(f"making {name}", done, total, ""),
        )


@task(task_run_name="check-targets", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def find_obstacles(plan: SessionPlan, place: Place, launch: Launch) -> dict[str, Obstacle]:
    """Wait until every mount shows the data and passes writes on; cells of one that does not are failed."""
    with launch.stopwatch.of("prepare"):
        return obstacles_of(plan, place, launch.reporter)
