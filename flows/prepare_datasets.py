"""Flow: make every dataset of a suite be there, in every bucket that needs it."""

from prefect import flow

from configs.manifest import Manifest
from tasks.prepare import prepare
from tasks.venues.launch import current_launch
from tasks.venues.places import Place
from tasks.venues.stopwatch import Stopwatch


@flow(name="prepare-datasets", validate_parameters=False)
def prepare_datasets(place: Place, stopwatch: Stopwatch) -> dict[tuple[str, str], Manifest]:
    """Prepare what the suite's cells read; what is already there is only looked at."""
    reporter = current_launch().reporter
    return {
        (bucket_id, name): prepare(place, bucket_id, name, config, reporter, stopwatch)
        for (bucket_id, name), config in place.suite.datasets_by_bucket().items()
    }
