"""Clients that are real processes begin together, and end where one of them cannot."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from configs.access_paths import Boto3Api, NoOp
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks.venues import client
from tasks.venues.client import (
    HandedOver,
    Order,
    installation,
    measure_as_client,
    running_clients,
    take_over,
    why_unlike,
    why_unreachable,
)
from tasks.venues.together import merge, split
from tasks.venues.wire import GIVEN_UP, StartSignal, receive

TOGETHER = 2


def a_spec(access_path: Boto3Api | NoOp, iterations: int = 5) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=access_path, target="t", clients=TOGETHER),
            workload=BlobWrite(size=64),
            target=BucketTarget(bucket="bucket", endpoint_url="http://127.0.0.1:9", region="us-east-1"),
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        write_prefix="s3bench/runs/20260101T020000Z-00000000/c/w/000/",
    )


def order_of(number: int, part: BlockSpec, *, elsewhere: bool = False) -> Order:
    return Order(number, f"client {number}", "m", part.model_dump_json().encode(), 60.0, elsewhere)


@dataclass
class Told:
    """A meeting with clients that are not there."""

    begin: Callable[[], StartSignal]
    end: Callable[[], None] = lambda: None


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_HERE", client._Here())
    take_over(HandedOver({"PATH": os.environ["PATH"]}))


def test_processes_of_several_clients_begin_what_counts_at_the_moment_that_they_are_told() -> None:
    all_ready = threading.Barrier(TOGETHER)
    start_us: list[int] = []

    def begin() -> StartSignal:
        if all_ready.wait(60) == 0:
            start_us.append(time.time_ns() // 1000 + 200_000)
        while not start_us:
            time.sleep(0.001)
        return StartSignal(start_us=start_us[0])

    spec = a_spec(NoOp())
    with ThreadPoolExecutor(TOGETHER) as pool:
        orders = [order_of(number, part) for number, part in enumerate(split(spec))]
        payloads = list(pool.map(lambda order: measure_as_client(order, Told(begin), lambda: False), orders))
    merged = merge(spec, [receive(payload) for payload in payloads], start_us[0])
    assert (merged.status, merged.reason, len(merged.samples)) == ("measured", "", 10)
    columns = merged.samples.integers
    counted = [row for row in range(10) if not merged.samples.warmup[row]]
    assert sorted({columns["worker"][row] for row in counted}) == [0, 1]
    begun_us = [columns["started_us"][row] for row in counted]
    assert 0 <= min(begun_us) - start_us[0] < 2_000_000
    assert all(columns["started_us"][row] < start_us[0] for row in range(10) if row not in counted)
    assert running_clients() == 0


def test_a_client_that_is_told_not_to_begin_brings_its_warm_ups_back() -> None:
    order = order_of(0, split(a_spec(NoOp()))[0])
    outcome = receive(measure_as_client(order, Told(lambda: StartSignal(why_not=GIVEN_UP)), lambda: False))
    assert (outcome.status, outcome.reason) == ("failed", GIVEN_UP)
    assert list(outcome.samples.warmup) == [1]


def test_a_client_cleans_up_once_the_operations_of_all_have_ended() -> None:
    happened: list[str] = []

    def end() -> None:
        time.sleep(0.5)
        happened.append("the others have ended")

    def measure() -> None:
        order = order_of(0, split(a_spec(NoOp()))[0])
        assert receive(measure_as_client(order, Told(StartSignal, end), lambda: False)).status == "measured"
        happened.append("this one has cleaned up")

    measure()
    assert happened == ["the others have ended", "this one has cleaned up"]


@pytest.mark.slow
def test_a_client_waits_for_the_end_of_others_no_longer_than_its_time_for_operations() -> None:
    order = replace(order_of(0, split(a_spec(NoOp()))[0]), timeout_s=5.0)
    never = threading.Event()

    def wait_in_vain() -> None:
        never.wait(60)

    started = time.monotonic()
    payload = measure_as_client(order, Told(StartSignal, wait_in_vain), lambda: False)
    never.set()
    assert receive(payload).status == "measured"
    assert 4.0 < time.monotonic() - started < 20


def test_a_client_for_which_nobody_waits_is_stopped_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([False, False])
    order = order_of(0, split(a_spec(NoOp(), iterations=10**7))[0])
    monkeypatch.setattr(client, "_LOOK_EVERY_S", 0.2)
    started = time.monotonic()
    payload = measure_as_client(order, Told(StartSignal), lambda: next(looks, True))
    assert receive(payload).reason == "nobody waits for this client any longer; the block was stopped"
    assert time.monotonic() - started < 20


def test_a_client_that_cannot_connect_fails_without_waiting_for_anybody() -> None:
    asked: list[str] = []

    def begin() -> StartSignal:
        asked.append("ready")
        return StartSignal()

    order = order_of(0, split(a_spec(Boto3Api()))[0])
    outcome = receive(measure_as_client(order, Told(begin), lambda: False))
    assert outcome.status == "failed"
    assert "Unable to locate credentials" in outcome.reason
    assert asked == []


def test_a_client_on_another_host_has_the_environment_and_the_files_of_that_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(client, "_HERE", client._Here())
    monkeypatch.setenv("MINE", "1")
    part = split(a_spec(NoOp()).model_copy(update={"scratch_folder": tmp_path / "of the run"}))[0]
    there = order_of(0, part, elsewhere=True)
    assert client._environment(there)["MINE"] == "1"
    with client._scratch(there, part) as told:
        assert told.scratch_folder is not None
        assert told.scratch_folder.is_dir()
        assert tmp_path not in told.scratch_folder.parents
    assert not told.scratch_folder.exists()
    with pytest.raises(RuntimeError, match="handed no environment"):
        client._environment(order_of(0, part))


def test_what_is_handed_over_is_not_shown() -> None:
    handed = HandedOver({"AWS_SECRET_ACCESS_KEY": "a-secret"})
    assert handed.environment == {"AWS_SECRET_ACCESS_KEY": "a-secret"}
    assert "a-secret" not in f"{handed!r} {handed}"


def test_hosts_with_other_code_or_other_versions_are_unlike_and_it_is_said_how() -> None:
    ours = installation()
    assert {"this project's code", "Python", "boto3", "distributed", "prefect"} <= ours.keys()
    assert why_unlike(ours, installation()) == ""
    theirs = {**ours, "boto3": "1.0"}
    del theirs["obstore"]
    assert why_unlike(ours, theirs) == (
        f"boto3 1.0 (here {ours['boto3']}), obstore missing (here {ours['obstore']})"
    )


def test_a_server_that_does_not_answer_to_a_host_is_unreachable_from_it() -> None:
    assert "refused" in why_unreachable("http://127.0.0.1:9/api")
    assert why_unreachable("no address")
