"""Files of awslabs/aws-crt-s3-benchmarks become workloads of ours, or are left out with the reason."""

import json
from pathlib import Path

import pytest

from configs.crt_workloads import CrtBenchmark, counterpart_of
from configs.errors import UserError
from configs.loading import load_suite
from configs.suite import Suite

SUITE = """\
version: 1
name: crt
max_cost_usd: null
targets:
  bucket: {kind: bucket, bucket: some-bucket, region: us-east-1}
configurations:
  api: {access_path: {kind: boto3_api}, target: bucket}
  transfer: {access_path: {kind: boto3_transfer}, target: bucket}
workloads:
  theirs: {kind: crt_benchmark, file: FILE}
  in-memory: {kind: blob_write, size: 64}
  on-disk: {kind: file_upload, size: 64}
"""


def run_file(**changes: object) -> dict[str, object]:
    """A whole `.run.json` of version 2: four downloads of 256 KiB to disk, ten times."""
    keys = [f"download/256KiB-4x/{number}" for number in range(1, 5)]
    return {
        "version": 2,
        "comment": "",
        "filesOnDisk": True,
        "checksum": None,
        "maxRepeatCount": 10,
        "maxRepeatSecs": 600,
        "tasks": [{"action": "download", "key": key, "size": 262_144} for key in keys],
        **changes,
    }


def load(folder: Path, name: str, content: object, text: str = SUITE) -> Suite:
    (folder / name).write_text(json.dumps(content))
    (folder / "suite.yaml").write_text(text.replace("FILE", name))
    return load_suite(str(folder / "suite.yaml"))


def cells_of(suite: Suite) -> list[str]:
    """The configurations that do the workload of the file."""
    return [cell.config_id for cell in suite.cells() if cell.workload_id == "theirs"]


@pytest.mark.parametrize(
    ("content", "kind", "iterations", "objects"),
    [
        ({"action": "download", "fileSize": "256KiB", "numFiles": 10_000}, "file_download", 100_000, 100_000),
        ({"action": "download", "fileSize": "64KiB"}, "file_download", 10, 1),
        ({"action": "download", "fileSize": "5GiB", "filesOnDisk": False}, "blob_read", 10, 1),
        ({"action": "upload", "fileSize": "1byte", "numFiles": 7, "maxRepeatCount": 3}, "file_upload", 21, 0),
        ({"action": "upload", "fileSize": "8MiB", "filesOnDisk": False}, "blob_write", 10, 0),
    ],
)
def test_a_source_file_becomes_a_workload_and_its_dataset(
    tmp_path: Path, content: dict[str, object], kind: str, iterations: int, objects: int
) -> None:
    suite = load(tmp_path, "any.src.json", content)
    workload = suite.workloads["theirs"]
    assert (workload.kind, workload.iterations, workload.warmup) == (kind, iterations, 0)
    assert [each.model_dump()["unique_count"] for each in suite.datasets.values()] == [objects] * (
        objects > 0
    )


def test_a_run_file_becomes_unique_downloads_of_its_size(tmp_path: Path) -> None:
    suite = load(tmp_path, "download-256KiB-4x.run.json", run_file())
    workload = suite.workloads["theirs"].model_dump()
    assert (workload["kind"], workload["read_mode"], workload["iterations"]) == (
        "file_download",
        "unique",
        40,
    )
    dataset = suite.datasets[workload["dataset"]].model_dump()
    assert (int(dataset["size"]), dataset["unique_count"]) == (262_144, 40)
    assert cells_of(suite) == ["transfer"]


def test_one_key_that_is_named_many_times_is_the_same_object_each_time(tmp_path: Path) -> None:
    tasks = [{"action": "download", "key": "download/5GiB-1x/1", "size": 5_368_709_120}] * 100
    found = load(tmp_path, "max.run.json", run_file(tasks=tasks, filesOnDisk=False)).workloads["theirs"]
    assert (found.kind, found.iterations) == ("blob_read", 1000)
    assert found.model_dump()["read_mode"] == "single"


def test_a_suite_may_repeat_less_than_the_file_says(tmp_path: Path) -> None:
    text = SUITE.replace("file: FILE", "file: FILE, repeats: 2")
    assert load(tmp_path, "a.run.json", run_file(), text).workloads["theirs"].iterations == 8


def test_fifty_thousand_files_are_no_matter(tmp_path: Path) -> None:
    tasks = [{"action": "upload", "key": f"upload/{number}", "size": 262_144} for number in range(50_000)]
    file = tmp_path / "upload-256KiB-50_000x.run.json"
    file.write_text(json.dumps(run_file(tasks=tasks)))
    found = counterpart_of(CrtBenchmark(file=file.name), file)
    assert (found.workload.kind, found.workload.iterations) == ("file_upload", 500_000)


TASK = {"action": "download", "key": "a", "size": 1}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.run.json", run_file(version=3), "it is of version 3, and version 2 is known"),
        ("a.run.json", {"tasks": []}, "it is of version none"),
        ("a.run.json", run_file(randomOffset=True), "its field randomOffset is not known"),
        ("a.run.json", run_file(tasks=[{**TASK, "range": 5}]), "its field tasks.0.range is not known"),
        ("a.run.json", run_file(checksum="CRC32C"), "it asks for CRC32C checksums"),
        ("a.run.json", run_file(tasks=[TASK, {**TASK, "size": 2}]), "unlike sizes, from 1 to 2 bytes"),
        ("a.run.json", run_file(tasks=[TASK, {**TASK, "action": "upload"}]), "mixes uploads and downloads"),
        ("a.run.json", run_file(tasks=[TASK, TASK, {**TASK, "key": "b"}]), "downloaded again within one"),
        ("a.run.json", run_file(tasks=[]), "tasks: Tuple should have at least 1 item"),
        ("a.run.json", run_file(tasks=[{**TASK, "size": 0}]), "empty or larger than one PutObject takes"),
        ("a.run.json", run_file(maxRepeatCount=None), "maxRepeatCount: Input should be a valid integer"),
        ("a.run.json", [], "it is no JSON object"),
        ("a.src.json", {"action": "download", "fileSize": "30GiB"}, "larger than one PutObject takes"),
        ("a.src.json", {"action": "download", "fileSize": "3 GB"}, "fileSize: String should match"),
        ("a.src.json", {"action": "copy", "fileSize": "3GiB"}, "action: Input should be 'upload' or"),
        ("a.src.json", {"action": "upload", "fileSize": "1byte", "numFiles": 10**7}, "operations are more"),
        ("a.json", run_file(), "its name ends neither in .run.json nor in .src.json"),
    ],
)
def test_what_has_no_counterpart_is_left_out_with_the_reason(
    tmp_path: Path, name: str, content: object, reason: str
) -> None:
    suite = load(tmp_path, name, content)
    left_out = suite.workloads["theirs"].model_dump()
    assert left_out["kind"] == "left_out"
    assert left_out["reason"].startswith(f"{name} has no counterpart here: ")
    assert reason in left_out["reason"]
    assert cells_of(suite) == ["api", "transfer"]


@pytest.mark.parametrize(
    ("workload", "complaint"),
    [
        (
            "{kind: crt_benchmark, file: nowhere.run.json}",
            "workloads.theirs.file: {0}/nowhere.run.json cannot",
        ),
        ("{kind: crt_benchmark, file: .}", "workloads.theirs.file: {0} cannot be read"),
        ("{kind: crt_benchmark, fil: a.run.json}", "workloads.theirs.fil: unknown key; did you mean 'file'?"),
        ("{kind: crt_benchmark}", "workloads.theirs.file: this key is missing"),
        ("{kind: crt_benchmark, file: a.run.json, repeats: 0}", "workloads.theirs.repeats: Input should be"),
    ],
)
def test_a_wrong_reference_names_the_line_of_the_suite(tmp_path: Path, workload: str, complaint: str) -> None:
    with pytest.raises(UserError) as raised:
        load(tmp_path, "a.run.json", run_file(), SUITE.replace("{kind: crt_benchmark, file: FILE}", workload))
    assert f"{tmp_path}/suite.yaml:10: {complaint.format(tmp_path)}" in str(raised.value)


def test_a_workload_file_that_is_no_text_in_utf_8_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "b.run.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"b\.run\.json cannot be read: it is no text file in UTF-8$"):
        load(tmp_path, "a.run.json", run_file(), SUITE.replace("FILE", "b.run.json"))


def test_too_few_operations_for_the_blocks_are_named_at_the_workload(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"suite.yaml:10: workloads.theirs.iterations: 3 operations cannot"):
        load(tmp_path, "a.src.json", {"action": "upload", "fileSize": "1byte", "maxRepeatCount": 3})
