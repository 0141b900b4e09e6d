"""Finds lines of samples in whatever a log was saved as.

- Plain lines, as a program prints them.
- Lines with a prefix: S3 exports of CloudWatch Logs (the time, a blank), `aws logs tail`, and Python's
  logger in Lambda (level, time and request id, with tabs).
- JSON lines, each with the line of samples in its `message`, as Lambda's JSON log format has it.
- A JSON document: `filter-log-events`, `get-log-events`, subscriptions; `get-query-results` and the console
  of Logs Insights (`@timestamp`, `@message`).
- CSV with a column `@message` or `message`.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from pydantic import ValidationError

from configs.errors import UserError
from tasks.results.sample_lines import LINE_SCHEMA, Logged, SampleLine, what_is_wrong

MOST_BYTES: Final = 1024**3
"""Of one file, unpacked: about two million lines."""
_MOST_TIMES_PACKED: Final = 200
"""Lines of one program shrink to a thirtieth; a bomb, of which 1 MiB fills the memory, to a thousandth."""
_NEVER_A_BOMB_BYTES: Final = 1024**2
_MOST_NESTED: Final = 4
_LONGEST_NUMBER: Final = 20
_LONGEST_HEADER: Final = 4096
_GZIP: Final = b"\x1f\x8b"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
_KEY: Final = '"schema"'
_NO_OBJECT: Final = "this is no whole JSON object on one line"
_MESSAGES: Final = ("@message", "message")
_TIMES: Final = ("@timestamp", "timestamp")
_OWN_TIME: Final = 'timestamp"'
_LISTS: Final = ("events", "logEvents", "results")
_YEARS: Final = range(2006, 2100)
"""From the year of Amazon S3 on; beyond is a mistake of whoever made the file."""


class BadLineError(Exception):
    """A line of the schema that holds no sample."""


@dataclass(slots=True)
class Found:
    """What a log holds."""

    logged: list[Logged] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The line of the file of each, from 1; of a JSON document the number of its event."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    """The number of each line of the schema that cannot be taken, and why."""
    foreign: int = 0
    """Lines and events of anything else."""


def read_log(content: bytes, where: str) -> Found:
    """All lines of samples of a file.

    Args:
        content: of the file, plain or compressed by gzip.
        where: names the file in messages.

    Raises:
        UserError: if it cannot be unpacked or is too large.
    """
    text = _unpacked(content, where).decode("utf-8-sig", errors="replace")
    found = Found()
    for number, entry in _entries(text, where):
        try:
            logged = _logged(entry, 0)
        except BadLineError as reason:
            found.bad.append((number, str(reason)))
            continue
        if logged is None:
            found.foreign += 1
        else:
            found.logged.append(logged)
            found.numbers.append(number)
    return found


def _unpacked(content: bytes, where: str) -> bytes:
    if content.startswith(_GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                most_bytes = min(MOST_BYTES, len(content) * _MOST_TIMES_PACKED + _NEVER_A_BOMB_BYTES)
                unpacked = file.read(most_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{where} begins as gzip does and cannot be unpacked: {error}") from error
        if most_bytes < len(unpacked) <= MOST_BYTES:
            raise UserError(f"{where} unpacks to more than {_MOST_TIMES_PACKED} times its size: it is no log")
        content = unpacked
    if len(content) > MOST_BYTES:
        raise UserError(f"{where} is larger than {MOST_BYTES // 1024**2:,} MiB: import it in parts")
    return content


_Entry = tuple[int, str | Mapping[str, object]]


def _entries(text: str, where: str) -> Iterator[_Entry]:
    """Everything that may be a line, with its number."""
    document = _document(text)
    if document is not None:
        yield from enumerate(_events(document), 1)
    elif _is_csv(text):
        yield from _rows(text, where)
    else:
        for number, line in enumerate(_lines(text), 1):
            if line.strip():
                yield number, line


def _lines(text: str) -> Iterator[str]:
    """One line after the other, so that the text is not held twice."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _document(text: str) -> object | None:
    """The text as one JSON document; None where it is none, or one line of others."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        document, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError):
        return None
    return None if text[end:].strip() else document


def _events(document: object) -> Iterator[Mapping[str, object]]:
    """The events of a document: an event itself, a list of them, or what has such a list."""
    if isinstance(document, list):
        for item in document:
            if isinstance(item, list):
                yield _event_of_fields(item)
            elif isinstance(item, dict):
                yield item
    elif isinstance(document, dict):
        lists = [document[name] for name in _LISTS if isinstance(document.get(name), list)]
        if document.get("schema") == LINE_SCHEMA or not lists:
            yield document
        else:
            for events in lists:
                yield from _events(events)


def _event_of_fields(fields: list[object]) -> dict[str, object]:
    """A row of `get-query-results`: a list of fields and values."""
    return {
        str(item["field"]): item["value"]
        for item in fields
        if isinstance(item, dict) and item.keys() >= {"field", "value"}
    }


def _is_csv(text: str) -> bool:
    header = text.lstrip().partition("\n")[0]
    if len(header) > _LONGEST_HEADER:
        return False
    try:
        columns = next(csv.reader([header]), [])
    except csv.Error:  # a progress bar, for instance, with a carriage return in it
        return False
    return any(name in columns for name in _MESSAGES)


def _rows(text: str, where: str) -> Iterator[_Entry]:
    csv.field_size_limit(MOST_BYTES)  # 128 KiB without it, and an event of CloudWatch Logs may be larger
    reader = csv.DictReader(io.StringIO(text.lstrip(), newline=""))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise UserError(f"{where}:{reader.line_num + 1}: this is no CSV: {error}") from error


def _logged(entry: object, depth: int) -> Logged | None:
    """The line of samples in a line or an event, with the time that stands nearest to it; None without one.

    Raises:
        BadLineError: if it is one of the schema that cannot be taken.
    """
    if isinstance(entry, str):
        return _in_text(entry, depth)
    if not isinstance(entry, Mapping) or depth > _MOST_NESTED:
        return None
    if entry.get("schema") == LINE_SCHEMA:
        try:
            return Logged(SampleLine.model_validate(entry), _time_in(entry))
        except ValidationError as error:
            raise BadLineError(what_is_wrong(error)) from error
    for name in _MESSAGES:
        if name in entry:
            inner = _logged(entry[name], depth + 1)
            return inner if inner is None or inner.at else Logged(inner.line, _time_in(entry))
    return None


def _in_text(text: str, depth: int) -> Logged | None:
    if LINE_SCHEMA not in text:
        return None
    start = text.find("{")
    if start < 0 and _KEY not in text:
        return None  # the name alone, in some sentence
    if start < 0:
        raise BadLineError(_NO_OBJECT)
    raw = text[start : text.rfind("}") + 1]
    logged = _of_line(raw) or _of_object(raw, depth)
    prefix = _TIME.search(text, 0, start)
    if logged is None or logged.at or prefix is None:
        return logged
    return Logged(logged.line, _moment(prefix[0]))


def _of_line(raw: str) -> Logged | None:
    """A line of samples that tells no time of its own, which is most of them: parsed in one step."""
    if _OWN_TIME in raw:
        return None
    try:
        return Logged(SampleLine.model_validate_json(raw), None)
    except ValidationError:
        return None


def _of_object(raw: str, depth: int) -> Logged | None:
    """Any other object, which may have such a line inside."""
    try:
        inner = json.loads(raw)
    except (ValueError, RecursionError) as broken:
        raise BadLineError(_NO_OBJECT) from broken
    return _logged(inner, depth + 1)


def _time_in(event: Mapping[str, object]) -> datetime | None:
    for name in _TIMES:
        value = event.get(name)
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value.strip()[:_LONGEST_NUMBER])
        if isinstance(value, str) and (found := _TIME.search(value)):
            return _moment(found[0])
        if isinstance(value, int) and not isinstance(value, bool):
            return _moment_of_ms(value)
    return None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadLineError(f"its time {text} is none") from error
    return _sensible(moment)


def _moment_of_ms(time_ms: int) -> datetime:
    try:
        return _sensible(datetime.fromtimestamp(time_ms / 1000, UTC))
    except (ValueError, OverflowError, OSError) as error:
        told = str(time_ms)[:_LONGEST_NUMBER]
        raise BadLineError(f"its time {told} is no number of milliseconds since 1970") from error


def _sensible(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise BadLineError(f"its time lies in the year {moment.year}")
    return moment
