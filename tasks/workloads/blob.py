"""Whole objects of random bytes: read the same one or another one each time, or write a new one."""

import contextlib
import hashlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Final

from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.workloads import BlobRead as BlobReadConfig
from configs.workloads import BlobWrite as BlobWriteConfig
from tasks.access.protocol import AccessPath, Answer, Body, ObjectPath, Upload
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import Failure, SampleColumns
from tasks.kernel.start import CommonStart
from tasks.kernel.threads import measure_in_threads

ANSWER_COLUMNS: Final = tuple(field.name for field in fields(Answer))
"""The columns that a client's answer may fill."""

_DELETED_AT_ONCE: Final = 1000
"""What one request may delete; a mount deletes file by file."""


def measure_reads(
    spec: BlockSpec, access: ObjectPath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of blob reads: each thread reads objects of its own, or all of them the single one."""
    workload = spec.cell.workload
    if not isinstance(workload, BlobReadConfig):
        raise TypeError(workload.kind)  # the registry lets no other kind through
    threads = workload.concurrency

    def reads_of(thread: int, part: SampleColumns) -> BlobRead:
        return BlobRead(access, spec.objects[thread::threads] or spec.objects, part)

    return _measured(spec, workload, reads_of, samples, start)


def measure_writes(
    spec: BlockSpec, access: ObjectPath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of blob writes; when its clock has stopped, the objects are looked up and removed."""
    workload = spec.cell.workload
    if not isinstance(workload, BlobWriteConfig):
        raise TypeError(workload.kind)  # the registry lets no other kind through
    size_bytes = int(workload.size)

    def writes_of(thread: int, _: SampleColumns) -> BlobWrite:
        prefix = f"{spec.write_prefix}{thread:03d}/"
        access.ready_for_writes(prefix)
        return BlobWrite(access, prefix, size_bytes, spec.seed + thread)

    samples.to_look_up = True
    try:
        return _measured(spec, workload, writes_of, samples, start)
    finally:  # a loop that breaks off leaves rows too, and none counts that nobody has looked at
        verify_and_remove(spec, access, samples, size_bytes)


def _measured(
    spec: BlockSpec,
    workload: BlobReadConfig | BlobWriteConfig,
    make: "Callable[[int, SampleColumns], BlobRead | BlobWrite]",
    samples: SampleColumns,
    start: CommonStart | None,
) -> LoopCost:
    return measure_in_threads(
        make,
        samples,
        spec.iterations,
        spec.warmup,
        workload.concurrency,
        deadline_ns=spec.deadline_ns,
        start=start,
        rate_per_s=workload.rate_per_s,
    )


class BlobRead:
    """Timed: one whole read. Verified afterwards: length and SHA-256.

    With fewer objects than operations they come round again, so one object is a `single` read.
    """

    name = "read"

    def __init__(self, access: ObjectPath, objects: Sequence[DatasetObject], samples: SampleColumns) -> None:
        self._access = access
        self._objects = [(samples.key_index(item.key), item) for item in objects]
        self._next = self._objects[0]

    @property
    def timed(self) -> Callable[[str], tuple[Body, object]]:
        """The access path's own read, with nothing around it."""
        return self._access.read

    def prepare(self, seq: int) -> str:
        """Choose the object."""
        self._next = self._objects[seq % len(self._objects)]
        return self._next[1].key

    def check(self, samples: SampleColumns, row: int, argument: str, result: tuple[Body, object]) -> None:
        """Record the size and the client's answer; other bytes than were prepared make an error."""
        body, native = result
        index, wanted = self._next
        samples.object_key[row] = index
        samples.integers["size_bytes"][row] = len(body)
        record_answer(samples, row, self._access.answer(native))
        if len(body) != wanted.size_bytes:
            message = f"{wanted.key}: {len(body)} bytes came, {wanted.size_bytes} were prepared"
            samples.fail(row, Failure("WrongLength", message))
        elif hashlib.sha256(body).hexdigest() != wanted.sha256:
            samples.fail(row, Failure("WrongBytes", f"{wanted.key}: other bytes came than were prepared"))

    def explain(self, samples: SampleColumns, row: int, argument: str, error: Exception) -> Failure:
        """As the access path sees it."""
        samples.object_key[row] = self._next[0]
        return self._access.failure(error)


class BlobWrite:
    """Timed: one whole write to a new key."""

    name = "write"

    def __init__(self, access: ObjectPath, prefix: str, size_bytes: int, seed: int) -> None:
        self._access = access
        self._prefix = prefix
        # One payload serves all writes of a block: it does not compress, and no server here looks
        # for the same bytes under another key.
        self._payload = random.Random(seed).randbytes(size_bytes)  # noqa: S311 - repeatable, not secret

    @property
    def timed(self) -> Callable[[Upload], object]:
        """The access path's own write, with nothing around it."""
        return self._access.write

    def prepare(self, seq: int) -> Upload:
        """A key that no operation had before."""
        return Upload(f"{self._prefix}{seq:06d}.bin", self._payload)

    def check(self, samples: SampleColumns, row: int, argument: Upload, result: object) -> None:
        """Record the client's answer."""
        samples.object_key[row] = samples.key_index(argument.key)
        samples.integers["size_bytes"][row] = len(argument.payload)
        record_answer(samples, row, self._access.answer(result))

    def explain(self, samples: SampleColumns, row: int, argument: Upload, error: Exception) -> Failure:
        """As the access path sees it."""
        samples.object_key[row] = samples.key_index(argument.key)
        return self._access.failure(error)


def verify_and_remove(spec: BlockSpec, access: AccessPath, samples: SampleColumns, size_bytes: int) -> None:
    """Look at all that a block wrote at once, then delete it: after the block's clock.

    One look and no request for each object, since the venue stops a block that takes too long for it.
    """
    written = {
        samples.keys[index]: row
        for row, index in enumerate(samples.object_key)
        if index >= 0 and row not in samples.failures
    }
    if not written:
        samples.to_look_up = False
        return
    try:
        found = access.sizes_below(spec.write_prefix)
    except Exception as error:  # noqa: BLE001 - whatever the client raises: nobody can say what arrived
        failure = Failure("NotVerified", f"{spec.write_prefix}: {type(error).__name__}: {error}")
        for row in written.values():
            samples.fail(row, failure)
    else:
        for key, row in written.items():
            _compare(samples, row, key, found.get(key), size_bytes)
    samples.to_look_up = False
    remove_written(access, list(written), spec.deadline_ns)


def _compare(samples: SampleColumns, row: int, key: str, found_bytes: int | None, size_bytes: int) -> None:
    """Mark a write as failed whose object is not there, or is of another size."""
    if found_bytes is None:
        samples.fail(row, Failure("NotFoundAfterWrite", f"{key}: no listing shows what was written"))
    elif found_bytes != size_bytes:
        message = f"{key}: {found_bytes} bytes arrived, {size_bytes} were written"
        samples.fail(row, Failure("WrongLength", message))


def remove_written(access: AccessPath, keys: list[str], deadline_ns: int | None = None) -> None:
    """Delete what a block wrote, if that is possible and there is time; what was measured counts in any case.

    From `deadline_ns` on nothing more is begun than the first few, lest the block is stopped in its clean-up
    and loses its samples. The clean-up at the end of the run tries again for all that lies below the run's
    prefix, and tells of what it cannot delete.
    """
    with contextlib.suppress(Exception):
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            if start and deadline_ns is not None and time.perf_counter_ns() >= deadline_ns:
                break
            access.delete(keys[start : start + _DELETED_AT_ONCE])


def record_answer(samples: SampleColumns, row: int, answer: Answer) -> None:
    """Status, retries and stages, where the client has such notions."""
    for name in ANSWER_COLUMNS:
        value = getattr(answer, name)
        if value is not None:
            samples.put(row, name, value)
