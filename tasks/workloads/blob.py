"""Whole objects of random bytes: read the same one or another one each time, or write a new one."""

import hashlib
import random
from collections.abc import Callable, Sequence

from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.workloads import BlobWrite as BlobWriteConfig
from tasks.access.protocol import AccessPath, Answer, Upload
from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.samples import NULL, Failure, SampleColumns


def measure_reads(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> LoopCost:
    """One block of blob reads, of the objects that the block was given."""
    return measure(BlobRead(access, spec.objects, samples), samples, spec.iterations, spec.warmup)


def measure_writes(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> LoopCost:
    """One block of blob writes; when its clock has stopped, the objects are looked up and removed."""
    if not isinstance(spec.cell.workload, BlobWriteConfig):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    access.ready_for_writes(spec.write_prefix)
    write = BlobWrite(access, spec.write_prefix, int(spec.cell.workload.size), spec.seed, samples)
    cost = measure(write, samples, spec.iterations, spec.warmup)
    write.verify_and_remove()
    return cost


class BlobRead:
    """Timed: one whole read. Verified afterwards: length and SHA-256.

    With fewer objects than operations they come round again, so one object is a `single` read.
    """

    name = "read"

    def __init__(self, access: AccessPath, objects: Sequence[DatasetObject], samples: SampleColumns) -> None:
        self._access = access
        self._objects = [(samples.key_index(item.key), item) for item in objects]
        self._next = self._objects[0]

    @property
    def timed(self) -> Callable[[str], tuple[bytes, object]]:
        """The access path's own read, with nothing around it."""
        return self._access.read

    def prepare(self, seq: int) -> str:
        """Choose the object."""
        self._next = self._objects[seq % len(self._objects)]
        return self._next[1].key

    def check(self, samples: SampleColumns, row: int, argument: str, result: tuple[bytes, object]) -> None:
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

    def explain(self, argument: str, error: Exception) -> Failure:
        """As the access path sees it."""
        return self._access.failure(error)


class BlobWrite:
    """Timed: one whole write to a new key. `verify_and_remove` looks at the objects afterwards."""

    name = "write"

    def __init__(
        self, access: AccessPath, prefix: str, size_bytes: int, seed: int, samples: SampleColumns
    ) -> None:
        self._access = access
        self._prefix = prefix
        self._samples = samples
        self._rows: dict[int, str] = {}
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
        self._rows[row] = argument.key

    def explain(self, argument: Upload, error: Exception) -> Failure:
        """As the access path sees it."""
        return self._access.failure(error)

    def verify_and_remove(self) -> None:
        """Look up the size of every object that was written, then delete it: after the block's clock."""
        for row, key in self._rows.items():
            try:
                size_bytes = self._access.size_of(key)
            except Exception as error:  # noqa: BLE001 - whatever the client raises: the write cannot be seen
                self._samples.fail(row, Failure("NotFoundAfterWrite", f"{key}: {error}"))
                continue
            if size_bytes != len(self._payload):
                message = f"{key}: {size_bytes} bytes arrived, {len(self._payload)} were written"
                self._samples.fail(row, Failure("WrongLength", message))
        self._access.delete(list(self._rows.values()))


def record_answer(samples: SampleColumns, row: int, answer: Answer) -> None:
    """Status and retries, where the client has such notions."""
    samples.integers["http_status"][row] = NULL if answer.http_status is None else answer.http_status
    samples.integers["retries"][row] = NULL if answer.retries is None else answer.retries
