"""The handler of a Lambda function that measures: one invocation is one block, or one client's part of it.

It loads neither Prefect nor Parquet, and what it prints goes to the function's log and is never a result.
Every function of this project has this handler; the events of the published experiments are answered too.
"""

import contextlib
import hashlib
import itertools
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from configs.block import BlockSpec
from configs.errors import UserError
from configs.targets import MountTarget
from configs.workloads import BEGIN_WITHIN
from tasks.kernel.bounded_files import BoundedFiles
from tasks.kernel.environment import machine
from tasks.kernel.folders import size_bytes_of
from tasks.kernel.samples import SampleColumns
from tasks.kernel.start import CommonStart, sleep_until
from tasks.venues.block import run_block
from tasks.venues.lambda_wire import (
    LONGEST_WAIT_S,
    AnswerPlace,
    BlockAnswer,
    BlockEvent,
    LambdaContext,
    StoredSamples,
    as_text,
    packed,
)
from tasks.venues.wire import BlockOutcome

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ARCHITECTURES: Final = {"aarch64": "arm64", "x86_64": "x86_64"}
"""What Lambda calls the machines that Python names."""

_RESERVE_S: Final = 2.0
"""Of the time of an invocation at least so much is kept for its end: cleaning up, and its answer."""
_REMOVED_WITHIN_S: Final = 60.0
_SETTLES_US: Final = 3_000_000
"""So long before the common start a client connects and warms up: connections that are idle for five seconds
are dropped."""
_SHOWN_WITHIN_S: Final = 150.0  # S3 Files shows new objects after about 30 s
_LOOK_EVERY_S: Final = 0.2
_INVOCATIONS: Final = itertools.count(1)
"""Of this execution environment: Lambda loads a module once in each."""


def handler(event: Mapping[str, object], context: LambdaContext) -> dict[str, object]:
    """Answer one event.

    Args:
        event: a `BlockEvent`, or one of the published experiments.
        context: what Lambda tells of the invocation.

    Returns:
        A `BlockAnswer`, or what those experiments answered.

    Raises:
        ValidationError: if it is an event of another version, or of nobody.
    """
    number = next(_INVOCATIONS)
    if "op" in event or "method" in event:
        from tasks.venues import lambda_events  # noqa: PLC0415 - blocks need none of it

        return lambda_events.answer(event, context, is_cold=number == 1)
    told = BlockEvent.model_validate(event)
    facts = _facts(context, number)
    return _answered(told, facts, _measured(told, context)).model_dump(exclude_none=True)


def _facts(context: LambdaContext, number: int) -> dict[str, str]:
    """What proves where this ran; what this environment does not tell is left out."""
    here = machine()
    facts = {
        "function": context.function_name,
        "version": context.function_version,
        "memory_mb": str(context.memory_limit_in_mb),
        "architecture": ARCHITECTURES.get(here.machine, here.machine),
        "cpu_model": here.cpu_model,
        "runtime": os.environ.get("AWS_EXECUTION_ENV", ""),
        "init_type": os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE", ""),
        "python": platform.python_version(),
        "boto3": here.packages.get("boto3", ""),
        "botocore": here.packages.get("botocore", ""),
        "cold_start": str(number == 1).lower(),
        "invocation": str(number),
        "request_id": context.aws_request_id,
    }
    return {name: value for name, value in facts.items() if value}


def _measured(told: BlockEvent, context: LambdaContext) -> BlockOutcome:
    now_ns, left_s = time.perf_counter_ns(), context.get_remaining_time_in_millis() / 1000
    allowed_s = min(left_s, told.timeout_s or left_s)
    budget_s = min(allowed_s * BEGIN_WITHIN, left_s - _RESERVE_S)
    if why_not := _too_far_ahead(told.start_at_us) or _not_shown(told.block, budget_s):
        return _failed(why_not)
    if told.start_at_us is not None:
        sleep_until(told.start_at_us - _SETTLES_US)
    start = None if told.start_at_us is None else _start_at(told.start_at_us)
    with _with_scratch(told.block) as block:
        outcome = run_block(block.model_copy(update={"deadline_ns": now_ns + int(budget_s * 1e9)}), start)
    _remove_writes(told.block)
    return outcome


def _remove_writes(spec: BlockSpec) -> None:
    """From a file system that shows no bucket: nobody else reaches what was written there."""
    target = spec.cell.target
    if isinstance(target, MountTarget) and not target.shows_bucket and target.path and spec.write_prefix:
        with contextlib.suppress(OSError), BoundedFiles(_REMOVED_WITHIN_S) as files:
            files.remove_tree(target.path_of(spec.write_prefix), target.path)


def _too_far_ahead(start_at_us: int | None) -> str:
    """Why a common start cannot be meant so; empty where it can."""
    ahead_s = 0.0 if start_at_us is None else start_at_us / 1e6 - time.time()
    if ahead_s <= LONGEST_WAIT_S:
        return ""
    return (
        f"the common start lies {ahead_s:.0f} s ahead of the function's clock: "
        "keep the clock of the host of the run in step (NTP)"
    )


def _start_at(moment_us: int) -> CommonStart:
    def wait() -> str:
        sleep_until(moment_us)
        return ""

    return CommonStart(wait)


@contextlib.contextmanager
def _with_scratch(block: BlockSpec) -> Iterator[BlockSpec]:
    """The block with a folder of this environment, where it moves files; empty again after it."""
    if block.scratch_folder is None:
        yield block
        return
    with tempfile.TemporaryDirectory(prefix="s3bench-") as folder:
        yield block.model_copy(update={"scratch_folder": Path(folder)})


def _not_shown(spec: BlockSpec, within_s: float) -> str:
    """Wait until a mount shows what is to be read; what is missing if it does not, and what is not mounted.

    Nobody else can look: the host of the run has no such mount.
    """
    target = spec.cell.target
    if not isinstance(target, MountTarget) or target.path is None or not target.path.is_dir():
        return ""  # the access path tells what is not mounted
    if not target.shows_bucket:
        return _filled(target, spec, within_s / 2)
    within_s = min(_SHOWN_WITHIN_S, within_s / 2)
    deadline_s, waiting = time.monotonic() + within_s, list(spec.objects)
    while waiting := [item for item in waiting if size_bytes_of(target.path_of(item.key)) != item.size_bytes]:
        if time.monotonic() >= deadline_s:
            return (
                f"{len(waiting)} of {len(spec.objects)} objects did not appear on the mount of the function "
                f"within {within_s:.0f} s, such as {target.path_of(waiting[0].key)}"
            )
        time.sleep(_LOOK_EVERY_S)
    return ""


def _filled(target: MountTarget, spec: BlockSpec, within_s: float) -> str:
    """Copy what is to be read to a file system that shows no bucket; why not, if it cannot be."""
    from tasks.access.mount_fill import fill_mount  # noqa: PLC0415 - as in _stored
    from tasks.access.s3_client import control_client  # noqa: PLC0415 - as above

    bucket = spec.cell.bucket
    if not spec.objects:
        return ""
    try:
        client = control_client(bucket, os.environ)
    except UserError as error:
        return str(error)
    return fill_mount(target, client, bucket.bucket, spec.objects, within_s)


def _answered(told: BlockEvent, facts: dict[str, str], outcome: BlockOutcome) -> BlockAnswer:
    """The samples in the answer, or, where they are too large, in the bucket."""
    payload = packed(outcome)
    text = as_text(payload)
    if len(text) <= told.most_inline_bytes:
        return BlockAnswer(venue=facts, wire=text)
    if told.answer is None:
        reason = (
            f"the samples come to {len(text):,} bytes, which no answer of Lambda holds, and there is no "
            "bucket for them: give more blocks, or fewer iterations"
        )
        return BlockAnswer(venue=facts, wire=as_text(packed(_failed(reason))))
    try:
        return BlockAnswer(venue=facts, object=_stored(told.answer, payload))
    except UserError as error:
        reason = (
            f"the samples come to {len(text):,} bytes, which no answer of Lambda holds, and the bucket does "
            f"not take them: {error}"
        )
        return BlockAnswer(venue=facts, wire=as_text(packed(_failed(reason))))


def _stored(place: AnswerPlace, payload: bytes) -> StoredSamples:
    import boto3  # noqa: PLC0415 - only some access paths load it otherwise

    from tasks.access import bucket_io  # noqa: PLC0415 - as above

    client: S3Client = boto3.client("s3", region_name=place.region, endpoint_url=place.endpoint_url)
    bucket_io.put(client, place.bucket, place.key, payload)
    sha256 = hashlib.sha256(payload).hexdigest()
    return StoredSamples(key=place.key, size_bytes=len(payload), sha256=sha256)


def _failed(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)
