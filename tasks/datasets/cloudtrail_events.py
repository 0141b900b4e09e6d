"""Whole CloudTrail events: a call, who made it, when, and with what outcome.

The fields and their order are those of event version 1.11 (AWS CloudTrail User Guide, "CloudTrail record
contents" and "CloudTrail userIdentity element").
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tasks.datasets.cloudtrail_calls import (
    ACCOUNT,
    CALLS,
    CUMULATIVE_WEIGHTS,
    OTHER_ACCOUNT,
    REGION,
    Call,
    Detail,
)
from tasks.datasets.fake_values import Draw, Json, JsonObject

_ERROR_PERCENT: Final = 4
_OTHER_ACCOUNT_PERCENT: Final = 5
_USER_COUNT: Final = 8
_ROLE_COUNT: Final = 14
_DELIVERY_WINDOW_S: Final = 600
"""How long before its delivery an event may have happened; usual is about five minutes, on average."""

_SERVICES: Final = ("cloudtrail", "config", "lambda", "ec2", "autoscaling", "ecs-tasks", "inspector2")
_USER_AGENTS: Final = (
    "Boto3/1.40.1 md/Botocore#1.40.1 ua/2.1 os/linux#6.1 md/arch#x86_64 lang/python#3.13.5",
    "aws-cli/2.27.50 md/awscrt#0.26.1 ua/2.1 os/linux#6.1 lang/python#3.13.4 md/command#s3.cp",
    "aws-sdk-go-v2/1.36.3 ua/2.1 os/linux lang/go#1.24.4 md/GOOS#linux md/GOARCH#amd64 api/sts#1.33.19",
    "APN/1.0 HashiCorp/1.0 Terraform/1.12.2 terraform-provider-aws/6.0.0",
)
_BROWSER: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass(frozen=True, slots=True)
class Cast:
    """The people and programs of one account: the same in all files of a dataset."""

    users: tuple[tuple[str, str, str], ...]
    """Name, principal id and access key id."""
    roles: tuple[tuple[str, str], ...]
    """Name and principal id."""


def cast_of(seed: int) -> Cast:
    """Draw the people and programs of a dataset."""
    draw = Draw(f"{seed}/cast")
    return Cast(
        users=tuple(
            (f"user-{number:02d}", f"AIDA{draw.upper(17)}", f"AKIA{draw.upper(16)}")
            for number in range(_USER_COUNT)
        ),
        roles=tuple((f"role-{number:02d}", f"AROA{draw.upper(17)}") for number in range(_ROLE_COUNT)),
    )


def event(draw: Draw, cast: Cast, delivered_at: datetime) -> JsonObject:
    """Draw one event of a log that is delivered at a moment in UTC."""
    call = draw.weighted(CALLS, CUMULATIVE_WEIGHTS)
    caller = draw.one_of(call.callers)
    happened_at = delivered_at - timedelta(seconds=draw.below(_DELIVERY_WINDOW_S))
    detail = call.detail(draw)
    service = f"{draw.one_of(_SERVICES)}.amazonaws.com"
    by_service = caller == "AWSService"
    by_hand = caller == "Root" or call.service == "signin"
    failed = call.event_type == "AwsApiCall" and not by_service and draw.chance(_ERROR_PERCENT)
    record: JsonObject = {
        "eventVersion": "1.11",
        "userIdentity": _identity(draw, cast, caller, service, happened_at),
        "eventTime": f"{happened_at:%Y-%m-%dT%H:%M:%SZ}",
        "eventSource": f"{call.service}.amazonaws.com",
        "eventName": call.name,
        "awsRegion": REGION,
        "sourceIPAddress": service if by_service else draw.address(),
        "userAgent": service if by_service else _BROWSER if by_hand else draw.one_of(_USER_AGENTS),
    }
    if failed:
        record["errorCode"] = call.error
        record["errorMessage"] = f"{call.error} when calling {call.name}; request id {draw.uuid()}"
    record["requestParameters"] = detail.request
    record["responseElements"] = None if failed else detail.response
    if detail.extra is not None:
        record["additionalEventData"] = detail.extra
    record["requestID"] = draw.upper(16) if call.service == "s3" else draw.uuid()
    record["eventID"] = draw.uuid()
    record["readOnly"] = call.read_only
    record |= _ending(draw, call, detail, by_service=by_service)
    return record


def _ending(draw: Draw, call: Call, detail: Detail, *, by_service: bool) -> JsonObject:
    """The fields from `resources` on, of which many events lack some."""
    ending: JsonObject = {}
    if detail.resources:
        resources: list[Json] = [
            {"accountId": ACCOUNT, "type": kind, "ARN": arn} for kind, arn in detail.resources
        ]
        ending["resources"] = resources
    ending["eventType"] = call.event_type
    ending["managementEvent"] = not call.data_event
    ending["recipientAccountId"] = ACCOUNT
    if by_service and detail.resources:
        ending["sharedEventID"] = draw.uuid()
    ending["eventCategory"] = "Data" if call.data_event else "Management"
    if not by_service:
        ending["tlsDetails"] = {
            "tlsVersion": "TLSv1.3",
            "cipherSuite": "TLS_AES_128_GCM_SHA256",
            "clientProvidedHostHeader": f"{call.service}.{REGION}.amazonaws.com",
        }
    return ending


def _identity(draw: Draw, cast: Cast, caller: str, service: str, happened_at: datetime) -> JsonObject:
    """The userIdentity element: each type has fields of its own, and a service has no ARN."""
    if caller == "AWSService":
        return {"type": caller, "invokedBy": service}
    if caller == "Root":
        return {
            "type": caller,
            "principalId": ACCOUNT,
            "arn": f"arn:aws:iam::{ACCOUNT}:root",
            "accountId": ACCOUNT,
        }
    if caller == "IAMUser":
        name, principal, access_key = draw.one_of(cast.users)
        return {
            "type": caller,
            "principalId": principal,
            "arn": f"arn:aws:iam::{ACCOUNT}:user/{name}",
            "accountId": ACCOUNT,
            "accessKeyId": access_key,
            "userName": name,
        }
    return _assumed_role(draw, cast, happened_at)


def _assumed_role(draw: Draw, cast: Cast, happened_at: datetime) -> JsonObject:
    name, principal = draw.one_of(cast.roles)
    account = OTHER_ACCOUNT if draw.chance(_OTHER_ACCOUNT_PERCENT) else ACCOUNT
    session = f"i-0{draw.hexadecimal(16)}"
    created_at = happened_at - timedelta(seconds=draw.below(3600))
    return {
        "type": "AssumedRole",
        "principalId": f"{principal}:{session}",
        "arn": f"arn:aws:sts::{account}:assumed-role/{name}/{session}",
        "accountId": account,
        "accessKeyId": f"ASIA{draw.upper(16)}",
        "sessionContext": {
            "sessionIssuer": {
                "type": "Role",
                "principalId": principal,
                "arn": f"arn:aws:iam::{account}:role/{name}",
                "accountId": account,
                "userName": name,
            },
            "attributes": {
                "creationDate": f"{created_at:%Y-%m-%dT%H:%M:%SZ}",
                "mfaAuthenticated": "false",
            },
        },
    }
