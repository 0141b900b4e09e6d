"""What an error of a service means, told alike by every access path: its code, its status, its retries."""

from http import HTTPStatus

from botocore.exceptions import ClientError

from tasks.kernel.samples import NULL, Failure


def failure_of_code(code: str, message: str, http_status: int = NULL, retries: int = NULL) -> Failure:
    """A service's error, by its code.

    Args:
        code: as the service tells it; a bare status, as clients make one of an answer without a body or of a
            gateway's page, is named: `404` is `NotFound`.
        message: in words.
        http_status: where it is known beside the code.
        retries: of the client, where it tells them.
    """
    if http_status == NULL and code.isdecimal():
        http_status = int(code)
    kind = name_of_status(int(code)) if code.isdecimal() else code
    return Failure(kind, message, http_status=http_status, retries=retries)


def failure_of_client_error(error: ClientError) -> Failure:
    """A service's error as botocore tells it."""
    facts = error.response.get("ResponseMetadata", {})
    code = error.response.get("Error", {}).get("Code") or str(facts.get("HTTPStatusCode", ""))
    return failure_of_code(
        code or type(error).__name__,
        str(error),
        http_status=facts.get("HTTPStatusCode", NULL),
        retries=facts.get("RetryAttempts", NULL),
    )


def name_of_status(http_status: int) -> str:
    """`BadGateway` for 502; `Status520` for one that has no name."""
    try:
        return HTTPStatus(http_status).phrase.replace(" ", "").replace("-", "")
    except ValueError:
        return f"Status{http_status}"
