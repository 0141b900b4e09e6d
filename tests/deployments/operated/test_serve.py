"""`make serve`: it starts, runs what is asked, contacts nobody, and stops without leaving anything."""

import re
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any

import httpx
import psutil
import pytest

from tests.deployments.operated.host import QUICK, Host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STRACE = shutil.which("strace")
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def all_of(host: Host) -> list[psutil.Process]:
    assert host.process is not None
    parent = psutil.Process(host.process.pid)
    return [parent, *parent.children(recursive=True)]


def test_the_ui_is_there_and_asks_the_address_that_it_came_from(host: Host) -> None:
    url = f"http://127.0.0.1:{host.port}"
    assert "<html" in httpx.get(url, follow_redirects=True, trust_env=False).text
    assert httpx.get(f"{url}/ui-settings", trust_env=False).json()["api_url"] == "/api"


def test_a_run_by_hand_completes(host: Host) -> None:
    assert host.ended(host.run(**QUICK))[0] == "Completed"
    assert host.stored_runs()[0].state == "complete"


@pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")
def test_nobody_outside_this_machine_is_contacted(idle_host: Host) -> None:
    trace = idle_host.folder / "trace"
    strace = [str(STRACE), "-D", "-f", "--seccomp-bpf", "-qq", "-e", "connect,sendto", "-o", str(trace)]
    idle_host.start(under=strace)
    assert idle_host.ended(idle_host.run(**QUICK), 150)[0] == "Completed"
    idle_host.stop()
    traced = trace.read_text(errors="replace")
    assert f"htons({idle_host.port})" in traced, "the trace shows our own requests"
    addresses = set(re.findall(r'inet_(?:addr\(|pton\(AF_INET6, )"([^"]+)"', traced))
    assert addresses <= LOOPBACK


def test_the_server_has_the_deployments_of_the_catalogue(host: Host) -> None:
    found: dict[str, Any] = {one["name"]: one for one in host.ask("POST", "/deployments/filter", {})}
    assert set(found) == {"benchmark", "prepare-datasets", "compare-history", "housekeeping"}
    for one in found.values():
        assert one["tags"] == ["s3bench"]
        assert one["concurrency_limit"] == 1 or one["global_concurrency_limit"]["limit"] == 1
        assert one["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        assert one["enforce_parameter_schema"]
    (nightly,) = found["benchmark"]["schedules"]
    assert nightly["active"]
    assert (nightly["slug"], nightly["schedule"]["cron"]) == ("nightly", "30 2 * * *")
    assert nightly["schedule"]["timezone"] == "UTC"


def test_a_second_one_on_the_same_folder_is_refused_and_harms_nothing(host: Host) -> None:
    for module in ("deployments", "deployments.serve", "deployments.server"):
        refused = host.command(module)
        assert refused.returncode == 2, module
        assert refused.stderr.startswith("s3bench: "), module
        assert "Traceback" not in refused.stderr, module
    assert host.ask("GET", "/health") is True


def test_what_it_printed_is_a_line_for_each_happening(host: Host) -> None:
    assert "Traceback" not in host.printed
    assert all(line == line.strip() for line in host.printed.splitlines())
    assert f"the Prefect server answers at http://127.0.0.1:{host.port}" in host.printed
    assert "serving benchmark: nightly at `30 2 * * *` UTC" in host.printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_within_ten_seconds_when_nothing_runs(idle_host: Host, number: int) -> None:
    idle_host.start()
    processes = all_of(idle_host)
    assert idle_host.stop(number) < 10
    assert idle_host.process is not None
    assert idle_host.process.returncode == 0
    assert not [process for process in processes if process.is_running()]


def test_it_stops_a_run_that_goes_on_and_tells_the_server(
    new_host: Callable[..., Host],
) -> None:
    host = new_host()
    host.start()
    try:
        flow_run_id = host.run()
        deadline = time.monotonic() + 60
        while not host.blocks_kept():
            assert time.monotonic() < deadline
            time.sleep(0.2)
        blocks = host.blocks_kept()
        assert host.stop() < 60
        assert not host.left_over()
        assert blocks <= host.blocks_stored()
        host.start()
        assert host.ended(flow_run_id, 5)[0] == "Cancelled"
    finally:
        host.close()
