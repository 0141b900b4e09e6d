"""A block that a real function measures comes back whole, and whatever else becomes of it has a reason."""

import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest

from configs.access_paths import MountIo, NoOp, TransferManager
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.targets import MountTarget
from configs.venues import LambdaVenueConfig
from configs.workloads import BlobRead, FileUpload
from tasks.access import bucket_io
from tasks.access.s3_client import control_client
from tasks.kernel.environment import machine
from tasks.kernel.samples import SampleColumns
from tasks.lab import rclone
from tasks.lab.state import LabState
from tasks.venues import lambda_venue
from tasks.venues.by_venue import VenueOfEachCell
from tasks.venues.lambda_handler import ARCHITECTURES
from tasks.venues.lambda_venue import LambdaVenue
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.lambda_blocks import a_block, bucket_of
from tests.lambda_emulator import REGION, code_of

MakeFunction = Callable[..., str]
needs_mount = pytest.mark.skipif(rclone.mount_obstacle() != "", reason=rclone.mount_obstacle())

FILE_SYSTEM = "fs-0123456789abcdef0"
ACCESS_POINT = (
    f"arn:aws:s3files:us-east-1:123456789012:file-system/{FILE_SYSTEM}/access-point/fsap-0123456789abcdef0"
)


@pytest.fixture
def venue(lambda_url: str, function: str) -> LambdaVenueConfig:
    return LambdaVenueConfig(function=function, region=REGION, endpoint_url=lambda_url)


def measured(lab: LabState, spec: BlockSpec, **how: int) -> BlockOutcome:
    assert spec.cell.venue is not None
    return LambdaVenue(spec.cell.venue, lab_environment(lab), 60.0, **how).run(spec)  # type: ignore[arg-type]


def keys_of_run(lab: LabState, spec: BlockSpec) -> list[str]:
    client = control_client(bucket_of(lab), lab.environment())
    return sorted(bucket_io.sizes_below(client, lab.bucket, f"s3bench/runs/{spec.run.run_id}/"))


def prepared(lab: LabState, count: int) -> tuple[DatasetObject, ...]:
    """Objects of random bytes in the lab's bucket."""
    client = control_client(bucket_of(lab), lab.environment())
    prefix, objects = f"s3bench/datasets/{secrets.token_hex(4)}", []
    for number in range(count):
        body, key = secrets.token_bytes(3000 + number), f"{prefix}/{number}.bin"
        bucket_io.put(client, lab.bucket, key, body)
        objects.append(DatasetObject(key=key, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest()))
    return tuple(objects)


def test_reads_in_lambda_are_verified_samples_with_the_facts_of_where_they_ran(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    objects = prepared(lab, 4)
    workload = BlobRead(dataset="d", read_mode="unique", iterations=4, warmup=1)
    spec = a_block(venue, bucket_of(lab), workload=workload, objects=objects, iterations=4)
    outcome = measured(lab, spec)
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 4)
    assert not outcome.samples.failures
    assert list(outcome.samples.integers["size_bytes"]) == [3000, 3001, 3002, 3003]
    proof = outcome.proof or {}
    assert proof["host"] in lab.endpoint_url
    assert proof["lambda_function"] == venue.function
    assert (proof["lambda_memory_mb"], proof["lambda_vpc"]) == ("512", "false")
    assert proof["lambda_architecture"] == ARCHITECTURES[machine().machine]
    assert proof["lambda_runtime"] == "AWS_Lambda_python3.11"
    assert proof["lambda_boto3"] == boto3.__version__
    assert proof["lambda_request_id"]


def test_an_object_that_is_not_what_it_should_be_is_an_error_there_too(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    (good,) = prepared(lab, 1)
    bad = good.model_copy(update={"sha256": "0" * 64})
    workload = BlobRead(dataset="d", read_mode="unique", iterations=2, warmup=0)
    spec = a_block(venue, bucket_of(lab), workload=workload, objects=(good, bad), iterations=2)
    assert list(measured(lab, spec).samples.failures) == [1]


def test_only_the_first_invocation_of_an_environment_is_a_cold_start(
    lab: LabState, lambda_url: str, a_function: MakeFunction
) -> None:
    venue = LambdaVenueConfig(function=a_function(), region=REGION, endpoint_url=lambda_url)
    block = a_block(venue, bucket_of(lab), access_path=NoOp())
    proofs = [measured(lab, block).proof or {} for _ in range(3)]
    assert [proof["lambda_cold_start"] for proof in proofs] == ["true", "false", "false"]
    assert [proof["lambda_invocation"] for proof in proofs] == ["1", "2", "3"]


@needs_mount
def test_a_mount_of_the_function_is_read_and_written_like_any_other(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    mount = MountTarget(shows="b", path=lab.mount_path, fstype="fuse.rclone")
    objects = prepared(lab, 3)
    workload = BlobRead(dataset="d", read_mode="unique", iterations=3, warmup=0)
    how = {"access_path": MountIo(), "target": mount}
    read = measured(
        lab, a_block(venue, bucket_of(lab), workload=workload, objects=objects, iterations=3, **how)
    )
    written = measured(lab, a_block(venue, bucket_of(lab), **how))
    for outcome, samples in ((read, 3), (written, 5)):
        assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", samples)
        assert not outcome.samples.failures
        assert (outcome.proof or {})["mount_type"] == "fuse.rclone"


@needs_mount
def test_the_file_system_of_a_target_is_proved_by_the_access_point_of_the_function(
    lab: LabState, lambda_url: str, a_function: MakeFunction
) -> None:
    mounted = {
        "FileSystemConfigs": [
            {
                "Arn": ACCESS_POINT,
                "LocalMountPath": str(lab.mount_path),
                "S3FilesConfig": {"DirectS3Read": "DISABLED"},
            }
        ]
    }
    name = a_function(settings=mounted)
    venue = LambdaVenueConfig(
        function=name, region=REGION, endpoint_url=lambda_url, direct_s3_read="disabled"
    )
    mount = MountTarget(shows="b", path=lab.mount_path, file_system_id=FILE_SYSTEM)
    right = a_block(venue, bucket_of(lab), access_path=MountIo(), target=mount)
    outcome = measured(lab, right)
    assert (outcome.status, outcome.reason) == ("measured", "")
    proof = outcome.proof or {}
    assert (proof["file_system_id"], proof["direct_s3_reads"]) == (FILE_SYSTEM, "disabled")
    assert "123456789012" not in str(proof)
    other = mount.model_copy(update={"file_system_id": "fs-0123456789abcdef1"})
    wrong = measured(lab, a_block(venue, bucket_of(lab), access_path=MountIo(), target=other))
    assert wrong.status == "failed"
    assert wrong.reason.startswith("the target says S3 Files file system fs-0123456789abcdef1 at ")
    automatic = venue.model_copy(update={"direct_s3_read": "auto"})
    refused = measured(lab, a_block(automatic, bucket_of(lab)))
    assert "the venue says direct_s3_read: auto, and Lambda says disabled" in refused.reason


def test_files_are_moved_in_a_folder_of_the_function(
    lab: LabState, venue: LambdaVenueConfig, tmp_path: Path
) -> None:
    spec = a_block(
        venue,
        bucket_of(lab),
        access_path=TransferManager(),
        workload=FileUpload(size=2048, iterations=5, warmup=1),
        scratch_folder=tmp_path / "of-the-host",
    )
    outcome = measured(lab, spec)
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 5)
    assert not outcome.samples.failures


def test_ten_thousand_samples_come_back_complete_and_in_order(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    outcome = measured(lab, a_block(venue, bucket_of(lab), access_path=NoOp(), iterations=10_000))
    assert (outcome.status, len(outcome.samples)) == ("measured", 10_000)
    assert list(outcome.samples.integers["seq"]) == list(range(10_000))
    assert min(outcome.samples.integers["total_ns"]) > 0
    starts_us = list(outcome.samples.integers["started_us"])
    assert starts_us == sorted(starts_us)
    assert sum(outcome.samples.warmup) == 1


def test_samples_that_are_too_large_for_an_answer_come_by_the_bucket_below_the_prefix_of_the_run(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    spec = a_block(venue, bucket_of(lab), iterations=50)
    outcome = measured(lab, spec, most_inline_bytes=1000)
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 50)
    assert list(outcome.samples.integers["seq"]) == list(range(50))
    assert (outcome.proof or {})["lambda_function"] == venue.function
    assert keys_of_run(lab, spec) == [f"s3bench/runs/{spec.run.run_id}/answers/c/w/000-000"]


def test_where_no_bucket_is_used_samples_that_are_too_large_are_lost_and_say_so(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    outcome = measured(lab, a_block(venue, bucket_of(lab), access_path=NoOp()), most_inline_bytes=100)
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert "there is no bucket for them" in outcome.reason


def test_claims_that_lambda_does_not_confirm_fail_the_cell_with_all_that_differs(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    claims = {"memory_mb": 1024, "architecture": "arm64", "vpc": True, "direct_s3_read": "auto"}
    outcome = measured(lab, a_block(venue.model_copy(update=claims), bucket_of(lab)))
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert outcome.reason == (
        "the venue says memory_mb: 1024, and Lambda says 512; "
        "the venue says architecture: arm64, and Lambda says x86_64; "
        "the venue says vpc: true, and Lambda says false; "
        "the venue says direct_s3_read: auto, and Lambda says none: "
        "correct the venue, or the function s3bench-lab"
    )


def test_a_claim_is_held_against_what_the_function_itself_tells_as_well(
    lab: LabState, lambda_url: str, a_function: MakeFunction
) -> None:
    # The emulator runs every function on this machine, whatever its configuration says.
    other = "x86_64" if machine().machine == "aarch64" else "arm64"
    name = a_function(settings={"Architectures": [other]})
    venue = LambdaVenueConfig(function=name, region=REGION, endpoint_url=lambda_url, architecture=other)
    outcome = measured(lab, a_block(venue, bucket_of(lab)))
    assert outcome.status == "failed"
    assert f"the venue says architecture: {other}, and the function tells" in outcome.reason
    assert len(outcome.samples) == 5  # what was measured is kept


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "import time\ndef handler(event, context):\n    time.sleep(30)\n",
            "was stopped by its time-out of 1 s (Task timed out after 1.00 seconds), and what",
        ),
        (
            "import os, signal\ndef handler(event, context):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
            "failed (Runtime.HandlerError): Worker process died",
        ),
        ("def handler(event, context):\n    raise RuntimeError('no luck')\n", "): no luck"),
        ("def handler(event, context):\n    return {'statusCode': 200}\n", "answered wrongly: "),
        ("def handler(event, context):\n    print('{\"s3bench\": 1}')\n", "answered wrongly: "),
    ],
    ids=["time-out", "killed", "raised", "another-answer", "printed"],
)
def test_a_function_that_gives_no_samples_is_an_outcome_with_its_reason(
    lab: LabState, lambda_url: str, a_function: MakeFunction, code: str, says: str
) -> None:
    name = a_function(code=code_of(code), handler="broken.handler", timeout_s=1)
    venue = LambdaVenueConfig(function=name, region=REGION, endpoint_url=lambda_url)
    outcome = measured(lab, a_block(venue, bucket_of(lab)))
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert outcome.reason.startswith(f"Lambda function {name} ")
    assert says in outcome.reason


def test_a_function_that_is_not_there_and_a_service_that_does_not_answer_are_told(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    missing = measured(lab, a_block(venue.model_copy(update={"function": "nobody"}), bucket_of(lab)))
    assert missing.status == "failed"
    assert missing.reason.startswith(
        "Lambda function nobody in us-east-1 was not run (ResourceNotFoundException): there is no such"
    )
    gone = venue.model_copy(update={"endpoint_url": "http://127.0.0.1:9"})
    silent = measured(lab, a_block(gone, bucket_of(lab)))
    assert "could not be asked: EndpointConnectionError" in silent.reason


def test_a_function_ends_its_block_before_lambda_ends_the_function(
    lab: LabState, lambda_url: str, a_function: MakeFunction
) -> None:
    venue = LambdaVenueConfig(function=a_function(timeout_s=4), region=REGION, endpoint_url=lambda_url)
    workload = BlobRead(dataset="d", iterations=20_000, warmup=1)
    spec = a_block(venue, bucket_of(lab), workload=workload, objects=prepared(lab, 1), iterations=20_000)
    outcome = measured(lab, spec)
    assert outcome.status == "failed"
    assert "of 20000 operations were done" in outcome.reason
    assert 0 < len(outcome.samples) < 20_000


def test_a_block_of_more_objects_than_an_invocation_takes_is_refused_before_it_is_sent(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    some = DatasetObject(key="x" * 1000, size_bytes=1, sha256="0" * 64)
    workload = BlobRead(dataset="d", read_mode="unique", iterations=6000, warmup=0)
    spec = a_block(venue, bucket_of(lab), workload=workload, objects=(some,) * 6000, iterations=6000)
    outcome = measured(lab, spec)
    assert outcome.status == "failed"
    assert "an invocation takes 6,291,456: give the suite more blocks" in outcome.reason


def test_clients_that_lambda_runs_one_after_another_are_told_to_be_late_and_the_next_block_has_more_time(
    lab: LabState, venue: LambdaVenueConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The emulator has one environment for each function; Lambda makes as many as there are invocations.
    monkeypatch.setattr(lambda_venue, "_LEAD_S", 1.5)
    monkeypatch.setattr(lambda_venue, "_LONGEST_LEAD_S", 2.0)
    several = LambdaVenue(venue, lab_environment(lab), 60.0)
    outcome = several.run(a_block(venue, bucket_of(lab), clients=2))
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 10)
    assert sorted(set(outcome.samples.integers["worker"])) == [0, 1]
    proof = outcome.proof or {}
    assert proof["clients"] == "2 of 2 to the end"
    assert "late" in proof["late_clients"]
    assert several._lead_s == 2.0


def test_a_cell_that_cannot_run_in_lambda_is_skipped_and_one_of_this_host_is_measured_here(
    venue: LambdaVenueConfig, lab: LabState
) -> None:
    class Here:
        def run(self, spec: BlockSpec) -> BlockOutcome:
            return BlockOutcome("measured", SampleColumns(), cache_state="here")

    venues = VenueOfEachCell(Here(), {})
    crt = a_block(venue, bucket_of(lab), access_path=TransferManager(engine="crt"))
    assert venues.run(crt).status == "skipped"
    own = crt.model_copy(update={"cell": crt.cell.model_copy(update={"venue": None})})
    assert venues.run(own).cache_state == "here"


@needs_mount
def test_a_file_system_that_shows_no_bucket_is_filled_before_it_is_read_and_keeps_no_writes(
    lab: LabState, venue: LambdaVenueConfig
) -> None:
    assert lab.mount_path is not None
    elsewhere = bucket_of(lab).model_copy(update={"bucket": f"test-{secrets.token_hex(6)}"})
    client = control_client(elsewhere, lab.environment())
    client.create_bucket(Bucket=elsewhere.bucket)  # which the mount does not show
    mount = MountTarget(shows="b", path=lab.mount_path, shows_bucket=False)
    body = secrets.token_bytes(500)
    item = DatasetObject(
        key=f"filled-{secrets.token_hex(4)}/a", size_bytes=500, sha256=hashlib.sha256(body).hexdigest()
    )
    bucket_io.put(client, elsewhere.bucket, item.key, body)
    workload = BlobRead(dataset="d", read_mode="single", iterations=3, warmup=0)
    how = {"access_path": MountIo(), "target": mount}
    read = measured(lab, a_block(venue, elsewhere, workload=workload, objects=(item,), iterations=3, **how))
    assert (read.status, read.reason, len(read.samples)) == ("measured", "", 3)
    assert not read.samples.failures
    block = a_block(venue, elsewhere, **how)
    written = measured(lab, block)
    assert (written.status, len(written.samples), dict(written.samples.failures)) == ("measured", 5, {})
    assert not mount.path_of(block.write_prefix).exists()


@needs_mount
def test_s3_files_is_no_file_system_that_shows_no_bucket(
    lab: LabState, lambda_url: str, a_function: MakeFunction
) -> None:
    system = {"Arn": ACCESS_POINT, "LocalMountPath": str(lab.mount_path)}
    name = a_function(settings={"FileSystemConfigs": [system]})
    venue = LambdaVenueConfig(function=name, region=REGION, endpoint_url=lambda_url)
    mount = MountTarget(shows="b", path=lab.mount_path, shows_bucket=False)
    outcome = measured(lab, a_block(venue, bucket_of(lab), access_path=MountIo(), target=mount))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("the target says that its file system shows no bucket, and the function")
