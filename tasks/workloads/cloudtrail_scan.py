"""The scan of experiment E1: list the logs, read each, gunzip, parse, count `Records`.

Simple: the clock is read before and after all of it. Staged: it is read between the stages as well, a
sample is kept for every file, and the stages of the whole scan are the sums over its files. A file's
sample has the `seq` of its scan and its own key; the order of a scan's files is that of `started_us`.

A scan writes down what it sees in an object that was made before the clock, so that one that fails
still has what it had seen, and the files that it had timed are kept as samples.
"""

import gzip
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.workloads import CloudTrailScan
from tasks.access.protocol import Answer, ObjectPath
from tasks.kernel.loop import Clock, LoopCost, measure
from tasks.kernel.samples import NULL, Failure, SampleColumns
from tasks.kernel.start import CommonStart
from tasks.workloads.blob import record_answer

_FILE_STAGES: Final = ("read_ns", "gunzip_ns", "parse_ns")


def measure_scans(
    spec: BlockSpec, access: ObjectPath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of scans over the whole dataset."""
    if not isinstance(spec.cell.workload, CloudTrailScan):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    kind = StagedScan if spec.cell.workload.staged else SimpleScan
    scans = kind(access, spec.read_prefix, spec.objects)
    return measure(scans, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns, start=start)


class FileTimes(NamedTuple):
    """One file of a staged scan: what came, and readings of the clock around its stages."""

    size_bytes: int
    records: int
    before_read_ns: int
    after_read_ns: int
    after_gunzip_ns: int
    after_parse_ns: int


@dataclass(slots=True)
class Scan:
    """What one scan has seen so far."""

    seq: int
    prefix: str
    keys: list[str] = field(default_factory=list)
    """All that was listed, in the order in which the files are read."""
    natives: list[object] = field(default_factory=list)
    """The client's answer to each read, without its body; one more than `files` where a file is damaged."""
    files: int = 0
    """How many were read, gunzipped, parsed and counted."""
    records: int = 0
    size_bytes: int = 0
    started_ns: int = NULL
    list_ns: int = NULL
    by_file: list[FileTimes] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The key of the file that is being read; before the first, the prefix."""
        return self.keys[self.files] if self.files < len(self.keys) else self.prefix


class SimpleScan:
    """Timed: listing, and for each file reading, gunzipping, parsing and counting.

    Verified afterwards: the numbers of files, records and bytes. Retries are those of all reads together;
    an HTTP status is recorded where all reads had the same. The listing's own are not known.
    """

    name = "scan"

    def __init__(self, access: ObjectPath, prefix: str, objects: Sequence[DatasetObject]) -> None:
        self._access = access
        self._prefix = prefix
        self._objects = {item.key: item for item in objects}

    @property
    def timed(self) -> Callable[[Scan], None]:
        """The whole scan."""
        return self._scan

    def _scan(self, scan: Scan) -> None:
        read, keep = self._access.read, scan.natives.append
        scan.keys = self._access.list_keys(scan.prefix)
        for key in scan.keys:
            body, native = read(key)
            keep(native)
            scan.records += len(json.loads(gzip.decompress(body))["Records"])
            scan.size_bytes += len(body)
            scan.files += 1

    def prepare(self, seq: int) -> Scan:
        """A scan that has seen nothing; all of them read the same prefix."""
        return Scan(seq, self._prefix)

    def check(self, samples: SampleColumns, row: int, argument: Scan, result: None) -> None:
        """Record what was seen; anything else than was prepared makes an error."""
        record_answer(samples, row, _together(self._record(samples, row, argument)))
        wrong = self._wrong(argument)
        if wrong is not None:
            samples.fail(row, wrong)

    def explain(self, samples: SampleColumns, row: int, argument: Scan, error: Exception) -> Failure:
        """As the access path sees it, with the file at which the scan ended; what came before is recorded."""
        failure = self._access.failure(error)
        answers = self._record(samples, row, argument)
        last = Answer(retries=None if failure.retries == NULL else failure.retries)
        retries = _together([*answers, last]).retries
        return replace(
            failure,
            message=f"{argument.place}: {failure.message}",
            retries=NULL if retries is None else retries,
        )

    def _record(self, samples: SampleColumns, row: int, scan: Scan) -> list[Answer]:
        """Fill in what a scan has seen, also one that failed, and give the answers to its reads."""
        samples.integers["files"][row] = scan.files
        samples.integers["records"][row] = scan.records
        samples.integers["size_bytes"][row] = scan.size_bytes
        return [self._access.answer(native) for native in scan.natives]

    def _wrong(self, scan: Scan) -> Failure | None:
        prepared = self._objects.values()
        records = sum(item.records or 0 for item in prepared)
        wanted = (len(prepared), records, sum(item.size_bytes for item in prepared))
        found = (scan.files, scan.records, scan.size_bytes)
        if found == wanted:
            return None
        message = f"files, records, bytes: {found} were found below {scan.prefix}, {wanted} were prepared"
        return Failure("WrongCounts", message)


class StagedScan(SimpleScan):
    """The same work with a reading of the clock between all stages, and a sample for every file.

    Verified afterwards as well: each file's key, its number of bytes and of records. A scan with a wrong
    file is an error even where the sums are right.
    """

    def __init__(
        self,
        access: ObjectPath,
        prefix: str,
        objects: Sequence[DatasetObject],
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        super().__init__(access, prefix, objects)
        self._clock = clock
        self._key_index: dict[str, int] = {}

    def _scan(self, scan: Scan) -> None:
        clock, read, keep = self._clock, self._access.read, scan.natives.append
        scan.started_ns = clock()
        scan.keys = self._access.list_keys(scan.prefix)
        scan.list_ns = clock() - scan.started_ns
        for key in scan.keys:
            before_read_ns = clock()
            body, native = read(key)
            keep(native)
            after_read_ns = clock()
            plain = gzip.decompress(body)
            after_gunzip_ns = clock()
            records = len(json.loads(plain)["Records"])
            after_parse_ns = clock()
            size_bytes = len(body)
            times = FileTimes(
                size_bytes, records, before_read_ns, after_read_ns, after_gunzip_ns, after_parse_ns
            )
            scan.by_file.append(times)
            scan.records += records
            scan.size_bytes += size_bytes
            scan.files += 1

    def _record(self, samples: SampleColumns, row: int, scan: Scan) -> list[Answer]:
        """Add a row for every file that was timed, and the sums of their stages."""
        answers = super()._record(samples, row, scan)
        columns = samples.integers
        columns["list_ns"][row] = scan.list_ns
        first = samples.grow(scan.files, "scan_file")
        for index, times in enumerate(scan.by_file):
            file_row, key = first + index, scan.keys[index]
            after_start_us = (times.before_read_ns - scan.started_ns) // 1000
            columns["seq"][file_row] = scan.seq
            columns["started_us"][file_row] = columns["started_us"][row] + after_start_us
            samples.warmup[file_row] = samples.warmup[row]
            samples.object_key[file_row] = self._index_of(key, samples)
            _record_times(samples, file_row, times)
            record_answer(samples, file_row, answers[index])
            wrong = self._wrong_file(key, times)
            if wrong is not None:
                samples.fail(file_row, wrong)
        if scan.files:
            for stage in _FILE_STAGES:
                columns[stage][row] = sum(columns[stage][first:])
        return answers

    def _index_of(self, key: str, samples: SampleColumns) -> int:
        if key not in self._key_index:
            self._key_index[key] = samples.key_index(key)
        return self._key_index[key]

    def _wrong(self, scan: Scan) -> Failure | None:
        wrong_files = (
            self._wrong_file(key, times) for key, times in zip(scan.keys, scan.by_file, strict=True)
        )
        return super()._wrong(scan) or next(filter(None, wrong_files), None)

    def _wrong_file(self, key: str, times: FileTimes) -> Failure | None:
        wanted = self._objects.get(key)
        if wanted is None:
            return Failure("UnknownFile", f"{key}: no such file was prepared")
        if times.size_bytes != wanted.size_bytes:
            message = f"{key}: {times.size_bytes} bytes came, {wanted.size_bytes} were prepared"
            return Failure("WrongLength", message)
        if times.records != wanted.records:
            message = f"{key}: {times.records} records were found, {wanted.records} were prepared"
            return Failure("WrongCounts", message)
        return None


def _record_times(samples: SampleColumns, file_row: int, times: FileTimes) -> None:
    columns = samples.integers
    columns["size_bytes"][file_row] = times.size_bytes
    columns["records"][file_row] = times.records
    columns["read_ns"][file_row] = times.after_read_ns - times.before_read_ns
    columns["gunzip_ns"][file_row] = times.after_gunzip_ns - times.after_read_ns
    columns["parse_ns"][file_row] = times.after_parse_ns - times.after_gunzip_ns
    columns["total_ns"][file_row] = times.after_parse_ns - times.before_read_ns


def _together(answers: Sequence[Answer]) -> Answer:
    """The status that all requests had, None where they differ, and the sum of the retries known."""
    statuses = {answer.http_status for answer in answers}
    retries = [answer.retries for answer in answers if answer.retries is not None]
    return Answer(
        http_status=statuses.pop() if len(statuses) == 1 else None,
        retries=sum(retries) if retries else None,
    )
