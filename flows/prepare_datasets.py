"""Flow: make every dataset of a suite be there, in every bucket that needs it."""

from pathlib import Path

from prefect import flow

from configs.loading import suite_of
from configs.manifest import Manifest
from configs.parameters import BenchmarkParameters
from tasks.prepare import prepare
from tasks.venues.launch import current_launch
from tasks.venues.places import place_of


@flow(name="prepare-datasets", flow_run_name="{parameters.suite}")
def prepare_datasets(parameters: BenchmarkParameters) -> dict[tuple[str, str], Manifest]:
    """Prepare what the suite's cells read; what is already there is only looked at.

    It is given no more than names, since Prefect stores what a flow is given: credentials must not be in it.
    """
    launch = current_launch()
    with place_of(suite_of(parameters), Path(parameters.lab_folder)) as place:
        reached = place.bucket_ids()
        return {
            (bucket_id, name): prepare(place, bucket_id, name, config, launch)
            for (bucket_id, name), config in place.suite.datasets_by_bucket().items()
            if bucket_id in reached
        }
