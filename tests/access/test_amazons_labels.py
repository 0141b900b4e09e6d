"""Labels that only Amazon's own host names can prove: acceleration, sessions, zones. Each is made to lie."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
import pytest

from configs.access_paths import Boto3Api, Obstore
from configs.targets import AcceleratedBucketTarget, BucketTarget, DirectoryBucketTarget
from tasks.access import boto3_api
from tasks.access.boto3_api import Boto3ApiPath
from tasks.access.obstore_api import ObstorePath
from tasks.access.s3_client import control_client
from tasks.access.zones import NOT_TOLD, client_zone_id
from tasks.kernel.errors import LabelError
from tasks.lab.state import LAB_ZONES, LabState

SAME_ZONE, OTHER_ZONE = LAB_ZONES


@pytest.fixture(autouse=True)
def _reached_by_amazons_names(aws_environment: dict[str, str]) -> None:
    """Every test here."""


@pytest.fixture
def accelerated(aws_shaped_lab: LabState) -> AcceleratedBucketTarget:
    return AcceleratedBucketTarget(bucket=aws_shaped_lab.bucket, region=aws_shaped_lab.region)


@pytest.fixture
def directory(aws_shaped_lab: LabState) -> DirectoryBucketTarget:
    bucket = f"{aws_shaped_lab.bucket}--{SAME_ZONE}--x-s3"
    return DirectoryBucketTarget(bucket=bucket, region=aws_shaped_lab.region)


def proof_of(target: AcceleratedBucketTarget | DirectoryBucketTarget | BucketTarget) -> dict[str, str]:
    access = Boto3ApiPath(Boto3Api(), target)
    access.connect(1)
    proof = access.proof()
    access.close()
    return proof


def test_an_accelerated_client_asks_the_accelerate_host_alone(accelerated: AcceleratedBucketTarget) -> None:
    proof = proof_of(accelerated)
    assert proof["host"] == f"{accelerated.bucket}.s3-accelerate.amazonaws.com"
    assert (proof["signing_name"], proof["http"]) == ("s3", "HTTP/1.1")


def test_an_accelerated_client_looks_up_and_deletes_by_the_regional_host(
    accelerated: AcceleratedBucketTarget,
) -> None:
    access = Boto3ApiPath(Boto3Api(), accelerated)
    access.connect(1)
    before = access.proof()["requests_in_block"]
    access.delete(["s3bench/labels/none"])
    assert access.proof()["requests_in_block"] == before
    assert access._control.meta.endpoint_url == "https://s3.ap-northeast-1.amazonaws.com"
    access.close()


def test_an_accelerated_target_whose_requests_go_to_the_regional_host_is_caught(
    accelerated: AcceleratedBucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = BucketTarget(bucket=accelerated.bucket, region=accelerated.region)
    honest = boto3_api.measured_client
    monkeypatch.setattr(
        boto3_api, "measured_client", lambda session, _, config: honest(session, ordinary, config)
    )
    with pytest.raises(LabelError, match=r"requests go to .*\.s3\.ap-northeast-1.*target is .*s3-accelerate"):
        proof_of(accelerated)


def test_a_bucket_that_is_not_accelerated_does_not_answer(accelerated: AcceleratedBucketTarget) -> None:
    plain = accelerated.model_copy(update={"bucket": f"{accelerated.bucket}-plain"})
    with pytest.raises(
        LabelError, match=r"does not answer a listing.*Transfer Acceleration is not configured"
    ):
        proof_of(plain)


def test_a_directory_bucket_is_asked_with_a_session(directory: DirectoryBucketTarget) -> None:
    proof = proof_of(directory)
    assert (proof["session"], proof["signing_name"]) == ("used", "s3express")
    assert proof["host"] == f"{directory.bucket}.s3express-{SAME_ZONE}.ap-northeast-1.amazonaws.com"
    assert float(proof["create_session_ms"]) > 0
    assert (proof["bucket_zone"], proof["client_zone"]) == (SAME_ZONE, NOT_TOLD)
    assert "zone" not in proof
    assert proof["requests_in_block"] == "2"  # the session's and a listing


def test_a_directory_bucket_without_sessions_is_asked_without(directory: DirectoryBucketTarget) -> None:
    proof = proof_of(directory.model_copy(update={"sessions": False}))
    assert proof["session"].startswith("not used")
    assert proof["signing_name"] == "s3express"
    assert "create_session_ms" not in proof


def test_sessions_that_the_environment_switched_off_are_caught(
    directory: DirectoryBucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "true")
    with pytest.raises(LabelError, match="signed without a session, but the target says sessions: true"):
        proof_of(directory)


def test_obstore_makes_a_session_of_its_own(directory: DirectoryBucketTarget) -> None:
    access = ObstorePath(Obstore(), directory)
    access.connect(2)
    assert access.proof()["host"] == f"{directory.bucket}.s3express-{SAME_ZONE}.ap-northeast-1.amazonaws.com"
    assert access.proof()["bucket_zone"] == SAME_ZONE
    access.close()


def test_obstore_trusts_the_certificates_that_other_aws_clients_are_told_to_trust(
    accelerated: AcceleratedBucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")  # AWS_CA_BUNDLE alone is left
    access = ObstorePath(Obstore(), accelerated)
    access.connect(1)
    assert access.proof()["host"] == f"{accelerated.bucket}.s3-accelerate.amazonaws.com"
    access.close()


def test_the_control_client_of_a_lab_ignores_the_users_own_endpoint(
    aws_environment: dict[str, str],
    accelerated: AcceleratedBucketTarget,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    client = control_client(accelerated, aws_environment)
    assert client.meta.endpoint_url == "https://s3.ap-northeast-1.amazonaws.com"


class _Metadata(BaseHTTPRequestHandler):
    """The instance metadata service of an instance in one of the lab's zones, version 2 alone."""

    def do_PUT(self) -> None:
        self._answer(200, "token")

    def do_GET(self) -> None:
        right = (
            self.path == "/latest/meta-data/placement/availability-zone-id"
            and self.headers["x-aws-ec2-metadata-token"] == "token"
        )
        self._answer(200 if right else 401, OTHER_ZONE if right else "")

    def _answer(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def _in_the_other_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process runs, as far as it can tell, on an instance in the lab's other zone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Metadata)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("_in_the_other_zone")
def test_a_zone_that_is_another_than_the_target_says_is_caught(directory: DirectoryBucketTarget) -> None:
    same = directory.model_copy(update={"zone": "same"})
    with pytest.raises(LabelError, match=f"lies in zone {SAME_ZONE} and this client runs in {OTHER_ZONE}"):
        proof_of(same)
    with pytest.raises(LabelError, match="the target says zone: same"):
        ObstorePath(Obstore(), same).connect(1)


@pytest.mark.usefixtures("_in_the_other_zone")
def test_a_zone_that_is_right_is_told_as_proved(directory: DirectoryBucketTarget) -> None:
    proof = proof_of(directory.model_copy(update={"zone": "other"}))
    assert (proof["client_zone"], proof["zone"]) == (OTHER_ZONE, "other, as the suite says, proved")


@pytest.mark.usefixtures("_in_the_other_zone")
def test_a_zone_that_is_not_claimed_is_told(directory: DirectoryBucketTarget) -> None:
    assert proof_of(directory)["client_zone"] == OTHER_ZONE


def test_a_zone_that_nobody_can_check_is_told_as_the_suites_own_word(
    directory: DirectoryBucketTarget,
) -> None:
    proof = proof_of(directory.model_copy(update={"zone": "same"}))
    assert proof["client_zone"] == NOT_TOLD
    assert proof["zone"] == "same, as the suite says, not proved: the client's zone is not told"


@pytest.mark.usefixtures("_in_the_other_zone")
def test_where_metadata_is_switched_off_no_zone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert client_zone_id(boto3.Session()) == NOT_TOLD


def test_where_there_is_no_metadata_service_no_zone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    assert client_zone_id(boto3.Session()) == NOT_TOLD
