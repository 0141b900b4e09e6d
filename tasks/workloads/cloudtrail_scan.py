"""The scan of experiment E1: list the logs, read each, gunzip, parse, count `Records`.

Simple: the clock is read before and after all of it. Staged: it is read between the stages as well, a
sample is kept for every file, and the stages of the whole scan are the sums over its files.
"""

import gzip
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.workloads import CloudTrailScan
from tasks.access.protocol import AccessPath
from tasks.kernel.loop import Clock, LoopCost, measure
from tasks.kernel.samples import Failure, SampleColumns
from tasks.workloads.blob import record_answer


def measure_scans(spec: BlockSpec, access: AccessPath, samples: SampleColumns) -> LoopCost:
    """One block of scans over the whole dataset."""
    if not isinstance(spec.cell.workload, CloudTrailScan):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    if spec.cell.workload.staged:
        scan: SimpleScan = StagedScan(access, spec.read_prefix, spec.objects, samples)
    else:
        scan = SimpleScan(access, spec.read_prefix, spec.objects)
    return measure(scan, samples, spec.iterations, spec.warmup)


class FileTimes(NamedTuple):
    """One file of a staged scan: readings of the clock around its stages, and what came."""

    key: str
    native: object
    size_bytes: int
    records: int
    before_read_ns: int
    after_read_ns: int
    after_gunzip_ns: int
    after_parse_ns: int


@dataclass(slots=True)
class Scanned:
    """What one scan found."""

    files: int = 0
    records: int = 0
    size_bytes: int = 0
    started_ns: int = 0
    list_ns: int = 0
    by_file: list[FileTimes] = field(default_factory=list)


class SimpleScan:
    """Timed: listing, and for each file reading, gunzipping, parsing and counting.

    Verified afterwards: the numbers of files, records and bytes.
    """

    name = "scan"

    def __init__(self, access: AccessPath, prefix: str, objects: Sequence[DatasetObject]) -> None:
        self._access = access
        self._prefix = prefix
        self._key = ""
        self._files = len(objects)
        self._records = sum(item.records or 0 for item in objects)
        self._size_bytes = sum(item.size_bytes for item in objects)

    @property
    def timed(self) -> Callable[[str], Scanned]:
        """The whole scan."""
        return self._scan

    def _scan(self, prefix: str) -> Scanned:
        scanned = Scanned()
        for key in self._access.list_keys(prefix):
            self._key = key
            body, _ = self._access.read(key)
            scanned.records += len(json.loads(gzip.decompress(body))["Records"])
            scanned.size_bytes += len(body)
            scanned.files += 1
        return scanned

    def prepare(self, seq: int) -> str:
        """Every scan reads the same prefix."""
        return self._prefix

    def check(self, samples: SampleColumns, row: int, argument: str, result: Scanned) -> None:
        """Record the counts; others than were prepared make an error."""
        samples.integers["files"][row] = result.files
        samples.integers["records"][row] = result.records
        samples.integers["size_bytes"][row] = result.size_bytes
        found = (result.files, result.records, result.size_bytes)
        wanted = (self._files, self._records, self._size_bytes)
        if found != wanted:
            message = f"files, records, bytes: {found} were found below {argument}, {wanted} were prepared"
            samples.fail(row, Failure("WrongCounts", message))

    def explain(self, argument: str, error: Exception) -> Failure:
        """As the access path sees it, with the file at which the scan ended."""
        failure = self._access.failure(error)
        return replace(failure, message=f"{self._key or argument}: {failure.message}")


class StagedScan(SimpleScan):
    """The same work with a reading of the clock between all stages, and a sample for every file."""

    def __init__(
        self,
        access: AccessPath,
        prefix: str,
        objects: Sequence[DatasetObject],
        samples: SampleColumns,
        clock: Clock = time.perf_counter_ns,
    ) -> None:
        super().__init__(access, prefix, objects)
        self._clock = clock
        self._key_index = {item.key: samples.key_index(item.key) for item in objects}

    def _scan(self, prefix: str) -> Scanned:
        clock, read = self._clock, self._access.read
        started_ns = clock()
        keys = self._access.list_keys(prefix)
        scanned = Scanned(started_ns=started_ns, list_ns=clock() - started_ns)
        for key in keys:
            self._key = key
            before_read_ns = clock()
            body, native = read(key)
            after_read_ns = clock()
            plain = gzip.decompress(body)
            after_gunzip_ns = clock()
            records = len(json.loads(plain)["Records"])
            after_parse_ns = clock()
            times = FileTimes(
                key,
                native,
                len(body),
                records,
                before_read_ns,
                after_read_ns,
                after_gunzip_ns,
                after_parse_ns,
            )
            scanned.by_file.append(times)
        return scanned

    def check(self, samples: SampleColumns, row: int, argument: str, result: Scanned) -> None:
        """Add the files' samples, and their sums to the scan's own."""
        result.files = len(result.by_file)
        result.records = sum(times.records for times in result.by_file)
        result.size_bytes = sum(times.size_bytes for times in result.by_file)
        super().check(samples, row, argument, result)
        columns = samples.integers
        columns["list_ns"][row] = result.list_ns
        first = samples.grow(len(result.by_file), "scan_file")
        totals = dict.fromkeys(("read_ns", "gunzip_ns", "parse_ns"), 0)
        for file_row, times in enumerate(result.by_file, start=first):
            stages = {
                "read_ns": times.after_read_ns - times.before_read_ns,
                "gunzip_ns": times.after_gunzip_ns - times.after_read_ns,
                "parse_ns": times.after_parse_ns - times.after_gunzip_ns,
            }
            for stage, elapsed_ns in stages.items():
                columns[stage][file_row] = elapsed_ns
                totals[stage] += elapsed_ns
            after_start_us = (times.before_read_ns - result.started_ns) // 1000
            columns["started_us"][file_row] = columns["started_us"][row] + after_start_us
            columns["seq"][file_row] = file_row - first
            self._record_file(samples, row, file_row, times)
        for stage, elapsed_ns in totals.items():
            columns[stage][row] = elapsed_ns

    def _record_file(self, samples: SampleColumns, row: int, file_row: int, times: FileTimes) -> None:
        columns = samples.integers
        columns["total_ns"][file_row] = times.after_parse_ns - times.before_read_ns
        columns["size_bytes"][file_row] = times.size_bytes
        columns["records"][file_row] = times.records
        record_answer(samples, file_row, self._access.answer(times.native))
        samples.warmup[file_row] = samples.warmup[row]
        samples.object_key[file_row] = self._key_index.get(times.key, -1)
