"""How long it takes until a write on one side of a mount is seen whole on the other.

    prepare: write a new key → [clock → look, wait, look, … until all of it is seen → clock] → compare

The clock starts when the loop gets the written key back from `prepare`, a few microseconds after the write
ended: after close on the mount, or after PutObject was answered. It stops when a look has seen all of it,
so that the last look's own time is part of the lag. Looks begin at multiples of `poll_interval_ms`, of which
a look that takes long skips some: a lag is known to that resolution, from above.

Looks by `open` and `ls` go through the mount, and ask for a name before it is there. Kernels and mounts
remember that a name was absent (negative entries), and a look that begins too early may so prolong the
absence that it waits for. That is what a program meets that polls for a file, so it is measured as it is.

A write that fails is a failed operation, whose error is raised where the looks would begin.
"""

import contextlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import ClientError

from configs.block import BlockSpec
from configs.targets import MountTarget
from configs.workloads import SyncLag as SyncLagConfig
from tasks.access import bucket_io
from tasks.access.failures import failure_of_client_error
from tasks.access.protocol import AccessPath, ObjectPath, Upload
from tasks.access.s3_client import control_client
from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.samples import Failure, SampleColumns

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NOT_THERE = frozenset({"NoSuchKey", "404"})


class NotSeenInTimeError(Exception):
    """A write was not seen on the other side before the time-out."""


class Direction(Protocol):
    """One way across: a write on one side, looks on the other."""

    retries: int | None
    """Of all looks since the last write, where the looking client counts them."""

    def ready(self, prefix: str) -> None:
        """Make what the first write and the first look need to exist."""

    def write(self, upload: Upload) -> None:
        """Write a new key whole."""

    def look(self, key: str, size_bytes: int) -> bytes | None:
        """What is seen of a key; None where nothing or not all of it is."""

    def reread(self, key: str, seen: bytes) -> bytes:
        """The bytes behind what was seen, where a look does not read them."""

    def remove(self, keys: list[str]) -> None:
        """Delete written keys, from the side that wrote them."""


def measure_sync_lag(spec: BlockSpec, access: ObjectPath, samples: SampleColumns) -> LoopCost:
    """One block of writes that are looked for on the other side; they are removed when its clock has stopped.

    Raises:
        UserError: if the bucket behind the mount cannot be reached.
    """
    workload = spec.cell.workload
    target = spec.cell.target
    if not isinstance(workload, SyncLagConfig) or not isinstance(target, MountTarget):
        raise TypeError(workload.kind)  # the registry lets no other kind through
    bucket = spec.cell.bucket
    client = control_client(bucket, os.environ)
    direction: Direction
    match workload.seen_by:
        case "get":
            direction = SeenByGet(access, client, bucket.bucket)
        case "open":
            direction = SeenByOpen(access, client, bucket.bucket)
        case "ls":
            direction = SeenByList(access, client, bucket.bucket, target)
    direction.ready(spec.write_prefix)
    payload = random.Random(spec.seed).randbytes(int(workload.size))  # noqa: S311 - repeatable, not secret
    operation = SyncLag(access, direction, spec.write_prefix, payload, workload)
    try:
        return measure(operation, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns)
    finally:
        # What was measured counts also where this fails: the run's clean-up tries again, and tells of it.
        with contextlib.suppress(Exception):
            direction.remove(operation.written)
        client.close()


class SyncLag:
    """Timed: looking until a write is seen whole. Verified afterwards: every byte."""

    name = "sync_lag"

    def __init__(
        self, access: AccessPath, direction: Direction, prefix: str, payload: bytes, config: SyncLagConfig
    ) -> None:
        self.written: list[str] = []
        """Every key that was written or tried, seen or not."""
        self._access = access
        self._direction = direction
        self._prefix = prefix
        self._payload = payload
        self._interval_s = config.poll_interval_ms / 1000
        self._timeout_s = config.timeout_s
        self._write_error: Exception | None = None

    @property
    def timed(self) -> Callable[[str], bytes]:
        """Looking, again and again."""
        return self._until_seen

    def prepare(self, seq: int) -> str:
        """Write a key that no operation had before; nothing follows the write, for the clock is next."""
        key = f"{self._prefix}{seq:06d}.bin"
        self.written.append(key)
        self._write_error = None
        try:
            self._direction.write(Upload(key, self._payload))
        except Exception as error:  # noqa: BLE001 - whatever the client raises becomes this operation's error
            self._write_error = error
        return key

    def _until_seen(self, key: str) -> bytes:
        if self._write_error is not None:
            raise self._write_error
        look, size_bytes = self._direction.look, len(self._payload)
        began_s = time.perf_counter()
        looks = 0
        while True:
            seen = look(key, size_bytes)
            if seen is not None:
                return seen
            looks += 1
            waited_s = time.perf_counter() - began_s
            if waited_s >= self._timeout_s:
                raise NotSeenInTimeError(
                    f"{key}: not seen whole after {waited_s:.3f} s and {looks} look{'s' if looks > 1 else ''}"
                )
            # The last look is at the time-out itself, wherever that falls between two others.
            time.sleep(min(self._interval_s - waited_s % self._interval_s, self._timeout_s - waited_s))

    def check(self, samples: SampleColumns, row: int, argument: str, result: bytes) -> None:
        """Record what was moved; other bytes than were written make an error."""
        self._record(samples, row, argument)
        try:
            body = self._direction.reread(argument, result)
        except Exception as error:  # noqa: BLE001 - whatever the client raises: what was listed cannot be read
            samples.fail(row, Failure("NotReadable", f"{argument} was seen, but: {error}"))
            return
        if body != self._payload:
            message = f"{argument}: other bytes are seen than were written ({len(body)} of them)"
            samples.fail(row, Failure("WrongBytes", message))

    def explain(self, samples: SampleColumns, row: int, argument: str, error: Exception) -> Failure:
        """`NotSeenInTime`, or what the writing or the looking client raised."""
        self._record(samples, row, argument)
        if isinstance(error, NotSeenInTimeError):
            return Failure("NotSeenInTime", str(error))
        if isinstance(error, ClientError):
            failure = failure_of_client_error(error)
        else:
            failure = self._access.failure(error)
        if self._direction.retries is not None:  # of all looks, and the error tells those of the last
            failure = replace(failure, retries=self._direction.retries)
        if self._write_error is not None:
            return replace(failure, message=f"not written: {failure.message}")
        return failure

    def _record(self, samples: SampleColumns, row: int, key: str) -> None:
        samples.object_key[row] = samples.key_index(key)
        samples.put(row, "size_bytes", len(self._payload))
        if self._direction.retries is not None:
            samples.put(row, "retries", self._direction.retries)


class SeenByGet:
    """Written on the mount (open, write, flush, fsync, close), looked for in the bucket by GetObject."""

    def __init__(self, access: ObjectPath, client: "S3Client", bucket: str) -> None:
        self.retries: int | None = 0
        self._access = access
        self._client = client
        self._bucket = bucket

    def ready(self, prefix: str) -> None:
        """Make the folder on the mount, and open the looking client's connection."""
        self._access.ready_for_writes(prefix)
        bucket_io.get_if_there(self._client, self._bucket, f"{prefix}nothing")

    def write(self, upload: Upload) -> None:
        """Through the mount."""
        self.retries = 0
        self._access.write(upload)

    def look(self, key: str, size_bytes: int) -> bytes | None:
        """The object, once it has its whole size."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            self._count(error.response["ResponseMetadata"].get("RetryAttempts", 0))
            if error.response["Error"].get("Code") in _NOT_THERE:
                return None
            raise
        self._count(answer["ResponseMetadata"]["RetryAttempts"])
        with answer["Body"] as body:
            return body.read() if answer["ContentLength"] == size_bytes else None

    def reread(self, key: str, seen: bytes) -> bytes:
        """A look has read it."""
        return seen

    def remove(self, keys: list[str]) -> None:
        """Unlink the files."""
        self._access.delete(keys)

    def _count(self, retries: int) -> None:
        self.retries = (self.retries or 0) + retries


class SeenByOpen:
    """Put into the bucket, looked for on the mount by opening and reading it."""

    retries: int | None = None

    def __init__(self, access: ObjectPath, client: "S3Client", bucket: str) -> None:
        self._access = access
        self._client = client
        self._bucket = bucket

    def ready(self, prefix: str) -> None:
        """Make the folder on the mount: a file in a folder that is there already is what is looked for."""
        self._access.ready_for_writes(prefix)

    def write(self, upload: Upload) -> None:
        """List the folder on the mount, and then PutObject.

        So every write finds a mount that has just looked and seen nothing, which is when its caches count;
        a folder that a mount meets for the first time it would ask the bucket for.
        """
        self._access.list_keys(upload.key.rpartition("/")[0] + "/")
        self._client.put_object(Bucket=self._bucket, Key=upload.key, Body=upload.payload)

    def look(self, key: str, size_bytes: int) -> bytes | None:
        """The file, once it has its whole size."""
        try:
            body, _ = self._access.read(key)
        except FileNotFoundError:
            return None
        return bytes(body) if len(body) == size_bytes else None  # the same object where it is bytes

    def reread(self, key: str, seen: bytes) -> bytes:
        """A look has read it."""
        return seen

    def remove(self, keys: list[str]) -> None:
        """Delete the objects."""
        bucket_io.delete(self._client, self._bucket, keys)


class SeenByList(SeenByOpen):
    """Put into the bucket, looked for in a listing of its folder on the mount, with its size (`ls -l`)."""

    def __init__(self, access: ObjectPath, client: "S3Client", bucket: str, target: MountTarget) -> None:
        super().__init__(access, client, bucket)
        self._target = target

    def look(self, key: str, size_bytes: int) -> bytes | None:
        """No bytes, once the name stands there with its whole size."""
        path = self._target.path_of(key)
        try:
            with os.scandir(path.parent) as entries:
                found = next((entry for entry in entries if entry.name == path.name), None)
            return b"" if found is not None and found.stat().st_size == size_bytes else None
        except FileNotFoundError:  # the folder, or the name between the listing and its size
            return None

    def reread(self, key: str, seen: bytes) -> bytes:
        """The file itself, for a listing shows no bytes."""
        return bytes(self._access.read(key)[0])
