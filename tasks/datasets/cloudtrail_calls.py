"""The calls that generated CloudTrail logs tell of: a busy account's usual mix of services.

Names, fields and which of them are null follow the AWS CloudTrail User Guide ("CloudTrail record
contents") and the services' own pages on logging with CloudTrail; the values are made up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tasks.datasets.fake_values import Draw, Json, JsonObject

ACCOUNT: Final = "123456789012"
OTHER_ACCOUNT: Final = "111122223333"
REGION: Final = "us-east-1"
"""Where the global services, IAM and console sign-in, log their events."""

_BUCKETS: Final = ("app-assets", "audit-archive", "data-lake-raw", "data-lake-curated", "build-artifacts")
_TABLES: Final = ("orders", "sessions", "inventory", "feature-flags")
_FUNCTIONS: Final = ("image-resize", "order-events", "nightly-report", "webhook-receiver")
_ROLES: Final = ("deploy", "etl-worker", "web-server", "report-reader", "AWSServiceRoleForConfig")


@dataclass(frozen=True, slots=True)
class Detail:
    """What one call says beside who made it and when; None becomes null or leaves the field out."""

    request: JsonObject | None
    response: JsonObject | None = None
    resources: tuple[tuple[str, str], ...] = ()
    """Type and ARN of each."""
    extra: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One kind of call."""

    service: str
    name: str
    weight: int
    """How often it happens, beside the weights of the others."""
    detail: Callable[[Draw], Detail]
    callers: tuple[str, ...] = ("AssumedRole", "AssumedRole", "IAMUser")
    """Types of userIdentity that make it, each as likely as the others."""
    read_only: bool = True
    data_event: bool = False
    error: str = "AccessDenied"
    """The error code of the calls that fail."""
    event_type: str = "AwsApiCall"


def _describe_instances(draw: Draw) -> Detail:
    ids: list[Json] = [{"instanceId": f"i-0{draw.hexadecimal(16)}"} for _ in range(draw.long_tailed(0, 3))]
    return Detail({"instancesSet": {"items": ids}, "filterSet": {}})


def _describe_filtered(draw: Draw) -> Detail:
    kind = draw.one_of(("vpc", "subnet"))
    values: list[Json] = [{"value": f"{kind}-0{draw.hexadecimal(16)}"}]
    return Detail(
        {"maxResults": 1000, "filterSet": {"items": [{"name": f"{kind}-id", "valueSet": {"items": values}}]}}
    )


def _run_instances(draw: Draw) -> Detail:
    image, subnet = f"ami-0{draw.hexadecimal(16)}", f"subnet-0{draw.hexadecimal(16)}"
    size = draw.one_of(("m7g.large", "c7i.xlarge", "t4g.small"))
    instances: list[Json] = [
        {
            "instanceId": f"i-0{draw.hexadecimal(16)}",
            "imageId": image,
            "instanceState": {"code": 0, "name": "pending"},
            "privateIpAddress": f"10.0.{draw.below(256)}.{draw.below(256)}",
            "instanceType": size,
            "subnetId": subnet,
            "networkInterfaceSet": {"items": [{"networkInterfaceId": f"eni-0{draw.hexadecimal(16)}"}]},
        }
        for _ in range(draw.long_tailed(0, 2))
    ]
    request: JsonObject = {
        "instancesSet": {"items": [{"imageId": image, "minCount": 1, "maxCount": len(instances)}]},
        "instanceType": size,
        "subnetId": subnet,
        "clientToken": draw.uuid(),
    }
    response: JsonObject = {
        "requestId": draw.uuid(),
        "reservationId": f"r-0{draw.hexadecimal(16)}",
        "ownerId": ACCOUNT,
        "instancesSet": {"items": instances},
    }
    return Detail(request, response)


def _assume_role(draw: Draw) -> Detail:
    role, session = draw.one_of(_ROLES), f"session-{draw.hexadecimal(12)}"
    arn = f"arn:aws:iam::{ACCOUNT}:role/{role}"
    response: JsonObject = {
        "credentials": {
            "accessKeyId": f"ASIA{draw.upper(16)}",
            "sessionToken": f"IQoJb3JpZ2luX2Vj{draw.base64(806 + draw.below(240))}==",
            "expiration": f"May 1, 2026, {1 + draw.below(11)}:{draw.below(60):02d}:{draw.below(60):02d} PM",
        },
        "assumedRoleUser": {
            "assumedRoleId": f"AROA{draw.upper(17)}:{session}",
            "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{session}",
        },
    }
    request: JsonObject = {"roleArn": arn, "roleSessionName": session, "durationSeconds": 3600}
    return Detail(request, response, (("AWS::IAM::Role", arn),))


def _caller_identity(_: Draw) -> Detail:
    return Detail(None)


def _s3_extra(draw: Draw) -> JsonObject:
    return {
        "SignatureVersion": "SigV4",
        "CipherSuite": "TLS_AES_128_GCM_SHA256",
        "bytesTransferredIn": 0,
        "AuthenticationMethod": "AuthHeader",
        "x-amz-id-2": f"{draw.base64(75)}=",
        "bytesTransferredOut": draw.long_tailed(8, 22),
    }


def _bucket(draw: Draw) -> Detail:
    bucket = draw.one_of(_BUCKETS)
    request: JsonObject = {"bucketName": bucket, "Host": f"{bucket}.s3.{REGION}.amazonaws.com"}
    return Detail(request, None, (("AWS::S3::Bucket", f"arn:aws:s3:::{bucket}"),), _s3_extra(draw))


def _s3_object(draw: Draw) -> Detail:
    bucket = draw.one_of(_BUCKETS)
    key = f"dt=2026-05-{1 + draw.below(28):02d}/part-{draw.below(100_000):05d}-{draw.uuid()}.parquet"
    request: JsonObject = {"bucketName": bucket, "Host": f"{bucket}.s3.{REGION}.amazonaws.com", "key": key}
    resources = (
        ("AWS::S3::Object", f"arn:aws:s3:::{bucket}/{key}"),
        ("AWS::S3::Bucket", f"arn:aws:s3:::{bucket}"),
    )
    return Detail(request, None, resources, _s3_extra(draw))


def _put_object(draw: Draw) -> Detail:
    detail = _s3_object(draw)
    response: JsonObject = {"x-amz-server-side-encryption": "AES256", "x-amz-version-id": draw.base64(32)}
    return Detail(detail.request, response, detail.resources, detail.extra)


def _kms(draw: Draw) -> Detail:
    key = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{draw.uuid()}"
    context: JsonObject = {"aws:s3:arn": f"arn:aws:s3:::{draw.one_of(_BUCKETS)}"}
    request: JsonObject = {"encryptionContext": context, "encryptionAlgorithm": "SYMMETRIC_DEFAULT"}
    return Detail(request, None, (("AWS::KMS::Key", key),))


def _get_role(draw: Draw) -> Detail:
    return Detail({"roleName": draw.one_of(_ROLES)})


def _create_role(draw: Draw) -> Detail:
    role = f"{draw.one_of(_ROLES)}-{draw.hexadecimal(6)}"
    # IAM logs a trust policy as text inside the request, and again, percent-encoded, in the response.
    trust = (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":'
        f'{{"AWS":"arn:aws:iam::{OTHER_ACCOUNT}:root"}},"Action":"sts:AssumeRole"}}]}}'
    )
    response: JsonObject = {
        "role": {
            "path": "/",
            "roleName": role,
            "roleId": f"AROA{draw.upper(17)}",
            "arn": f"arn:aws:iam::{ACCOUNT}:role/{role}",
            "assumeRolePolicyDocument": trust.replace('"', "%22").replace("{", "%7B").replace("}", "%7D"),
        }
    }
    return Detail({"roleName": role, "assumeRolePolicyDocument": trust, "maxSessionDuration": 3600}, response)


def _function(draw: Draw) -> Detail:
    name = draw.one_of(_FUNCTIONS)
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return Detail({"functionName": arn}, None, (("AWS::Lambda::Function", arn),))


def _update_function(draw: Draw) -> Detail:
    name = draw.one_of(_FUNCTIONS)
    response: JsonObject = {
        "functionName": name,
        "functionArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}",
        "runtime": "python3.13",
        "codeSize": draw.long_tailed(16, 24),
        "codeSha256": f"{draw.base64(43)}=",
        "version": str(1 + draw.below(400)),
        "revisionId": draw.uuid(),
    }
    return Detail({"functionName": name, "publish": True, "dryRun": False}, response)


def _table(draw: Draw) -> Detail:
    table = draw.one_of(_TABLES)
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}"
    request: JsonObject = {"tableName": table, "key": {"id": draw.uuid()}, "consistentRead": False}
    return Detail(request, None, (("AWS::DynamoDB::Table", arn),))


def _log_stream(draw: Draw) -> Detail:
    stream = f"2026/05/01/[$LATEST]{draw.hexadecimal(32)}"
    return Detail({"logGroupName": f"/aws/lambda/{draw.one_of(_FUNCTIONS)}", "logStreamName": stream})


def _parameter(draw: Draw) -> Detail:
    name = f"/app/{draw.one_of(_FUNCTIONS)}/{draw.one_of(('db-url', 'api-key', 'mode'))}"
    return Detail({"name": name, "withDecryption": True})


def _lookup(draw: Draw) -> Detail:
    return Detail({"maxResults": 50, "nextToken": draw.base64(90 + draw.below(60))})


def _console_login(_: Draw) -> Detail:
    console = f"https://console.aws.amazon.com/console/home?region={REGION}"
    return Detail(None, {"ConsoleLogin": "Success"}, (), {"LoginTo": console, "MFAUsed": "Yes"})


_SERVICE: Final = ("AWSService",)
_PEOPLE: Final = ("IAMUser", "IAMUser", "IAMUser", "Root")

CALLS: Final = (
    Call("ec2", "DescribeInstances", 90, _describe_instances, error="Client.UnauthorizedOperation"),
    Call("ec2", "DescribeSecurityGroups", 60, _describe_filtered, error="Client.RequestLimitExceeded"),
    Call("ec2", "DescribeSubnets", 40, _describe_filtered, error="Client.RequestLimitExceeded"),
    Call("ec2", "RunInstances", 12, _run_instances, read_only=False, error="Client.UnauthorizedOperation"),
    Call("sts", "AssumeRole", 260, _assume_role, (*_SERVICE, *_SERVICE, "AssumedRole")),
    Call("sts", "GetCallerIdentity", 40, _caller_identity),
    Call("s3", "GetBucketAcl", 60, _bucket, (*_SERVICE, "AssumedRole"), error="NoSuchBucket"),
    Call("s3", "ListObjects", 60, _bucket, data_event=True),
    Call("s3", "GetObject", 100, _s3_object, data_event=True, error="NoSuchKey"),
    Call("s3", "PutObject", 60, _put_object, read_only=False, data_event=True),
    Call("kms", "Decrypt", 100, _kms, (*_SERVICE, "AssumedRole", "AssumedRole")),
    Call("kms", "GenerateDataKey", 50, _kms, (*_SERVICE, "AssumedRole")),
    Call("iam", "GetRole", 40, _get_role, error="NoSuchEntityException"),
    Call("iam", "CreateRole", 8, _create_role, _PEOPLE, read_only=False, error="EntityAlreadyExists"),
    Call("lambda", "Invoke", 60, _function, read_only=False, data_event=True),
    Call("lambda", "UpdateFunctionCode20150331v2", 10, _update_function, read_only=False),
    Call("dynamodb", "GetItem", 60, _table, data_event=True, error="ResourceNotFoundException"),
    Call("logs", "CreateLogStream", 50, _log_stream, read_only=False, error="ResourceAlreadyExistsException"),
    Call("ssm", "GetParameter", 40, _parameter, error="ParameterNotFound"),
    Call("cloudtrail", "LookupEvents", 30, _lookup, _PEOPLE),
    Call("signin", "ConsoleLogin", 6, _console_login, _PEOPLE, False, event_type="AwsConsoleSignIn"),
)

CUMULATIVE_WEIGHTS: Final = tuple(accumulate(call.weight for call in CALLS))
