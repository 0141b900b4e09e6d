"""The lease of a deployment's slot: renewed between blocks, and never the end of a run.

Prefect 3.9 renews it from a thread every 225 s, in the middle of whatever is measured, and ends the run where
the server cannot be reached in that moment or has lost the lease, as after a restart. Here that thread only
steps in where a run has not renewed it between blocks for as long, in a block that is longer. A lease that is
lost is told and given up: the host's lock keeps two measurements apart all the same.
"""

import logging
import threading
import time
from typing import TYPE_CHECKING, Final
from uuid import UUID

import httpx
from prefect.context import FlowRunContext

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_LEASE_S: Final = 300.0
"""What the engine of Prefect 3.9 asks for."""
_RENEWED_EVERY_S: Final = 60.0
_AT_THE_LATEST_S: Final = 225.0
_AGAIN_AFTER_S: Final = 15.0
_LOGGER: Final = logging.getLogger("s3bench.lease")
_renewed_at: Final[dict[UUID, float]] = {}
"""By lease that goes on: when it was last renewed, by the monotonic clock."""


def renew_between_blocks(client: "SyncPrefectClient") -> None:
    """Renew the lease of the running flow run, if it has one and a minute has passed.

    Raises:
        httpx.TransportError: the server does not answer; the next time will do.
    """
    lease_id = _own_lease()
    if lease_id in _renewed_at and time.monotonic() - _renewed_at[lease_id] >= _RENEWED_EVERY_S:
        _goes_on(client, lease_id, _LEASE_S)


def _own_lease() -> UUID | None:
    context = FlowRunContext.get()
    state = context.flow_run.state if context and context.flow_run else None
    return state.state_details.deployment_concurrency_lease_id if state else None


def _goes_on(client: "SyncPrefectClient", lease_id: UUID, lease_s: float) -> bool:
    """Renew a lease; one that the server does not know any more is given up, and that is told."""
    try:
        client.renew_concurrency_lease(lease_id=lease_id, lease_duration=lease_s)
    except httpx.HTTPStatusError as error:
        _give_up(lease_id, f"HTTP status {error.response.status_code}")
        return False
    _renewed_at[lease_id] = time.monotonic()
    return True


def _give_up(lease_id: UUID, reason: str) -> None:
    _renewed_at.pop(lease_id, None)
    _LOGGER.warning("the slot of this deployment is lost (%s); the run goes on under the host's lock", reason)


def renew_late(
    client: "SyncPrefectClient", lease_id: UUID, lease_duration: float, stop_event: threading.Event
) -> bool:
    """In place of Prefect's own: wait until nobody has renewed the lease for too long, then do it.

    Returns:
        Whether the lease goes on; Prefect's thread ends without a word where not.
    """
    last = _renewed_at.setdefault(lease_id, time.monotonic() - _AT_THE_LATEST_S)
    while (due_in_s := _renewed_at.get(lease_id, last) + _AT_THE_LATEST_S - time.monotonic()) > 0:
        if stop_event.wait(due_in_s):
            return False
    while lease_id in _renewed_at:
        try:
            return _goes_on(client, lease_id, lease_duration)
        except (httpx.TransportError, OSError) as error:
            if time.monotonic() - _renewed_at.get(lease_id, last) >= lease_duration:
                _give_up(lease_id, f"{type(error).__name__}")
        if stop_event.wait(_AGAIN_AFTER_S):
            return False
    return False
