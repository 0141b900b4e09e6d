"""Workload files of awslabs/aws-crt-s3-benchmarks, taken unchanged: `.run.json` version 2 and `.src.json`.

The fields are those of the repository's `workloads/README.md`. A file becomes a workload of ours and, where
it downloads, the dataset that it reads:

* `filesOnDisk: true` is `file_upload` or `file_download`; `false` (in memory) `blob_write` or `blob_read`;
* N files of one size, repeated R times (`maxRepeatCount`, or the suite's `repeats`), are N × R operations;
* of many files each operation reads an object of its own (`unique`); of one file, or one key N times, it is
  the same object each time (`single`).

The meaning differs. Their runners start all files of a repeat together and give the time of the whole: a
throughput. Here each file is an operation with a time of its own, one after another: a latency. Their repeats
read the same keys again and overwrite them; ours read and write new ones. `maxRepeatSecs` has no counterpart:
the suite's `block_timeout_s` bounds a block.

What has no counterpart at all (another version, fields that the version does not know, a checksum that must
be sent, sizes or actions that are mixed, objects that are empty or larger than one PutObject takes) is not
guessed at: the workload's cells are skipped with the reason, in the plan, the report and the samples.
"""

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from configs.base import Count, Line, Model, Size
from configs.datasets import Blobs
from configs.errors import UserError
from configs.kinds import CRT_BENCHMARK
from configs.mistakes import explain
from configs.overlays import Stack
from configs.workloads import BlobRead, BlobWrite, FileDownload, FileUpload, LeftOut, WorkloadConfig

_VERSION: Final = 2
_LARGEST_FILE_BYTES: Final = 64 * 1024**2  # the largest that ships, of 50,000 files, has 7 MB
_LONGEST_SHOWN: Final = 80  # of what somebody else's file says, in the reason
_MOST_OPERATIONS: Final = 10_000_000
_LARGEST_OBJECT_BYTES: Final = 5 * 1024**3
_UNITS: Final = {"byte": 1, "bytes": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}

Action = Literal["upload", "download"]


class CrtBenchmark(Model):
    """What a suite says of such a file."""

    kind: Literal["crt_benchmark"] = "crt_benchmark"
    file: Line
    """Its path, relative to the file that names it."""
    repeats: Count | None = None
    """In place of the file's `maxRepeatCount`."""


class _Task(Model):
    action: Action
    key: str
    size: Annotated[int, Field(ge=0)]


class _RunFile(Model):
    version: Literal[2]
    comment: str
    filesOnDisk: bool  # noqa: N815 - their name
    checksum: str | None
    maxRepeatCount: Count  # noqa: N815 - their name
    maxRepeatSecs: Count  # noqa: N815 - their name
    tasks: Annotated[tuple[_Task, ...], Field(min_length=1)]


class _SourceFile(Model):
    comment: str = ""
    action: Action
    fileSize: Annotated[str, Field(pattern=r"^[0-9]{1,15}(byte|bytes|KiB|MiB|GiB)$")]  # noqa: N815 - their name
    numFiles: Count = 1  # noqa: N815 - their name
    filesOnDisk: bool = True  # noqa: N815 - their name
    checksum: str | None = None
    maxRepeatCount: Count = 10  # noqa: N815 - their name
    maxRepeatSecs: Count = 600  # noqa: N815 - their name


_File = TypeVar("_File", _RunFile, _SourceFile)


class _Content(NamedTuple):
    """What a file asks for, whichever of the two formats it has."""

    action: Action
    size_bytes: int
    files: int
    keys: int
    """How many unlike keys the files have."""
    on_disk: bool
    repeats: int


class Counterpart(NamedTuple):
    """What a file becomes here."""

    workload: WorkloadConfig
    dataset_name: str = ""
    dataset: Blobs | None = None
    """What it reads; none where it reads nothing."""


class _NoCounterpartError(Exception):
    """Its text is the reason."""


def with_counterparts(stack: Stack) -> dict[str, object]:
    """A suite's values, with our own workloads and datasets in place of such files.

    Raises:
        UserError: A file is not there, or cannot be read.
    """
    values = dict(stack.values)
    workloads = values.get("workloads")
    if not isinstance(workloads, Mapping):
        return values
    made_workloads = dict(workloads)
    datasets = values.get("datasets") or {}
    made_datasets = dict(datasets) if isinstance(datasets, Mapping) else None
    for name, value in workloads.items():
        if not isinstance(value, Mapping) or value.get("kind") != CRT_BENCHMARK:
            continue
        found = _counterpart_in(stack, name, value)
        made_workloads[name] = found.workload
        if found.dataset is not None and made_datasets is not None:
            made_datasets.setdefault(found.dataset_name, found.dataset)
    values["workloads"] = made_workloads
    if made_datasets:
        values["datasets"] = made_datasets
    return values


def _counterpart_in(stack: Stack, name: str, value: Mapping[str, object]) -> Counterpart:
    try:
        benchmark = CrtBenchmark.model_validate(value)
    except ValidationError as error:
        raise UserError(explain(error, stack, CrtBenchmark, ("workloads", name))) from error
    document, line = stack.holder(("workloads", name, "file"))
    file = document.folder / benchmark.file
    try:
        return counterpart_of(benchmark, file)
    except (OSError, UnicodeDecodeError) as error:
        place = f"{document.where}:{line}" if line else document.where
        why = "it is no text file in UTF-8" if isinstance(error, UnicodeDecodeError) else error
        message = f"{place}: workloads.{name}.file: {file} cannot be read: {why}"
        raise UserError(message) from error


def counterpart_of(benchmark: CrtBenchmark, file: Path) -> Counterpart:
    """What a workload file becomes here; a workload that is left out, with the reason, where it cannot.

    Raises:
        OSError: The file cannot be read, or is larger than 64 MiB.
        UnicodeDecodeError: It is no text.
    """
    if not file.is_file() and file.exists():
        raise OSError("it is no file")  # a pipe would be waited for
    if file.stat().st_size > _LARGEST_FILE_BYTES:
        raise OSError(f"it is larger than {_LARGEST_FILE_BYTES:,} bytes")
    text = file.read_text(encoding="utf-8")
    try:
        return _counterpart(_content(text, file.name), benchmark)
    except _NoCounterpartError as reason:
        return Counterpart(LeftOut(reason=f"{file.name} has no counterpart here: {reason}"))


def _content(text: str, name: str) -> _Content:
    if name.endswith(".src.json"):
        return _of_source(_checked(_SourceFile, text))
    if name.endswith(".run.json"):
        version = _version(text)
        if version != _VERSION:
            raise _NoCounterpartError(
                f"it is of version {str(version)[:_LONGEST_SHOWN]}, and version {_VERSION} is known"
            )
        return _of_run(_checked(_RunFile, text))
    raise _NoCounterpartError("its name ends neither in .run.json nor in .src.json")


def _version(text: str) -> object:
    try:
        return TypeAdapter(dict[str, object]).validate_json(text).get("version", "none")
    except ValidationError as error:
        raise _NoCounterpartError("it is no JSON object") from error


def _checked(model: type[_File], text: str) -> _File:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"])[:_LONGEST_SHOWN]
        if first["type"] == "extra_forbidden":
            raise _NoCounterpartError(f"its field {place} is not known") from error
        raise _NoCounterpartError(f"{place or 'it'}: {first['msg']}") from error


def _of_run(run: _RunFile) -> _Content:
    _refuse_checksum(run.checksum)
    sizes, actions = {task.size for task in run.tasks}, {task.action for task in run.tasks}
    if len(actions) > 1:
        raise _NoCounterpartError("it mixes uploads and downloads")
    if len(sizes) > 1:
        smallest, largest = min(sizes), max(sizes)
        raise _NoCounterpartError(f"its files have unlike sizes, from {smallest:,} to {largest:,} bytes")
    keys = len({task.key for task in run.tasks})
    files = len(run.tasks)
    return _Content(actions.pop(), sizes.pop(), files, keys, run.filesOnDisk, run.maxRepeatCount)


def _of_source(source: _SourceFile) -> _Content:
    _refuse_checksum(source.checksum)
    number = source.fileSize.rstrip(string.ascii_letters)
    size_bytes = int(number) * _UNITS[source.fileSize.removeprefix(number)]
    files = source.numFiles
    return _Content(source.action, size_bytes, files, files, source.filesOnDisk, source.maxRepeatCount)


def _refuse_checksum(checksum: str | None) -> None:
    if checksum is not None:
        raise _NoCounterpartError(
            f"it asks for {checksum[:_LONGEST_SHOWN]} checksums, and every client here sends what it sends "
            "by itself"
        )


def _counterpart(content: _Content, benchmark: CrtBenchmark) -> Counterpart:
    if not 0 < content.size_bytes <= _LARGEST_OBJECT_BYTES:
        raise _NoCounterpartError(
            f"its files of {content.size_bytes:,} bytes are empty or larger than one PutObject takes (5 GiB)"
        )
    iterations = content.files * (benchmark.repeats or content.repeats)
    if iterations > _MOST_OPERATIONS:
        raise _NoCounterpartError(f"{iterations:,} operations are more than a cell may have; give repeats")
    size = Size(content.size_bytes)
    if content.action == "upload":
        upload = FileUpload if content.on_disk else BlobWrite
        return Counterpart(upload(size=size, iterations=iterations, warmup=0))
    if content.keys not in {1, content.files}:
        raise _NoCounterpartError("some of its keys are downloaded again within one repeat, and others not")
    unique = content.keys > 1
    count = iterations if unique else 1
    name = f"crt-{content.size_bytes}b-{count}"
    download = FileDownload if content.on_disk else BlobRead
    workload = download(
        dataset=name, read_mode="unique" if unique else "single", iterations=iterations, warmup=0
    )
    return Counterpart(workload, name, Blobs(size=size, unique_count=count))
