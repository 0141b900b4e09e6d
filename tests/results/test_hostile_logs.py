"""Whatever a log holds, an import ends: with samples, or with the number of each bad line and why."""

import gzip
import json
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.base import IDENTIFIER_PATTERN
from configs.errors import UserError
from tasks.reports.html import render_html
from tasks.reports.view import build_report
from tasks.results.lines_import import import_lines
from tasks.results.log_lines import Found, read_log
from tasks.results.reader import list_runs
from tasks.results.store import open_store
from tests.results.sample_text import FIELDS, line_text

HOSTILE = [
    "../x",
    "a'; DROP TABLE samples; --",
    "config=b",
    "a/b",
    "a\nb",
    "a\0b",
    "\x1b[31m",
    "\u202e",
    "\ud800",
    "<script>",
    "x" * 300,
    "\u0661",
    "",
    "-rf",
    "%2F",
    "*",
]
NUMBERS = [
    0,
    -1,
    1e-300,
    1e308,
    float("nan"),
    float("inf"),
    10**30,
    2**63,
    True,
    "1",
    None,
    [1],
    {"a": 1},
]
VALUES = st.recursive(
    st.sampled_from([*HOSTILE, *NUMBERS]) | st.text(max_size=8) | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
TIMES = st.sampled_from(
    [
        "9" * 30,
        10**400,
        -(10**20),
        "9999-99-99T99:99:99Z",
        "\u0662\u0660\u0662\u0666-01-01T00:00:00",
        1e9,
        None,
    ]
)
LINES = st.dictionaries(st.sampled_from([*FIELDS, "timestamp", "@message"]), VALUES, max_size=3).map(
    lambda own: json.dumps(FIELDS | own)
)
WRAPPED = st.one_of(
    LINES,
    st.tuples(TIMES, LINES).map(lambda both: json.dumps({"timestamp": both[0], "message": both[1]})),
    st.tuples(st.sampled_from(["events", "logEvents", "results"]), st.lists(LINES, max_size=2)).map(
        lambda both: json.dumps({both[0]: [{"message": line} for line in both[1]]})
    ),
    LINES.map(lambda line: f"2026-13-45T25:61:61.123Z {line}"),
    LINES.map(lambda line: line.replace('"op"', '"op": "write", "op"', 1)),  # a key twice
    LINES.map(lambda line: line[: len(line) // 2]),
    LINES.map(lambda line: '"' + json.dumps(line)),
    st.text(alphabet='{}[]",:s3_access_benchmark_v1\\ \n', max_size=40).map(
        lambda text: f'{text} "schema" s3_access_benchmark_v1 {{'
    ),
)
FILES = st.one_of(
    st.lists(WRAPPED, min_size=1, max_size=4).map("\n".join).map(lambda text: text.encode(errors="replace")),
    st.lists(WRAPPED, max_size=2).map(
        lambda lines: ("@timestamp,@message\n" + "\n".join(f'x,"{line}"' for line in lines)).encode(
            errors="replace"
        )
    ),
    st.binary(max_size=80),
    st.binary(max_size=20).map(lambda content: b"\x1f\x8b" + content),
    WRAPPED.map(lambda text: gzip.compress(text.encode(errors="replace"))),
    WRAPPED.map(lambda text: b"\xff\xfe\xc0" + text.encode(errors="replace")),
)
QUICK = settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def read_whole(content: bytes) -> Found:
    """What is found, of which everything is named and safe."""
    try:
        found = read_log(content, "log")
    except UserError as error:
        assert str(error).isprintable()  # noqa: PT017 - either is right
        return Found()
    assert all(number > 0 for number in found.numbers)
    assert all(number > 0 and why.isprintable() and len(why) < 2000 for number, why in found.bad)
    for one in found.logged:
        for name in (one.line.config_id, one.line.workload_id):
            assert re.fullmatch(IDENTIFIER_PATTERN, name)
        assert one.line.total_ns > 0
        assert one.line.runtime.isprintable()
    return found


@QUICK
@given(FILES)
def test_any_log_is_read_to_its_end(content: bytes) -> None:
    read_whole(content)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(QUICK, max_examples=30_000)
@given(FILES)
def test_very_many_logs_are_read_to_their_end(content: bytes) -> None:
    read_whole(content)


@pytest.mark.parametrize("name", FIELDS)
def test_a_line_with_a_hostile_value_is_refused_and_numbered_or_safe(name: str) -> None:
    values = [*HOSTILE, *NUMBERS]
    lines = [json.dumps(FIELDS | {name: value}) for value in values]
    found = read_whole("\n".join(lines).encode())
    assert len(found.logged) + len(found.bad) + found.foreign == len(values)
    assert found.bad or name == "schema"


def test_deep_nesting_is_a_bad_line() -> None:
    deep = "[" * 100_000
    found = read_whole(f'{{"schema": "s3_access_benchmark_v1", "x": {deep}\n{line_text(1)}'.encode())
    assert (len(found.logged), [number for number, _ in found.bad]) == (1, [1])


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(b"\0" * 16 * 1024**2, compresslevel=9)
    with pytest.raises(UserError, match="log unpacks to more than 200 times its size: it is no log"):
        read_log(bomb, "log")


def test_very_many_like_lines_are_no_bomb() -> None:
    lines = "\n".join(line_text(number) for number in range(4_000))
    assert len(read_log(gzip.compress(lines.encode(), compresslevel=9), "log").logged) == 4_000


def test_times_that_are_stored_as_nothing_are_refused() -> None:
    found = read_whole("\n".join(line_text(0, elapsed_ms=value) for value in (1e-300, 4e-7, 1e-6)).encode())
    assert [number for number, _ in found.bad] == [1, 2]
    assert found.logged[0].line.total_ns == 1


def test_the_shortest_and_the_longest_times_have_a_page(tmp_path: Path) -> None:
    store = open_store(tmp_path / "results")
    lines = [
        line_text(place, config=config, request_id=f"r{place // 5}", elapsed_ms=elapsed_ms)
        for config, elapsed_ms in (("A", 1e-6), ("B", 900_000))
        for place in range(15)
    ]
    import_lines(store, read_log("\n".join(lines).encode(), "log"), "2026-07-01")
    (run,) = list_runs(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = render_html(build_report(run.record, run.run_id, run.samples()))
    assert "900" in page
