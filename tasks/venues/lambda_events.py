"""Answers the events of experiments E2 and E5, measured as everything else is.

E2 (`op`): reads and writes of blobs by boto3, or on the function's mount where it has one; one JSON line on
the standard output for each counted operation that succeeded, with the fields of `s3_access_benchmark_v1`.
E5 (`method`): `upload_file` and `download_file` of one file, again and again.
"""

import contextlib
import hashlib
import json
import os
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from configs.access_paths import AccessPathConfig, Boto3Api, MountIo, TransferManager
from configs.block import BlockSpec
from configs.errors import UserError
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity, dt_of
from configs.suite import Cell, Configuration
from configs.targets import TargetConfig
from configs.workloads import (
    BEGIN_WITHIN,
    BlobRead,
    BlobWrite,
    FileDownload,
    FileUpload,
    WorkloadConfig,
)
from tasks.access import bucket_io
from tasks.access.s3_client import control_client
from tasks.venues.block import run_block
from tasks.venues.event_data import objects_to_read, set_up
from tasks.venues.event_models import (
    BlobEvent,
    FileEvent,
    FunctionSettings,
    event_of,
    settings_of,
)
from tasks.venues.lambda_wire import LambdaContext
from tasks.venues.wire import BlockOutcome

LINE_SCHEMA: Final = "s3_access_benchmark_v1"
_RUNTIME: Final = "AWS_EXECUTION_ENV"


def answer(event: Mapping[str, object], context: LambdaContext, *, is_cold: bool) -> dict[str, object]:
    """Do what an event of E2 or E5 asks, and tell what came of it; times are in milliseconds.

    Args:
        event: the event.
        context: what Lambda tells of the invocation.
        is_cold: whether it is the first one of its environment.

    Raises:
        UserError: if the event or the function's environment cannot be, or nothing could be measured.
    """
    asked = event_of(event)
    settings = settings_of(os.environ)
    if isinstance(asked, FileEvent):
        return _moved_files(asked, settings, context)
    if asked.op == "setup":
        manifest = set_up(asked, settings)
        return _about(asked, settings) | {"objects": len(manifest.objects), "prefix": manifest.prefix}
    return _measured_blobs(asked, settings, context, is_cold=is_cold)


def _measured_blobs(
    event: BlobEvent, settings: FunctionSettings, context: LambdaContext, *, is_cold: bool
) -> dict[str, object]:
    access_path: AccessPathConfig = MountIo() if settings.mount else Boto3Api()
    target = settings.mount_target or settings.bucket_target
    workload: WorkloadConfig
    if event.op == "read":
        workload = BlobRead(dataset="event", read_mode=event.read_mode)
        objects = objects_to_read(event, settings)
    else:
        workload, objects = BlobWrite.model_validate({"size": event.size_bytes}), ()
    spec = _spec(settings, access_path, target, workload, context).model_copy(
        update={"iterations": event.iterations, "warmup": event.warmup, "objects": objects}
    )
    outcome = _outcome_of(spec)
    times_ms = _counted_ms(outcome)
    counted = event.iterations - event.warmup
    line = _about(event, settings) | {
        "sample_count": counted,
        "warmup": event.warmup,
        "cold_invocation": is_cold,
        "request_id": context.aws_request_id,
        "runtime": _runtime(),
    }
    for index, elapsed_ms in times_ms:
        told = {"schema": LINE_SCHEMA, **line, "sample_index": index, "elapsed_ms": round(elapsed_ms, 3)}
        sys.stdout.write(f"{json.dumps(told)}\n")
    sys.stdout.flush()
    return line | {"iterations": event.iterations} | _figures(times_ms) | _ending(outcome)


def _moved_files(event: FileEvent, settings: FunctionSettings, context: LambdaContext) -> dict[str, object]:
    """The file lies at `<prefix>/files/<file name>`; uploads move random bytes of its size to new keys."""
    source = _source_file(event, settings)
    workload: WorkloadConfig = (
        FileUpload.model_validate({"size": source.size_bytes})
        if event.method == "upload"
        else FileDownload(dataset="event")
    )
    with tempfile.TemporaryDirectory(prefix="s3bench-") as folder:
        spec = _spec(
            settings, TransferManager(engine="classic"), settings.bucket_target, workload, context
        ).model_copy(update={"iterations": event.count, "objects": (source,), "scratch_folder": Path(folder)})
        outcome = _outcome_of(spec)
    times_ms = _counted_ms(outcome)
    return {
        "config": settings.config,
        **event.model_dump(),
        "bytes": source.size_bytes,
        "elapsed_ms": round(sum(elapsed_ms for _, elapsed_ms in times_ms), 3),
        "wall_ms": round(outcome.cost.loop.wall_ns / 1e6, 3) if outcome.cost else None,
        "samples": [
            {"sample_index": index, "elapsed_ms": round(elapsed_ms, 3)} for index, elapsed_ms in times_ms
        ],
        "request_id": context.aws_request_id,
        "runtime": _runtime(),
        **_ending(outcome),
    }


def _source_file(event: FileEvent, settings: FunctionSettings) -> DatasetObject:
    target = settings.bucket_target
    key = f"{settings.prefix}/files/{event.file_name}"
    body = bucket_io.get_if_there(control_client(target, os.environ), target.bucket, key)
    if not body:
        raise UserError(
            f"s3://{target.bucket}/{key} {'is empty' if body == b'' else 'is not there'}: "
            "put the file there that is to be moved"
        )
    return DatasetObject(key=key, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest())


def _spec(
    settings: FunctionSettings,
    access_path: AccessPathConfig,
    target: TargetConfig,
    workload: WorkloadConfig,
    context: LambdaContext,
) -> BlockSpec:
    now = datetime.now(UTC)
    run = RunIdentity(run_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", dt=dt_of(now))
    cell = Cell(
        config_id="event",
        workload_id="event",
        configuration=Configuration(access_path=access_path, target="target"),
        workload=workload,
        target=target,
        shown=settings.bucket_target if settings.mount else None,
    )
    left_ns = context.get_remaining_time_in_millis() * 1_000_000
    return BlockSpec(
        run=run,
        cell=cell,
        block=0,
        iterations=0,
        warmup=0,
        seed=secrets.randbits(32),
        write_prefix=f"{settings.prefix}/runs/{run.run_id}/events/",
        deadline_ns=time.perf_counter_ns() + int(left_ns * BEGIN_WITHIN),
    )


def _outcome_of(spec: BlockSpec) -> BlockOutcome:
    """Measure; what a client prints must not stand among the lines of samples.

    Raises:
        UserError: if nothing at all was measured though something was to be.
    """
    with contextlib.redirect_stdout(sys.stderr):
        outcome = run_block(spec)
    if outcome.status != "measured" and not len(outcome.samples):
        raise UserError(outcome.reason)
    return outcome


def _counted_ms(outcome: BlockOutcome) -> list[tuple[int, float]]:
    """The number of each counted operation that succeeded, from 0, and how long it took."""
    return list(_counted(outcome))


def _counted(outcome: BlockOutcome) -> Iterator[tuple[int, float]]:
    samples = outcome.samples
    warmups = sum(samples.warmup)
    for row in range(len(samples)):
        if not samples.warmup[row] and row not in samples.failures:
            yield samples.integers["seq"][row] - warmups, samples.integers["total_ns"][row] / 1e6


def _figures(times_ms: list[tuple[int, float]]) -> dict[str, object]:
    """Nearest-rank quantiles, as everywhere: the value at rank ceil(n p)."""
    ascending = sorted(elapsed_ms for _, elapsed_ms in times_ms)
    if not ascending:
        return dict.fromkeys(("min_ms", "avg_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"))
    n = len(ascending)
    quantiles = {f"p{percent}_ms": ascending[-(-n * percent // 100) - 1] for percent in (50, 90, 99)}
    found = {"min_ms": ascending[0], "avg_ms": sum(ascending) / n, **quantiles, "max_ms": ascending[-1]}
    return {name: round(value, 3) for name, value in found.items()}


def _ending(outcome: BlockOutcome) -> dict[str, object]:
    failures = list(outcome.samples.failures.values())
    first = f"{failures[0].error}: {failures[0].message}" if failures else ""
    return {"status": outcome.status, "reason": outcome.reason, "errors": len(failures), "first_error": first}


def _about(event: BlobEvent, settings: FunctionSettings) -> dict[str, object]:
    return {
        "config": settings.config,
        "op": event.op,
        "size": event.size,
        "read_mode": event.read_mode,
        "read_dataset": event.read_dataset,
        "bytes": event.size_bytes,
    }


def _runtime() -> str:
    """As Lambda names it, such as python3.14; the interpreter's own version elsewhere."""
    named = os.environ.get(_RUNTIME, "").removeprefix("AWS_Lambda_")
    return named or f"python{'.'.join(platform.python_version_tuple()[:2])}"
