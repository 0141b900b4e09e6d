"""Flow: make every dataset of a suite be there, in every bucket that needs it."""

import contextlib
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from configs.loading import suite_of
from configs.manifest import Manifest
from configs.parameters import PrepareParameters
from flows.endings import ended
from flows.parent_watch import watch_parent
from flows.run_names import name_of_preparing
from flows.run_reporter import reported
from tasks.patience import patient
from tasks.prepare import prepare
from tasks.venues.guard import guarded
from tasks.venues.launch import Launch, holding_host
from tasks.venues.places import Place, place_of


@flow(name="prepare-datasets", flow_run_name=name_of_preparing, retries=0)
def prepare_datasets(parameters: PrepareParameters) -> State[None]:
    """Make every dataset of a suite be there, so that the next run of it begins to measure at once.

    Args:
        parameters: Whose datasets are prepared. A list opens by its arrow.
    """
    watch_parent()
    return ended(lambda: _prepared(parameters))


def _prepared(parameters: PrepareParameters) -> State[None]:
    suite, lab = suite_of(parameters), Path(parameters.lab_folder)
    with contextlib.ExitStack() as held:
        launch = held.enter_context(reported())
        what = f"a flow run that prepares suite {suite.name}"
        held.enter_context(holding_host(launch, what, parameters.wait_for_host_s))
        held.enter_context(guarded(lab if suite.lab else None, launch.reporter.note, holds_host=True))
        place = held.enter_context(place_of(suite, lab))
        manifests = prepare_all(place, launch)
    size_bytes = sum(manifest.size_bytes for manifest in manifests.values())
    return Completed(message=f"suite {suite.name}: {len(manifests)} datasets are there, {size_bytes:,} bytes")


def prepare_all(place: Place, launch: Launch) -> dict[tuple[str, str], Manifest]:
    """Prepare what the suite's cells read, by bucket and name; what is already there is only looked at."""
    reached = place.bucket_ids()
    return {
        (bucket_id, name): patient(prepare, launch)(place, bucket_id, name, config, launch)
        for (bucket_id, name), config in place.suite.datasets_by_bucket().items()
        if bucket_id in reached
    }
