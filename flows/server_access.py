"""Whether a Prefect server answers, and takes the password that is set, before anything is begun."""

import base64
import os
from http import HTTPStatus
from typing import Final

import httpx

from configs.errors import UserError

_WITHIN_S: Final = 10.0
_ASK: Final = "/admin/version"
"""Any route but that of the health, which is open to all."""


def refuse_dead_server(api_url: str) -> None:
    """Find out that a server is not there, or is not for us, before anything is begun.

    Raises:
        UserError: nothing answers at the address, or what answers wants another password.
    """
    root = api_url.rstrip("/")
    password = os.environ.get("PREFECT_API_AUTH_STRING")
    headers = {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"} if password else {}
    try:
        httpx.get(f"{root}/health", timeout=_WITHIN_S).raise_for_status()
        answer = httpx.get(root + _ASK, headers=headers, timeout=_WITHIN_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        message = (
            f"no Prefect server answers at {api_url} ({error}): start it, or unset PREFECT_API_URL "
            "for a private one"
        )
        raise UserError(message) from error
    if answer.status_code == HTTPStatus.UNAUTHORIZED and not _is_let_in():
        how = "another password than PREFECT_API_AUTH_STRING has" if password else "a password"
        message = f"the Prefect server at {api_url} wants {how}: set PREFECT_API_AUTH_STRING=user:password"
        raise UserError(message)


def _is_let_in() -> bool:
    """Whether Prefect's own settings, such as those of a profile or a key, open the server to us."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - takes seconds: only where it is needed
    from prefect.exceptions import PrefectHTTPStatusError  # noqa: PLC0415 - as above

    try:
        with get_client(sync_client=True) as client:
            client.request("GET", _ASK)
    except PrefectHTTPStatusError:
        return False
    return True
