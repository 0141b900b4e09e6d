"""What tells people that something of ours went wrong: automations of the Prefect server, as code.

They run in the server, so that the dead man's switch also works when nothing of ours runs any more. They
react to the events of `flows/run_events.py`, and to the states of the flow runs of our deployments.

Registering compares before it writes, because a server begins to count anew for an automation that is written
again: a restart of what serves the deployments must not give a silent night another day.
"""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.types import SecretDict

from configs.errors import UserError
from deployments import alarm_messages
from deployments.alarm_messages import Message, in_words
from deployments.catalogue import Operation, deployments
from deployments.environment import api_url
from flows.run_events import DIED, Happening
from flows.server_access import is_on_this_host

SILENT_AFTER_S: Final = 110
"""A run that has given no sign of life for this long is dead: it gives one each minute at least.

The rest is for a server that restarts. One that is away for longer takes a run that goes on for dead as soon
as it is back (tried), before the next sign can reach it.
"""

CELL_FAILED: Final = "s3bench: a cell failed"
REGRESSION_FOUND: Final = "s3bench: a series became slower"
NIGHT_MISSED: Final = "s3bench: a night has no run"
NO_NIGHT_COMPLETED: Final = "s3bench: no night was completed"
RUN_ENDED_BADLY: Final = "s3bench: a flow run ended badly"
RUN_FELL_SILENT: Final = "s3bench: a flow run fell silent"
NAMES: Final = (
    CELL_FAILED,
    REGRESSION_FOUND,
    NIGHT_MISSED,
    NO_NIGHT_COMPLETED,
    RUN_ENDED_BADLY,
    RUN_FELL_SILENT,
)
"""Of our automations; no other one is touched."""

_SCHEDULE: Final = "nightly"
_BLOCK_NAME: Final = "s3bench-alarms"
_BLOCK_TYPE: Final = "custom-webhook"
_NOBODY_IS_TOLD: Final = (
    "alarms are sent to nobody: set S3BENCH_ALERT_BLOCK to a notification block of the server, such as "
    "slack-webhook/ops, or S3BENCH_ALERT_WEBHOOK to an address that takes a POST"
)
_OTHERS_ARE_TOLD: Final = (
    "neither S3BENCH_ALERT_BLOCK nor S3BENCH_ALERT_WEBHOOK is set here: alarms go to whom another host "
    "of this server has named"
)
_BAD_ENDS: Final = ("Failed", "Crashed", "TimedOut")


def register(operation: Operation, silent_after_s: int = SILENT_AFTER_S) -> tuple[str, ...]:
    """Make the automations of the server those of this version, and say in a line each what was done.

    One that was switched off in the UI stays off. Where nobody is to be told, those that tell are removed:
    not so on a server that other hosts share, one of which may have set them.

    Args:
        operation: whom to tell, and how far apart completed nights may be.
        silent_after_s: for how long a run may give no sign of life.

    Raises:
        UserError: if there is no notification block of the name that is given.
    """
    with get_client(sync_client=True) as client:
        block_id = _block_id(client, operation)
        wanted = [fell_silent(silent_after_s), *(alarms(operation, block_id) if block_id else ())]
        is_own = is_on_this_host(api_url(operation))
        names = NAMES if block_id or is_own else (RUN_FELL_SILENT,)
        lines = tuple(_brought_into_line(client, names, wanted))
        if is_own:
            _forget_address(client, operation)
    return lines if block_id else (*lines, _NOBODY_IS_TOLD if is_own else _OTHERS_ARE_TOLD)


def fell_silent(silent_after_s: int) -> AutomationCore:
    """A run that gave signs of life, then none and no new state, is set Crashed.

    Its sign of life is an event of the flow run itself: so the server counts for each run on its own, any
    state of the run ends the count, and the label that it counts by names the run whose state is changed.
    """
    return AutomationCore(
        name=RUN_FELL_SILENT,
        description="Its process died together with what started it: without this it would stay Running.",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            after={Happening.RUN_ALIVE.value},
            expect={Happening.RUN_ALIVE.value, "prefect.flow-run.*"},
            match={"prefect.resource.id": ["prefect.flow-run.*"]},
            for_each={"prefect.resource.id"},
            threshold=1,
            within=timedelta(seconds=silent_after_s),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED,
                message=f"No sign of life for {silent_after_s} s: its process has died, or cannot reach the "
                "server.",
            )
        ],
    )


def alarms(operation: Operation, block_id: UUID) -> tuple[AutomationCore, ...]:
    """All that send a message.

    Args:
        operation: how far apart completed nights may be, and which flows are ours.
        block_id: the notification block that messages go to.
    """
    return (
        _on_event(CELL_FAILED, Happening.CELL_FAILED, block_id, alarm_messages.CELL_FAILED),
        _on_event(REGRESSION_FOUND, Happening.REGRESSION_FOUND, block_id, alarm_messages.REGRESSION_FOUND),
        _on_event(NIGHT_MISSED, Happening.NIGHT_MISSED, block_id, alarm_messages.NIGHT_MISSED),
        _no_night_completed(operation, block_id),
        _ended_badly(operation, block_id),
    )


def _no_night_completed(operation: Operation, block_id: UUID) -> AutomationCore:
    """The dead man's switch. It counts from when it is registered, and anew from each completed night.

    It is raised once for each silence, and ready again after the next night that is completed.
    """
    apart = timedelta(seconds=operation.nights_apart_s)
    return AutomationCore(
        name=NO_NIGHT_COMPLETED,
        description=f"The dead man's switch: no night of {_SCHEDULE} was completed for {in_words(apart)}.",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            after={Happening.NIGHT_COMPLETED.value},
            expect={Happening.NIGHT_COMPLETED.value},
            match={"prefect.resource.id": [f"s3bench.night.{_SCHEDULE}.*"]},
            threshold=1,
            within=apart,
        ),
        actions=[_sent(block_id, alarm_messages.no_night_completed(_SCHEDULE, apart))],
    )


def _ended_badly(operation: Operation, block_id: UUID) -> AutomationCore:
    """Of a deployment's runs alone: who runs a command sees how it ends, and a part ends with its whole."""
    names = [deployed.name for deployed in deployments(operation)]
    return AutomationCore(
        name=RUN_ENDED_BADLY,
        description="A flow run of a deployment is Failed, Crashed or TimedOut.",
        trigger=EventTrigger(
            posture=Posture.Reactive,
            expect={*(f"prefect.flow-run.{end}" for end in _BAD_ENDS), Happening.RUN_DIED.value},
            # A death that is told as an event of its own is not told a second time by that of its state.
            match={"prefect.resource.id": ["prefect.flow-run.*"], "prefect.state-message": [f"!{DIED}"]},
            match_related=[
                {"prefect.resource.role": ["flow"], "prefect.resource.name": names},
                {"prefect.resource.role": ["deployment"]},
            ],
            threshold=1,
        ),
        actions=[_sent(block_id, alarm_messages.RUN_ENDED_BADLY)],
    )


def _on_event(name: str, happening: Happening, block_id: UUID, message: Message) -> AutomationCore:
    """A message for each event of a kind."""
    return AutomationCore(
        name=name,
        description=f"Sends a message for each event {happening.value}.",
        trigger=EventTrigger(posture=Posture.Reactive, expect={happening.value}, threshold=1),
        actions=[_sent(block_id, message)],
    )


def _sent(block_id: UUID, message: Message) -> SendNotification:
    return SendNotification(block_document_id=block_id, subject=message.subject, body=message.body)


def _block_id(client: SyncPrefectClient, operation: Operation) -> UUID | None:
    """The notification block that alarms go to; none where nobody is to be told."""
    if operation.alert_block:
        return _block_of_operator(client, operation.alert_block)
    if operation.alert_webhook:
        block = CustomWebhookNotificationBlock(
            name=_BLOCK_NAME,
            # An address such as Slack's is a secret: it must be neither shown in the UI nor given by the API.
            url="{{url}}",
            secrets=SecretDict({"url": operation.alert_webhook}),
            json_data={"subject": "{{subject}}", "text": "{{body}}"},
        )
        return UUID(str(block.save(_BLOCK_NAME, overwrite=True)))
    return None


def _forget_address(client: SyncPrefectClient, operation: Operation) -> None:
    """Remove our block where its address is no longer set."""
    if operation.alert_webhook or operation.alert_block == f"{_BLOCK_TYPE}/{_BLOCK_NAME}":
        return
    with contextlib.suppress(ObjectNotFound):
        client.delete_block_document(
            client.read_block_document_by_name(_BLOCK_NAME, _BLOCK_TYPE, include_secrets=False).id
        )


def _block_of_operator(client: SyncPrefectClient, address: str) -> UUID:
    slug, _, name = address.partition("/")
    right = "give <type>/<name> of a notification block that exists, such as slack-webhook/ops"
    try:
        block = client.read_block_document_by_name(name, slug, include_secrets=False)
    except ObjectNotFound as error:
        raise UserError(f"S3BENCH_ALERT_BLOCK={address}: the server has no such block: {right}") from error
    if block.block_schema is None or "notify" not in block.block_schema.capabilities:
        raise UserError(f"S3BENCH_ALERT_BLOCK={address}: that is no notification block: {right}")
    return block.id


def _brought_into_line(
    client: SyncPrefectClient, names: Sequence[str], wanted: Sequence[AutomationCore]
) -> Iterator[str]:
    """Create, update and remove automations of ours, and say so."""
    by_name = {automation.name: automation for automation in wanted}
    for name in names:
        found = client.read_automations_by_name(name)
        automation = by_name.get(name)
        for superfluous in found if automation is None else found[1:]:
            client.delete_automation(superfluous.id)
            yield f"automation removed: {name}"
        if automation is None:
            continue
        if not found:
            client.create_automation(automation)
            yield f"automation created: {name}"
        elif _is_unlike(found[0], automation):
            kept = {"enabled": found[0].enabled, "tags": found[0].tags}
            changed = (
                automation.model_dump(exclude={"owner_resource"}) | kept
            )  # the server takes no owner here
            client.update_automation(found[0].id, AutomationCore(**changed))
            yield f"automation updated: {name}"


def _is_unlike(found: AutomationCore, wanted: AutomationCore) -> bool:
    """Whether an automation of the server does something else than it should."""
    parts = {"description", "trigger", "actions"}
    return found.model_dump(include=parts) != wanted.model_dump(include=parts)
