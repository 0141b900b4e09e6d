"""The roles of the templates list the calls that runs make, and no others.

The calls are those that botocore was asked for: in all processes of a real run in the lab, the measuring ones
and the AWS CLI too, and in processes that do against an emulator what the lab has no server for.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.lab import rclone
from tests.emulated_stacks import templates
from tests.flows.conftest import PROJECT_ROOT, environment_in, run_command
from tests.lambda_emulator import running_emulator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(rclone.mount_obstacle() != "", reason=rclone.mount_obstacle()),
]

RECORDER = """\
import botocore.client
asked = botocore.client.BaseClient._make_api_call
def record(self, operation, parameters):
    service = self.meta.service_model.service_name
    versions = ":versions" if "VersionId" in str(parameters.get("Delete")) else ""
    with open({file!r}, "a") as calls:
        calls.write(f"{{service}}:{{operation}}{{versions}}\\n")
    return asked(self, operation, parameters)
botocore.client.BaseClient._make_api_call = record
"""

SUITE = """\
name: all-calls
lab: true
blocks: 1
targets:
  bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}
  mount: {kind: mount, shows: bucket, fstype: fuse.rclone}
configurations:
  boto3: {access_path: {kind: boto3_api}, target: bucket}
  files: {access_path: {kind: boto3_transfer, engine: classic}, target: bucket}
  cli: {access_path: {kind: aws_cli}, target: bucket}
  mount: {access_path: {kind: mount_io}, target: mount}
datasets:
  logs: {kind: cloudtrail_generated, files: 3, records: 6}
  blobs: {kind: blobs, size: 64 KiB, unique_count: 4}
workloads:
  scan: {kind: cloudtrail_scan, dataset: logs, iterations: 2, warmup: 1}
  read: {kind: blob_read, dataset: blobs, read_mode: unique, iterations: 4, warmup: 1}
  write: {kind: blob_write, size: 64 KiB, iterations: 2, warmup: 1}
  up: {kind: file_upload, size: 16 MiB, iterations: 2, warmup: 1}
  down: {kind: file_download, dataset: blobs, read_mode: unique, iterations: 2, warmup: 1}
  lag: {kind: sync_lag, size: 64 KiB, seen_by: get, iterations: 1}
"""

BUCKETS = """\
import boto3
s3 = boto3.client("s3")
for name in ("results-bucket", "data-bucket"):
    s3.create_bucket(Bucket=name)
s3.put_object(Bucket="data-bucket", Key="s3bench/files/sample.csv", Body=b"1,2" * 4_000_000)
s3.put_bucket_versioning(Bucket="data-bucket", VersioningConfiguration={"Status": "Enabled"})
"""

BESIDES = """\
from botocore.exceptions import ClientError
from configs.targets import AcceleratedBucketTarget
from configs.venues import LambdaVenueConfig
from flows.stack_commands import targets
from tasks.access import cleanup
from tasks.access.s3_client import default_client
from tasks.results.store import open_store
from tasks.venues.acceleration import what_hinders
from tasks.venues.lambda_client import lambda_client

client = default_client()
store = open_store("s3://results-bucket/results")
store.check_writable()
store.put("v1/a.parquet", b"1")
store.names("v1")
store.get("v1/a.parquet")
run = "s3bench/runs/20260101T000000Z-00000000/"
client.create_multipart_upload(Bucket="data-bucket", Key=run + "c")
for body in (b"1", b"2"):
    client.put_object(Bucket="data-bucket", Key=run + "a", Body=body)
cleanup.remove_run(client, "data-bucket", run, print)
what_hinders(AcceleratedBucketTarget(bucket="data-bucket", region="us-east-1"), {}, print)
function = LambdaVenueConfig(function="none", region="us-east-1")
for ask in ("get_function_configuration", "invoke"):
    try:
        getattr(lambda_client(function, {}, 5), ask)(FunctionName="none")
    except ClientError:
        pass
try:
    targets("nightly", region="us-east-1")
except Exception as error:
    assert "there is no stack" in str(error), error
"""

HANDLED = """\
import os
from tasks.venues.lambda_handler import handler

class Context:
    function_name = "s3bench"
    function_version = "$LATEST"
    memory_limit_in_mb = 512
    aws_request_id = "6bc28136-fa50-4a55-9e1a-27fbc5e5c2f2"
    def get_remaining_time_in_millis(self):
        return 60_000

os.environ |= {"S3BENCH_CONFIG": "a", "S3BENCH_BUCKET": "data-bucket", "S3BENCH_PREFIX": "s3bench"}
os.environ["S3BENCH_ENDPOINT_URL"] = os.environ["AWS_ENDPOINT_URL"]
large = {"size": "large", "iterations": 2, "warmup": 1, "unique_count": 2}
handler({"op": "setup", "create_unique": True, **large}, Context())
handler({"op": "read", "read_mode": "unique", **large}, Context())
handler({"op": "write", **large}, Context())
for method in ("upload", "download"):
    handler({"count": 2, "method": method, "file_name": "sample.csv"}, Context())
"""

NEEDS = {
    "s3:GetObject": {"s3:GetObject"},
    "s3:HeadObject": {"s3:GetObject"},
    "s3:HeadBucket": {"s3:ListBucket"},
    "s3:ListObjectsV2": {"s3:ListBucket"},
    "s3:PutObject": {"s3:PutObject"},
    "s3:CreateMultipartUpload": {"s3:PutObject"},
    "s3:UploadPart": {"s3:PutObject"},
    "s3:CompleteMultipartUpload": {"s3:PutObject"},
    "s3:AbortMultipartUpload": {"s3:AbortMultipartUpload"},
    "s3:ListMultipartUploads": {"s3:ListBucketMultipartUploads"},
    "s3:DeleteObject": {"s3:DeleteObject"},
    "s3:DeleteObjects": {"s3:DeleteObject"},
    "s3:DeleteObjects:versions": {"s3:DeleteObjectVersion"},
    "s3:ListObjectVersions": {"s3:ListBucketVersions"},
    "s3:GetBucketVersioning": {"s3:GetBucketVersioning"},
    "s3:GetBucketAccelerateConfiguration": {"s3:GetAccelerateConfiguration"},
    "lambda:GetFunctionConfiguration": {"lambda:GetFunctionConfiguration"},
    "lambda:Invoke": {"lambda:InvokeFunction"},
    "cloudformation:DescribeStacks": {"cloudformation:DescribeStacks"},
    "sts:GetCallerIdentity": set(),
}
"""What a caller needs for an operation (Service Authorization Reference, Amazon S3 and the others)."""

NOT_BY_BOTOCORE = {
    "s3express:CreateSession": "no server of the lab grants sessions",
    "s3files:ClientMount": "asked for by the mount helper, efs-utils",
    "s3files:ClientWrite": "asked for by the mount helper, efs-utils",
    "s3:GetObjectVersion": "direct reads of S3 Files, made by efs-utils and by Lambda",
    "ssm:UpdateInstanceInformation": "the agent of Session Manager",
    "ssmmessages:CreateControlChannel": "the agent of Session Manager",
    "ssmmessages:CreateDataChannel": "the agent of Session Manager",
    "ssmmessages:OpenControlChannel": "the agent of Session Manager",
    "ssmmessages:OpenDataChannel": "the agent of Session Manager",
    "ec2:DescribeRouteTables": "doctor, of functions in a VPC (tests/doctor)",
    "ec2:DescribeSubnets": "doctor, of functions in a VPC (tests/doctor)",
    "ec2:DescribeVpcEndpoints": "doctor, of functions in a VPC (tests/doctor)",
}

BY_LAMBDA_ITSELF = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "elasticfilesystem:ClientMount",
    "elasticfilesystem:ClientWrite",
    *(f"ec2:{name}" for name in ("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses")),
    *(f"ec2:{name}NetworkInterface" for name in ("Create", "Delete")),
    *(f"ec2:Describe{name}" for name in ("NetworkInterfaces", "Subnets")),
}
"""What Lambda does by a function's role before its code runs."""


def allowed(template: dict[str, Any]) -> set[str]:
    """All actions that the policies of a template allow."""
    found: set[str] = set()
    for resource in template["Resources"].values():
        properties = resource["Properties"]
        documents = [one["PolicyDocument"] for one in properties.get("Policies", [])]
        if resource["Type"] == "AWS::IAM::Policy":
            documents.append(properties["PolicyDocument"])
        for document in documents:
            for statement in document["Statement"]:
                if statement["Effect"] == "Allow":
                    actions = statement["Action"]
                    found |= {actions} if isinstance(actions, str) else set(actions)
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[[], set[str]]]:
    """A folder whose `sitecustomize` records all calls, and what was recorded since it was last asked."""
    folder = tmp_path_factory.mktemp("calls")
    calls = folder / "calls"
    (folder / "sitecustomize.py").write_text(RECORDER.format(file=str(calls)), encoding="utf-8")

    def take() -> set[str]:
        found = set(calls.read_text(encoding="utf-8").split())
        calls.unlink()
        return found

    return folder, take


def done(calls: set[str]) -> set[str]:
    """What the role of a caller has to allow for these calls."""
    return set().union(*(NEEDS[call] for call in calls))


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, Path | None], None]]:
    """Runs Python text in a process whose AWS is an emulator, recorded if the recorder's folder is given."""
    folder = tmp_path_factory.mktemp("emulated")
    with running_emulator(folder) as url:
        environment = environment_in(folder) | {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "123456789012",
            "AWS_SECRET_ACCESS_KEY": "lab",
            "AWS_REGION": "us-east-1",
        }

        def run(text: str, recorder: Path | None) -> None:
            path = os.pathsep.join(str(one) for one in (recorder, PROJECT_ROOT) if one)
            environment["PYTHONPATH"] = path
            command = [sys.executable, "-c", text]
            subprocess.run(command, cwd=PROJECT_ROOT, env=environment, check=True, timeout=100)

        run(BUCKETS, None)
        yield run


@pytest.fixture(scope="module")
def of_runs(
    recorded: tuple[Path, Callable[[], set[str]]],
    emulated: Callable[[str, Path | None], None],
    prefect_api_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> set[str]:
    """The calls of a run and of what it does elsewhere."""
    recorder, take = recorded
    folder = tmp_path_factory.mktemp("all-calls")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    environment = environment_in(folder) | {"PYTHONPATH": str(recorder), "PREFECT_API_URL": prefect_api_url}
    answer = run_command(folder, ["run", "suite.yaml"], environment)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    emulated(BESIDES, recorder)
    return take()


def test_the_runner_may_do_what_runs_do_and_nothing_else(of_runs: set[str]) -> None:
    assert allowed(templates()["runner"]) == done(of_runs) | set(NOT_BY_BOTOCORE)


def test_functions_may_do_what_the_handler_does_and_nothing_else(
    recorded: tuple[Path, Callable[[], set[str]]], emulated: Callable[[str, Path | None], None]
) -> None:
    recorder, take = recorded
    emulated(HANDLED, recorder)
    by_the_mount = {"s3files:ClientMount", "s3files:ClientWrite", "s3:GetObjectVersion"}
    unseen = {"s3express:CreateSession", "s3:AbortMultipartUpload"}  # of a transfer that fails
    assert allowed(templates()["functions"]) == done(take()) | BY_LAMBDA_ITSELF | by_the_mount | unseen
