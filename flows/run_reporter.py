"""What a flow run of a deployment tells while it goes on: lines of its log, its progress, signs of life.

All of it is sent between blocks, at most every 15 s, in requests of a few seconds at most that are not tried
again; then the server is waited for, see `quiet.py`. What cannot be sent is sent the next time. In a block
of more than a minute a thread sends a sign of life each minute, for the automation that takes silent runs for
dead: that is the only thing of Prefect that ever happens while something is measured.
"""

import contextvars
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from configs.redaction import redacted
from flows.lease import renew_between_blocks
from flows.quiet import settle, wait_for_server
from flows.run_events import tell_alive, without_retries
from tasks.venues.launch import Launch, given_launch

PROGRESS_KEY: Final = "s3bench-progress"
"""The key of the artifact, of every run."""
_BETWEEN_BLOCKS_S: Final = 15.0
_OTHERWISE_S: Final = 1.0
_SIGN_AFTER_S: Final = 60.0
_SIGN_AGAIN_AFTER_S: Final = 10.0
_TIMEOUT_S: Final = 3.0
_LOGGER_NAME: Final = "prefect.flow_runs"  # as Prefect calls that of its own lines
_LONGEST_LINE: Final = 10_000


@contextmanager
def reported(stage: str = "") -> Iterator[Launch]:
    """How the running flow was started: by a command, or by a deployment, whose run reports to its server.

    Args:
        stage: the one that the progress artifact counts; without one there is no such artifact.
    """
    given = given_launch()
    if given is not None:
        yield given
        return
    timeout = httpx.Timeout(_TIMEOUT_S)
    with get_client(sync_client=True, httpx_settings={"timeout": timeout}) as client:
        reporter = RunReporter(client, stage)
        with reporter.alive():
            yield Launch(reporter, settle=reporter.settle)


class RunReporter:
    """Tells the Prefect server how far a flow run has come."""

    def __init__(self, client: SyncPrefectClient, stage: str) -> None:
        """Make one for the running flow run; see `reported`."""
        self._client = client
        self._counted = stage
        self._flow_run_id = UUID(flow_run.get_id())
        self._name = flow_run.get_name() or ""
        self._logger = get_run_logger()
        self._unsent: list[dict[str, Any]] = []
        self._stage, self._stage_began_s = "", 0.0
        self._tenth, self._said_s = 0, 0.0
        self._progress, self._description = 0.0, ""
        self._artifact_id: UUID | None = None
        self._is_changed = False
        self._is_between_blocks = False
        self._sent_s = -_BETWEEN_BLOCKS_S
        self._sign_due_s = time.monotonic() + _SIGN_AFTER_S
        self._ended = threading.Event()

    def note(self, text: str) -> None:
        """A line of the log."""
        self._say(text)
        self._send_where_due(is_new=True)

    def advance(self, stage: str, done: int, total: int, detail: str) -> None:
        """A line where a stage begins and where it ends, and now and then for a tenth of it that is done."""
        is_new = stage != self._stage
        self._say_how_far(stage, done, total)
        self._is_between_blocks = stage == self._counted and done < total
        if stage == self._counted:
            self._progress = 100 * done / total if total else 100.0
        self._description = f"{stage}: {done} of {total}{f', next {detail}' if detail else ''}"
        self._is_changed = True
        self._send_where_due(is_new=is_new or done == total)

    def _say_how_far(self, stage: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        is_new, tenth = stage != self._stage, 10 * done // total if total else 10
        if is_new:
            self._stage, self._stage_began_s = stage, now_s
        if done == total:
            self._say(f"{stage}: {done} of {total}, after {now_s - self._stage_began_s:.1f} s")
        elif is_new or (tenth > self._tenth and now_s - self._said_s >= _BETWEEN_BLOCKS_S):
            self._say(f"{stage}: {done} of {total}")
        else:
            return
        self._tenth, self._said_s = tenth, now_s

    def settle(self) -> None:
        """Send all there is, and let the server work it off: what comes next has the machine for itself."""
        self._send()
        settle()

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Send a sign of life where nothing else has been sent for a minute; at the end, all that is left."""
        # A copy: the thread has the settings of this run, and Prefect knows whose events it tells.
        watch = threading.Thread(target=contextvars.copy_context().run, args=(self._watch,), daemon=True)
        watch.start()
        try:
            yield
        finally:
            self._ended.set()
            self._is_between_blocks = False
            self._send()

    def _watch(self) -> None:
        while not self._ended.wait(max(0.0, self._sign_due_s - time.monotonic())):
            if self._sign_due_s <= time.monotonic():
                told = tell_alive(self._name)
                self._sign_due_s = time.monotonic() + (_SIGN_AFTER_S if told else _SIGN_AGAIN_AFTER_S)

    def _say(self, text: str) -> None:
        text = redacted(text)[:_LONGEST_LINE]
        self._logger.info("%s", text, extra={"send_to_api": False})
        self._unsent.append(
            {
                "name": _LOGGER_NAME,
                "level": logging.INFO,
                "message": text,
                "timestamp": datetime.now(UTC).isoformat(),
                "flow_run_id": str(self._flow_run_id),
            }
        )

    def _send_where_due(self, *, is_new: bool) -> None:
        """Between blocks seldom; else at once what is new, and now and then how far it is."""
        since_s = time.monotonic() - self._sent_s
        if self._is_between_blocks:
            if since_s >= _BETWEEN_BLOCKS_S:
                self._send()
                wait_for_server()
        elif is_new or since_s >= _OTHERWISE_S:
            self._send()

    def _send(self) -> None:
        """A sign of life, the lines, the artifact; where the first fails, the others wait for next time."""
        self._sent_s = time.monotonic()
        if not tell_alive(self._name):
            return
        self._sign_due_s = time.monotonic() + _SIGN_AFTER_S
        try:
            with without_retries():
                renew_between_blocks(self._client)
                self._send_lines()
                self._send_progress()
        except httpx.HTTPError as error:
            self._logger.debug("not sent: %r", error, extra={"send_to_api": False})

    def _send_lines(self) -> None:
        if self._unsent:
            self._client.create_logs(self._unsent)
            self._unsent = []

    def _send_progress(self) -> None:
        """By plain requests: the client's own methods for artifacts start the thread that sends events."""
        if not (self._counted and self._is_changed):
            return
        shown = {"data": self._progress, "description": self._description}
        if self._artifact_id is None:
            shown |= {"key": PROGRESS_KEY, "type": "progress", "flow_run_id": str(self._flow_run_id)}
            answer = self._client.request("POST", "/artifacts/", json=shown)
            self._artifact_id = UUID(answer.json()["id"])
        else:
            artifact = {"id": self._artifact_id}
            self._client.request("PATCH", "/artifacts/{id}", json=shown, path_params=artifact)
        self._is_changed = False
