"""What a served run tells, to a real server that hangs, and the lease of its slot."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.concurrency import _leases
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_HOME,
    temporary_settings,
)

from flows import lease, quiet, run_reporter
from tests.served import Proxy

pytestmark = pytest.mark.slow


@pytest.fixture
def proxy(prefect_api_url: str, tmp_path: Path) -> Iterator[Proxy]:
    """Between this process and the server."""
    proxy = Proxy(httpx.URL(prefect_api_url).port or 0)
    settings = {
        PREFECT_API_URL: f"http://127.0.0.1:{proxy.port}/api",
        PREFECT_HOME: tmp_path,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }
    with temporary_settings(settings):
        yield proxy
    proxy.lets_through.set()
    proxy.close()


def ask(prefect_api_url: str, what: str, flow_run_id: str) -> list[dict[str, object]]:
    query = {what: {"flow_run_id": {"any_": [flow_run_id]}}}
    rows: list[dict[str, object]] = httpx.post(f"{prefect_api_url}/{what}/filter", json=query).json()
    return rows


def seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_server_that_hangs_costs_seconds_and_is_told_all_when_it_answers_again(
    proxy: Proxy, prefect_api_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_reporter, "_BETWEEN_BLOCKS_S", 0.0)
    took_s: list[float] = []

    @flow(name="told")
    def told() -> str:
        with run_reporter.reported("measuring") as launch:
            report = launch.reporter
            report.advance("measuring", 0, 4, "a/read")
            proxy.lets_through.clear()
            took_s.append(seconds(lambda: report.advance("measuring", 1, 4, "b/read")))
            took_s.append(seconds(lambda: report.note("something worth a line")))
            shown = ask(prefect_api_url, "artifacts", run_reporter.flow_run.get_id())
            assert [one["data"] for one in shown] == [0.0]
            proxy.lets_through.set()
            report.advance("measuring", 3, 4, "a/read")
            shown = ask(prefect_api_url, "artifacts", run_reporter.flow_run.get_id())
            assert [(one["data"], one["description"]) for one in shown] == [
                (75.0, "measuring: 3 of 4, next a/read")
            ]
            return str(run_reporter.flow_run.get_id())

    flow_run_id = told()
    assert max(took_s) < 2 * run_reporter._TIMEOUT_S + 1
    lines = [row["message"] for row in ask(prefect_api_url, "logs", flow_run_id)]
    assert lines.count("something worth a line") == 1


@pytest.mark.usefixtures("proxy")
@pytest.mark.parametrize(("at_most_every_s", "told"), [(0.0, [0, *range(4, 40, 4)]), (15.0, [0])])
def test_the_log_tells_of_each_tenth_that_is_done_but_not_too_often(
    prefect_api_url: str, monkeypatch: pytest.MonkeyPatch, at_most_every_s: float, told: list[int]
) -> None:
    @flow(name="counting")
    def counting() -> str:
        with run_reporter.reported("another") as launch:
            monkeypatch.setattr(run_reporter, "_BETWEEN_BLOCKS_S", at_most_every_s)
            for done in range(41):
                launch.reporter.advance("measuring", done, 40, "a/read")
        return str(run_reporter.flow_run.get_id())

    rows = ask(prefect_api_url, "logs", counting())
    lines = {str(row["message"]).partition(",")[0] for row in rows}
    assert {line for line in lines if line.startswith("measuring: ")} == {
        f"measuring: {done} of 40" for done in (*told, 40)
    }


def test_a_run_that_tells_nothing_for_a_while_still_gives_signs_of_life(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_reporter, "_SIGN_AFTER_S", 1.0)

    def signs() -> int:
        return sum(b"s3bench.run.alive" in piece for _, _, piece in proxy.pieces)

    @flow(name="silent")
    def silent() -> None:
        with run_reporter.reported("measuring") as launch:
            launch.reporter.advance("measuring", 0, 4, "a/read")
            began, before = time.monotonic(), signs()
            while signs() < before + 3:
                assert time.monotonic() - began < 20
                time.sleep(0.1)
            assert time.monotonic() - began > 2

    silent()


def test_prefect_still_does_what_is_stopped_here() -> None:
    of_leases = Path(_leases.__file__ or "").read_text(encoding="utf-8")
    of_engine = Path(quiet.flow_engine.__file__ or "").read_text(encoding="utf-8")
    assert "renewed = _renew_concurrency_lease_with_retries(" in of_leases
    assert "observe_flow_run_suspension(\n" in of_engine
    assert "lease_id, 300, raise_on_lease_renewal_failure=True" in of_engine
    assert _leases._RENEWAL_FRACTION * lease._LEASE_S == lease._AT_THE_LATEST_S


def test_prefects_thread_renews_a_lease_only_where_nothing_else_has(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_leases, "_renew_concurrency_lease_with_retries", lease.renew_late)
    monkeypatch.setattr(_leases, "_RENEWAL_FRACTION", 0.02)  # of 60 s
    monkeypatch.setattr(lease, "_AT_THE_LATEST_S", 3.0)

    def renewals() -> int:
        return sum(b"/renew" in piece for _, _, piece in proxy.pieces)

    name = f"slot-{uuid4().hex}"
    with get_client(sync_client=True) as client:
        limit = {"name": name, "limit": 1, "active": True}
        client.request("POST", "/v2/concurrency_limits/", json=limit)
        taken = client.increment_concurrency_slots_with_lease([name], 1, "concurrency", 60.0)
        lease_id = lease.UUID(taken.json()["lease_id"])
        with _leases.maintain_concurrency_lease(lease_id, 60.0, raise_on_lease_renewal_failure=True):
            time.sleep(1.0)
            assert renewals() == 1  # its first
            for _ in range(4):
                time.sleep(1.0)
                assert lease._goes_on(client, lease_id, 60.0)
            assert renewals() == 5  # ours alone
            time.sleep(4.5)
            assert renewals() == 6  # its own, once nothing else had for 3 s


@pytest.mark.usefixtures("proxy")
def test_a_lease_that_is_lost_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_leases, "_renew_concurrency_lease_with_retries", lease.renew_late)
    with _leases.maintain_concurrency_lease(uuid4(), 60.0, raise_on_lease_renewal_failure=True):
        threads = [one for one in threading.enumerate() if one.name.startswith("concurrency-lease-renewal")]
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        time.sleep(0.5)
