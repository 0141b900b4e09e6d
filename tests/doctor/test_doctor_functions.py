"""Each way in which a Lambda function is not what its venue says, or reaches nothing, is told."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore.stub import Stubber

from configs.loading import parse_suite
from configs.suite import Cell
from configs.venues import LambdaVenueConfig
from tasks.doctor import functions
from tasks.doctor.findings import Finding
from tasks.doctor.functions import checks_of_function

Stubbed = Callable[..., tuple[Any, Stubber]]
SUITE = """\
name: s
targets:
  b: {kind: bucket, bucket: some-bucket, region: us-east-1}
  express: {kind: directory_bucket, bucket: logs--use1-az4--x-s3, region: us-east-1}
  fast: {kind: accelerated_bucket, bucket: some-bucket, region: us-east-1}
  far: {kind: bucket, bucket: far-bucket, region: eu-west-1}
  mount: {kind: mount, shows: b, path: /mnt/s3bench, file_system_id: fs-0123456789abcdef0}
  efs: {kind: mount, shows: b, path: /mnt/s3bench, shows_bucket: false}
venues:
  f: {kind: lambda, function: f, region: us-east-1, memory_mb: 512, architecture: arm64, vpc: true}
configurations:
  b: {access_path: {kind: boto3_api}, target: b, venue: f}
  express: {access_path: {kind: boto3_api}, target: express, venue: f}
  fast: {access_path: {kind: boto3_api}, target: fast, venue: f}
  far: {access_path: {kind: boto3_api}, target: far, venue: f}
  mount: {access_path: {kind: mount_io}, target: mount, venue: f}
  efs: {access_path: {kind: mount_io}, target: efs, venue: f}
workloads:
  write: {kind: blob_write, size: 64, iterations: 20, warmup: 5}
"""
ACCESS_POINT = (
    "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef0"
    "/access-point/fsap-0123456789abcdef0"
)
FUNCTION: Mapping[str, Any] = {
    "MemorySize": 512,
    "Architectures": ["arm64"],
    "Timeout": 900,
    "Runtime": "python3.13",
    "CodeSha256": "x",
    "State": "Active",
    "LastUpdateStatus": "Successful",
    "VpcConfig": {"VpcId": "vpc-1", "SubnetIds": ["subnet-1", "subnet-2"]},
    "FileSystemConfigs": [{"Arn": ACCESS_POINT, "LocalMountPath": "/mnt/s3bench"}],
}
MAIN = {"RouteTableId": "rtb-main", "Associations": [{"Main": True}], "Routes": []}


def gateway(service: str, *, table: str = "rtb-main") -> dict[str, Any]:
    return {
        "ServiceName": f"com.amazonaws.us-east-1.{service}",
        "VpcEndpointType": "Gateway",
        "State": "available",
        "RouteTableIds": [table],
    }


@pytest.fixture
def asked(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch) -> tuple[Stubber, Stubber]:
    """The stubs of Lambda and of EC2."""
    function, of_lambda = stubbed("lambda")
    network, of_ec2 = stubbed("ec2")
    monkeypatch.setattr(functions, "lambda_client", lambda *_: function)
    monkeypatch.setattr(functions, "ec2_client", lambda *_: network)
    return of_lambda, of_ec2


def cells_of(*names: str) -> list[Cell]:
    return [cell for cell in parse_suite(SUITE, "s.yaml").cells() if cell.config_id in names]


def found(*names: str, block_timeout_s: float = 900.0) -> dict[str, Finding]:
    cells = cells_of(*names)
    venue = cells[0].venue
    assert isinstance(venue, LambdaVenueConfig)
    return {finding.check: finding for finding in checks_of_function(venue, cells, {}, block_timeout_s)}


def routes(stub: Stubber, *endpoints: Mapping[str, Any], tables: list[dict[str, Any]] | None = None) -> None:
    stub.add_response("describe_route_tables", {"RouteTables": tables or [MAIN]})
    stub.add_response("describe_vpc_endpoints", {"VpcEndpoints": list(endpoints)})


def test_a_function_that_is_what_its_venue_says_is_right(asked: tuple[Stubber, Stubber]) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    routes(asked[1], gateway("s3"))
    checks = found("b", "mount")
    assert {finding.verdict for finding in checks.values()} == {"right"}
    assert set(checks) == {
        *("function", "claims", "time-out", "direct reads", "route to s3"),
        "file system at /mnt/s3bench",
    }


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("ResourceNotFoundException", "deploy it, or correct the venue's function, version or region"),
        ("AccessDeniedException", "let these credentials lambda:GetFunctionConfiguration on it"),
        ("ExpiredTokenException", "sign in again: the credentials have expired"),
        ("ServiceException", "see what Lambda says of it"),
    ],
)
def test_a_function_that_cannot_be_looked_up_is_told_by_the_code(
    asked: tuple[Stubber, Stubber], code: str, fix: str
) -> None:
    asked[0].add_client_error("get_function_configuration", code, "arn:aws:lambda:::123456789012 says no")
    (finding,) = found("b").values()
    assert (finding.verdict, finding.fix) == ("wrong", fix)
    assert finding.found == f"f in us-east-1 could not be looked up ({code})", "without the account"


@pytest.mark.parametrize(
    ("change", "check", "verdict", "told"),
    [
        ({"MemorySize": 128}, "claims", "wrong", "the venue says memory_mb: 512, and Lambda says 128"),
        (
            {"Architectures": ["x86_64"]},
            "claims",
            "wrong",
            "the venue says architecture: arm64, and Lambda says x86_64",
        ),
        ({"VpcConfig": {}}, "claims", "wrong", "the venue says vpc: true, and Lambda says false"),
        ({"State": "Pending"}, "function", "warning", "it is in state Pending"),
        ({"State": "Failed", "StateReason": "no ENI"}, "function", "wrong", "it is in state Failed"),
        ({"LastUpdateStatus": "InProgress"}, "function", "warning", "it is in state Active, update InProg"),
        ({"LastUpdateStatus": "Failed"}, "function", "wrong", "it is in state Active, update Failed"),
        ({"Timeout": 3}, "time-out", "warning", "3 s, of block_timeout_s 900"),
    ],
)
def test_what_is_otherwise_than_the_suite_says_is_told(
    asked: tuple[Stubber, Stubber], change: dict[str, Any], check: str, verdict: str, told: str
) -> None:
    asked[0].add_response("get_function_configuration", {**FUNCTION, **change})
    if change.get("VpcConfig") != {}:
        routes(asked[1], gateway("s3"))
    finding = found("b")[check]
    assert (finding.verdict, finding.found[: len(told)]) == (verdict, told)


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        (
            [],
            (
                "the target says S3 Files file system fs-0123456789abcdef0 at /mnt/s3bench, and the function "
                "has none"
            ),
        ),
        (
            [{"Arn": ACCESS_POINT, "LocalMountPath": "/mnt/other"}],
            "the target says S3 Files file system fs-0",
        ),
    ],
)
def test_another_file_system_than_the_targets_is_wrong(
    asked: tuple[Stubber, Stubber], systems: list[dict[str, Any]], told: str
) -> None:
    asked[0].add_response("get_function_configuration", {**FUNCTION, "FileSystemConfigs": systems})
    if systems:
        routes(asked[1], gateway("s3"))
    finding = found("mount")["file system at /mnt/s3bench"]
    assert (finding.verdict, finding.found.startswith(told)) == ("wrong", True)


@pytest.mark.parametrize(
    ("how", "memory_mb", "verdict", "needs_route"),
    [
        ("AUTO", 512, "right", True),
        ("AUTO", 128, "warning", False),
        ("ENABLED", 128, "right", True),
        ("DISABLED", 512, "warning", False),
    ],
)
def test_a_route_to_s3_is_asked_for_where_reads_go_to_the_bucket_directly(
    asked: tuple[Stubber, Stubber], how: str, memory_mb: int, verdict: str, *, needs_route: bool
) -> None:
    system = {"Arn": ACCESS_POINT, "LocalMountPath": "/mnt/s3bench", "S3FilesConfig": {"DirectS3Read": how}}
    answer = {**FUNCTION, "MemorySize": memory_mb, "FileSystemConfigs": [system]}
    asked[0].add_response("get_function_configuration", answer)
    if needs_route:
        routes(asked[1])
    checks = found("mount")
    assert checks["direct reads"].verdict == verdict
    assert ("route to s3" in checks) == needs_route
    if needs_route:
        assert checks["route to s3"].verdict == "wrong"


@pytest.mark.parametrize(
    ("config", "endpoint", "service"),
    [("b", "s3express", "s3"), ("express", "s3", "s3express"), ("fast", "s3", "s3-accelerate")],
)
def test_no_endpoint_serves_another_service(
    asked: tuple[Stubber, Stubber], config: str, endpoint: str, service: str
) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    routes(asked[1], gateway(endpoint))
    finding = found(config)[f"route to {service}"]
    assert (finding.verdict, "none from subnet-1, subnet-2" in finding.found) == ("wrong", True)
    assert ("NAT gateway" in finding.fix) == (service == "s3-accelerate")


def test_a_subnet_with_a_table_of_its_own_needs_a_way_of_its_own(asked: tuple[Stubber, Stubber]) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    own = {"RouteTableId": "rtb-2", "Associations": [{"SubnetId": "subnet-2"}], "Routes": []}
    routes(asked[1], gateway("s3"), tables=[MAIN, own])
    assert "none from subnet-2, for" in found("b")["route to s3"].found


@pytest.mark.parametrize(("gateway_id", "verdict"), [("igw-1", "wrong"), ("", "right")])
def test_a_nat_gateway_leads_out_of_a_vpc_and_an_internet_gateway_does_not(
    asked: tuple[Stubber, Stubber], gateway_id: str, verdict: str
) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    route = {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", "GatewayId": gateway_id}
    routes(asked[1], tables=[{**MAIN, "Routes": [route]}])
    assert found("fast")["route to s3-accelerate"].verdict == verdict


def test_routes_that_may_not_be_asked_for_are_not_known(asked: tuple[Stubber, Stubber]) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    asked[1].add_client_error("describe_route_tables", "UnauthorizedOperation")
    finding = found("b")["routes"]
    assert finding.verdict == "unknown"
    assert "ec2:DescribeRouteTables" in finding.fix


def test_a_bucket_of_another_region_than_the_function_is_a_warning(asked: tuple[Stubber, Stubber]) -> None:
    asked[0].add_response("get_function_configuration", dict(FUNCTION))
    routes(asked[1], gateway("s3"))
    finding = found("far")["region"]
    assert finding.verdict == "warning"
    assert finding.found.startswith("us-east-1, and far-bucket in eu-west-1: ")


def test_a_file_system_that_shows_no_bucket_needs_a_way_to_the_bucket_that_fills_it(
    asked: tuple[Stubber, Stubber],
) -> None:
    access_point = "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0123456789abcdef0"
    system = {"Arn": access_point, "LocalMountPath": "/mnt/s3bench"}
    asked[0].add_response("get_function_configuration", {**FUNCTION, "FileSystemConfigs": [system]})
    routes(asked[1])
    finding = found("efs")["route to s3"]
    assert (finding.verdict, "copying what is to be read" in finding.found) == ("wrong", True)
