"""A mistake in a suite file is named with its file, its line and its key."""

from pathlib import Path

import pytest

from configs.choices import known_suites
from configs.errors import UserError
from configs.loading import load_suite, parse_suite, suite_path

LAB = suite_path("lab").read_text(encoding="utf-8")


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


@pytest.mark.parametrize("name", known_suites())
def test_every_shipped_suite_loads_and_has_cells(name: str) -> None:
    assert load_suite(name, in_lab=True).cells()


@pytest.mark.parametrize(
    ("right", "wrong", "key", "complaint"),
    [
        ("blocks: 5", "blockz: 5", "blockz", "unknown key; did you mean 'blocks'?"),
        ("iterations: 15", "iteration: 15", "workloads.scan-simple.iteration", "did you mean 'iterations'?"),
        ("prefix: s3bench", "prefixx: s3bench", "targets.bucket.prefixx", "did you mean 'prefix'?"),
        ("size: 64 KiB, u", "size: 64 KiX, u", "datasets.blobs-64kib.size", "such as 64 KiB"),
        ("size: 64 KiB, u", "size: 6 GiB, u", "datasets.blobs-64kib.size", "equal to 5368709120"),
        ("blocks: 5", "blocks: 0", "blocks", "greater than or equal to 1 (given: 0)"),
        ("version: 1", "version: 2", "version", "should be 1 (given: 2)"),
        ("target: bucket", "target: bukket", "configurations.boto3-lab.target", "'bukket' is not among"),
        ("target: bucket", "target: mount", "configurations.boto3-lab.target", "reaches a bucket"),
        ("shows: bucket", "shows: b", "targets.mount.shows", "'b' is not a bucket"),
        ("baseline: boto3-lab", "baseline: b", "baseline", "'b' is not among the configurations"),
        (
            "dataset: logs,",
            "dataset: blobs-64kib,",
            "workloads.scan-simple.dataset",
            "not a dataset of Cloud",
        ),
        ("blobs-64kib, read_mode", "logs, read_mode", "workloads.read-64kib-single.dataset", "of blobs"),
        ("lab: true", "lab: aws-shapd", "lab", "write true, false or aws-shaped (given: 'aws-shapd')"),
        ("  boto3-lab:", "  Boto3:", "configurations.Boto3", "an id starts with a lower-case letter"),
        ("warmup: 5", "warmup: 15", "workloads.scan-simple", "leaves nothing of iterations 15"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_key(right: str, wrong: str, key: str, complaint: str) -> None:
    text = LAB.replace(right, wrong, 1)
    with pytest.raises(UserError) as raised:
        parse_suite(text, "s.yaml")
    named = [line for line in str(raised.value).splitlines() if line.startswith("s.yaml:")]
    assert f"s.yaml:{line_of(text, wrong)}: {key}: " in named[0]
    assert complaint in named[0]


@pytest.mark.parametrize(
    ("right", "wrong", "key", "complaint"),
    [
        (
            "kind: mount_io",
            "kind: mount_i",
            "configurations.mount-lab.access_path",
            "did you mean 'mount_io'?",
        ),
        ("kind: bucket", "kind: buckets", "targets.bucket", "did you mean 'bucket'?"),
        ("kind: blobs", "kind: blob", "datasets.blobs-64kib", "did you mean 'blobs'?"),
        ("kind: blob_read", "kind: blob_reed", "workloads.read-64kib-single", "did you mean 'blob_read'?"),
        ("kind: blob_read", "kind: left_out", "workloads.read-64kib-single", "are: blob_read, blob_write, "),
        (
            "kind: blob_read, ",
            "",
            "workloads.read-64kib-single",
            "this key is missing; the kinds of workload",
        ),
        ("kind: blob_read", "kind: 5", "workloads.read-64kib-single", "5 is no kind of workload; the kinds"),
    ],
)
def test_a_wrong_kind_is_answered_with_those_that_a_suite_may_name(
    right: str, wrong: str, key: str, complaint: str
) -> None:
    with pytest.raises(UserError) as raised:
        parse_suite(LAB.replace(right, wrong, 1), "s.yaml")
    (said,) = str(raised.value).splitlines()
    assert said.startswith(f"s.yaml:{line_of(LAB, right)}: {key}.kind: ")
    assert complaint in said
    offered = said.rpartition("are: ")[2].split(", ")
    assert "left_out" not in offered
    assert ("crt_benchmark" in offered) == key.startswith("workloads")


def test_one_mistake_in_lab_is_one_line() -> None:
    with pytest.raises(UserError) as raised:
        parse_suite(LAB.replace("lab: true", "lab: [true]"), "s.yaml")
    assert len(str(raised.value).splitlines()) == 1


def test_unique_reads_need_as_many_objects() -> None:
    text = LAB.replace("unique_count: 30", "unique_count: 29")
    with pytest.raises(UserError, match=r"read-16mib-unique.iterations: 30 unique reads .* is 29"):
        parse_suite(text, "s.yaml")


def test_every_block_of_a_cell_has_something_to_do() -> None:
    text = LAB.replace("iterations: 15, warmup: 5", "iterations: 4, warmup: 0")
    with pytest.raises(
        UserError, match=r"scan-simple.iterations: 4 operations cannot be spread over 5 parts"
    ):
        parse_suite(text, "s.yaml")


def test_every_mistake_is_named_at_once() -> None:
    text = LAB.replace("blocks: 5", "blocks: 0").replace("name: lab", "nam: lab")
    with pytest.raises(UserError) as raised:
        parse_suite(text, "s.yaml")
    assert len(str(raised.value).splitlines()) == 3  # blocks, nam, and name is missing


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1", r"s.yaml:1: this is no valid YAML"),
        ("a: 1\nb: {c: 2\nd: 3", r"s.yaml:2: .*the flow mapping that begins here: .* in line 3"),
        ("a: 1\nb: [2,\n3\nc: 4", r"s.yaml:2: .*the flow sequence that begins here: .* in line 4"),
        ("a: 1\nb: 'c\n\nd: 2", r"s.yaml:2: .*the quoted scalar that begins here: .* in line 4"),
        ("a: {b: 1]", r"s.yaml:1: this is no valid YAML: expected"),
        ("a: 1\na: 2", r"s.yaml:2: .*duplicate key"),
        ("- 1", r"s.yaml: a suite is a mapping"),
        ("", r"s.yaml: a suite is a mapping"),
        ("!!python/object/apply:os.system ['true']", r"s.yaml"),
        ("a: *nowhere", r"s.yaml:1: this is no valid YAML"),
        ("name: a\x01b", r"s.yaml: this is no valid YAML"),
        ("blocks: !!int abc", r"s.yaml: this is no valid YAML"),
    ],
)
def test_what_is_no_suite_is_refused_with_its_file(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        parse_suite(text, "s.yaml")


@pytest.mark.parametrize("content", [b"name: \xff\xfe", "name: é".encode("latin-1"), bytes(range(256))])
def test_what_is_no_text_in_utf_8_is_told_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"s\.yaml: this is no suite: it is no text file in UTF-8$"):
        load_suite(str(tmp_path / "s.yaml"))


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "", "."])
def test_a_name_that_can_be_no_file_is_no_suite(name: str) -> None:
    with pytest.raises(UserError, match="no such suite"):
        load_suite(name)


@pytest.mark.parametrize(("warmup", "refused"), [(0, False), (3, True), (5, False)])
def test_every_block_has_a_warm_up_or_none_has(warmup: int, refused: bool) -> None:
    text = LAB.replace("iterations: 15, warmup: 5", f"iterations: 15, warmup: {warmup}", 1)
    if not refused:
        assert parse_suite(text, "s.yaml").workloads["scan-simple"].warmup == warmup
        return
    with pytest.raises(UserError, match=r"scan-simple.warmup: 3 warm-ups leave some of the 5 parts"):
        parse_suite(text, "s.yaml")


def test_the_no_op_path_is_refused_where_something_would_be_read() -> None:
    text = LAB.replace("{kind: boto3_api}", "{kind: noop}", 1)
    done = [cell.workload_id for cell in parse_suite(text, "s.yaml").cells() if cell.config_id == "boto3-lab"]
    assert done == ["write-64kib", "write-16mib"]
    wanted = text.replace("{kind: noop}\n", "{kind: noop}\n    workloads: [read-64kib-single]\n", 1)
    with pytest.raises(UserError, match=r"noop cannot do 'read-64kib-single' .* can do: write-64kib, write"):
        parse_suite(wanted, "s.yaml")


def test_a_suite_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(UserError, match=r"s.yaml: this is no suite: it is nested too deeply"):
        parse_suite("[" * 1000, "s.yaml")


@pytest.mark.timeout(10)
@pytest.mark.parametrize("key", ["targets", "workloads", "description", "unknown"])
def test_aliases_that_would_fill_the_memory_are_refused_at_once(key: str) -> None:
    levels = [f"a0: &a0 [{', '.join('x' * 10)}]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(UserError, match="unknown key"):
        parse_suite("\n".join([*levels, f"{key}: *a11"]), "s.yaml")


def test_aliases_are_written_out_for_what_they_name() -> None:
    text = LAB.replace("{kind: boto3_api}", "&client {kind: boto3_api}").replace(
        "{kind: mount_io}", "*client"
    )
    with pytest.raises(UserError, match=r"mount-lab.target: boto3_api reaches a bucket"):
        parse_suite(text, "s.yaml")


def test_a_missing_suite_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(UserError, match=r"nightly-x: no such suite; .* or a name: .*lab"):
        load_suite("nightly-x")


def test_only_keeps_the_named_configurations_and_refuses_others() -> None:
    suite = load_suite("lab")
    assert {cell.config_id for cell in suite.only(("mount-lab",)).cells()} == {"mount-lab"}
    with pytest.raises(
        UserError, match="no configuration s3-files in suite lab: it has boto3-lab, mount-lab"
    ):
        suite.only(("s3-files",))


@pytest.mark.parametrize(("timeout_s", "refused"), [(269.8, False), (270, True), (300, True)])
def test_a_block_in_which_nothing_is_ever_seen_must_fit_into_its_time(
    timeout_s: float, refused: bool
) -> None:
    # Five blocks of three writes each, which may begin within 810 of 900 s; 0.1 s are for the last look.
    lag = f"{{kind: sync_lag, size: 64, seen_by: get, iterations: 15, timeout_s: {timeout_s}}}"
    text = f"{LAB}\n  lag: {lag}\n"
    if not refused:
        assert parse_suite(text, "s.yaml").workloads["lag"].iterations == 15
        return
    with pytest.raises(
        UserError, match=r"lag.timeout_s: 3 writes .*, but block_timeout_s is 900, of which a tenth is kept"
    ):
        parse_suite(text, "s.yaml")


def test_the_defaults_are_105_iterations_of_which_5_are_warmups() -> None:
    workload = load_suite("lab").workloads["read-64kib-single"]
    assert (workload.iterations, workload.warmup) == (105, 5)
