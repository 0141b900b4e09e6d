"""What each of several clients does of a block, and what is made of all that they bring back."""

from array import array
from pathlib import Path

import pytest

from configs.access_paths import Boto3Api
from configs.block import BlockSpec
from configs.loading import parse_suite
from configs.manifest import DatasetObject, Manifest
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobRead, BlobWrite, FileDownload, WorkloadConfig
from tasks.kernel.environment import Machine
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import Failure, SampleColumns
from tasks.venues.session import SessionPlan, block_spec, merged_proof
from tasks.venues.together import merge, moved_in_time, split
from tasks.venues.wire import GIVEN_UP, BlockCost, BlockOutcome

START_US = 1_767_232_800_000_000
OBJECTS = tuple(
    DatasetObject(key=f"unique/{number:03d}", size_bytes=8, sha256="0" * 64) for number in range(12)
)


def a_spec(workload: WorkloadConfig, clients: int, objects: tuple[DatasetObject, ...] = ()) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=Boto3Api(), target="t", clients=clients),
            workload=workload,
            target=BucketTarget(bucket="bucket"),
        ),
        block=1,
        iterations=4,
        warmup=1,
        seed=5,
        objects=objects,
        write_prefix="s3bench/runs/20260101T020000Z-00000000/c/w/001/",
        scratch_folder=Path("scratch"),
    )


def outcome(  # noqa: PLR0913 - what a client may bring back
    began_ms: float = 0.0,
    *,
    status: str = "measured",
    reason: str = "",
    threads: int = 1,
    proof: dict[str, str] | None = None,
    cpu_model: str = "one",
    counted: bool = True,
) -> BlockOutcome:
    """A warm-up a second before the start, and an operation of 10 ms, of each thread."""
    samples = SampleColumns()
    for thread in range(threads):
        for seq, begun_ms in enumerate((-1000.0, began_ms)[: 1 + counted]):
            row = samples.grow(1, "read", worker=thread)
            samples.integers["seq"][row] = seq
            samples.integers["started_us"][row] = START_US + int(1000 * begun_ms)
            samples.integers["total_ns"][row] = 10_000_000
            samples.warmup[row] = seq == 0
            samples.object_key[row] = samples.key_index(f"key of {thread}")
    machine = Machine("CPython 3.11", "Linux", "x86_64", cpu_model, 2, 4 * 2**30, {})
    cost = BlockCost(40, 70, LoopCost(wall_ns=2000, cpu_ns=500, gap_ns=10))
    return BlockOutcome(status, samples, reason, proof, "nothing is kept", machine, cost)  # type: ignore[arg-type]


def dead(reason: str) -> BlockOutcome:
    return BlockOutcome("failed", SampleColumns(), reason)


def test_every_client_does_all_operations_and_writes_below_a_prefix_and_from_a_seed_of_its_own() -> None:
    spec = a_spec(BlobWrite(size=8), clients=3)
    parts = split(spec)
    assert [(part.iterations, part.warmup) for part in parts] == [(4, 1)] * 3
    assert [part.write_prefix for part in parts] == [f"{spec.write_prefix}{n:03d}/" for n in range(3)]
    assert [part.scratch_folder for part in parts] == [Path("scratch") / f"{n:03d}" for n in range(3)]
    assert len({spec.seed, *(part.seed for part in parts)}) == 4
    assert parts == split(spec), "the same for the same block"


@pytest.mark.parametrize("kind", [BlobRead, FileDownload])
def test_unique_reads_of_clients_are_of_objects_that_no_other_one_reads(kind: type) -> None:
    parts = split(a_spec(kind(dataset="d", read_mode="unique"), 3, OBJECTS))
    assert [part.objects for part in parts] == [OBJECTS[:4], OBJECTS[4:8], OBJECTS[8:]]
    single = split(a_spec(kind(dataset="d"), 3, OBJECTS[:1]))
    assert [part.objects for part in single] == [OBJECTS[:1]] * 3


def test_workers_are_numbered_over_all_clients_and_keep_their_keys_and_failures() -> None:
    first, second = outcome(threads=2), outcome(threads=2)
    second.samples.fail(3, Failure("SlowDown", "503", http_status=503))
    merged = merge(a_spec(BlobRead(dataset="d", concurrency=2), 2), [first, second], START_US)
    samples = merged.samples
    assert merged.status == "measured"
    assert samples.integers["worker"] == array("q", [0, 0, 1, 1, 2, 2, 3, 3])
    assert [samples.keys[index] for index in samples.object_key] == [
        *["key of 0"] * 2,
        *["key of 1"] * 2,
    ] * 2
    assert {row: failure.error for row, failure in samples.failures.items()} == {7: "SlowDown"}


def test_the_proof_says_how_far_apart_clients_began_and_who_was_late() -> None:
    spec = a_spec(BlobRead(dataset="d"), 3)
    in_time = merge(spec, [outcome(2.0), outcome(14.0), outcome(3.5)], START_US, clocks_apart_ms=0.25)
    assert in_time.proof == {
        "clients": "3 of 3 to the end",
        "clients_began_within_ms": "12.0",
        "clocks_apart_ms": "0.25",
    }
    late = merge(spec, [outcome(), outcome(840.0), outcome(100.0)], START_US)
    assert late.status == "measured", "what it measured is good, in a shorter window"
    assert late.proof is not None
    assert late.proof["late_clients"] == "client 1 began 840 ms late"


def test_what_clients_prove_alike_is_said_once_and_what_they_count_is_added_up() -> None:
    proofs = [
        {"host": "a", "engine": "crt", "requests_in_block": "5", "retries": "1"},
        {"host": "a", "engine": "classic", "requests_in_block": "7", "retries": "3"},
    ]
    merged = merge(
        a_spec(BlobRead(dataset="d"), 2),
        [outcome(proof=proof, cpu_model=model) for proof, model in zip(proofs, ("x", "y"), strict=True)],
        START_US,
    )
    assert merged.proof == {
        "host": "a",
        "engine": "crt (client 0); classic (client 1)",
        "requests_in_block": "12",
        "retries": "1 to 3",
        "clients": "2 of 2 to the end",
        "clients_began_within_ms": "0.0",
        "processors": "x, y",
    }


def test_a_client_that_died_fails_the_block_which_keeps_the_samples_of_the_others() -> None:
    merged = merge(a_spec(BlobRead(dataset="d"), 3), [outcome(), dead("it was killed"), outcome()], START_US)
    assert (merged.status, merged.reason) == ("failed", "client 1 of 3: it was killed")
    assert list(merged.samples.integers["worker"]) == [0, 0, 2, 2]
    assert merged.proof is not None
    assert merged.proof["clients"] == "2 of 3 to the end"


def test_those_that_gave_up_since_another_failed_are_not_blamed_and_keep_their_warm_ups() -> None:
    gave_up = outcome(status="failed", reason=GIVEN_UP, counted=False)
    merged = merge(a_spec(BlobRead(dataset="d"), 3), [gave_up, dead("no credentials"), gave_up], None)
    assert (merged.status, merged.reason) == ("failed", "client 1 of 3: no credentials")
    assert list(merged.samples.warmup) == [1, 1]
    assert merged.proof == {"clients": "0 of 3 to the end"}
    alone = merge(a_spec(BlobRead(dataset="d"), 2), [gave_up, gave_up], None)
    assert (alone.status, alone.reason) == ("failed", f"each of 2 clients: {GIVEN_UP}")


def test_a_client_that_cannot_be_measured_here_skips_the_cell_as_one_alone_would() -> None:
    skipped = BlockOutcome("skipped", SampleColumns(), "crt is not installed")
    gave_up = outcome(status="failed", reason=GIVEN_UP, counted=False)
    spec = a_spec(BlobRead(dataset="d"), 3)
    merged = merge(spec, [skipped, gave_up, skipped], None)
    assert (merged.status, merged.reason) == ("skipped", "clients 0, 2 of 3: crt is not installed")
    failed = merge(spec, [skipped, dead("it was killed"), skipped], None)
    assert (failed.status, failed.reason) == ("failed", "client 1 of 3: it was killed")


def test_the_cost_of_several_clients_is_that_of_all_their_processes() -> None:
    merged = merge(a_spec(BlobRead(dataset="d"), 2), [outcome(), outcome()], START_US)
    assert merged.cost == BlockCost(40, 70, LoopCost(wall_ns=4000, cpu_ns=1000, gap_ns=10))


SUITE = """
name: s
blocks: 2
targets: {b: {kind: bucket, bucket: bucket, endpoint_url: "http://127.0.0.1:9"}}
datasets: {d: {kind: blobs, size: 8, unique_count: 15}}
configurations: {c: {access_path: {kind: boto3_api}, target: b, clients: 3}}
workloads: {w: {kind: blob_read, dataset: d, read_mode: unique, iterations: 5, warmup: 0}}
"""


def test_no_two_blocks_and_no_two_clients_of_a_cell_read_the_same_unique_object() -> None:
    objects = tuple(
        DatasetObject(key=f"d/{number:02d}", size_bytes=8, sha256="0" * 64) for number in range(16)
    )
    manifest = Manifest(dataset="d", prefix="d/", fingerprint="", seed=1, objects=objects)
    plan = SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        suite=parse_suite(SUITE, "s.yaml"),
        suite_sha256="",
        seed=1,
        manifests={("b", "d"): manifest},
        obstacles={},
        scratch=Path("unused"),
    )
    (cell,) = plan.suite.cells()
    parts = [part for block in range(2) for part in split(block_spec(plan, cell, block))]
    assert [len(part.objects) for part in parts] == [part.iterations for part in parts] == [3, 3, 3, 2, 2, 2]
    read = [item.key for part in parts for item in part.objects]
    assert sorted(read) == [item.key for item in objects[1:]]


def test_what_clients_and_then_blocks_prove_as_spans_of_numbers_stays_one_span() -> None:
    of_blocks = {0: {"began": "2.0 to 9.5"}, 1: {"began": "11.0"}, 2: {"began": "0.5 to 3"}}
    assert merged_proof(of_blocks) == {"began": "0.5 to 11.0"}
    assert merged_proof({0: {"said": "up to ten"}, 1: {"said": "up to nine"}}) == {
        "said": "up to ten (block 0); up to nine (block 1)"
    }


def test_samples_of_a_client_whose_clock_is_ahead_are_put_on_the_clock_of_the_run() -> None:
    """Its clock is 95 ms ahead, and it was told a start of 95 ms more: it began in time."""
    ahead = outcome(97.0)
    moved_in_time(ahead.samples, -95_000)
    assert list(ahead.samples.integers["started_us"]) == [START_US - 1_095_000, START_US + 2000]
    merged = merge(a_spec(BlobRead(dataset="d"), 2), [outcome(), ahead], START_US)
    assert merged.proof is not None
    assert merged.proof["clients_began_within_ms"] == "2.0"
    nothing = SampleColumns()
    moved_in_time(nothing, 5)
    assert len(nothing) == 0
