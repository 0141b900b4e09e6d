"""Flow: put finished months of results into one file each, and tend datasets that nothing uses any more.

What goes wrong with one month or dataset keeps no other from being tended; the flow then ends as failed, in
sentences that say what is to be looked at. It has the host for itself, since it would disturb a measurement.
"""

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from configs.errors import UserError
from configs.loading import suite_of
from configs.parameters import HousekeepingParameters
from configs.suite import Suite
from flows.endings import ended
from flows.lateness import skipped_stale
from flows.parent_watch import watch_parent
from flows.run_reporter import reported
from tasks.datasets.expiry import bucket_ids_of_places
from tasks.patience import patient
from tasks.reports.housekeeping import Tidied
from tasks.results.store import Store, open_store
from tasks.tidy import compact, find, find_months, find_reads, show, tend
from tasks.venues.guard import guarded
from tasks.venues.launch import Launch, holding_host
from tasks.venues.places import place_of


@flow(name="housekeeping", flow_run_name="housekeeping of {parameters.results}", retries=0)
def housekeeping(parameters: HousekeepingParameters) -> State[str]:
    """Put finished months of results into one file each, and list or remove datasets that nothing uses.

    Args:
        parameters: which results, and the suite in whose buckets datasets are looked at.
    """
    watch_parent()
    return ended(lambda: skipped_stale(parameters.skip_when_late_minutes) or _tidied(parameters))


def _tidied(parameters: HousekeepingParameters) -> State[str]:
    """All of it; what was done is told in an artifact and in the final state."""
    suite_of(parameters)  # refuses a configuration that there is not
    suite = suite_of(parameters.model_copy(update={"only": []}))  # what the others read is used all the same
    store = open_store(parameters.results)
    store.check_writable()
    tidied = Tidied(store.location)
    with contextlib.ExitStack() as held:
        launch = held.enter_context(reported())
        what = f"a housekeeping of {parameters.results}"
        held.enter_context(holding_host(launch, what, parameters.wait_for_host_s))
        lab = Path(parameters.lab_folder) if suite.lab else None
        held.enter_context(guarded(lab, launch.reporter.note, holds_host=True))
        _tend_months(parameters, store, launch, tidied)
        if parameters.unused_datasets != "leave":
            try:
                _tend_datasets(parameters, suite, store, launch, tidied)
            except UserError as error:  # a lab that does not come up: the months are done all the same
                tidied.faults.append(str(error))
        if launch.is_shown:
            patient(show, launch)(tidied)
    if tidied.problems:
        raise UserError("; ".join((tidied.summary, *tidied.problems)))
    return Completed(message=tidied.summary, data=tidied.summary)


def _tend_months(parameters: HousekeepingParameters, store: Store, launch: Launch, tidied: Tidied) -> None:
    """Put every month that has been over for long enough into one file."""
    found = patient(find_months, launch)(store, datetime.now(UTC).date(), parameters.compact_after_days)
    if isinstance(found, str):
        tidied.faults.append(found)
        return
    tidied.faults += [
        f"{store.location}/{name} is not one of our files: move it away" for name in found.strays
    ]
    for done, (month, landing) in enumerate(found.landing.items()):
        launch.reporter.advance("looking at months", done, len(found.landing), month)
        tidied.months.append(patient(compact, launch)(store, month, landing))


def _tend_datasets(
    parameters: HousekeepingParameters, suite: Suite, store: Store, launch: Launch, tidied: Tidied
) -> None:
    """Keep, list or remove every dataset in the suite's buckets."""
    since = datetime.now(UTC) - timedelta(days=parameters.unused_after_days)
    reads = patient(find_reads, launch)(store, since)
    if isinstance(reads, str):
        tidied.faults.append(f"no dataset was looked at: {reads}")
        return
    if reads.silent_runs:
        tidied.notes.append(f"Runs without a record cannot tell what they read: {len(reads.silent_runs)}.")
    remove = parameters.unused_datasets == "remove"
    with place_of(suite, Path(parameters.lab_folder)) as place:
        for bucket_id in bucket_ids_of_places(place.suite, place.bucket_ids()):
            found = patient(find, launch)(place, bucket_id)
            if isinstance(found, str):
                tidied.faults.append(found)
            else:
                tending = patient(tend, launch)
                tidied.datasets += [tending(place, bucket_id, one, reads, remove) for one in found]
