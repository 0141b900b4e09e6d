"""The settings of Prefect that our server and everything that talks to it run with.

Each stands here with its reason; `systemd/` and the README name none of their own. What the operator has set of
`PREFECT_SERVER_…` goes before ours, telemetry excepted: another database, a password.
"""

import os
from typing import Final

from deployments.catalogue import Operation
from tasks.lab.prefect_server import NO_TELEMETRY

_SERVER: Final = {
    # The second UI asks an address in the internet from the browser even where analytics are off.
    "PREFECT_SERVER_UI_V2_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    # A relative address serves the browser through a forwarded port and behind a proxy alike.
    "PREFECT_SERVER_UI_API_URL": "/api",
    # Leases in memory are lost with a restart of the server, which then kills the run that held one.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # Its own data does not grow for ever; artifacts and logs go with their runs.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs,orphans",
}

_CLIENTS: Final = {
    # A heart of ours beats between blocks (flows/run_reporter.py): a thread's own would beat within them.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "86400",
    "PREFECT_RUNNER_POLL_FREQUENCY": "5",
}


def api_url(operation: Operation) -> str:
    """Where the clients of a host find its server."""
    return f"http://127.0.0.1:{operation.port}/api"


def server_environment(operation: Operation) -> dict[str, str]:
    """All variables of a server's process.

    `PREFECT_API_URL` is not among them: the server would hand it to the browser.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PREFECT_") or name.startswith("PREFECT_SERVER_")
    }
    ui_url = {"PREFECT_UI_URL": f"http://127.0.0.1:{operation.port}"}
    return _SERVER | ui_url | kept | NO_TELEMETRY


def client_environment(operation: Operation) -> dict[str, str]:
    """All variables of the process that serves the deployments, and of the flow runs that it starts.

    Where `PREFECT_API_URL` is set already, that server is served instead of this host's own.
    """
    own = {
        "PREFECT_API_URL": api_url(operation),
        "PREFECT_HOME": str(operation.data.resolve() / "clients"),
        "PREFECT_UI_URL": f"http://127.0.0.1:{operation.port}",
    }
    return _CLIENTS | own | os.environ | NO_TELEMETRY
