"""A block that breaks off keeps what it had measured, and nothing that it had not."""

import time

import pytest

from configs.access_paths import NoOp
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks.access.noop import NoOpPath
from tasks.access.protocol import Answer, Upload
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import NULL
from tasks.venues.block import run_block


def a_spec() -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=NoOp(), target="t"),
            workload=BlobWrite(size=64),
            target=BucketTarget(bucket="unused"),
        ),
        block=0,
        iterations=10,
        warmup=1,
        seed=1,
        write_prefix="p/",
    )


def test_operations_that_were_never_reached_are_no_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Answer()] * 3)

    def answer_three_times(*_: object) -> Answer:
        return next(answers)

    monkeypatch.setattr(NoOpPath, "answer", answer_three_times)
    outcome = run_block(a_spec())
    assert outcome.status == "failed"
    assert outcome.reason.startswith("StopIteration")
    assert len(outcome.samples) == 4, "the one whose check broke off is among them, as an error"
    assert NULL not in outcome.samples.integers["total_ns"]
    assert list(outcome.samples.warmup) == [1, 0, 0, 0]
    assert list(outcome.samples.failures) == [3]


def test_a_failed_operation_among_them_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(10))

    def write(path: NoOpPath, upload: Upload) -> None:
        if next(calls) == 1:
            message = "no"
            raise OSError(message)
        path._written[upload.key] = upload.payload

    answers = iter([Answer()] * 3)
    monkeypatch.setattr(NoOpPath, "write", write)
    monkeypatch.setattr(NoOpPath, "answer", lambda *_: next(answers))
    outcome = run_block(a_spec())
    errors = {row: failure.error for row, failure in outcome.samples.failures.items()}
    assert errors == {1: "OSError", 4: "NotVerified"}
    assert len(outcome.samples) == 5


def test_what_was_written_before_a_block_broke_off_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Answer()] * 3)
    monkeypatch.setattr(NoOpPath, "answer", lambda *_: next(answers))
    monkeypatch.setattr(NoOpPath, "sizes_below", lambda *_: {"p/000/000000.bin": 64, "p/000/000001.bin": 5})
    outcome = run_block(a_spec())
    errors = {row: failure.error for row, failure in outcome.samples.failures.items()}
    assert errors == {1: "WrongLength", 2: "NotFoundAfterWrite", 3: "NotVerified"}


def test_writes_that_nobody_can_look_at_are_no_good_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    def sizes_below(*_: object) -> dict[str, int]:
        raise ConnectionError("gone")

    monkeypatch.setattr(NoOpPath, "sizes_below", sizes_below)
    outcome = run_block(a_spec())
    assert {failure.error for failure in outcome.samples.failures.values()} == {"NotVerified"}
    assert len(outcome.samples.failures) == len(outcome.samples) == 10


def test_a_block_whose_time_is_up_ends_by_itself_with_the_samples_that_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deadline_ns = time.perf_counter_ns() + 300_000_000
    calls = iter(range(10))

    def write(path: NoOpPath, upload: Upload) -> None:
        path._written[upload.key] = upload.payload
        if next(calls) == 2:
            time.sleep(max(0, deadline_ns - time.perf_counter_ns()) / 1e9)

    monkeypatch.setattr(NoOpPath, "write", write)
    outcome = run_block(a_spec().model_copy(update={"deadline_ns": deadline_ns}))
    done = len(outcome.samples)
    assert done <= 3
    assert (outcome.status, outcome.samples.failures) == ("failed", {})
    assert outcome.reason.startswith(
        f"the block did not end within block_timeout_s: {done} of 10 operations were done"
    )
    assert NULL not in outcome.samples.integers["total_ns"]
    assert outcome.cost is not None


def test_what_cannot_be_deleted_at_its_end_takes_nothing_from_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def delete(*_: object) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(NoOpPath, "delete", delete)
    outcome = run_block(a_spec())
    assert (outcome.status, outcome.samples.failures, len(outcome.samples)) == ("measured", {}, 10)


def test_the_proof_is_that_of_the_whole_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoOpPath, "proof", lambda self: {"client": f"{len(self._written)} objects so far"})
    monkeypatch.setattr(NoOpPath, "delete", lambda *_: None)
    outcome = run_block(a_spec())
    assert (outcome.status, outcome.proof) == ("measured", {"client": "10 objects so far"})


def test_a_label_that_only_the_whole_block_disproves_fails_it_and_keeps_its_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([{"client": "none"}])

    def proof(_: NoOpPath) -> dict[str, str]:
        found = next(answers, None)
        if found is None:
            message = "requests go to elsewhere"
            raise LabelError(message)
        return found

    monkeypatch.setattr(NoOpPath, "proof", proof)
    outcome = run_block(a_spec())
    assert (outcome.status, outcome.reason) == ("failed", "requests go to elsewhere")
    assert outcome.proof == {"client": "none"}
    assert len(outcome.samples) == 10
