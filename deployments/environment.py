"""The settings of Prefect that our server and everything that talks to it run with.

Each stands here with its reason; `systemd/` and the README name none of their own. What the operator has set
of `PREFECT_SERVER_…` goes before ours, telemetry excepted: another database, a password.
"""

import os
from collections.abc import Mapping
from typing import Final

from configs.errors import UserError
from deployments.catalogue import Operation
from flows.server_access import is_on_this_host, without_proxy_on_this_host
from tasks.lab.prefect_server import NO_TELEMETRY

RUNS_KEPT_S: Final = 90 * 86400
"""How long the server keeps flow runs after their end, with their logs and artifacts; results stay."""
EVENTS_KEPT: Final = "P14D"
"""How long it keeps events, as ISO 8601 has it."""

SERVER_SETTINGS: Final = {
    # The second UI asks an address in the internet from the browser even where analytics are off.
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    # A relative address serves the browser through a forwarded port and behind a proxy alike.
    "PREFECT_SERVER_UI_API_URL": "/api",
    # Leases in memory are lost with a restart of the server, which then kills the run that held one.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # Its own data does not grow for ever; artifacts and logs go with their runs.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs,orphans",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(RUNS_KEPT_S),
    "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": EVENTS_KEPT,
}

CLIENT_SETTINGS: Final = {
    # A heart of ours beats between blocks (flows/run_reporter.py): a thread's own would beat within them.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "86400",
    "PREFECT_RUNNER_POLL_FREQUENCY": "5",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS": "deployments.console.OneLineHandler",
}

_SERVER_AUTH: Final = "PREFECT_SERVER_API_AUTH_STRING"
_SERVERS_ALONE: Final = (_SERVER_AUTH, "PREFECT_SERVER_DATABASE_")
"""Secrets of the server, by the beginnings of their names: no flow run needs them."""


def own_api_url(operation: Operation) -> str:
    """Where the clients of a host find its own server."""
    return f"http://127.0.0.1:{operation.port}/api"


def api_url(operation: Operation) -> str:
    """The server whose deployments are served: the one that `PREFECT_API_URL` names, or the host's own."""
    return os.environ.get("PREFECT_API_URL") or own_api_url(operation)


def serves_own(operation: Operation) -> bool:
    """Whether that is the host's own server."""
    return api_url(operation).rstrip("/") == own_api_url(operation)


def refuse_shared_server(operation: Operation) -> None:
    """Deployments and alarms are named once for a server: two hosts that serve would replace each other's.

    Raises:
        UserError: the server whose deployments are to be served is not on this host.
    """
    address = api_url(operation)
    if is_on_this_host(address):
        return
    message = (
        f"PREFECT_API_URL={address}: that server is not on this host (127.0.0.1), and hosts that share "
        "one would replace each other's deployments: deploy to its work pools (see deployments/prefect.yaml) "
        "and run `python -m deployments.worker` here, or unset it for a server of this host's own"
    )
    raise UserError(message)


def server_environment(operation: Operation) -> dict[str, str]:
    """All variables of a server's process.

    `PREFECT_API_URL` is not among them: the server would hand it to the browser.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PREFECT_") or (name.startswith("PREFECT_SERVER_") and value)
    }
    own = {
        "PREFECT_UI_URL": f"http://127.0.0.1:{operation.port}",
        # Else it lies beside Python, where perhaps nothing can be written.
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(operation.data.resolve() / "ui"),
    }
    return SERVER_SETTINGS | own | kept | without_proxy_on_this_host(kept) | NO_TELEMETRY


def client_environment(operation: Operation) -> dict[str, str]:
    """All variables of the process that serves the deployments, and of the flow runs that it starts."""
    own = {
        "PREFECT_HOME": str(operation.data.resolve() / "clients"),
        "PREFECT_UI_URL": f"http://127.0.0.1:{operation.port}",
    }
    if serves_own(operation) and (password := os.environ.get(_SERVER_AUTH)):
        own["PREFECT_API_AUTH_STRING"] = password
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SERVERS_ALONE)}
    ours = {"PREFECT_API_URL": api_url(operation), **without_proxy_on_this_host(kept), **NO_TELEMETRY}
    return CLIENT_SETTINGS | own | kept | ours


def become(environment: Mapping[str, str]) -> None:
    """Let this process have these variables alone, before it imports Prefect, which reads them then."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
