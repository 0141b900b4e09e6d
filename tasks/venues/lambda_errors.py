"""Why an invocation of a Lambda function gave no samples, in one sentence with what to do.

From the fields of Lambda's answers alone, never from a log: the code of an error, and the type and message
with which a function ended. Messages of refusals are left out where the code says it all: they hold account
numbers and the names of roles.
"""

import re
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ValidationError

from configs.venues import LambdaVenueConfig
from tasks.venues.lambda_label import LambdaFunction

_MOUNT_TARGETS: Final = (
    "give the file system a mount target in the zone of each of the function's subnets, and let TCP 2049 "
    "through their security groups"
)
_WHAT_TO_DO: Final = {
    "TooManyRequestsException": (
        "Lambda throttled it: reserve more concurrency for the function, or measure with fewer clients"
    ),
    "S3FilesMountConnectivityException": f"its S3 Files file system is not reached: {_MOUNT_TARGETS}",
    "S3FilesMountFailureException": (
        "its S3 Files file system could not be mounted: let the function's role have s3files:ClientMount and "
        "s3files:ClientWrite, and look whether its access point is there"
    ),
    "S3FilesMountTimeoutException": (
        "mounting its S3 Files file system took too long: see that its mount targets are available"
    ),
    "EFSMountConnectivityException": f"its EFS file system is not reached: {_MOUNT_TARGETS}",
    "EFSMountFailureException": (
        "its EFS file system could not be mounted: let the function's role have "
        "elasticfilesystem:ClientMount and elasticfilesystem:ClientWrite, and look whether its access point "
        "is there"
    ),
    "EFSMountTimeoutException": (
        "mounting its EFS file system took too long: see that its mount targets are available"
    ),
    "EFSIOException": "reading or writing its EFS file system failed: see that it is available",
    "AccessDeniedException": (
        "let whoever runs this have lambda:InvokeFunction and lambda:GetFunctionConfiguration on it"
    ),
    "ResourceNotFoundException": (
        "there is no such function, version or alias: deploy it, or correct the venue"
    ),
}
"""By the code of an error: Lambda's API reference for Invoke, where the mount errors are modelled."""

_TIMED_OUT: Final = re.compile(r"Task timed out after [\d.]+ seconds")
_TIMEOUT_TYPE: Final = "Sandbox.Timedout"
_OUT_OF_MEMORY: Final = "Runtime.OutOfMemory"
_EXITED: Final = "Runtime.ExitError"
_ACCOUNT: Final = re.compile(r"(?<!\d)\d{12}(?!\d)")
_LONGEST: Final = 500
"""Characters of a function's own message."""


class _FunctionError(BaseModel):
    """How Lambda tells that a function failed; it may tell more, such as a stack trace."""

    errorType: str = ""  # noqa: N815 - Lambda's own names
    errorMessage: str = ""  # noqa: N815 - as above


def why_refused(venue: LambdaVenueConfig, error: ClientError | BotoCoreError) -> str:
    """Why Lambda did not run a function, or could not be asked for it."""
    named = f"Lambda function {venue.function} in {venue.region}"
    if isinstance(error, BotoCoreError):
        return f"{named} could not be asked: {type(error).__name__}: {error}"
    answer = error.response
    code = answer.get("Error", {}).get("Code", "")
    why = str(answer.get("Reason", ""))
    told = f"{code}, {why}" if why else code
    what_to_do = _WHAT_TO_DO.get(code) or _without_account(answer.get("Error", {}).get("Message", ""))
    return f"{named} was not run ({told}): {what_to_do}"


def why_function_failed(venue: LambdaVenueConfig, function: LambdaFunction, payload: bytes) -> str:
    """Why a function that ran gave no answer of its own.

    Args:
        venue: which function.
        function: what is known of it.
        payload: with which Lambda answered in its place.
    """
    try:
        error = _FunctionError.model_validate_json(payload)
    except ValidationError:
        error = _FunctionError()
    named, kind, message = f"Lambda function {venue.function}", error.errorType, error.errorMessage
    if kind == _TIMEOUT_TYPE or _TIMED_OUT.search(message):
        found = _TIMED_OUT.search(message)
        return (
            f"{named} was stopped by its time-out of {function.timeout_s} s "
            f"({found[0] if found else kind}), and what it had measured is lost: raise its time-out, or give "
            "the workload fewer iterations or the suite more blocks"
        )
    if kind == _OUT_OF_MEMORY or (kind == _EXITED and "signal: killed" in message):
        return (
            f"{named} was killed ({kind}), as one is that needs more than its {function.memory_mb} MB of "
            "memory: give it more, or the workload fewer iterations"
        )
    told = _without_account(message[:_LONGEST]) or "it told nothing"
    return f"{named} failed ({kind or 'no type'}): {told}"


def _without_account(message: str) -> str:
    """What others wrote, without the numbers of accounts that names of roles and functions hold."""
    return _ACCOUNT.sub("<account>", message)
