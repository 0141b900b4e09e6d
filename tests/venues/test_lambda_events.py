"""A function answers the events of E2 and E5 as theirs did, measured against the lab's server."""

import json
import os
import secrets
from collections.abc import Callable

import boto3
import pytest

from configs.errors import UserError
from tasks.lab.state import LabState
from tasks.venues.lambda_events import answer
from tasks.venues.places import lab_environment
from tests.lambda_blocks import Context

LINE_FIELDS = {
    "schema",
    "config",
    "op",
    "size",
    "read_mode",
    "read_dataset",
    "bytes",
    "sample_index",
    "sample_count",
    "warmup",
    "elapsed_ms",
    "cold_invocation",
    "request_id",
    "runtime",
}

Answer = Callable[[dict[str, object]], dict[str, object]]


@pytest.fixture
def ask(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Sends an event to a function that reaches the lab's bucket by boto3, below a prefix of its own."""
    for name, value in lab_environment(lab).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("S3BENCH_CONFIG", "A_s3_sdk")
    monkeypatch.setenv("S3BENCH_BUCKET", lab.bucket)
    monkeypatch.setenv("S3BENCH_PREFIX", f"events-{secrets.token_hex(4)}")
    monkeypatch.setenv("S3BENCH_ENDPOINT_URL", lab.endpoint_url)
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.14")
    return lambda event: answer(event, Context(), is_cold=False)


def lines(printed: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in printed.splitlines()]


def keys_below(lab: LabState, prefix: str) -> set[str]:
    client = boto3.client("s3", endpoint_url=lab.endpoint_url)
    return {
        entry["Key"] for entry in client.list_objects_v2(Bucket=lab.bucket, Prefix=prefix).get("Contents", [])
    }


def test_each_counted_read_is_a_line_with_exactly_the_fields_of_the_schema(
    ask: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    ask({"op": "setup"})
    told = ask({"op": "read", "iterations": 12, "warmup": 2})
    found = lines(capsys.readouterr().out)
    assert [line["sample_index"] for line in found] == list(range(10))
    for line in found:
        assert set(line) == LINE_FIELDS
        assert line["schema"] == "s3_access_benchmark_v1"
        assert (line["config"], line["op"], line["size"], line["read_mode"]) == (
            "A_s3_sdk",
            "read",
            "small",
            "single",
        )
        assert (line["bytes"], line["sample_count"], line["warmup"]) == (65_536, 10, 2)
        assert (line["request_id"], line["runtime"]) == (Context.aws_request_id, "python3.14")
        assert line["elapsed_ms"] == round(float(str(line["elapsed_ms"])), 3) > 0
    ascending = sorted(float(str(line["elapsed_ms"])) for line in found)
    assert (told["min_ms"], told["p50_ms"], told["p90_ms"], told["p99_ms"], told["max_ms"]) == (
        ascending[0],
        ascending[4],
        ascending[8],
        ascending[9],
        ascending[9],
    )
    assert (told["status"], told["errors"]) == ("measured", 0)


def test_unique_reads_need_an_object_for_each_and_read_none_twice(ask: Answer) -> None:
    ask({"op": "setup", "create_unique": True, "unique_count": 4, "read_dataset": "Logs_1"})
    event = {"op": "read", "read_mode": "unique", "read_dataset": "Logs_1", "warmup": 1}
    assert ask({**event, "iterations": 4})["errors"] == 0
    with pytest.raises(UserError, match="of 5 there are 4: send op setup with create_unique true"):
        ask({**event, "iterations": 5})
    assert ask({"op": "setup", "read_dataset": "Logs_1"})["objects"] == 5, "what was there stays"


def test_a_read_before_any_setup_says_what_to_send(ask: Answer) -> None:
    with pytest.raises(UserError, match="send op setup with size large and read_dataset none"):
        ask({"op": "read", "size": "large", "read_dataset": "none"})


def test_writes_are_verified_and_removed(
    ask: Answer, lab: LabState, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ask({"op": "write", "iterations": 6, "warmup": 1})
    assert (told["status"], told["errors"], told["sample_count"]) == ("measured", 0, 5)
    assert len(lines(capsys.readouterr().out)) == 5
    assert not keys_below(lab, os.environ["S3BENCH_PREFIX"]), "a write leaves nothing"


def test_a_function_with_a_mount_reads_on_it_what_setup_put_into_the_bucket(
    ask: Answer, lab: LabState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    monkeypatch.setenv("S3BENCH_CONFIG", "B_s3_files")
    monkeypatch.setenv("S3BENCH_MOUNT", str(lab.mount_path))
    ask({"op": "setup", "create_unique": True, "unique_count": 3})
    told = ask({"op": "read", "read_mode": "unique", "iterations": 3, "warmup": 0})
    assert (told["config"], told["errors"], told["sample_count"]) == ("B_s3_files", 0, 3)
    assert ask({"op": "write", "iterations": 3, "warmup": 0})["errors"] == 0
    assert {line["config"] for line in lines(capsys.readouterr().out)} == {"B_s3_files"}


def test_a_file_system_that_shows_no_bucket_is_set_up_through_its_mount(
    ask: Answer, lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    monkeypatch.setenv("S3BENCH_MOUNT", str(lab.mount_path))
    monkeypatch.setenv("S3BENCH_MOUNT_SHOWS_BUCKET", "false")
    monkeypatch.setenv("S3BENCH_BUCKET", "none-such")
    ask({"op": "setup", "create_unique": True, "unique_count": 3})
    assert ask({"op": "setup"})["objects"] == 4, "what was there stays"
    told = ask({"op": "read", "read_mode": "unique", "iterations": 3, "warmup": 0})
    assert (told["status"], told["errors"], told["sample_count"]) == ("measured", 0, 3)
    monkeypatch.setenv("S3BENCH_MOUNT", str(lab.mount_path.parent))
    with pytest.raises(UserError, match="nothing is mounted at"):
        ask({"op": "setup"})


def test_a_function_whose_mount_is_not_there_fails_and_reads_no_local_folder(
    ask: Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("S3BENCH_MOUNT", str(tmp_path))
    with pytest.raises(UserError, match="nothing is mounted at"):
        ask({"op": "write", "iterations": 1, "warmup": 0})


@pytest.mark.parametrize("method", ["upload", "download"])
def test_files_are_moved_count_times_and_each_is_told(ask: Answer, lab: LabState, method: str) -> None:
    prefix = os.environ["S3BENCH_PREFIX"]
    client = boto3.client("s3", endpoint_url=lab.endpoint_url)
    client.put_object(Bucket=lab.bucket, Key=f"{prefix}/files/sample.csv", Body=secrets.token_bytes(1400))
    told = ask({"method": method, "count": 7})
    samples = told["samples"]
    assert isinstance(samples, list)
    assert (told["bytes"], told["count"], told["errors"], len(samples)) == (1400, 7, 0, 7)
    assert told["elapsed_ms"] == pytest.approx(sum(one["elapsed_ms"] for one in samples), abs=0.01)
    assert float(str(told["wall_ms"])) >= float(str(told["elapsed_ms"]))
    assert keys_below(lab, prefix) == {f"{prefix}/files/sample.csv"}


def test_a_file_that_is_not_there_is_named(ask: Answer) -> None:
    with pytest.raises(UserError, match=r"files/other\.csv is not there: put the file there"):
        ask({"method": "upload", "file_name": "other.csv"})


@pytest.mark.usefixtures("ask")
def test_an_invocation_whose_time_is_up_tells_what_it_had_measured() -> None:
    told = answer({"op": "write", "iterations": 100_000, "warmup": 0}, Context(left_ms=1500), is_cold=False)
    assert told["status"] == "failed"
    assert "of 100000 operations were done" in str(told["reason"])
    assert told["p50_ms"] is not None


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"op": "reed"}, "op: Input should be 'setup', 'read' or 'write'"),
        ({"op": "read", "size": "medium"}, "size: Input should be 'small' or 'large'"),
        ({"op": "read", "read_mode": "twice"}, "read_mode: Input should be 'single' or 'unique'"),
        ({"op": "read", "iterations": -1}, "iterations: Input should be greater than or equal to 0"),
        ({"op": "read", "warmup": -1}, "warmup: Input should be greater than or equal to 0"),
        ({"op": "read", "iterations": True}, "iterations: Input should be a valid integer"),
        ({"op": "read", "iterations": "5"}, "iterations: Input should be a valid integer"),
        ({"op": "read", "iterations": 4}, "warmup 5 is more than iterations 4"),
        ({"op": "setup", "unique_count": -1}, "unique_count: Input should be greater than or equal to 0"),
        ({"op": "read", "read_dataset": "a/b"}, "read_dataset: String should match"),
        ({"op": "read", "read_dataset": "a" * 65}, "read_dataset: String should match"),
        ({"op": "read", "iteration": 5}, "iteration: Extra inputs are not permitted"),
        ({"method": "sync"}, "method: Input should be 'upload' or 'download'"),
        ({"method": "upload", "count": 0}, "count: Input should be greater than or equal to 1"),
        ({"method": "upload", "file_name": "../x"}, "file_name: String should match"),
    ],
)
def test_a_bad_event_is_refused_with_the_field_that_is_wrong(
    ask: Answer, event: dict[str, object], says: str
) -> None:
    with pytest.raises(UserError) as refusal:
        ask(event)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("S3BENCH_CONFIG", "", "S3BENCH_CONFIG: Field required"),
        ("S3BENCH_CONFIG", "../a", "S3BENCH_CONFIG: String should match"),
        ("S3BENCH_BUCKET", "Not_A_Bucket", "is no bucket name"),
        ("S3BENCH_PREFIX", "a//b", "is no prefix of ours"),
    ],
)
def test_a_bad_environment_names_the_variable(
    ask: Answer, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as refusal:
        ask({"op": "write"})
    assert f"{name}: " in str(refusal.value)
    assert says in str(refusal.value)


def test_a_prefix_that_the_mount_does_not_show_is_refused(
    ask: Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("S3BENCH_MOUNT", str(tmp_path))
    monkeypatch.setenv("S3BENCH_MOUNT_ROOT_PREFIX", "lambda/")
    with pytest.raises(UserError, match="does not lie below S3BENCH_MOUNT_ROOT_PREFIX 'lambda/'"):
        ask({"op": "write"})
