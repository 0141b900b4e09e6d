"""Which night a scheduled flow run is, and whether it comes too late to be that night's.

After a downtime Prefect starts every run that was missed, all at once and in no order. Each would be measured
at the wrong hour, and they would crowd out the punctual one: a run that is late ends at once and says so.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.states import Completed

from configs.base import IDENTIFIER_PATTERN
from configs.run_record import Night

SKIPPED_STALE: Final = "SkippedStale"
"""The name of the state of a run that came too late."""

_BY_SCHEDULE: Final = "auto-scheduled"
"""The tag that Prefect gives to the runs that a schedule makes."""
_SECONDS_PER_MINUTE: Final = 60


def skipped_stale(minutes: int) -> State[None] | None:
    """The state to end in, where a schedule's flow run begins too late; None where it may go on.

    Args:
        minutes: how late it may begin.
    """
    night = this_night()
    if night is None:
        return None
    late = datetime.now(UTC) - night.scheduled_at
    if late <= timedelta(minutes=minutes):
        return None
    return Completed(
        name=SKIPPED_STALE,
        message=f"skipped: it should have begun at {night.scheduled_at:%Y-%m-%d %H:%M} UTC and is "
        f"{_in_words(late)} late, where {minutes} minutes are allowed. To run it now all the same, start "
        "the deployment by hand; to allow more, raise “Skip when late by”.",
    )


def this_night() -> Night | None:
    """The night that the running flow is; None for a run by hand.

    A scheduled run that somebody starts again from the UI is one by hand: it is not at its hour.
    """
    context = FlowRunContext.get()
    return None if context is None or context.flow_run is None else night_of(context.flow_run)


def night_of(run: FlowRun) -> Night | None:
    """The night that a flow run is; None where no schedule made it, or it has run before."""
    if _BY_SCHEDULE not in run.tags or run.expected_start_time is None or run.run_count > 1:
        return None
    return Night(schedule=_slug(run), scheduled_at=run.expected_start_time.astimezone(UTC))


def _slug(run: FlowRun) -> str:
    """The slug of the schedule that made a run; of one without a slug its id, as far as that is known.

    Prefect keeps both with the run (`created_by`), where they stay when the schedule is changed or deleted.
    """
    creator = run.created_by
    if creator and creator.display_value and re.fullmatch(IDENTIFIER_PATTERN, creator.display_value):
        return creator.display_value
    return f"schedule-{creator.id}" if creator and creator.id else "schedule"


def _in_words(late: timedelta) -> str:
    hours, minutes = divmod(int(late.total_seconds()) // _SECONDS_PER_MINUTE, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
