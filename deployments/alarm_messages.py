"""The words of alarms: Jinja templates that the Prefect server fills in from the event and the flow run.

Each names the run, cell or night, says what to do, and ends with a link to the flow run where there is one.
What they take from an event is put there by `flows/run_events.py`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_EVENT: Final = "{% set it = event.payload %}"
_LINK: Final = '{% if flow_run %}\n{{ flow_run|ui_url or "" }}{% endif %}'


@dataclass(frozen=True, slots=True)
class Message:
    """The templates of a message."""

    subject: str
    body: str


def _message(subject: str, *sentences: str) -> Message:
    return Message(f"{_EVENT}s3bench: {subject}", f"{_EVENT}{' '.join(sentences)}{_LINK}")


CELL_FAILED: Final = _message(
    "cell {{ it.cell }} failed",
    "Cell {{ it.cell }} failed in run {{ it.run_id }}: {{ it.reason }}\n"
    "Mend what the reason names; the next run measures this cell again.",
)

REGRESSION_FOUND: Final = _message(
    "{{ it.series }} is slower since {{ it.since }}",
    "{{ it.statistic }} of {{ it.series }} is {{ it.ratio }} times what it was, since the night of",
    "{{ it.since }}: {{ it.before_ms }} ms before, {{ it.after_ms }} ms since ({{ it.method }}).\n"
    "Look at the artifact s3bench-history, then at what changed on that day: the service, the network,",
    "the host, the versions in the reports of the runs. Results: {{ it.results }}",
)

NIGHT_MISSED: Final = _message(
    "night of {{ it.dt }}: {{ it.state }}",
    "The run of schedule {{ it.schedule }} that was due at {{ it.due_at }} is {{ it.state }}"
    "{% if it.run_id %}: {{ it.run_id }} began and did not end{% endif %}.\n"
    "Look whether the server and what serves the deployments were up, and at the flow runs of that night.",
    "A night is never measured later: the gap stays. Results: {{ it.results }}",
)

RUN_ENDED_BADLY: Final = _message(
    "{{ flow.name }} {{ flow_run.state.name }}",
    "Flow run {{ flow_run.name }} of {{ flow.name }} is {{ flow_run.state.name }}:",
    "{{ flow_run.state.message }}\n"
    "Look at the flow run's log, mend what the message names, and run it again by hand if it matters.",
    "Blocks that it had measured, if any, are kept: `s3bench report` shows them.",
)


def no_night_completed(schedule: str, apart: timedelta) -> Message:
    """Of the dead man's switch, which may have no event yet."""
    return _message(
        f"no night of {schedule} was completed for {in_words(apart)}",
        f"No run of schedule {schedule} has come to its end for {in_words(apart)}.",
        "{% if event %}The last was {{ it.run_id }}, of the night of {{ it.dt }}."
        "{% else %}There was none since this alarm was set.{% endif %}\n"
        "Look whether what serves the deployments is up, whether the schedule is switched on,",
        "and at the latest flow runs.",
    )


def in_words(apart: timedelta) -> str:
    """As `26 hours`, or `90 seconds` where that is more exact."""
    hours, rest_s = divmod(round(apart.total_seconds()), 3600)
    return f"{hours} hours" if hours and not rest_s else f"{round(apart.total_seconds())} seconds"
