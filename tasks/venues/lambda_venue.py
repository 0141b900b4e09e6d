"""The venue of cells whose client runs in a Lambda function: one invocation is one block.

The function is looked up once, before its first block. Nothing is tried again: whatever becomes of an
invocation is an outcome. Several clients are as many invocations at the same time, each of which Lambda gives
an environment of its own; they are told beforehand when to begin, since they cannot meet. One that is late,
as after a cold start that took longer, is told in the proof, and the next block gives them more time.
"""

import dataclasses
import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from configs.block import BlockSpec
from configs.errors import UserError
from configs.suite import Cell
from configs.targets import BucketTarget, MountTarget
from configs.venues import LambdaVenueConfig
from tasks.access import bucket_io
from tasks.access.s3_client import control_client
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import SampleColumns
from tasks.venues.lambda_client import lambda_client
from tasks.venues.lambda_errors import why_function_failed, why_refused
from tasks.venues.lambda_label import LambdaFunction, check_facts, check_function, function_of
from tasks.venues.lambda_wire import (
    MOST_EVENT_BYTES,
    MOST_INLINE_BYTES,
    AnswerPlace,
    BlockAnswer,
    BlockEvent,
    StoredSamples,
    from_text,
    unpacked,
)
from tasks.venues.together import LATE_MS, late_by_ms, merge, split
from tasks.venues.wire import BlockOutcome, WireError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_ASKED_WITHIN_S: Final = 30.0
_AFTER_ITS_TIME_S: Final = 60.0
"""Lambda ends a function in time; so long after that its answer is no longer waited for. A cold start, which
is not part of that time, lies within it."""
_LEAD_S: Final = 8.0
"""How long before the common start clients are invoked: a cold start, then connecting and warming up."""
_LONGEST_LEAD_S: Final = 64.0


@dataclass(frozen=True, slots=True)
class _Ready:
    """A function that is what its venue says."""

    function: LambdaFunction
    client: "LambdaClient"


class LambdaVenue:
    """Measures blocks in one Lambda function."""

    def __init__(
        self,
        venue: LambdaVenueConfig,
        environment: Mapping[str, str],
        timeout_s: float,
        what_is_broken: Callable[[], str] = str,
        most_inline_bytes: int = MOST_INLINE_BYTES,
    ) -> None:
        """Make one.

        Args:
            venue: which function, and what it has to be.
            environment: of the measuring processes of this host, with the credentials of a lab if it is one.
            timeout_s: how long a block may take; a function whose own time-out is shorter has only that.
            what_is_broken: is asked before each block, which an answer that is not empty keeps from being
                measured.
            most_inline_bytes: encoded samples that are larger than this come by the bucket.
        """
        self._venue = venue
        self._environment = environment
        self._timeout_s = timeout_s
        self._what_is_broken = what_is_broken
        self._most_inline_bytes = most_inline_bytes
        self._lead_s = _LEAD_S
        self._found: _Ready | str | None = None
        """What looking it up came to: a reason where it cannot measure; None where nobody looked."""

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block; whatever becomes of its invocations is an outcome, never an exception."""
        if problem := self._what_is_broken():
            return _failed(problem)
        if self._found is None:
            self._found = self._look_up()
        if isinstance(self._found, str):
            return _failed(self._found)
        ready = self._found
        try:
            proof = _proof(spec.cell, ready.function)
        except LabelError as reason:
            return _failed(str(reason))
        if spec.cell.configuration.clients == 1:
            outcome = self._invoked(ready, spec, number=0)
        else:
            outcome = self._together(ready, spec)
        return dataclasses.replace(outcome, proof=proof | (outcome.proof or {}))

    def _look_up(self) -> _Ready | str:
        """The function as Lambda knows it, or why it cannot measure."""
        try:
            asking = lambda_client(self._venue, self._environment, _ASKED_WITHIN_S)
            function = function_of(asking.get_function_configuration(FunctionName=self._venue.function))
            check_function(self._venue, function)
            read_timeout_s = function.timeout_s + _AFTER_ITS_TIME_S
            return _Ready(function, lambda_client(self._venue, self._environment, read_timeout_s, 256))
        except LabelError as reason:
            return str(reason)
        except (ClientError, BotoCoreError) as error:
            return why_refused(self._venue, error)

    def _together(self, ready: _Ready, spec: BlockSpec) -> BlockOutcome:
        """A block of several clients, all invoked at once."""
        start_us = int((time.time() + self._lead_s) * 1e6)
        outcomes = _all_at_once(
            [partial(self._invoked, ready, part, number, start_us) for number, part in enumerate(split(spec))]
        )
        is_late = max(late_by_ms(outcomes, start_us).values(), default=0) > LATE_MS
        self._lead_s = min(_LONGEST_LEAD_S, 2 * self._lead_s) if is_late else max(_LEAD_S, self._lead_s / 2)
        return merge(spec, outcomes, start_us)

    def _invoked(
        self, ready: _Ready, spec: BlockSpec, number: int, start_at_us: int | None = None
    ) -> BlockOutcome:
        """What one invocation came to."""
        event = BlockEvent(
            block=spec.model_copy(update={"cell": _as_in_function(spec.cell)}),
            start_at_us=start_at_us,
            answer=_place_of_answer(spec, number),
            timeout_s=self._timeout_s,
            most_inline_bytes=self._most_inline_bytes,
        )
        told = event.model_dump_json().encode()
        if len(told) > MOST_EVENT_BYTES:
            return _failed(
                f"what the function is told of {len(spec.objects):,} objects comes to {len(told):,} bytes, "
                f"and an invocation takes {MOST_EVENT_BYTES:,}: give the suite more blocks"
            )
        try:
            answer = ready.client.invoke(FunctionName=self._venue.function, Payload=told)
            payload = answer["Payload"].read()
        except (ClientError, BotoCoreError) as error:
            return _failed(why_refused(self._venue, error))
        if "FunctionError" in answer:
            return _failed(why_function_failed(self._venue, ready.function, payload))
        return self._outcome(event, payload)

    def _outcome(self, event: BlockEvent, payload: bytes) -> BlockOutcome:
        """What a function answered."""
        try:
            answer = BlockAnswer.model_validate_json(payload)
            outcome = unpacked(self._packed_samples(event, answer))
        except UserError as error:
            return _failed(f"the samples of Lambda function {self._venue.function} were not fetched: {error}")
        except (ValidationError, WireError) as error:
            return _failed(
                f"Lambda function {self._venue.function} answered wrongly: {error}: let it have the code of "
                "this version"
            )
        proof = {f"lambda_{name}": value for name, value in answer.venue.items()} | (outcome.proof or {})
        outcome = dataclasses.replace(outcome, proof=proof)
        try:
            check_facts(self._venue, answer.venue)
        except LabelError as reason:
            return dataclasses.replace(outcome, status="failed", reason=str(reason))
        return outcome

    def _packed_samples(self, event: BlockEvent, answer: BlockAnswer) -> bytes:
        if answer.wire is not None:
            return from_text(answer.wire)
        if answer.object is None or event.answer is None or answer.object.key != event.answer.key:
            raise WireError("it has no samples")
        return self._fetched(event.block.cell, answer.object)

    def _fetched(self, cell: Cell, stored: StoredSamples) -> bytes:
        """Samples from the bucket, where they are removed with all that the run wrote.

        Raises:
            UserError: if the bucket does not answer.
            WireError: if it has something else there.
        """
        bucket = cell.bucket
        client = control_client(bucket, self._environment)
        payload = bucket_io.get_if_there(client, bucket.bucket, stored.key)
        if payload is None or hashlib.sha256(payload).hexdigest() != stored.sha256:
            raise WireError(f"s3://{bucket.bucket}/{stored.key} does not hold its samples")
        return payload


def _proof(cell: Cell, function: LambdaFunction) -> dict[str, str]:
    """What Lambda itself tells of the function that measures a cell.

    Raises:
        LabelError: if it has not the file system that the cell's target names.
    """
    proof = {f"lambda_{name}": value for name, value in function.proof.items()}
    target = cell.target
    if isinstance(target, MountTarget) and target.file_system_id is not None:
        proof |= function.file_system_proof(target)
    if isinstance(target, MountTarget) and not target.shows_bucket and function.mounted_service == "s3files":
        raise LabelError(
            "the target says that its file system shows no bucket, and the function has S3 Files: correct "
            "the target, or the function's file system"
        )
    return proof


def _as_in_function(cell: Cell) -> Cell:
    """The cell without the file system's id, which is proved already, and cannot be where it runs."""
    if not isinstance(cell.target, MountTarget):
        return cell
    return cell.model_copy(update={"target": cell.target.model_copy(update={"file_system_id": None})})


def _place_of_answer(spec: BlockSpec, number: int) -> AnswerPlace | None:
    """Below the prefix of the run, where nothing of a block is looked for; none where no bucket is used."""
    if spec.cell.configuration.access_path.requests == "none":
        return None
    bucket = spec.cell.bucket
    name = f"{spec.cell.cell_id}/{spec.block:03d}-{number:03d}"
    return AnswerPlace(
        bucket=bucket.bucket,
        key=f"{bucket.prefix}/runs/{spec.run.run_id}/answers/{name}",
        region=bucket.region,
        endpoint_url=bucket.endpoint_url if isinstance(bucket, BucketTarget) else None,
    )


def _all_at_once(calls: Sequence[Callable[[], BlockOutcome]]) -> list[BlockOutcome]:
    """What all of them return; their threads end with this process, should it be interrupted."""
    outcomes: dict[int, BlockOutcome] = {}

    def keep(number: int, call: Callable[[], BlockOutcome]) -> None:
        outcomes[number] = call()

    threads = [threading.Thread(target=keep, args=item, daemon=True) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcomes[number] for number in range(len(calls))]


def _failed(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)
