"""Starts and ends the proxy that makes a lab AWS-shaped."""

import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from configs.errors import UserError
from configs.lab_delays import Delays
from tasks.lab.aws_settings import ProxySettings
from tasks.lab.files import make_private, write_whole
from tasks.lab.processes import (
    POLL_S,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    ProcessRef,
    listening_ports,
    log_tail,
    start_daemon,
)
from tasks.lab.state import ACCELERATED, AwsShaped, LabFolder, LabState

_PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]


def start_aws_shaped(lab: LabFolder, state: LabState, delays: Delays) -> AwsShaped:
    """Start the proxy before a lab's server; `delays` are what it adds for each host name.

    Raises:
        UserError: It did not start (with the end of its log), and does not run any more.
    """
    files = lab.proxy
    make_private(files.root)
    settings = ProxySettings(
        server_port=urlsplit(state.endpoint_url).port or 0,
        access_key_id=state.access_key_id,
        secret_access_key=state.secret_access_key.get_secret_value(),
        accelerated=frozenset(ACCELERATED),
        delays=delays,
        ca_file=files.ca_file,
    )
    write_whole(files.settings, settings.model_dump_json(indent=2))
    # -P: the folder in which the command is given may hold a package of the same name.
    command = (sys.executable, "-P", "-m", "tasks.lab.aws_proxy", str(files.settings))
    proxy = start_daemon(command, {"PYTHONPATH": str(_PROJECT_ROOT)}, files.log)
    try:
        proxy_url = f"http://127.0.0.1:{_port_of(proxy, files.log)}"
    except BaseException:  # an interrupt too: nothing may stay that no state file tells of
        proxy.end(STOP_TIMEOUT_S)
        raise
    return AwsShaped(proxy_url=proxy_url, ca_file=files.ca_file, delays=delays, proxy=proxy)


def _port_of(proxy: ProcessRef, log: Path) -> int:
    """The port on which the proxy listens; by then it has written its authority's certificate."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while (process := proxy.find()) is not None and time.monotonic() < deadline:
        for port in listening_ports(process):
            return port
        time.sleep(POLL_S)
    raise UserError(
        f"the lab's proxy did not start within {START_TIMEOUT_S} s; the end of {log}:\n{log_tail(log)}"
    )
