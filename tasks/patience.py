"""Which tasks are tried again, and when: those whose failure may pass, as a server's that restarts does.

Bad input does not pass, and what measures is never tried again: a second attempt would be another sample.
"""

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import httpx
from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError, SSLError
from botocore.exceptions import ConnectionError as BotocoreConnectionError

from tasks.venues.launch import Launch

if TYPE_CHECKING:
    from prefect import Task
    from prefect.client.schemas.objects import State, TaskRun

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_LATER: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "OperationAborted",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""Codes of S3 that ask to come back later, whatever their HTTP status."""
_PASSING: Final = (
    BotocoreConnectionError,  # no connection, none in time, a proxy that does not answer
    ConnectionError,
    HTTPClientError,  # no answer in time, half an answer
    IncompleteReadError,
    TimeoutError,
    httpx.TransportError,
)
_REQUEST_TIMEOUT, _TOO_MANY, _SERVER_ERRORS = 408, 429, 500


def patient(task: "Task[_Parameters, _Result]", launch: Launch) -> "Task[_Parameters, _Result]":
    """The same task, which is tried again later where the cause of its failure may pass."""
    return task.with_options(
        retries=len(launch.retry_after_s),
        retry_delay_seconds=list(launch.retry_after_s),
        retry_condition_fn=_is_worth_another_attempt,
    )


def may_pass(error: BaseException) -> bool:
    """Whether an error, or whatever caused it, may be gone in a while.

    A message for the user is made of what a client raised: its cause decides.
    """
    cause: BaseException | None = error
    while cause is not None:
        if _passes(cause):
            return True
        cause = cause.__cause__
    return False


def _passes(error: BaseException) -> bool:
    if isinstance(error, ClientError):
        answer = error.response
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return answer.get("Error", {}).get("Code") in _LATER or _is_passing_status(status)
    if isinstance(error, httpx.HTTPStatusError):
        return _is_passing_status(error.response.status_code)
    return isinstance(error, _PASSING) and not isinstance(error, SSLError)


def _is_passing_status(status: int) -> bool:
    return status in {_REQUEST_TIMEOUT, _TOO_MANY} or status >= _SERVER_ERRORS


def _is_worth_another_attempt(_task: "Task[..., Any]", _run: "TaskRun", state: "State[Any]") -> bool:
    return isinstance(state.data, BaseException) and may_pass(state.data)
