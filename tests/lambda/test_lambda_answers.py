"""What Lambda itself answers where a function did not run, or died: by a server that answers as Lambda does.

The emulator knows neither throttling, nor mounts, nor more than one environment of a function.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from configs.access_paths import NoOp
from configs.targets import BucketTarget
from configs.venues import LambdaVenueConfig
from configs.workloads import BlobWrite
from tasks.venues import lambda_venue
from tasks.venues.lambda_venue import LambdaVenue
from tasks.venues.wire import BlockOutcome
from tests.lambda_blocks import a_block

PROJECT_ROOT = Path(__file__).resolve().parents[2]
LAB = {"S3BENCH_IN_LAB": "1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
BUCKET = BucketTarget(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1")
CONFIGURATION = {
    "FunctionName": "f",
    "MemorySize": 512,
    "Timeout": 3,
    "Architectures": ["arm64"],
    "Runtime": "python3.14",
    "CodeSha256": "x",
}
RUN_HANDLER = """
import json, sys
from types import SimpleNamespace
from tasks.venues.lambda_handler import handler
context = SimpleNamespace(
    function_name="f", function_version="1", memory_limit_in_mb="512", aws_request_id="r",
    get_remaining_time_in_millis=lambda: 60_000,
)
print(json.dumps(handler(json.load(sys.stdin), context)))
"""


@dataclass
class Service:
    """Lambda on loopback."""

    url: str = ""
    refuses_with: tuple[int, str, dict[str, str]] | None = None
    """Every invocation: status, code, and the rest of the answer."""
    function_error: dict[str, str] | None = None
    configuration_error: tuple[int, str] | None = None
    invoked: list[str] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    told = Service()

    class Lambda(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if told.configuration_error is not None:
                self._error(*told.configuration_error, {})
            else:
                self._answer(200, {}, json.dumps(CONFIGURATION).encode())

        def do_POST(self) -> None:
            event = self.rfile.read(int(self.headers["Content-Length"]))
            told.invoked.append(self.path)
            if told.refuses_with is not None:
                self._error(*told.refuses_with)
            elif told.function_error is not None:
                error = json.dumps(told.function_error).encode()
                self._answer(200, {"X-Amz-Function-Error": "Unhandled"}, error)
            else:  # in an environment of its own, as Lambda does
                command = [sys.executable, "-c", RUN_HANDLER]
                ran = subprocess.run(command, input=event, capture_output=True, check=True, cwd=PROJECT_ROOT)
                self._answer(200, {}, ran.stdout)

        def _error(self, status: int, code: str, more: dict[str, str]) -> None:
            body = json.dumps({"Message": "arn:aws:lambda:::123456789012 says no", **more}).encode()
            self._answer(status, {"x-amzn-ErrorType": code}, body)

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Lambda) as server:
        told.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield told
        server.shutdown()


def venue_at(service: Service) -> LambdaVenueConfig:
    return LambdaVenueConfig(function="f", region="us-east-1", endpoint_url=service.url)


def measured(service: Service) -> BlockOutcome:
    venue = venue_at(service)
    return LambdaVenue(venue, LAB, 60.0).run(a_block(venue, BUCKET, access_path=NoOp()))


@pytest.mark.parametrize(
    ("status", "code", "more", "says"),
    [
        (
            429,
            "TooManyRequestsException",
            {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"},
            "ReservedFunctionConcurrentInvocationLimitExceeded): Lambda throttled it",
        ),
        (408, "S3FilesMountConnectivityException", {}, "its S3 Files file system is not reached"),
        (403, "S3FilesMountFailureException", {}, "its S3 Files file system could not be mounted"),
        (408, "S3FilesMountTimeoutException", {}, "mounting its S3 Files file system took too long"),
        (408, "EFSMountConnectivityException", {}, "its EFS file system is not reached"),
        (403, "EFSMountFailureException", {}, "its EFS file system could not be mounted"),
        (408, "EFSMountTimeoutException", {}, "mounting its EFS file system took too long"),
        (410, "EFSIOException", {}, "reading or writing its EFS file system failed"),
        (403, "AccessDeniedException", {}, "have lambda:InvokeFunction and lambda:GetFunctionConfiguration"),
        (404, "ResourceNotFoundException", {}, "there is no such function"),
    ],
)
def test_a_refusal_is_told_by_its_code_with_what_to_do_and_is_never_tried_again(
    service: Service, status: int, code: str, more: dict[str, str], says: str
) -> None:
    service.refuses_with = (status, code, more)
    outcome = measured(service)
    assert (outcome.status, len(outcome.samples)) == ("failed", 0)
    assert outcome.reason.startswith(f"Lambda function f in us-east-1 was not run ({code}")
    assert says in outcome.reason
    assert "123456789012" not in outcome.reason
    assert len(service.invoked) == 1


def test_a_refusal_that_nobody_knows_is_told_in_lambdas_own_words(service: Service) -> None:
    service.refuses_with = (502, "ENILimitReachedException", {})
    assert measured(service).reason.endswith("(ENILimitReachedException): arn:aws:lambda:::<account> says no")


def test_who_may_not_ask_for_a_function_is_told_so_once_for_all_its_cells(service: Service) -> None:
    service.configuration_error = (403, "AccessDeniedException")
    venue = venue_at(service)
    at_lambda = LambdaVenue(venue, LAB, 60.0)
    reasons = {at_lambda.run(a_block(venue, BUCKET, access_path=NoOp())).reason for _ in range(2)}
    assert len(reasons) == 1
    assert "(AccessDeniedException): let whoever runs this have" in reasons.pop()
    assert service.invoked == []


@pytest.mark.parametrize(
    ("kind", "message", "says"),
    [
        (
            "Runtime.ExitError",
            "RequestId: r Error: Runtime exited with error: signal: killed",
            "was killed (Runtime.ExitError), as one is that needs more than its 512 MB of memory",
        ),
        ("Runtime.OutOfMemory", "out of memory", "was killed (Runtime.OutOfMemory)"),
        (
            "Runtime.ExitError",
            "Runtime exited with error: exit status 3",
            "failed (Runtime.ExitError): Runtime exited",
        ),
        (
            "Sandbox.Timedout",
            "RequestId: r Error: Task timed out after 3.00 seconds",
            "was stopped by its time-out of 3 s (Task timed out after 3.00 seconds)",
        ),
        ("Runtime.ImportModuleError", "No module named 'x'", "failed (Runtime.ImportModuleError): No module"),
    ],
)
def test_a_function_that_died_is_told_by_the_type_and_message_of_its_error(
    service: Service, kind: str, message: str, says: str
) -> None:
    service.function_error = {"errorType": kind, "errorMessage": message}
    outcome = measured(service)
    assert outcome.status == "failed"
    assert says in outcome.reason


@pytest.mark.slow
def test_clients_in_environments_of_their_own_begin_together(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambda_venue, "_LEAD_S", 6.0)
    venue = venue_at(service)
    workload = BlobWrite(size=64, iterations=3000, warmup=2)
    block = a_block(
        venue, BUCKET, access_path=NoOp(), workload=workload, iterations=3000, clients=3
    ).model_copy(update={"warmup": 2})
    outcome = LambdaVenue(venue, LAB, 60.0).run(block)
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 9000)
    proof = outcome.proof or {}
    assert proof["clients"] == "3 of 3 to the end"
    assert proof["lambda_cold_start"] == "true"
    assert "late_clients" not in proof
    assert float(proof["clients_began_within_ms"]) < 100
    workers, starts_us = (outcome.samples.integers[name] for name in ("worker", "started_us"))
    counted = [row for row in range(9000) if not outcome.samples.warmup[row]]
    first_us = [min(starts_us[row] for row in counted if workers[row] == worker) for worker in range(3)]
    last_warmup_us = [
        max(starts_us[row] for row in range(9000) if outcome.samples.warmup[row] and workers[row] == worker)
        for worker in range(3)
    ]
    assert max(first_us) - min(first_us) < 100_000
    assert max(last_warmup_us) < min(first_us)


def test_clients_that_lambda_refuses_fail_their_block_with_the_reason(
    service: Service,
) -> None:
    service.refuses_with = (429, "TooManyRequestsException", {})
    venue = venue_at(service)
    outcome = LambdaVenue(venue, LAB, 60.0).run(a_block(venue, BUCKET, access_path=NoOp(), clients=2))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("each of 2 clients: Lambda function f in us-east-1 was not run")
