"""Whatever dies: a run ends in a known state, leaves nothing, keeps what it measured, and the next runs."""

import signal

import psutil
import pytest

from tests.deployments.operated.host import QUICK, Host, wait_until

WITHIN_S = 120.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def measuring(host: Host) -> tuple[str, set[tuple[str, ...]]]:
    """A run that has measured two blocks and more to come; its id, and the blocks that it has not stored."""
    flow_run_id = host.run()
    wait_until(lambda: len(host.blocks_kept()) >= 2, 60)
    return flow_run_id, host.blocks_kept()


def assert_all_is_kept_and_nothing_left(host: Host, blocks: set[tuple[str, ...]]) -> None:
    wait_until(lambda: not host.left_over(), WITHIN_S)
    assert not host.blocks_kept()
    assert blocks <= host.blocks_stored()
    assert host.stored_runs()[0].state == "incomplete"


def assert_the_next_run_completes(host: Host) -> None:
    assert host.ended(host.run(**QUICK))[0] == "Completed"
    assert host.stored_runs()[0].state == "complete"
    wait_until(lambda: not host.left_over(), 10)  # its process ends a moment after it


def test_a_run_that_is_cancelled_ends_cancelled(host: Host) -> None:
    flow_run_id, blocks = measuring(host)
    host.ask("POST", f"/flow_runs/{flow_run_id}/set_state", {"state": {"type": "CANCELLING"}})
    assert host.ended(flow_run_id, WITHIN_S)[0] == "Cancelled"
    assert_all_is_kept_and_nothing_left(host, blocks)
    assert_the_next_run_completes(host)


@pytest.mark.parametrize(
    ("part", "number", "reason"),
    [
        ("flow", signal.SIGTERM, "termination signal"),
        ("flow", signal.SIGKILL, "status code: -9"),
        ("serve", signal.SIGKILL, "what had started this flow run died"),
    ],
)
def test_a_run_that_dies_or_whose_serve_is_killed_ends_crashed(
    host: Host, part: str, number: int, reason: str
) -> None:
    flow_run_id, blocks = measuring(host)
    host.part(part).send_signal(number)
    state, message = host.ended(flow_run_id, WITHIN_S)
    assert state == "Crashed"
    assert reason in message
    assert_all_is_kept_and_nothing_left(host, blocks)
    assert_the_next_run_completes(host)


def test_a_run_goes_on_while_the_server_restarts_and_can_be_cancelled_afterwards(host: Host) -> None:
    flow_run_id, blocks = measuring(host)
    host.part("server").kill()
    wait_until(lambda: "the Prefect server ended" in host.printed, 10)
    answers = host.printed.count("the Prefect server answers")
    wait_until(lambda: host.printed.count("the Prefect server answers") > answers, 90)
    state, message = host.ended(flow_run_id, WITHIN_S)
    assert state == "Completed", message
    assert host.stored_runs()[0].state == "complete"
    assert blocks <= host.blocks_stored()
    again, blocks = measuring(host)
    host.ask("POST", f"/flow_runs/{again}/set_state", {"state": {"type": "CANCELLING"}})
    assert host.ended(again, WITHIN_S)[0] == "Cancelled"
    assert_all_is_kept_and_nothing_left(host, blocks)


def test_a_run_ends_crashed_when_serving_begins_after_everything_was_killed_at_once(host: Host) -> None:
    assert host.process is not None
    flow_run_id, blocks = measuring(host)
    all_parts = [
        host.process.pid,
        *(host.part(name).pid for name in ("server", "serve", "flow", "measuring")),
    ]
    for pid in all_parts:
        psutil.Process(pid).kill()
    host.process.wait()
    host.start()
    state, message = host.ended(flow_run_id, WITHIN_S)
    assert state == "Crashed"
    assert "died" in message
    assert_all_is_kept_and_nothing_left(host, blocks)
    assert_the_next_run_completes(host)


def test_a_run_that_nobody_can_tell_the_end_of_is_reaped_while_serving_goes_on(host: Host) -> None:
    flow_run_id, blocks = measuring(host)
    host.part("server").kill()
    host.part("flow").kill()  # serve tells the server of it, which is not there
    state, _ = host.ended(flow_run_id, WITHIN_S)
    assert state == "Crashed"
    assert_all_is_kept_and_nothing_left(host, blocks)
    assert_the_next_run_completes(host)


def test_a_run_whose_worker_is_killed_ends_crashed_and_the_next_worker_runs_the_next(
    pool_host: Host,
) -> None:
    host = pool_host
    worker = host.begin("deployments.worker")
    flow_run_id = host.run("benchmark/benchmark-on-host")
    wait_until(lambda: len(host.blocks_kept()) >= 2, 90)
    blocks = host.blocks_kept()
    worker.kill()
    worker.wait()
    state, message = host.ended(flow_run_id, WITHIN_S)
    assert state == "Crashed"
    assert "what had started this flow run died" in message
    assert_all_is_kept_and_nothing_left(host, blocks)
    worker = host.begin("deployments.worker")
    try:
        next_id = host.run("benchmark/benchmark-on-host", **QUICK)
        assert host.ended(next_id)[0] == "Completed"
    finally:
        worker.terminate()
        worker.wait(60)
