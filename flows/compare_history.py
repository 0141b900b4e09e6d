"""Flow: look back over the nights of a schedule: which should have been, and what has changed.

It has the host for itself, since it would disturb a measurement. Each night without a run, and each series
that became slower, is told once: as an event, and remembered in the store when the server has taken it.
"""

import contextlib
from datetime import UTC, datetime
from typing import Final

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from configs.errors import UserError
from configs.parameters import CompareParameters
from flows.endings import ended
from flows.lateness import skipped_stale
from flows.parent_watch import watch_parent
from flows.run_events import tell_of_night_without_run, tell_of_regression
from flows.run_reporter import reported
from tasks.compare import LookedBack, Remember, keep_changes, look, remember, show
from tasks.patience import patient
from tasks.reports.history_view import Finding
from tasks.reports.wording import not_read
from tasks.results.store import open_store
from tasks.stats.nights import NightCoverage, nights_due
from tasks.venues.launch import holding_host

_WAIT_FOR_HOST_S: Final = 3600.0


@flow(name="compare-history", flow_run_name="history of {parameters.results}", retries=0)
def compare_history(parameters: CompareParameters) -> State[str]:
    """Find the nights that are missing and what has become slower or faster, and show it.

    Args:
        parameters: which results, and when a run of them should have been.
    """
    watch_parent()
    return ended(lambda: skipped_stale(parameters.skip_when_late_minutes) or _compare(parameters))


def _compare(parameters: CompareParameters) -> State[str]:
    now = datetime.now(UTC)
    # Here alone for what it refuses: nobody should wait for the host, and then hear of a wrong schedule.
    nights_due(parameters.cron, parameters.timezone, now, now)
    store = open_store(parameters.results)
    with contextlib.ExitStack() as held:
        launch = held.enter_context(reported())
        what = f"a comparison of the nights in {parameters.results}"
        held.enter_context(holding_host(launch, what, _WAIT_FOR_HOST_S))
        found = patient(look, launch)(store, parameters)
        if launch.is_shown:
            patient(show, launch)(found.view)
        told = _told(found)
        if found.remember is Remember.AT_ONCE or (told and found.remember is Remember.WHEN_TOLD):
            patient(remember, launch)(store, (*found.known, *(one.told for one in told)))
        if found.view.nights:
            # Last: people are told even where the table that is there cannot be read.
            patient(keep_changes, launch)(store, found.view)
    if found.view.unread:  # last as well: all that can be read was shown, told and kept
        raise UserError("; ".join((found.view.summary, *not_read(found.view.unread))))
    message = f"{found.view.summary}; told of {len(told)}" if told else found.view.summary
    return Completed(message=message, data=message)


def _told(found: LookedBack) -> list[Finding]:
    """Tell what is new, and return what the server has taken: the rest is told the next time."""
    return [one for one in found.news if _tell(one, found.view.schedule, found.view.location)]


def _tell(finding: Finding, schedule: str, location: str) -> bool:
    if isinstance(finding.about, NightCoverage):
        return tell_of_night_without_run(schedule, finding.about, location)
    return tell_of_regression(schedule, finding.about, location)
