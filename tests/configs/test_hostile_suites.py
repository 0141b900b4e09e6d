"""Whatever a suite says, it is refused in words or safe wherever its names are used."""

import json
import os
import random
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from configs.base import IDENTIFIER_PATTERN
from configs.choices import known_suites
from configs.crt_workloads import CrtBenchmark, counterpart_of
from configs.documents import parse_document
from configs.errors import UserError
from configs.lab_delays import Delays, load_delays
from configs.loading import load_suite, parse_suite, suite_path
from configs.overlays import Stack, setting_document
from configs.suite import Suite
from configs.workloads import LeftOut

LAB = suite_path("lab").read_text(encoding="utf-8")
SMALL = """\
name: small
targets: {bucket: {kind: bucket, bucket: some-bucket}}
configurations: {boto3: {access_path: {kind: boto3_api}, target: bucket}}
workloads: {write: {kind: blob_write, size: 64 KiB}}
"""
SHIPPED = [
    *(suite_path(name).read_text(encoding="utf-8") for name in known_suites()),
    *(path.read_text(encoding="utf-8") for path in sorted(suite_path("lab").parent.glob("lab/*.yaml"))),
]
HOSTILE = [
    "",
    " ",
    "../x",
    "/etc/passwd",
    "a b",
    "-rf",
    "--endpoint-url=http://127.0.0.1:9",
    "x'; DROP TABLE samples; --",
    '"',
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\0b",
    "\x1b[31mred",
    "\u202egnp.exe",
    "\u200b",
    "\ud800",
    "x" * 300,
    "x" * 100_000,
    "us-east-\u0661",
    "\uff45",
    "[bold]x[/bold]",
    "<script>alert(1)</script>",
    "*",
    "a?b",
    "a[b]",
    "${HOME}",
    "$(touch x)",
    "{0}",
    "%00",
    "~nobody-here/x",
    "s3://bucket/*",
    "\\",
    "9" * 5000,
]
"""What may stand for a name."""

PLACES = {
    "id of a configuration": ("  boto3-lab:", "  {}:"),
    "id of a workload": ("  write-64kib:", "  {}:"),
    "id of a target": ("  bucket: {{", "  {}: {{"),
    "id of a dataset": ("  logs:", "  {}:"),
    "name": ("name: lab", "name: {}"),
    "description": ("description: boto3 API and", "description: {} #"),
    "baseline": ("baseline: boto3-lab", "baseline: {}"),
    "bucket": ("bucket: s3bench-lab", "bucket: {}"),
    "prefix": ("prefix: s3bench", "prefix: {}"),
    "region": ("prefix: s3bench", "region: {}"),
    "endpoint": ("prefix: s3bench", "endpoint_url: {}"),
    "file system": ("fuse.rclone", "{}"),
    "root of a mount": ("fstype: fuse.rclone", "root_prefix: {}"),
    "path of a mount": ("fstype: fuse.rclone", "path: {}"),
    "scratch folder": ("blocks: 5", "scratch: {}"),
    "program": ("{kind: boto3_api}", "{{kind: s5cmd, executable: {}}}"),
    "source": ("kind: cloudtrail_generated", "kind: cloudtrail_copied, source: {}"),
    "function": (
        "configurations:",
        "venues: {{f: {{kind: lambda, region: us-east-1, function: {}}}}}\nconfigurations:",
    ),
    "kind": ("kind: mount_io", "kind: {}"),
    "CRT workload": ("{kind: blob_write, size: 64 KiB}", "{{kind: crt_benchmark, file: {}}}"),
    "unknown key": ("blocks: 5", "{}: 5"),
    "number": ("blocks: 5", "blocks: {}"),
    "size": ("size: 64 KiB", "size: {}"),
    "time": ("blocks: 5", "block_timeout_s: {}"),
}
"""Where in the suite `lab` it is put, as YAML's quoted text."""


def refusal(text: str) -> str:
    """The message, or none where the text is a suite, which is then safe."""
    try:
        suite = parse_suite(text, "s.yaml")
    except UserError as error:
        said = str(error)
        assert_is_shown(said)
        return said
    assert_is_safe(suite)
    return ""


def assert_is_shown(said: str) -> None:
    """Every line names the file, and none is turned, hidden or without an end."""
    lines = said.split("\n")
    assert all(re.match(r"s\.yaml(:\d+)?: ", line) for line in lines), said
    assert all(line.isprintable() and len(line) < 2000 for line in lines), said


def assert_is_safe(suite: Suite) -> None:
    """What keys, URLs, columns, files and arguments are made of."""
    json.loads(suite.model_dump_json())
    names = {suite.name, *suite.configurations, *suite.workloads, *suite.targets, *suite.datasets}
    assert all(re.fullmatch(IDENTIFIER_PATTERN, name) for name in names)
    for target in suite.targets.values():
        if target.kind == "mount":
            assert str(target.path).isprintable()
            continue
        assert re.fullmatch(r"[a-z0-9.-]{3,63}", target.bucket)
        assert re.fullmatch(r"[A-Za-z0-9!_.()=+@,:/-]{1,512}", target.prefix)
        assert not {"", ".", ".."} & set(target.prefix.split("/"))
        assert re.fullmatch(r"[a-z0-9-]+", target.region or "none")
        endpoint = urlsplit(getattr(target, "endpoint_url", None) or "http://host:80")
        assert endpoint.hostname
        assert endpoint.port != 0
        assert "@" not in endpoint.netloc
    for cell in suite.cells():
        assert all(value.isprintable() for value in cell.asked.values())
        os.fsencode(str(getattr(cell.configuration.access_path, "executable", "")))


def put_hostile_names(place: str, names: list[str]) -> None:
    right, wrong = PLACES[place]
    right = right.replace("{{", "{")
    assert right in LAB
    for name in names:
        refusal(LAB.replace(right, wrong.format(json.dumps(name)), 1))


@pytest.mark.parametrize(("number", "place"), tuple(enumerate(PLACES)), ids=PLACES)
def test_no_hostile_name_is_taken_or_shown_as_it_is(number: int, place: str) -> None:
    put_hostile_names(place, HOSTILE[number % 11 :: 11])


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_none_of_all_hostile_names_is_taken_or_shown_as_it_is(place: str) -> None:
    put_hostile_names(place, HOSTILE)


@pytest.mark.parametrize(
    ("place", "name", "complaint"),
    [
        ("region", "us-east-\u0661", "targets.bucket.region: String should match"),
        ("prefix", "a*b", "targets.bucket.prefix: 'a*b' is no prefix of ours"),
        ("endpoint", "http://a?b", "targets.bucket.endpoint_url: it is no endpoint"),
        ("endpoint", "http://user:password@host", "it is no endpoint"),
        ("endpoint", "http://host:99999", "it is no endpoint"),
        ("description", "\x1b[31mred", "has the character U+001B, which nobody sees"),
        ("unknown key", "a\nb", "'a\\nb' has the character U+000A, which nobody sees"),
        ("scratch folder", "a\nb", "scratch: it has a character that cannot be printed"),
        ("time", ".inf", "block_timeout_s: Input should be"),
    ],
)
def test_what_could_become_something_else_is_refused(place: str, name: str, complaint: str) -> None:
    right, wrong = PLACES[place]
    assert complaint in refusal(LAB.replace(right, wrong.format(json.dumps(name)), 1))


@pytest.mark.parametrize(
    "text",
    [
        "targets: &t {<<: *t}",
        "a: &a {b: *a}",
        LAB.replace("blocks: 5", "blocks: &a [*a]"),
        LAB.replace("blocks: 5", "block_timeout_s: .inf"),
        LAB.replace("kind: cloudtrail_generated", f"kind: cloudtrail_generated, files: {10**16}"),
        LAB.replace("unique_count: 105", f"unique_count: {10**30}"),
        LAB.replace("{kind: boto3_api}", f"{{kind: boto3_api, max_attempts: {10**20}}}"),
        LAB.replace("{kind: boto3_api}", "{kind: boto3_api, read_timeout_s: .inf}"),
    ],
)
def test_what_has_no_end_is_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.timeout(20)
def test_of_very_many_mistakes_the_first_are_told() -> None:
    said = refusal("\n".join(f"key{number}: 1" for number in range(80)))
    assert len(said.splitlines()) < 60
    assert said.endswith("more mistakes")


@pytest.mark.timeout(20)
def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text("a: 1\n" * 100_000)
    for suite, targets in ((str(tmp_path / "long.yaml"), None), ("lab", "/dev/zero")):
        with pytest.raises(UserError, match="it is larger than 262,144 bytes"):
            load_suite(suite, targets_file=targets)


@pytest.mark.parametrize("form", ["{}", "{}=1", "targets.bucket.prefix={}", "targets.{}.prefix=1", "seed={}"])
def test_no_setting_becomes_anything_else(form: str) -> None:
    stack = Stack.of(parse_document(SMALL, "s.yaml", "suite", ("name",), Path()))
    for hostile in (*HOSTILE[::2], *map(json.dumps, HOSTILE[1::3])):
        try:
            values = stack.over(setting_document(form.format(hostile), stack)).values
        except UserError as error:
            assert str(error).isprintable()  # noqa: PT017 - either is right
        else:
            refusal(json.dumps(values))


def changed(text: str, seed: int) -> str:
    """A suite with some of its words exchanged, left out, repeated, or made hostile."""
    drawn = random.Random(seed)
    words = re.split(r"(\s+|[{}\[\],:])", text)
    for _ in range(drawn.randint(1, 4)):
        place = drawn.randrange(len(words))
        other = drawn.choice(
            [drawn.choice(words), json.dumps(drawn.choice(HOSTILE)), "", "&a", "*a", "<<", "!!set", "null"]
        )
        words[place] = other
    return "".join(words)


def fuzz_suites(seeds: range) -> None:
    refused = sum(bool(refusal_of_any(changed(SHIPPED[seed % len(SHIPPED)], seed))) for seed in seeds)
    assert 0 < refused < len(seeds)


def refusal_of_any(text: str) -> str:
    """As `refusal`, with what others were to fill in filled in."""
    return refusal(text.replace("FILL-IN", "some"))


def test_a_suite_with_changed_words_is_refused_or_safe() -> None:
    fuzz_suites(range(12))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_very_many_suites_with_changed_words_are_refused_or_safe() -> None:
    fuzz_suites(range(12, 4000))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from([*Suite.model_fields, "kind"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
SUITES = st.fixed_dictionaries({}, optional=dict.fromkeys(Suite.model_fields, VALUES))
QUICK = settings(derandomize=True, max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=1000)


def any_values_are_refused_or_safe(values: dict[str, object]) -> None:
    refusal(json.dumps(values))


def any_bytes_are_refused_or_safe(folder: Path, content: bytes) -> None:
    (folder / "s.yaml").write_bytes(content)
    for load in (load_suite, lambda path: load_delays(Path(path))):
        try:
            load(str(folder / "s.yaml"))
        except UserError as error:
            assert str(error).replace("\n", "").isprintable()  # noqa: PT017 - either is right


YAML_SIGNS = st.text(alphabet="ab:-?{}[]&*!|>'\"%@`#, \n\t~<=.0123456789eE_\\x\x85\u2028", max_size=40)


@QUICK
@given(SUITES)
def test_any_values_are_refused_or_safe(values: dict[str, object]) -> None:
    any_values_are_refused_or_safe(values)


@pytest.mark.slow
@pytest.mark.timeout(600)
@LONG
@given(SUITES)
def test_very_many_values_are_refused_or_safe(values: dict[str, object]) -> None:
    any_values_are_refused_or_safe(values)


@QUICK
@given(st.binary(max_size=60) | YAML_SIGNS.map(str.encode))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    any_bytes_are_refused_or_safe(tmp_path_factory.getbasetemp(), content)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(LONG, max_examples=6000)
@given(st.binary(max_size=60) | YAML_SIGNS.map(str.encode))
def test_very_many_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    any_bytes_are_refused_or_safe(tmp_path_factory.getbasetemp(), content)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
TASK = {"action": "upload", "key": "k", "size": 5}
RUN = {
    "version": 2,
    "comment": "",
    "filesOnDisk": True,
    "checksum": None,
    "maxRepeatCount": 1,
    "maxRepeatSecs": 1,
    "tasks": [TASK],
}
SOURCE = {"action": "download", "fileSize": "5KiB"}


def workload_file_is_left_out_or_safe(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    try:
        found = counterpart_of(CrtBenchmark(file=name), folder / name)
    except UnicodeDecodeError:
        return  # named with its line by whoever calls
    if isinstance(found.workload, LeftOut):
        assert len(found.workload.reason) < 600
    else:
        assert re.fullmatch(IDENTIFIER_PATTERN, found.dataset_name or "none")
        assert 0 < found.workload.iterations <= 10_000_000


FILES = st.one_of(
    st.tuples(
        st.just("w.run.json"),
        st.dictionaries(st.sampled_from([*RUN, "x\x1b"]), JSON_VALUES).map(lambda own: RUN | own),
    ),
    st.tuples(
        st.just("w.run.json"),
        st.dictionaries(st.sampled_from([*TASK]), JSON_VALUES).map(lambda own: RUN | {"tasks": [TASK | own]}),
    ),
    st.tuples(
        st.just("w.src.json"),
        st.dictionaries(st.sampled_from([*SOURCE, "numFiles", "checksum"]), JSON_VALUES).map(
            lambda own: SOURCE | own
        ),
    ),
)


@QUICK
@given(FILES)
def test_a_workload_file_of_others_is_left_out_or_safe(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[str, dict[str, object]]
) -> None:
    workload_file_is_left_out_or_safe(tmp_path_factory.getbasetemp(), file[0], json.dumps(file[1]).encode())


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(LONG, max_examples=3000)
@given(FILES)
def test_very_many_workload_files_of_others_are_left_out_or_safe(
    tmp_path_factory: pytest.TempPathFactory, file: tuple[str, dict[str, object]]
) -> None:
    workload_file_is_left_out_or_safe(tmp_path_factory.getbasetemp(), file[0], json.dumps(file[1]).encode())


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"version": ' + b"9" * 10_000 + b"}", b'{"version": "\\ud800"}', b"\xff"]
)
def test_a_broken_workload_file_is_left_out(tmp_path: Path, content: bytes) -> None:
    workload_file_is_left_out_or_safe(tmp_path, "w.run.json", content)


@pytest.mark.timeout(20)
def test_a_workload_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.run.json")
    with pytest.raises(OSError, match="it is no file"):
        counterpart_of(CrtBenchmark(file="w.run.json"), tmp_path / "w.run.json")


def test_a_pattern_of_hosts_is_never_a_program(tmp_path: Path) -> None:
    hosts = ["*", "[", "[!", "a" * 10_000 + "*" * 200, "*a" * 30 + "b"]
    text = json.dumps({"delays": [{"hosts": one, "milliseconds": 1} for one in hosts[1:]]})
    (tmp_path / "d.yaml").write_text(text)
    delays = load_delays(tmp_path / "d.yaml")
    assert isinstance(delays, Delays)
    assert delays.of("a" * 60) == 0.0


def test_plain_yaml_is_taken_as_before() -> None:
    document = parse_document("a: |\n  two\n  lines\nb: [x, 1]\n", "s.yaml", "suite", ("a",), Path())
    assert document.values == YAML(typ="safe").load("a: |\n  two\n  lines\nb: [x, 1]\n")
