"""What is laid over a suite: merged key by key, and every mistake named where it was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.errors import UserError
from configs.loading import load_suite
from configs.overlays import merged

SUITE = """\
version: 1
name: small
max_cost_usd: 3
targets:
  bucket: {kind: bucket, region: us-east-1}
  mount: {kind: mount, shows: bucket}
configurations:
  api: {access_path: {kind: boto3_api}, target: bucket}
  disk: {access_path: {kind: mount_io}, target: mount}
datasets:
  blobs: {kind: blobs, size: 64 KiB}
workloads:
  read: {kind: blob_read, dataset: blobs}
  write: {kind: blob_write, size: 64 KiB}
"""
LAB = """\
lab: true
targets:
  bucket: {bucket: s3bench-lab}
"""

KEYS = st.sampled_from("abc")
LEAVES = st.none() | st.integers(0, 3)
DOCUMENTS = st.recursive(
    st.dictionaries(KEYS, LEAVES, max_size=3),
    lambda inner: st.dictionaries(KEYS, LEAVES | inner, max_size=3),
    max_leaves=12,
)
ALIKE = st.dictionaries(st.sampled_from("ab"), LEAVES, max_size=2).flatmap(
    lambda leaves: st.fixed_dictionaries(
        {}, optional={"x": st.dictionaries(KEYS, LEAVES), "y": st.fixed_dictionaries({"z": st.just(leaves)})}
    ).map(lambda mappings: {**leaves, **mappings})
)
"""Documents that agree on which of their values are mappings, as those of one schema do."""


@given(DOCUMENTS)
def test_laying_a_document_over_itself_changes_nothing(document: dict[str, object]) -> None:
    assert merged(document, document) == document


@given(DOCUMENTS, DOCUMENTS)
def test_laying_a_document_over_another_twice_is_the_same_as_once(
    below: dict[str, object], above: dict[str, object]
) -> None:
    once = merged(below, above)
    assert merged(once, above) == once


@given(ALIKE, ALIKE, ALIKE)
def test_merging_documents_of_one_shape_is_associative(
    first: dict[str, object], second: dict[str, object], third: dict[str, object]
) -> None:
    assert merged(merged(first, second), third) == merged(first, merged(second, third))


@given(DOCUMENTS, DOCUMENTS)
def test_merging_changes_neither_document(below: dict[str, object], above: dict[str, object]) -> None:
    before = repr((below, above))
    merged(below, above)
    assert repr((below, above)) == before


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """The path of a suite with a lab overlay beside it."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "small.yaml").write_text(LAB)
    (tmp_path / "small.yaml").write_text(SUITE)
    return str(tmp_path / "small.yaml")


def test_the_lab_overlay_fills_in_names_and_keeps_the_rest(suite: str) -> None:
    found = load_suite(suite, in_lab=True)
    assert found.lab is True
    assert found.bucket("bucket").bucket == "s3bench-lab"
    assert found.max_cost_usd == 3


def test_what_is_missing_is_told_with_every_way_to_give_it(suite: str) -> None:
    with pytest.raises(UserError) as raised:
        load_suite(suite)
    ways = "=… or --targets FILE, or run it in the local lab with --in-lab"
    bucket, path = "targets.bucket.bucket", "targets.mount.path"
    assert str(raised.value).splitlines() == [
        f"{suite}:5: {bucket}: this key is missing; give it with --set {bucket}{ways}",
        f"{suite}:6: {path}: say where the file system is mounted; give it with --set {path}{ways}",
    ]


def test_a_suite_without_an_overlay_is_not_told_to_run_in_the_lab(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SUITE)
    with pytest.raises(UserError) as raised:
        load_suite(str(tmp_path / "small.yaml"))
    assert "--targets FILE" in str(raised.value)
    assert "--in-lab" not in str(raised.value)
    with pytest.raises(UserError, match=r"has no lab overlay, which would be .*/lab/small\.yaml"):
        load_suite(str(tmp_path / "small.yaml"), in_lab=True)


def test_a_suite_that_lies_in_the_lab_by_itself_needs_no_overlay() -> None:
    assert load_suite("lab", in_lab=True) == load_suite("lab")


def test_the_later_layer_wins(suite: str, tmp_path: Path) -> None:
    targets = tmp_path / "targets.yaml"
    targets.write_text("targets: {bucket: {bucket: s3bench-lab-plain}, mount: {fstype: from-file}}")
    settings = ["targets.bucket.bucket=from-set", "targets.bucket.bucket=from-last-set"]
    in_lab = load_suite(suite, in_lab=True, targets_file=str(targets))
    assert in_lab.bucket("bucket").bucket == "s3bench-lab-plain"
    settings.append("targets.mount.path=/mnt/set")
    found = load_suite(suite, targets_file=str(targets), settings=settings)
    assert found.bucket("bucket").bucket == "from-last-set"
    mount = found.targets["mount"].model_dump()
    assert (mount["fstype"], mount["path"]) == ("from-file", Path("/mnt/set"))


def test_a_mounts_path_of_the_suite_is_taken_back_by_its_lab_overlay(suite: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SUITE.replace("shows: bucket}", "shows: bucket, path: /mnt/x}"))
    complaint = (
        "targets.mount.path: the lab says where it is mounted: leave path out, or write null in an overlay"
    )
    with pytest.raises(UserError) as raised:
        load_suite(suite, in_lab=True)
    assert str(raised.value) == f"{suite}:6: {complaint}"
    (tmp_path / "lab" / "small.yaml").write_text(f"{LAB}  mount: {{path: null}}\n")
    assert load_suite(suite, in_lab=True).lab is True


@pytest.mark.parametrize(
    ("setting", "field", "value"),
    [
        ("blocks=4", "blocks", 4),
        ("max_cost_usd=null", "max_cost_usd", None),
        ("max_cost_usd=0.5", "max_cost_usd", 0.5),
        ("description=2026-11-30", "description", "2026-11-30"),
        ("description=a=b", "description", "a=b"),
        ("description='7'", "description", "7"),
        ("scratch=/mnt/store", "scratch", Path("/mnt/store")),
    ],
)
def test_a_setting_is_read_as_a_yaml_scalar(suite: str, setting: str, field: str, value: object) -> None:
    assert getattr(load_suite(suite, in_lab=True, settings=[setting]), field) == value


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("blocks", "--set blocks: write it as --set path.to.key=value"),
        ("=5", "--set =5: write it as --set path.to.key=value"),
        ("targets..x=5", "--set targets..x=5: write it as --set path.to.key=value"),
        ("block=5", "--set block: unknown key; did you mean 'blocks'?"),
        ("targets.bucket.bukket=x", "--set targets.bucket.bukket: unknown key; did you mean 'bucket'?"),
        ("targets.bukket.bucket=x", "--set targets.bukket.bucket: the suite has no targets.bukket; did you"),
        ("blocks.x=5", "--set blocks.x: the suite has no blocks; known here: "),
        ("version.x=5", "--set version.x: version is no mapping: no key lies below it"),
        ("targets.bucket.kind.x=5", "--set targets.bucket.kind.x: targets.bucket.kind is no mapping"),
        ("targets.mount.path=/mnt/x", "--set targets.mount.path: the lab says where it is mounted"),
        ("blocks=0", "--set blocks: Input should be greater than or equal to 1 (given: 0)"),
        ("blocks=[1, 2]", "--set blocks: '[1, 2]' is more than one value"),
        ("description=", "--set description: Input should be a valid string"),
        ("blocks=*x", "--set blocks: '*x' is no YAML value"),
        ("workloads.read.dataset=blob", "--set workloads.read.dataset: 'blob' is not a dataset of blobs"),
        ("targets.bucket.region=Tokyo", "--set targets.bucket.region: String should match pattern"),
    ],
)
def test_a_wrong_setting_is_named_as_it_was_given(suite: str, setting: str, complaint: str) -> None:
    with pytest.raises(UserError) as raised:
        load_suite(suite, in_lab=True, settings=[setting])
    assert str(raised.value).splitlines()[0].startswith(complaint)


def test_a_mistake_in_an_overlay_names_the_overlay_and_its_line(suite: str, tmp_path: Path) -> None:
    overlay = tmp_path / "lab" / "small.yaml"
    overlay.write_text(f"{LAB}workloads:\n  read: {{iteration: 5}}\ndatasets:\n  blobs: {{size: big}}\n")
    with pytest.raises(UserError) as raised:
        load_suite(suite, in_lab=True)
    size, iteration = str(raised.value).splitlines()
    assert size.startswith(f"{overlay}:7: datasets.blobs.size: this is no size; ")
    assert iteration == f"{overlay}:5: workloads.read.iteration: unknown key; did you mean 'iterations'?"


def test_a_value_that_another_layer_wrote_is_named_there(suite: str, tmp_path: Path) -> None:
    targets = tmp_path / "targets.yaml"
    targets.write_text("targets:\n  mount: {path: /mnt/x}\n  bucket:\n    bucket: Not A Name\n")
    with pytest.raises(UserError) as raised:
        load_suite(suite, targets_file=str(targets))
    assert str(raised.value).startswith(
        f"{targets}:4: targets.bucket: 'Not A Name' is no bucket name"
    ) or str(raised.value).startswith(f"{targets}:4: targets.bucket.bucket: 'Not A Name' is no bucket name")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("blocks: 3", ":1: blocks: a targets file has the keys targets and venues alone"),
        ("targets: {bukket: {bucket: x}}", "targets.bukket: the suite has no such target; did you mean"),
        ("- 1", ": a targets file is a mapping with the keys targets, venues"),
        ("targets: [1", ":1: this is no valid YAML"),
        ("targets: 5", ":1: targets: Input should be a valid dictionary"),
    ],
)
def test_a_file_that_is_no_targets_file_is_refused(
    suite: str, tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "targets.yaml").write_text(text)
    with pytest.raises(UserError, match=r"targets\.yaml") as raised:
        load_suite(suite, targets_file=str(tmp_path / "targets.yaml"))
    assert complaint in str(raised.value)


def test_a_targets_file_that_is_not_there_is_named(suite: str) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: the targets file cannot be read"):
        load_suite(suite, targets_file="nowhere.yaml")


def test_null_takes_a_named_part_out_of_the_suite(suite: str) -> None:
    found = load_suite(suite, in_lab=True, settings=["workloads.read=null", "configurations.disk=null"])
    assert [cell.cell_id for cell in found.cells()] == ["api/write"]
    with pytest.raises(UserError, match=r"--set workloads\.reed: Input should be"):
        load_suite(suite, in_lab=True, settings=["workloads.reed=null"])


@pytest.mark.timeout(10)
def test_aliases_in_an_overlay_do_not_fill_the_memory(suite: str, tmp_path: Path) -> None:
    levels = ["a0: &a0 {x: 1}"]
    levels += [f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(10))}}}" for n in range(1, 12)]
    for file in (tmp_path / "lab" / "small.yaml", tmp_path / "small.yaml"):
        file.write_text("\n".join([*levels, file.read_text()]))
    with pytest.raises(UserError, match="unknown key"):
        load_suite(suite, in_lab=True)
