"""What a function does with an event before and after it measures."""

import itertools
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.access_paths import MountIo, NoOp
from configs.manifest import DatasetObject
from configs.targets import BucketTarget, MountTarget
from configs.venues import LambdaVenueConfig
from configs.workloads import BlobRead
from tasks.lab.state import LabState
from tasks.venues import lambda_handler
from tasks.venues.lambda_handler import handler
from tasks.venues.lambda_wire import AnswerPlace, BlockAnswer, BlockEvent, from_text, unpacked
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.lambda_blocks import Context, a_block

PROJECT_ROOT = Path(__file__).resolve().parents[2]
VENUE = LambdaVenueConfig(function="f", region="us-east-1")
BUCKET = BucketTarget(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1")


def answered(event: BlockEvent, left_ms: int = 60_000) -> BlockOutcome:
    answer = BlockAnswer.model_validate(handler(event.model_dump(mode="json"), Context(left_ms)))
    return unpacked(from_text(answer.wire or ""))


def test_a_start_that_lies_far_ahead_of_its_clock_is_refused_and_not_waited_for() -> None:
    start_us = int((time.time() + 1000) * 1e6)
    outcome = answered(BlockEvent(block=a_block(VENUE, BUCKET, access_path=NoOp()), start_at_us=start_us))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("the common start lies 1000 s ahead of the function's clock")


def test_nothing_is_begun_for_which_the_function_has_no_time_left() -> None:
    outcome = answered(BlockEvent(block=a_block(VENUE, BUCKET, access_path=NoOp())), left_ms=1500)
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert "0 of 5 operations were done" in outcome.reason


def test_a_block_takes_no_longer_than_the_run_gives_it() -> None:
    block = a_block(VENUE, BUCKET, access_path=NoOp(), iterations=1_000_000)
    outcome = answered(BlockEvent(block=block, timeout_s=1.5, most_inline_bytes=10**9), left_ms=900_000)
    assert outcome.status == "failed"
    assert 0 < len(outcome.samples) < 1_000_000


def test_what_a_mount_shows_late_is_waited_for_and_what_it_never_shows_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = tuple(DatasetObject(key=name, size_bytes=3, sha256="0" * 64) for name in ("a", "b"))
    (tmp_path / "a").write_bytes(b"123")
    spec = a_block(
        VENUE,
        BUCKET,
        access_path=MountIo(),
        target=MountTarget(shows="b", path=tmp_path),
        workload=BlobRead(dataset="d", iterations=2, warmup=0),
        objects=objects,
    )
    monkeypatch.setattr(lambda_handler, "_SHOWN_WITHIN_S", 0.5)
    missing = answered(BlockEvent(block=spec))
    assert missing.status == "failed"
    assert missing.reason.startswith("1 of 2 objects did not appear on the mount of the function within ")
    assert missing.reason.endswith(f"such as {tmp_path / 'b'}")
    (tmp_path / "b").write_bytes(b"123")
    there = answered(BlockEvent(block=spec))
    assert there.reason.startswith("nothing is mounted at ")  # it went on: this is no mount


def test_samples_that_the_bucket_does_not_take_are_a_failed_block_with_the_reason(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lab_environment(lab).items():
        monkeypatch.setenv(name, value)
    nowhere = AnswerPlace(bucket="none-such", key="k", region="us-east-1", endpoint_url=lab.endpoint_url)
    block = a_block(VENUE, BUCKET, access_path=NoOp(), iterations=50)
    outcome = answered(BlockEvent(block=block, answer=nowhere, most_inline_bytes=10))
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert "and the bucket does not take them: cannot write s3://none-such/k at " in outcome.reason


def test_an_event_of_another_version_is_refused() -> None:
    event = BlockEvent(block=a_block(VENUE, BUCKET)).model_dump(mode="json")
    with pytest.raises(ValidationError, match="s3bench"):
        handler({**event, "s3bench": 2}, Context())


def test_events_of_the_published_experiments_are_for_another_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tasks.venues.lambda_events.answer", lambda event, _, is_cold: {"for": dict(event), "cold": is_cold}
    )
    monkeypatch.setattr(lambda_handler, "_INVOCATIONS", itertools.count(1))
    assert handler({"op": "read"}, Context()) == {"for": {"op": "read"}, "cold": True}
    assert handler({"method": "upload"}, Context()) == {"for": {"method": "upload"}, "cold": False}
    event = BlockEvent(block=a_block(VENUE, BUCKET, access_path=NoOp()))
    facts = BlockAnswer.model_validate(handler(event.model_dump(mode="json"), Context())).venue
    assert (facts["cold_start"], facts["invocation"]) == ("false", "3"), "whatever it was asked before"


def test_the_handler_loads_nothing_that_a_cold_start_would_have_to_wait_for() -> None:
    program = "import sys, tasks.venues.lambda_handler; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ran.stdout.split()}
    assert "pydantic" in loaded  # it is the real list
    assert loaded.isdisjoint({"prefect", "pyarrow", "numpy", "scipy", "dask", "distributed", "duckdb"})
    assert loaded.isdisjoint({"boto3", "botocore"})  # which a block loads only if its access path needs it
