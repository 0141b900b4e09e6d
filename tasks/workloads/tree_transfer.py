"""Whole folders of files moved at once, up to an empty prefix or down to an empty folder (experiment E3)."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from configs.block import BlockSpec
from configs.workloads import TreeDownload as TreeDownloadConfig
from configs.workloads import TreeUpload as TreeUploadConfig
from tasks.access.protocol import TreePath, TreeTransfer
from tasks.kernel.folders import read_through, sizes_in
from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.samples import Failure, SampleColumns
from tasks.workloads.blob import record_answer, remove_written
from tasks.workloads.file_transfer import measure_start_ups, scratch_of, wrong_file

_READ_BACK: Final = 3
"""How many files of an uploaded tree are compared byte by byte."""


def measure_tree_uploads(spec: BlockSpec, access: TreePath, samples: SampleColumns) -> LoopCost:
    """One block of tree uploads; each is looked at and removed before the next one."""
    if not isinstance(spec.cell.workload, TreeUploadConfig):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    measure_start_ups(spec, access, samples)
    uploads = TreeUpload(access, spec)
    return measure(uploads, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns)


def measure_tree_downloads(spec: BlockSpec, access: TreePath, samples: SampleColumns) -> LoopCost:
    """One block of tree downloads; each is verified and removed before the next one."""
    if not isinstance(spec.cell.workload, TreeDownloadConfig):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    measure_start_ups(spec, access, samples)
    downloads = TreeDownload(access, spec)
    return measure(downloads, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns)


class TreeUpload:
    """Timed: uploading every file of a folder to a prefix of its own, below which nothing lies.

    Every upload finds its files in the same state, whichever client it is: all of them were read just before.
    Verified afterwards: every key and size, nothing else below the prefix, and the bytes of a few files.
    What an upload that failed has left is removed with the run.
    """

    name = "upload_tree"

    def __init__(self, access: TreePath, spec: BlockSpec) -> None:
        if spec.tree_folder is None:
            raise TypeError("this workload uploads a tree, and the block has none")
        self._access = access
        self._folder = spec.tree_folder
        self._prefix = spec.write_prefix
        self._objects = spec.objects
        self._seed = spec.seed

    @property
    def timed(self) -> Callable[[TreeTransfer], object]:
        """The access path's own upload, with nothing around it."""
        return self._access.upload_tree

    def prepare(self, seq: int) -> TreeTransfer:
        """A prefix that no operation had before, and the files read through."""
        prefix = f"{self._prefix}{seq:06d}/"
        self._access.ready_for_writes(prefix)
        # Else the files would be cold for the first client of a night and warm for the others.
        read_through(self._folder / item.key for item in self._objects)
        self._access.ready()
        return TreeTransfer(prefix, self._folder)

    def check(self, samples: SampleColumns, row: int, argument: TreeTransfer, result: object) -> None:
        """Record what arrived; anything else than the tree makes an error. Then it is deleted."""
        record_answer(samples, row, self._access.answer(result))
        prefix = argument.prefix
        found: dict[str, int] = {}
        try:
            found = {key.removeprefix(prefix): size for key, size in self._access.sizes_below(prefix).items()}
            _record_size(samples, row, found)
            wanted = {item.key: item.size_bytes for item in self._objects}
            failure = _difference(found, wanted, prefix) or self._wrong_content(prefix)
        except Exception as error:  # noqa: BLE001 - whatever the client raises: nobody can say what arrived
            failure = Failure("NotVerified", f"below {prefix}: {type(error).__name__}: {error}")
        if failure is not None:
            samples.fail(row, failure)
        remove_written(self._access, [f"{prefix}{name}" for name in found])

    def explain(self, samples: SampleColumns, row: int, argument: TreeTransfer, error: Exception) -> Failure:
        """As the access path sees it."""
        return self._access.failure(error)

    def _wrong_content(self, prefix: str) -> Failure | None:
        chance = random.Random(f"{self._seed}/{prefix}")  # noqa: S311 - repeatable, not secret
        for item in chance.sample(self._objects, min(_READ_BACK, len(self._objects))):
            key = f"{prefix}{item.key}"
            if self._access.sha256_of(key) != item.sha256:
                return Failure("WrongBytes", f"{key}: other bytes arrived than were uploaded")
        return None


class TreeDownload:
    """Timed: downloading everything below a prefix to a folder that exists and is empty.

    Verified afterwards: every file's name, length and SHA-256, and that there is no other.
    """

    name = "download_tree"

    def __init__(self, access: TreePath, spec: BlockSpec) -> None:
        self._access = access
        self._prefix = spec.read_prefix
        self._scratch = scratch_of(spec)
        self._objects = {item.key.removeprefix(spec.read_prefix): item for item in spec.objects}

    @property
    def timed(self) -> Callable[[TreeTransfer], object]:
        """The access path's own download, with nothing around it."""
        return self._access.download_tree

    def prepare(self, seq: int) -> TreeTransfer:
        """A new folder."""
        folder = self._scratch / f"tree-{seq:06d}"
        folder.mkdir()
        self._access.ready()
        return TreeTransfer(self._prefix, folder)

    def check(self, samples: SampleColumns, row: int, argument: TreeTransfer, result: object) -> None:
        """Record what came; anything else than the dataset makes an error. Then it is removed."""
        record_answer(samples, row, self._access.answer(result))
        found = sizes_in(argument.folder)
        _record_size(samples, row, found)
        wanted = {name: item.size_bytes for name, item in self._objects.items()}
        failure = _difference(found, wanted, self._prefix) or self._wrong_content(argument.folder)
        if failure is not None:
            samples.fail(row, failure)
        shutil.rmtree(argument.folder)

    def explain(self, samples: SampleColumns, row: int, argument: TreeTransfer, error: Exception) -> Failure:
        """As the access path sees it; what came before is recorded and removed."""
        _record_size(samples, row, sizes_in(argument.folder))
        shutil.rmtree(argument.folder, ignore_errors=True)
        return self._access.failure(error)

    def _wrong_content(self, folder: Path) -> Failure | None:
        failures = (wrong_file(folder / name, item) for name, item in self._objects.items())
        return next((failure for failure in failures if failure is not None), None)


def _record_size(samples: SampleColumns, row: int, found: dict[str, int]) -> None:
    samples.put(row, "files", len(found))
    samples.put(row, "size_bytes", sum(found.values()))


def _difference(found: dict[str, int], wanted: dict[str, int], place: str) -> Failure | None:
    """Files that are missing, too many or of another size; the first of each is named."""
    if found == wanted:
        return None
    kinds = {
        "missing": sorted(wanted.keys() - found.keys()),
        "too many": sorted(found.keys() - wanted.keys()),
        "of another size": sorted(
            name for name, size in found.items() if name in wanted and wanted[name] != size
        ),
    }
    parts = [f"{len(names)} {kind}, such as {names[0]}" for kind, names in kinds.items() if names]
    return Failure("WrongTree", f"below {place}: {'; '.join(parts)}")
