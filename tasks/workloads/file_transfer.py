"""Files moved between a local disk and a bucket, one after another (experiments E4 and E5).

Where a client starts a process for each operation, a block begins with `start_up` operations: the same
process moving nothing, as many as there are transfers and three at most, in the same loop.
"""

import hashlib
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.workloads import FileDownload as FileDownloadConfig
from configs.workloads import FileUpload as FileUploadConfig
from tasks.access.protocol import FilePath, FileTransfer
from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.samples import Failure, SampleColumns
from tasks.kernel.start import CommonStart
from tasks.workloads.blob import record_answer, verify_and_remove

_MOST_START_UPS: Final = 3
_CHUNK_BYTES: Final = 16 * 1024**2


def measure_uploads(
    spec: BlockSpec, access: FilePath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of uploads; when its clock has stopped, the objects are looked up and removed."""
    if not isinstance(spec.cell.workload, FileUploadConfig):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    size_bytes = int(spec.cell.workload.size)
    file = scratch_of(spec) / "upload.bin"
    sha256 = write_random_file(file, size_bytes, spec.seed)
    access.ready_for_writes(spec.write_prefix)
    measure_start_ups(spec, access, samples)
    samples.to_look_up = True
    operation = FileUpload(access, spec.write_prefix, file, size_bytes)
    try:
        return measure(
            operation, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns, start=start
        )
    finally:  # a loop that breaks off leaves rows too, and none counts that nobody has looked at
        wrong = _wrong_content(access, samples, sha256)
        verify_and_remove(spec, access, samples, size_bytes)
        for row, failure in wrong.items():
            if row not in samples.failures:  # one that is not there, or is shorter, is told as that
                samples.fail(row, failure)


def measure_downloads(
    spec: BlockSpec, access: FilePath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of downloads."""
    if not isinstance(spec.cell.workload, FileDownloadConfig):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    measure_start_ups(spec, access, samples)
    operation = FileDownload(access, spec.objects, scratch_of(spec), samples)
    return measure(
        operation, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns, start=start
    )


def measure_start_ups(spec: BlockSpec, access: FilePath, samples: SampleColumns) -> None:
    """Measure the client's process alone, where it has one."""
    if access.has_start_up:
        count = min(spec.iterations, _MOST_START_UPS)
        measure(StartUp(access), samples, count, warmup=0, deadline_ns=spec.deadline_ns)


class StartUp:
    """Timed: the client's process, from its start to its end, moving nothing."""

    name = "start_up"

    def __init__(self, access: FilePath) -> None:
        self._access = access

    @property
    def timed(self) -> Callable[[None], object]:
        """The access path's own start-up."""
        return self._start

    def _start(self, _: None) -> object:
        return self._access.start_up()

    def prepare(self, seq: int) -> None:
        """Let the access path make itself ready."""
        self._access.ready()

    def check(self, samples: SampleColumns, row: int, argument: None, result: object) -> None:
        """Record the process's processor time."""
        record_answer(samples, row, self._access.answer(result))

    def explain(self, samples: SampleColumns, row: int, argument: None, error: Exception) -> Failure:
        """As the access path sees it."""
        return self._access.failure(error)


class FileUpload:
    """Timed: one whole upload of the same local file to a new key."""

    name = "upload"

    def __init__(self, access: FilePath, prefix: str, file: Path, size_bytes: int) -> None:
        self._access = access
        self._prefix = prefix
        self._file = file
        self._size_bytes = size_bytes

    @property
    def timed(self) -> Callable[[FileTransfer], object]:
        """The access path's own upload, with nothing around it."""
        return self._access.upload

    def prepare(self, seq: int) -> FileTransfer:
        """A key that no operation had before."""
        self._access.ready()
        return FileTransfer(f"{self._prefix}{seq:06d}.bin", self._file)

    def check(self, samples: SampleColumns, row: int, argument: FileTransfer, result: object) -> None:
        """Record the client's answer."""
        samples.object_key[row] = samples.key_index(argument.key)
        samples.integers["size_bytes"][row] = self._size_bytes
        record_answer(samples, row, self._access.answer(result))

    def explain(self, samples: SampleColumns, row: int, argument: FileTransfer, error: Exception) -> Failure:
        """As the access path sees it."""
        samples.object_key[row] = samples.key_index(argument.key)
        return self._access.failure(error)


class FileDownload:
    """Timed: one whole download to a local path where nothing is. Verified afterwards: length and SHA-256.

    With fewer objects than operations they come round again, so one object is a `single` download. Each file
    is removed once it was verified.
    """

    name = "download"

    def __init__(
        self, access: FilePath, objects: Sequence[DatasetObject], folder: Path, samples: SampleColumns
    ) -> None:
        self._access = access
        self._objects = [(samples.key_index(item.key), item) for item in objects]
        self._folder = folder
        self._next = self._objects[0]

    @property
    def timed(self) -> Callable[[FileTransfer], object]:
        """The access path's own download, with nothing around it."""
        return self._access.download

    def prepare(self, seq: int) -> FileTransfer:
        """Choose the object and a file name that no operation had before."""
        self._next = self._objects[seq % len(self._objects)]
        self._access.ready()
        return FileTransfer(self._next[1].key, self._folder / f"{seq:06d}.bin")

    def check(self, samples: SampleColumns, row: int, argument: FileTransfer, result: object) -> None:
        """Record the client's answer; another file than was prepared makes an error."""
        index, wanted = self._next
        samples.object_key[row] = index
        record_answer(samples, row, self._access.answer(result))
        try:
            samples.integers["size_bytes"][row] = argument.path.stat().st_size
        except FileNotFoundError:
            samples.fail(row, Failure("NoFile", f"{wanted.key}: the download ended well and left no file"))
            return
        failure = wrong_file(argument.path, wanted)
        if failure is not None:
            samples.fail(row, failure)
        argument.path.unlink()

    def explain(self, samples: SampleColumns, row: int, argument: FileTransfer, error: Exception) -> Failure:
        """As the access path sees it; what it left of a file is removed."""
        samples.object_key[row] = self._next[0]
        argument.path.unlink(missing_ok=True)
        return self._access.failure(error)


def wrong_file(path: Path, wanted: DatasetObject) -> Failure | None:
    """What is wrong with a file that came: its length or its bytes; None where it is as it was prepared."""
    size_bytes = path.stat().st_size
    if size_bytes != wanted.size_bytes:
        message = f"{wanted.key}: {size_bytes} bytes came, {wanted.size_bytes} were prepared"
        return Failure("WrongLength", message)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != wanted.sha256:
            return Failure("WrongBytes", f"{wanted.key}: other bytes came than were prepared")
    return None


def write_random_file(path: Path, size_bytes: int, seed: int) -> str:
    """Write a file of random bytes, the same for the same seed, and return its SHA-256.

    It is written to the disk before this returns, so that no clock runs while the system does so.
    """
    chance, digest = random.Random(seed), hashlib.sha256()  # noqa: S311 - repeatable, not secret
    with path.open("wb") as file:
        for start in range(0, size_bytes, _CHUNK_BYTES):
            chunk = chance.randbytes(min(_CHUNK_BYTES, size_bytes - start))
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def scratch_of(spec: BlockSpec) -> Path:
    """The block's folder for files that are moved."""
    if spec.scratch_folder is None:
        raise TypeError("this workload moves files, and the block has no scratch folder for them")
    return spec.scratch_folder


def _wrong_content(access: FilePath, samples: SampleColumns, sha256: str) -> dict[int, Failure]:
    """By row: the last upload of a block, where other bytes arrived; sizes alone do not show that.

    One of a block is read back, since all of them are the same file by the same client.
    """
    rows = [row for row, key in enumerate(samples.object_key) if key >= 0 and row not in samples.failures]
    if not rows:
        return {}
    key = samples.keys[samples.object_key[rows[-1]]]
    try:
        found = access.sha256_of(key)
    except Exception as error:  # noqa: BLE001 - whatever the client raises: nobody can say what arrived
        return {rows[-1]: Failure("NotVerified", f"{key}: {type(error).__name__}: {error}")}
    if found == sha256:
        return {}
    return {rows[-1]: Failure("WrongBytes", f"{key}: other bytes arrived than were uploaded")}
