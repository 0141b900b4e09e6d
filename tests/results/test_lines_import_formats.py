"""Lines of samples are found in whatever a log was saved as, and nothing in them is trusted."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from configs.errors import UserError
from tasks.results.log_lines import Found, read_log
from tests.results.sample_text import line_text

AT = datetime(2026, 7, 1, 12, 0, 0, 123_000, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1000)
STREAM = "2026/07/01/[$LATEST]0f3bd1f5cf7d4a0f8a5ab0a4a8a3a2c1"
NO_OBJECT = "this is no whole JSON object on one line"
START = "START RequestId: 6bc28136-fa50-4a55-9e1a-27fbc5e5c2f2 Version: $LATEST"
MESSAGES = (START, line_text(0), line_text(1))
"""What a function's log has: a line of Lambda's, and two of ours."""


def found_in(text: str) -> Found:
    return read_log(text.encode(), "log.txt")


def prefixed(prefix: str) -> bytes:
    return "".join(f"{prefix}{message}\n" for message in MESSAGES).encode()


def csv_of(*header: str) -> bytes:
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(header)
    for message in MESSAGES:
        moment = f"{AT:%Y-%m-%d %H:%M:%S}.123" if header[0] == "@timestamp" else f"{AT_MS}"
        rows.writerow([moment, f"{message}\n", *header[2:]])
    return written.getvalue().encode()


def events(**names: str) -> list[dict[str, object]]:
    return [{names["at"]: AT_MS, names["message"]: f"{message}\n"} for message in MESSAGES]


FILTERED = {
    "events": [
        {"logStreamName": STREAM, "eventId": "3", **event}
        for event in events(at="timestamp", message="message")
    ],
    "searchedLogStreams": [],
}
INSIGHTS_ROWS = [
    [
        {"field": "@timestamp", "value": "2026-07-01 12:00:00.123"},
        {"field": "@message", "value": message},
        {"field": "@ptr", "value": "CmEKJg"},
    ]
    for message in MESSAGES
]
SAVED_AS = {
    "aws logs tail": prefixed(f"2026-07-01T12:00:00.123000+00:00 {STREAM} "),
    "aws logs tail in another zone": prefixed(f"2026-07-01T21:00:00.123000+09:00 {STREAM} "),
    "an export to S3": gzip.compress(prefixed("2026-07-01T12:00:00.123Z ")),
    "two exports to S3, one after the other": gzip.compress(
        prefixed("2026-07-01T12:00:00.123Z ").split(b"\n")[0] + b"\n"
    )
    + gzip.compress(b"\n".join(prefixed("2026-07-01T12:00:00.123Z ").split(b"\n")[1:])),
    "lines of Python's logger": prefixed("[INFO]\t2026-07-01T12:00:00.123Z\t6bc28136-fa50\t"),
    "Lambda's JSON log format": "".join(
        json.dumps({"timestamp": "2026-07-01T12:00:00.123Z", "level": "INFO", "message": message}) + "\n"
        for message in MESSAGES
    ).encode(),
    "the console's CSV": csv_of("timestamp", "message"),
    "CSV of Logs Insights": csv_of("@timestamp", "@message", "@logStream"),
    "CSV as Windows saves it": b"\xef\xbb\xbf" + csv_of("@timestamp", "@message"),
    "filter-log-events": json.dumps(FILTERED, indent=4).encode(),
    "get-log-events, compressed": gzip.compress(json.dumps(FILTERED).encode()),
    "a subscription": json.dumps({"logEvents": events(at="timestamp", message="message")}).encode(),
    "get-query-results": json.dumps({"results": INSIGHTS_ROWS, "status": "Complete"}).encode(),
    "JSON of the console of Logs Insights": json.dumps(events(at="@timestamp", message="@message")).encode(),
}


@pytest.mark.parametrize("content", SAVED_AS.values(), ids=SAVED_AS.keys())
def test_what_a_log_was_saved_as_changes_neither_samples_nor_their_time(content: bytes) -> None:
    found = read_log(content, "log")
    plain = found_in("\n".join(MESSAGES))
    assert [one.line for one in found.logged] == [one.line for one in plain.logged]
    assert [one.at for one in found.logged] == [AT, AT]
    assert (found.bad, found.foreign) == ([], 1)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n", "10 %\r50 %\r100 %\n", "{\n", "[1, 2\n", "a,b\n"])
def test_plain_lines_tell_no_time_and_may_follow_anything(before: str, ending: str) -> None:
    found = found_in(before + line_text(0) + ending + line_text(1) + ending)
    assert [(one.line.sample_index, one.line.elapsed_ms, one.at) for one in found.logged] == [
        (0, 1.5, None),
        (1, 1.5, None),
    ]
    assert found.bad == []


def test_a_line_alone_and_without_an_end_is_one_sample() -> None:
    assert [one.line.request_id for one in found_in(line_text(0)).logged] == ["request-1"]


@pytest.mark.parametrize("text", ["", "\n \n", "[]", "{}", "null", "message\n", "[[[]], 1, null]", "\0\0"])
def test_what_holds_nothing_gives_nothing(text: str) -> None:
    found = found_in(text)
    assert (found.logged, found.bad) == ([], [])


@pytest.mark.parametrize(
    "broken",
    [
        line_text(0)[:-1],
        line_text(0)[:60],
        line_text(0)[1:],
        line_text(0) + line_text(1),
        line_text(0).replace('"', "'"),
        json.dumps({"message": line_text(0)[:-1]}),
        "2026-07-01T12:00:00Z [{x}] " + line_text(0),
        line_text(0, request_id=0).replace('": 0,', '": ' + "[" * 100_000 + ","),
        line_text(0, bytes=7).replace('": 7,', '": ' + "7" * 5_000 + ","),
    ],
    ids=["no end", "half", "no begin", "two", "python", "inside", "braces before", "nested", "5,000 digits"],
)
def test_a_broken_line_that_names_the_schema_is_bad_and_not_foreign(broken: str) -> None:
    found = found_in(f"{line_text(0)}\n{broken}\n{line_text(1)}\n")
    assert [one.line.sample_index for one in found.logged] == [0, 1], "the lines around it are taken"
    assert found.bad == [(2, NO_OBJECT)]


def test_an_object_over_several_lines_is_told_once_and_not_passed_over() -> None:
    found = found_in("\n".join(json.dumps(json.loads(line_text(place)), indent=2) for place in range(2)))
    assert [why for _, why in found.bad] == [NO_OBJECT, NO_OBJECT]


def test_a_sentence_that_names_the_schema_is_no_sample() -> None:
    found = found_in(f"prints s3_access_benchmark_v1\n{json.dumps({'asked': json.loads(line_text(0))})}\n")
    assert (found.logged, found.bad, found.foreign) == ([], [], 2)


HOSTILE = {
    "config": [
        *("../../etc", "a/b", "a\\b", 'a"b', "a'b", "..", ".", "", "a\n", "a\0", "\x1b[31m", "_a", "1a"),
        *("a=b", "a%2fb", "\u0430", "a" * 65, "a" * 10_000, None, 1, ["a"], {}),
    ],
    "op": ["delete", "", None, "READ"],
    "size": ["../x", "", "x" * 33, None],
    "read_mode": ["other", 1, "single/.."],
    "read_dataset": ["..", "a/b", "a b", "a" * 65, "a\n", 0],
    "bytes": [0, -1, 1.5, "65536", True, 10**14, 10**400, None],
    "sample_index": [-1, 0.5, True, "0", 10**9, None],
    "sample_count": [-1, True, None],
    "warmup": [-1, 2.5, "2"],
    "elapsed_ms": [0, -0.001, float("nan"), float("inf"), -float("inf"), "1.5", True, None, 900_001, [1.5]],
    "cold_invocation": [0, 1, "true", None],
    "request_id": ["", "a" * 129, "../..", "a b", "a\n", "\ud800", 1, None],
    "runtime": ["a\nb", "\x1b[2J", "x" * 65, "\u202e", None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in HOSTILE.items() for value in values]
)
def test_a_value_that_nobody_measured_is_refused_and_its_text_is_not_shown(name: str, value: object) -> None:
    text = line_text(0, **{name: value})
    alone, among, event = (
        found_in(text),
        found_in(f"{START}\n{text}"),
        found_in(json.dumps([{"message": text}])),
    )
    for found, number in ((alone, 1), (among, 2), (event, 1)):
        assert found.logged == []
        ((told, why),) = found.bad
        assert told == number
        assert why.startswith(f"{name}: ")
        assert why.isprintable()
        assert len(why) < 200


def test_a_number_beyond_all_floats_is_refused() -> None:
    text = line_text(0, elapsed_ms=7.25).replace("7.25", "1e400")
    assert found_in(f"{START}\n{text}").bad == [(2, "elapsed_ms: Input should be a finite number")]


def test_every_field_that_is_missing_is_named() -> None:
    ((_, why),) = found_in('{"schema": "s3_access_benchmark_v1"}').bad
    assert why.count("Field required") == 13


def test_fields_of_a_later_version_are_passed_over() -> None:
    found = found_in(f"{START}\n{line_text(0, region='ap-northeast-1', more={'a': [1]})}")
    assert len(found.logged) == 1


@pytest.mark.parametrize(
    "event",
    [
        {"timestamp": "2026-13-45T00:00:00Z"},
        {"timestamp": "0001-01-01T00:00:00+14:00"},
        {"timestamp": "1970-01-01T00:00:00Z"},
        {"timestamp": 0},
        {"timestamp": -1},
        {"timestamp": 10**300},
        {"timestamp": "9" * 10_000},
        {"@timestamp": 253_402_300_800_000},
    ],
    ids=str,
)
def test_an_impossible_time_is_a_bad_line(event: dict[str, object]) -> None:
    found = found_in(json.dumps({"events": [{**event, "message": line_text(0)}]}))
    assert found.logged == []
    ((number, why),) = found.bad
    assert (number, why.startswith("its time")) == (1, True)


def test_a_time_without_a_zone_is_utc() -> None:
    (one,) = found_in(f"2026-07-01 23:59:59,5 {line_text(0)}").logged
    assert one.at == datetime(2026, 7, 1, 23, 59, 59, 500_000, tzinfo=UTC)
    assert one.at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("before", ["", f"{START}\n"])
@pytest.mark.parametrize("own", [{"timestamp": "2026-07-01T12:00:00.123Z"}, {"@timestamp": AT_MS}])
def test_a_line_may_tell_its_own_time(before: str, own: dict[str, object]) -> None:
    (one,) = found_in(before + line_text(0, **own)).logged
    assert one.at == AT


def test_messages_within_messages_end_somewhere() -> None:
    text = line_text(0)
    for _ in range(9):
        text = json.dumps({"message": text})
    assert (found_in(text).logged, found_in(text).foreign) == ([], 1)


def test_a_huge_line_costs_only_itself() -> None:
    found = found_in(
        f"{line_text(0)}\n{line_text(1, note='x' * 5_000_000)}\n{'y' * 5_000_000}\n{line_text(2)}"
    )
    assert [one.line.sample_index for one in found.logged] == [0, 1, 2]


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b", b"\x1f\x8bxyz", gzip.compress(b"x" * 999, mtime=0)[:-9]],
    ids=["begun", "no header", "cut off"],
)
def test_a_broken_archive_is_told_in_one_sentence(content: bytes) -> None:
    with pytest.raises(UserError, match=r"log\.gz begins as gzip does and cannot be unpacked"):
        read_log(content, "log.gz")


def test_an_archive_of_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.results.log_lines.MOST_BYTES", 1024**2)
    with pytest.raises(UserError, match="larger than 1 MiB: import it in parts"):
        read_log(gzip.compress(bytes(1024**2 + 1)), "log.gz")
