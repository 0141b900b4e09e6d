"""Uploads with the checksum that AWS clients send by default, and without, each told in the proof.

botocore sends it as a trailer where TLS protects the body, as to Amazon and the AWS-shaped lab, and as a
header elsewhere, as to JuiceFS's gateway, a server that is not ours (its release 1.4 takes no trailers).
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import httpx
import psutil
import pytest
from botocore.awsrequest import AWSPreparedRequest

from configs.access_paths import Boto3Api
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.protocol import Upload
from tasks.lab.processes import listening_ports
from tasks.lab.state import AWS_SHAPED_VARIABLES_TO_UNSET, LAB_BUCKET, LAB_REGION
from tasks.venues.local import LocalVenue

KEY_ID, SECRET = "labuser", "labpassword"
PAYLOAD = bytes(range(256)) * 256
CHECKSUM_HEADERS = re.compile("x-amz-(checksum-|trailer)")
JUICEFS = Path(sys.executable).with_name("juicefs")


@pytest.fixture(scope="module")
def gateway_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A JuiceFS gateway with one bucket, over a new folder."""
    folder = tmp_path_factory.mktemp("juicefs")
    meta = f"sqlite3://{folder}/meta.db"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MINIO_ROOT_USER": KEY_ID,
        "MINIO_ROOT_PASSWORD": SECRET,
        "MINIO_REGION": LAB_REGION,
    }
    storage = ["--storage", "file", "--bucket", str(folder / "objects")]
    subprocess.run([JUICEFS, "--no-agent", "format", *storage, meta, LAB_BUCKET], env=environment, check=True)
    options = ["--no-banner", "--no-bgjob", "--no-usage-report", "--log", str(folder / "gateway.log")]
    options += ["--metrics", "127.0.0.1:0"]
    with subprocess.Popen(
        [JUICEFS, "--no-agent", "gateway", *options, meta, "127.0.0.1:0"], env=environment
    ) as gateway:
        try:
            yield port_of(gateway.pid)
        finally:
            gateway.terminate()


def port_of(pid: int) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for port in listening_ports(psutil.Process(pid)):
            if serves_s3(port):
                return port
        time.sleep(0.02)
    pytest.fail("the gateway did not start")


def serves_s3(port: int) -> bool:
    """The other port is that of the gateway's metrics."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/minio/health/live", trust_env=False)
    except httpx.HTTPError:
        return False
    return answer.status_code == HTTPStatus.OK


@pytest.fixture
def gateway_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in AWS_SHAPED_VARIABLES_TO_UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AWS_REQUEST_CHECKSUM_CALCULATION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def headers_of_an_upload(upload_checksums: str | None, target: BucketTarget) -> tuple[dict[str, str], str]:
    """The checksum's headers of a real upload, whose bytes are read back, and what the proof says of it."""
    path = Boto3ApiPath(Boto3Api.model_validate({"upload_checksums": upload_checksums}), target)
    seen: dict[str, str] = {}

    def look(request: AWSPreparedRequest, **_: object) -> None:
        headers = ((name.lower(), value) for name, value in request.headers.items())
        seen.update({name: str(value) for name, value in headers if CHECKSUM_HEADERS.match(name)})

    path.connect(1)
    path.ready_for_writes("s3bench/checksums/")
    path._client.meta.events.register("before-send.s3.PutObject", look)
    path.write(Upload("s3bench/checksums/written", PAYLOAD))
    assert path.read("s3bench/checksums/written")[0] == PAYLOAD
    path.close()
    return seen, path.proof()["upload_checksum"]


@pytest.mark.parametrize(
    ("configured", "headers", "told"),
    [
        ("when_supported", {"x-amz-checksum-crc32"}, "crc32"),
        (None, {"x-amz-checksum-crc32"}, "crc32"),
        ("when_required", set(), "none"),
    ],
)
@pytest.mark.usefixtures("gateway_environment")
def test_a_checksum_goes_to_another_server_as_a_header_unless_it_is_switched_off(
    gateway_port: int, configured: str | None, headers: set[str], told: str
) -> None:
    url = f"http://127.0.0.1:{gateway_port}"
    target = BucketTarget(bucket=LAB_BUCKET, region=LAB_REGION, endpoint_url=url)
    seen, proof = headers_of_an_upload(configured, target)
    assert (set(seen), proof) == (headers, told)


@pytest.mark.parametrize(
    ("configured", "trailer", "told"),
    [("when_supported", ["x-amz-trailer"], "crc32"), ("when_required", [], "none"), (None, [], "none")],
)
@pytest.mark.usefixtures("aws_environment")
def test_a_checksum_goes_to_amazons_host_as_a_trailer_unless_it_is_switched_off(
    configured: str | None, trailer: list[str], told: str
) -> None:
    seen, proof = headers_of_an_upload(configured, BucketTarget(bucket=LAB_BUCKET, region=LAB_REGION))
    assert (list(seen), proof) == (trailer, told)


def a_block(upload_checksums: str) -> BlockSpec:
    access_path = Boto3Api.model_validate({"upload_checksums": upload_checksums})
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=access_path, target="t"),
            workload=BlobWrite(size=65_536),
            target=BucketTarget(bucket=LAB_BUCKET, region=LAB_REGION),
        ),
        block=0,
        iterations=6,
        warmup=1,
        seed=1,
        write_prefix="s3bench/runs/20260101T020000Z-00000000/c/w/000/",
    )


@pytest.mark.parametrize(("configured", "told"), [("when_supported", "crc32"), ("when_required", "none")])
def test_writes_are_measured_with_the_checksum_and_without(
    aws_environment: dict[str, str], configured: str, told: str
) -> None:
    outcome = LocalVenue(aws_environment, 60.0).run(a_block(configured))
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 6)
    assert outcome.samples.failures == {}
    assert outcome.proof is not None
    assert outcome.proof["upload_checksum"] == told
