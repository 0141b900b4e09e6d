"""A scan is timed stage by stage to the nanosecond, verified file by file, and keeps what it saw."""

import gzip
import hashlib
import json
import sys
from collections.abc import Callable

import pytest

from configs.access_paths import NoOp
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import CloudTrailScan
from tasks.access.noop import NoOpPath
from tasks.access.protocol import Answer, Upload
from tasks.kernel.loop import measure
from tasks.kernel.samples import NULL, STAGES, Failure, SampleColumns
from tasks.workloads.cloudtrail_scan import SimpleScan, StagedScan, measure_scans

LIST_NS = 900_000
TIMES_NS = {"p/a": (5_000_001, 30_002, 403), "p/b": (7_000_010, 50_020, 630), "p/c": (2_000_100, 70_200, 850)}
"""What it takes on the fake clock to read, to gunzip and to parse each file."""
RECORDS = {"p/a": 2, "p/b": 3, "p/c": 5}
KEYS = list(RECORDS)

BOTH = pytest.mark.parametrize("kind", [SimpleScan, StagedScan])


def a_log(records: int) -> bytes:
    text = json.dumps({"Records": [{"eventID": str(number)} for number in range(records)]})
    return gzip.compress(text.encode())


def padded(body: bytes, size_bytes: int) -> bytes:
    """The same log in more bytes: gzip takes zeros after its end for padding."""
    return body.ljust(size_bytes, b"\0")


def prepared(bodies: dict[str, bytes]) -> list[DatasetObject]:
    return [
        DatasetObject(
            key=key,
            size_bytes=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
            records=len(json.loads(gzip.decompress(body))["Records"]),
        )
        for key, body in bodies.items()
    ]


class RefusedError(Exception):
    """An error of the service, with what the client knows of it."""


class Shelf(NoOpPath):
    """A client whose calls take known times on a clock of its own, and fail where they are told to."""

    def __init__(self) -> None:
        self.now_ns = 1_000
        self.bodies = {key: a_log(count) for key, count in RECORDS.items()}
        self.answers: dict[str, Answer] = {}
        self.refused: set[str] = set()
        self.reading = ""
        self.lists_before_it_breaks = sys.maxsize

    def clock(self) -> int:
        return self.now_ns

    def list_keys(self, prefix: str) -> list[str]:
        self.now_ns += LIST_NS
        self.lists_before_it_breaks -= 1
        if self.lists_before_it_breaks < 0:
            raise RefusedError("no listing")
        return list(self.bodies)

    def read(self, key: str) -> tuple[bytes, object]:
        self.reading = key
        self.spend(0)
        if key in self.refused:
            raise RefusedError("slow down")
        return self.bodies[key], key

    def spend(self, stage: int) -> None:
        self.now_ns += TIMES_NS.get(self.reading, (1, 1, 1))[stage]

    def answer(self, native: object) -> Answer:
        return self.answers.get(str(native), Answer(http_status=200, retries=0))

    def failure(self, error: Exception) -> Failure:
        if isinstance(error, RefusedError):
            return Failure("SlowDown", str(error), http_status=503, retries=4)
        return Failure(type(error).__name__, str(error))


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """The shelf, on whose clock gunzipping and parsing take their times too."""
    shelf = Shelf()

    def slowly(work: Callable[..., object], stage: int) -> Callable[..., object]:
        def timed(data: bytes) -> object:
            shelf.spend(stage)
            return work(data)

        return timed

    monkeypatch.setattr("tasks.workloads.cloudtrail_scan.gzip.decompress", slowly(gzip.decompress, 1))
    monkeypatch.setattr("tasks.workloads.cloudtrail_scan.json.loads", slowly(json.loads, 2))
    return shelf


OBJECTS = prepared({key: a_log(count) for key, count in RECORDS.items()})


def scans(
    shelf: Shelf, kind: type[SimpleScan] = StagedScan, count: int = 1, warmup: int = 0
) -> SampleColumns:
    samples = SampleColumns()
    if kind is StagedScan:
        scan: SimpleScan = StagedScan(shelf, "p/", OBJECTS, shelf.clock)
    else:
        scan = SimpleScan(shelf, "p/", OBJECTS)
    measure(scan, samples, count, warmup, clock=shelf.clock)
    return samples


def errors(samples: SampleColumns) -> dict[int, str]:
    return {row: failure.error for row, failure in samples.failures.items()}


def keys(samples: SampleColumns) -> list[str | None]:
    return [samples.keys[index] if index >= 0 else None for index in samples.object_key]


def column(samples: SampleColumns, name: str) -> list[int]:
    return list(samples.integers[name])


def test_the_stages_of_a_scan_are_the_sums_over_its_files(shelf: Shelf) -> None:
    samples = scans(shelf)
    assert {stage: samples.integers[stage][0] for stage in STAGES if stage in samples.integers} == {
        "list_ns": LIST_NS,
        "read_ns": 14_000_111,
        "gunzip_ns": 150_222,
        "parse_ns": 1_883,
        "total_ns": LIST_NS + 14_000_111 + 150_222 + 1_883,
    }
    assert samples.failures == {}


def test_each_file_has_its_own_stages_total_size_and_records(shelf: Shelf) -> None:
    samples = scans(shelf)
    assert keys(samples) == [None, *KEYS]
    for stage, name in enumerate(("read_ns", "gunzip_ns", "parse_ns")):
        assert column(samples, name)[1:] == [TIMES_NS[key][stage] for key in KEYS]
    assert column(samples, "total_ns")[1:] == [sum(TIMES_NS[key]) for key in KEYS]
    assert column(samples, "list_ns")[1:] == [NULL] * 3
    assert column(samples, "records") == [10, 2, 3, 5]
    sizes = [len(shelf.bodies[key]) for key in KEYS]
    assert column(samples, "size_bytes") == [sum(sizes), *sizes]
    assert column(samples, "files") == [3, NULL, NULL, NULL]


def test_a_file_starts_when_those_before_it_have_ended(shelf: Shelf) -> None:
    started_us = column(scans(shelf), "started_us")
    first = LIST_NS // 1000
    second = (LIST_NS + sum(TIMES_NS["p/a"])) // 1000
    third = (LIST_NS + sum(TIMES_NS["p/a"]) + sum(TIMES_NS["p/b"])) // 1000
    assert [start - started_us[0] for start in started_us] == [0, first, second, third]


def test_files_carry_the_number_and_the_warmup_mark_of_their_scan(shelf: Shelf) -> None:
    samples = scans(shelf, count=3, warmup=1)
    assert column(samples, "seq") == [0, 1, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert list(samples.warmup) == [1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert keys(samples)[3:] == KEYS * 3
    assert samples.keys == KEYS  # each once, however often it is read


def test_a_simple_scan_has_a_total_and_counts_and_no_files(shelf: Shelf) -> None:
    samples = scans(shelf, SimpleScan)
    assert len(samples) == 1
    assert column(samples, "total_ns") == [LIST_NS + 14_000_111 + 150_222 + 1_883]
    assert column(samples, "list_ns") == column(samples, "read_ns") == [NULL]
    counts = [column(samples, name)[0] for name in ("files", "records", "size_bytes")]
    assert counts == [3, 10, sum(map(len, shelf.bodies.values()))]
    assert samples.failures == {}


def test_a_simple_scan_keeps_no_body(shelf: Shelf) -> None:
    before = [sys.getrefcount(shelf.bodies[key]) for key in KEYS]
    operation = SimpleScan(shelf, "p/", OBJECTS)
    scan = operation.prepare(0)
    operation.timed(scan)
    assert [sys.getrefcount(shelf.bodies[key]) for key in KEYS] == before
    assert scan.natives == KEYS


@BOTH
def test_a_scan_that_counts_other_records_is_an_error(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.bodies["p/b"] = a_log(4)
    failure = scans(shelf, kind).failures[0]
    assert failure.error == "WrongCounts"
    assert "(3, 11, " in failure.message
    assert "(3, 10, " in failure.message


def test_the_file_with_other_records_is_an_error_and_no_other(shelf: Shelf) -> None:
    shelf.bodies["p/b"] = padded(a_log(4), OBJECTS[1].size_bytes + 40)
    shelf.bodies["p/c"] = padded(a_log(4), OBJECTS[2].size_bytes + 40)
    objects = [item.model_copy(update={"size_bytes": len(shelf.bodies[item.key])}) for item in OBJECTS]
    samples = SampleColumns()
    measure(StagedScan(shelf, "p/", objects), samples, count=1, warmup=0)
    # The sums are as prepared: 2 + 4 + 4 records. The files are not, and so neither is the scan.
    assert errors(samples) == {0: "WrongCounts", 2: "WrongCounts", 3: "WrongCounts"}
    assert samples.failures[0].message == "p/b: 4 records were found, 3 were prepared"
    assert samples.failures[3].message == "p/c: 4 records were found, 5 were prepared"


def test_a_file_of_another_length_is_an_error_and_keeps_its_times(shelf: Shelf) -> None:
    shelf.bodies["p/a"] += b"\0"
    samples = scans(shelf)
    assert errors(samples) == {0: "WrongCounts", 1: "WrongLength"}
    wanted = OBJECTS[0].size_bytes
    assert samples.failures[1].message == f"p/a: {wanted + 1} bytes came, {wanted} were prepared"
    assert samples.integers["total_ns"][1] == sum(TIMES_NS["p/a"])


def test_a_file_that_nobody_prepared_is_an_error_under_its_key(shelf: Shelf) -> None:
    shelf.bodies["p/new"] = a_log(1)
    samples = scans(shelf)
    assert errors(samples) == {0: "WrongCounts", 4: "UnknownFile"}
    assert samples.failures[4].message == "p/new: no such file was prepared"
    assert keys(samples)[4] == "p/new"


def test_a_scan_that_fails_midway_keeps_the_files_before(shelf: Shelf) -> None:
    shelf.refused.add("p/c")
    samples = scans(shelf, count=2, warmup=1)
    assert errors(samples) == {0: "SlowDown", 1: "SlowDown"}
    assert samples.failures[1].message == "p/c: slow down"
    assert keys(samples) == [None, None, "p/a", "p/b", "p/a", "p/b"]
    assert list(samples.warmup) == [1, 0, 1, 1, 0, 0]
    assert column(samples, "seq") == [0, 1, 0, 0, 1, 1]
    assert column(samples, "total_ns")[4:] == [sum(TIMES_NS["p/a"]), sum(TIMES_NS["p/b"])]
    started_us = column(samples, "started_us")
    assert started_us[4] - started_us[1] == LIST_NS // 1000
    assert column(samples, "http_status") == [503, 503, 200, 200, 200, 200]


@BOTH
def test_a_scan_that_fails_says_how_far_it_came(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.refused.add("p/b")
    samples = scans(shelf, kind)
    counts = [samples.integers[name][0] for name in ("files", "records", "size_bytes")]
    assert counts == [1, 2, len(shelf.bodies["p/a"])]
    if kind is StagedScan:
        assert samples.integers["list_ns"][0] == LIST_NS
        assert samples.integers["read_ns"][0] == TIMES_NS["p/a"][0]


@BOTH
def test_retries_of_all_reads_are_added_up(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.answers = {"p/a": Answer(200, retries=2), "p/c": Answer(200, retries=3)}
    samples = scans(shelf, kind)
    assert column(samples, "retries")[0] == 5
    assert column(samples, "http_status")[0] == 200
    if kind is StagedScan:
        assert column(samples, "retries")[1:] == [2, 0, 3]


@BOTH
def test_a_failed_scan_counts_the_retries_of_its_last_read_too(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.answers = {"p/a": Answer(200, retries=2)}
    shelf.refused.add("p/b")
    samples = scans(shelf, kind)
    assert samples.integers["retries"][0] == samples.failures[0].retries == 2 + 4
    assert samples.integers["http_status"][0] == 503


@BOTH
def test_reads_of_unlike_status_leave_the_scan_without_one(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.answers = {"p/b": Answer(206, retries=0)}
    samples = scans(shelf, kind)
    assert samples.integers["http_status"][0] == NULL
    assert samples.integers["retries"][0] == 0


@BOTH
def test_a_client_without_status_or_retries_leaves_them_open(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.answers = dict.fromkeys(KEYS, Answer())
    samples = scans(shelf, kind)
    assert samples.integers["http_status"][0] == samples.integers["retries"][0] == NULL


@BOTH
def test_a_failed_listing_is_put_down_to_the_prefix(shelf: Shelf, kind: type[SimpleScan]) -> None:
    shelf.lists_before_it_breaks = 1
    samples = scans(shelf, kind, count=2)
    assert errors(samples) == {1: "SlowDown"}
    assert samples.failures[1].message == "p/: no listing"
    assert [samples.integers[name][1] for name in ("list_ns", "read_ns")] == [NULL, NULL]
    assert samples.integers["files"][1] == 0


@BOTH
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda body: body[:-9], "EOFError"),
        (lambda body: b"not gzip" + body, "BadGzipFile"),
        (lambda _: gzip.compress(b'{"Records": ['), "JSONDecodeError"),
    ],
)
def test_a_damaged_file_is_named_and_its_retries_count(
    shelf: Shelf, kind: type[SimpleScan], damage: Callable[[bytes], bytes], error: str
) -> None:
    shelf.bodies["p/b"] = damage(shelf.bodies["p/b"])
    shelf.answers = {"p/b": Answer(200, retries=1)}
    samples = scans(shelf, kind)
    assert errors(samples) == {0: error}
    assert samples.failures[0].message.startswith("p/b: ")
    assert samples.integers["retries"][0] == 1
    assert keys(samples)[1:] == (["p/a"] if kind is StagedScan else [])


@pytest.mark.parametrize("staged", [False, True])
def test_an_empty_log_is_a_file_without_records(staged: bool) -> None:
    bodies = {"p/a": a_log(2), "p/empty": gzip.compress(b'{"Records": []}')}
    access = NoOpPath(NoOp(), BucketTarget(bucket="unused"))
    for key, body in bodies.items():
        access.write(Upload(key, body))
    samples = SampleColumns()
    measure_scans(a_spec(bodies, staged=staged), access, samples)
    assert samples.failures == {}
    assert column(samples, "files")[:2] == [2, 2]
    assert column(samples, "records") == [2, 2, *([2, 0, 2, 0] if staged else [])]
    assert list(samples.warmup)[:2] == [1, 0]


def a_spec(bodies: dict[str, bytes], *, staged: bool) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=NoOp(), target="t"),
            workload=CloudTrailScan(dataset="d", staged=staged),
            target=BucketTarget(bucket="unused"),
        ),
        block=0,
        iterations=2,
        warmup=1,
        seed=1,
        objects=tuple(prepared(bodies)),
        read_prefix="p/",
    )
