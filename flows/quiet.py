"""Lets nothing of Prefect happen while something is measured.

What Prefect 3.9 does by itself in a process that runs a flow, and what becomes of it here:

* it sends logs every 2 s, and events through a websocket that is kept alive: both are sent off before a
  block, which ends the threads that do it, and the next line or event begins them anew;
* it renews the lease of the deployment's slot every 225 s: that is done between blocks, see `lease.py`;
* it sends a heartbeat every 30 s or more: `deployments/environment.py` stretches that to a day, and a sign of
  life of ours is sent between blocks, see `run_reporter.py`;
* it listens on another websocket, and polls where there is none, for somebody who suspends the run from the
  UI: a measurement is cancelled or left alone, so that nothing listens;
* its server works through a task run for some 60 ms after it has ended: that is waited for.

The process that serves the deployments asks the server for work every 5 s all the while. It is another one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

import psutil
from prefect import flow_engine
from prefect.concurrency import _leases
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL

from configs.errors import UserError
from flows.lease import renew_late
from tasks.lab.processes import wait_until_quiet

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SENT_WITHIN_S: Final = 3.0
_QUIET_CPU_SHARE: Final = 0.1
QUIET_WITHIN_S: Final = 2.0
"""How long a server is waited for: others may keep it busy."""


def keep_prefect_still() -> None:
    """Stop what Prefect would do in the middle of a block; called before a flow run begins here.

    It has no setting for either, so that functions of its own are replaced; a test holds that they are there.
    """
    vars(_leases)["_renew_concurrency_lease_with_retries"] = renew_late
    vars(flow_engine)["observe_flow_run_suspension"] = _nobody_listens


@contextmanager
def _nobody_listens(*_run_and_request: object) -> Iterator[None]:
    yield


def settle(within_s: float = QUIET_WITHIN_S) -> None:
    """Send what Prefect holds, and wait until its server on this host is quiet: a few seconds at most."""
    send_what_prefect_holds(_SENT_WITHIN_S)
    wait_for_server(within_s)


def send_what_prefect_holds(within_s: float) -> None:
    """Send queued events and logs, and end what sends them; what takes longer goes on."""
    EventsWorker.drain_all(timeout=within_s)
    APILogWorker.drain_all(timeout=within_s)


def wait_for_server(within_s: float = QUIET_WITHIN_S) -> None:
    """Wait until the server has worked off what it was sent; not for one on another host."""
    pid = _server_on_this_host(PREFECT_API_URL.value() or "")
    if pid is None:
        return
    try:
        wait_until_quiet(pid, cpu_share_below=_QUIET_CPU_SHARE, timeout_s=within_s)
    except (UserError, psutil.Error):  # it has ended, or is another user's: there is nothing to wait for
        return


def _server_on_this_host(api_url: str) -> int | None:
    """The process that listens on the port of an address of loopback; None where that cannot be told."""
    try:
        address = urlsplit(api_url)
        port = address.port
    except ValueError:
        return None
    if address.hostname not in _LOOPBACK or port is None:
        return None
    try:
        listening = psutil.net_connections("tcp")
    except psutil.Error:  # some systems tell it to nobody but root
        return None
    listeners = ((one.laddr, one.pid) for one in listening if one.status == psutil.CONN_LISTEN)
    return next((pid for address, pid in listeners if address and address.port == port), None)
