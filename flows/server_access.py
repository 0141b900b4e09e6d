"""Whether a Prefect server answers, and takes the password that is set, before anything is begun."""

import base64
import os
from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final

import httpx

from configs.errors import UserError
from tasks.lab.prefect_server import ServerNotReadyError

_WITHIN_S: Final = 10.0
_ASK: Final = "/admin/version"
"""Any route but that of the health, which is open to all."""
_LOOPBACK: Final = ("127.0.0.1", "localhost")
_NO_PROXY: Final = ("no_proxy", "NO_PROXY")
"""As programs read it, the first before the second."""


def is_on_this_host(api_url: str) -> bool:
    """Whether an address is one of loopback."""
    try:
        host = httpx.URL(api_url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False


def without_proxy_on_this_host(environment: Mapping[str, str]) -> dict[str, str]:
    """What to set so that no program asks a proxy for what is on this host.

    A proxy cannot reach it, and would be told its password.
    """
    given = next((environment[name] for name in _NO_PROXY if environment.get(name)), "")
    hosts = [host.strip() for host in given.split(",") if host.strip()]
    if "*" in hosts:
        return {}
    return dict.fromkeys(_NO_PROXY, ",".join(dict.fromkeys((*hosts, *_LOOPBACK))))


def refuse_dead_server(api_url: str) -> None:
    """Find out that a server is not there, or is not for us, before anything is begun.

    Raises:
        ServerNotReadyError: nothing answers at the address, or what answers is not well: later it may be.
        UserError: the address is none, no Prefect server is there, or it wants another password.
    """
    root = api_url.rstrip("/")
    password = os.environ.get("PREFECT_API_AUTH_STRING")
    headers = {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"} if password else {}
    try:
        with httpx.Client(timeout=_WITHIN_S, trust_env=not is_on_this_host(api_url)) as client:
            client.get(f"{root}/health").raise_for_status()
            answer = client.get(root + _ASK, headers=headers)
            if answer.status_code != HTTPStatus.UNAUTHORIZED:
                answer.raise_for_status()
                return
        is_let_in = _is_let_in()
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        message = f"PREFECT_API_URL={api_url}: {error}: give one such as http://127.0.0.1:4200/api"
        raise UserError(message) from error
    except httpx.HTTPError as error:
        message = (
            f"no Prefect server answers at {api_url} ({error}): start it, or unset PREFECT_API_URL "
            "for a private one"
        )
        raise error_of_server(error, message) from error
    if not is_let_in:
        how = "another password than PREFECT_API_AUTH_STRING has" if password else "a password"
        message = f"the Prefect server at {api_url} wants {how}: set PREFECT_API_AUTH_STRING=user:password"
        raise UserError(message)


def error_of_server(error: Exception, message: str) -> UserError:
    """What to raise for what a client of a server raised: it says whether trying again may help."""
    from tasks.patience import may_pass  # noqa: PLC0415 - takes a while, and is seldom needed

    is_address = isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol))
    return ServerNotReadyError(message) if may_pass(error) and not is_address else UserError(message)


def _is_let_in() -> bool:
    """Whether Prefect's own settings, such as those of a profile or a key, open the server to us."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - takes seconds: only where it is needed
    from prefect.exceptions import PrefectHTTPStatusError  # noqa: PLC0415 - as above

    try:
        with get_client(sync_client=True) as client:
            client.request("GET", _ASK)
    except PrefectHTTPStatusError as error:
        if error.response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return False
        raise
    return True
