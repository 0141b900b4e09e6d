"""Blocks of several clients on a real Dask cluster, and all that may go wrong with them."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

from configs.access_paths import NoOp
from configs.block import BlockSpec
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration, Suite
from configs.targets import BucketTarget
from configs.workloads import BlobWrite
from tasks.fan_out import measure_client
from tasks.venues import crew
from tasks.venues.client import Order, running_clients
from tasks.venues.cluster import QUIET, Clock, Cluster, of_our_own, on_worker, silence
from tasks.venues.crew import VenueOfClients
from tasks.venues.launch import Launch
from tasks.venues.local import LocalVenue
from tasks.venues.meeting import Meeting
from tasks.venues.places import Place
from tasks.venues.together import split
from tasks.venues.wire import GIVEN_UP, BlockOutcome, StartSignal, receive

pytestmark = pytest.mark.slow

TARGET = BucketTarget(bucket="unused")
CONFIGURATION = Configuration(access_path=NoOp(), target="t", clients=2)
WORKLOAD = BlobWrite(size=64)


def a_spec(iterations: int = 50) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=CONFIGURATION,
            workload=WORKLOAD,
            target=TARGET,
        ),
        block=0,
        iterations=iterations,
        warmup=1,
        seed=1,
        write_prefix="p/",
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    silence()
    settings = QUIET | {"temporary-directory": str(tmp_path_factory.mktemp("dask"))}
    with dask.config.set(settings), LocalCluster(**of_our_own(2)) as cluster, Client(cluster) as one:
        yield one


def now_us() -> int:
    return time.time_ns() // 1000


def started_us(outcome: BlockOutcome, worker: int, *, warmup: bool) -> list[int]:
    """When a client began its operations."""
    samples = outcome.samples
    return [
        at_us
        for row, at_us in enumerate(samples.integers["started_us"])
        if samples.integers["worker"][row] == worker and bool(samples.warmup[row]) == warmup
    ]


@dataclass
class Submitted:
    """A client as Dask knows it, without Prefect."""

    future: Any
    deaths: list[str]

    def payload(self) -> bytes:
        payload: bytes = self.future.result()
        return payload

    def record_death(self) -> None:
        self.deaths.append("died")


@dataclass
class Setting:
    """What a venue needs, and what is seen of it."""

    venue: VenueOfClients
    settled: list[str]
    deaths: list[str]
    broken: list[str]
    settled_us: list[int]
    """When the recorder was waited for."""
    ended_us: dict[int, int]
    """When each client came back, by its number."""


@pytest.fixture
def setting(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    settled: list[str] = []
    deaths: list[str] = []
    broken: list[str] = []
    settled_us: list[int] = []
    ended_us: dict[int, int] = {}

    def submit(order: Order, worker: str) -> Submitted:
        with on_worker(worker):
            future = client.submit(measure_client.fn, order)
        future.add_done_callback(lambda _: ended_us.setdefault(order.number, now_us()))
        return Submitted(future, deaths)

    def settle() -> None:
        settled.append("settled")
        settled_us.append(now_us())

    monkeypatch.setattr(Place, "what_is_broken", lambda _: "".join(broken))
    suite = Suite(
        name="s", targets={"t": TARGET}, configurations={"c": CONFIGURATION}, workloads={"w": WORKLOAD}
    )
    environment = {"PATH": os.environ["PATH"]}
    venue = VenueOfClients(
        LocalVenue(environment, 60.0),
        Cluster(client, submit, recorder_url=None),
        60.0,
        Place(suite, environment, {}, tmp_path),
        Launch(settle=settle),
    )
    return Setting(venue, settled, deaths, broken, settled_us, ended_us)


def test_clients_begin_after_all_were_ready_and_the_recorder_was_quiet(setting: Setting) -> None:
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 100)
    assert outcome.proof is not None
    assert outcome.proof["clients"] == "2 of 2 to the end"
    assert setting.settled == ["settled"] * 2, "before the start, and after the end"
    alone = a_spec().model_copy(
        update={
            "cell": a_spec().cell.model_copy(
                update={"configuration": CONFIGURATION.model_copy(update={"clients": 1})}
            )
        }
    )
    assert len(setting.venue.run(alone).samples) == 50
    assert setting.settled == ["settled"] * 2, "nobody else had to be quiet for one client"


def test_a_late_client_is_said_and_the_next_block_is_told_earlier(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_LEAD_S", -0.5)  # the moment has passed when they are told of it
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, len(outcome.samples)) == ("measured", 100)
    assert outcome.proof is not None
    assert outcome.proof["late_clients"].startswith("client 0 began ")
    assert setting.venue._more_lead == 2.0
    monkeypatch.undo()
    assert setting.venue.run(a_spec()).proof.keys().isdisjoint({"late_clients"})  # type: ignore[union-attr]
    assert setting.venue._more_lead == 1.0, "and later again after a block in time"


def test_the_recorder_is_waited_for_before_anybody_connects_and_warms_up(setting: Setting) -> None:
    outcome = setting.venue.run(a_spec())
    for number in range(2):
        assert setting.settled_us[0] < min(started_us(outcome, number, warmup=True))


def test_a_client_that_has_ended_cleans_up_after_the_operations_of_all(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = split(a_spec(iterations=300_000))
    monkeypatch.setattr(crew, "split", lambda _: (short.model_copy(update={"iterations": 2}), long))
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, len(outcome.samples)) == ("measured", 300_002)
    counted = started_us(outcome, 1, warmup=False)
    assert counted[-1] - counted[0] > 500_000, "it measured for long enough to be seen"
    assert setting.ended_us[0] > counted[-1]


def test_a_client_whose_clock_is_ahead_is_told_the_start_by_it_and_its_samples_are_on_that_of_the_run(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clocks here are equal: a client said to be 95 ms behind begins so much before the other one."""
    told: list[StartSignal] = []

    def tell(meeting: Meeting, signals: Sequence[StartSignal]) -> None:
        told.extend(signals)
        original(meeting, signals)

    original = Meeting.tell
    monkeypatch.setattr(Meeting, "tell", tell)
    monkeypatch.setattr(VenueOfClients, "_elsewhere", True)
    monkeypatch.setattr(
        crew,
        "clocks",
        lambda _, workers: dict(zip(workers, (Clock(0.5, 1.0), Clock(-95.0, 1.0)), strict=True)),
    )
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, outcome.reason) == ("measured", "")
    assert told[0].start_us - told[1].start_us == 95_000
    start_us = told[0].start_us
    assert min(started_us(outcome, 1, warmup=False)) >= start_us, "put back on the clock of the run"
    assert outcome.proof is not None
    assert outcome.proof["clocks_apart_ms"] == "96.00"


def test_what_was_measured_is_kept_where_the_cluster_cannot_be_tidied(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the scheduler answers nonsense")

    monkeypatch.setattr(VenueOfClients, "_stop", broken)
    monkeypatch.setattr(Meeting, "close", broken)
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("measured", "", 100)


def test_what_others_brought_back_is_kept_where_the_scheduler_is_lost(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: Client) -> Mapping[str, Mapping[str, Any]]:
        raise ConnectionError("its scheduler does not answer")

    def alive(one: Client) -> Mapping[str, Mapping[str, Any]]:
        return next(looks, lost)(one)

    looks = iter([crew.workers_of])
    monkeypatch.setattr(crew, "workers_of", alive)
    monkeypatch.setattr(crew, "_LOOK_EVERY_S", 0.5)
    outcome = setting.venue.run(a_spec(iterations=300_000))
    assert outcome.status == "failed"
    assert "the Dask scheduler was lost, and with it what the client measured" in outcome.reason


def test_a_client_that_dask_starts_a_second_time_is_refused(client: Client) -> None:
    meeting = Meeting(client, "of-a-second-start", 1)
    try:
        order = Order(
            0, "again", "of-a-second-start", split(a_spec())[0].model_dump_json().encode(), 60.0, False
        )
        meeting.go_on()
        again = receive(client.submit(measure_client.fn, order, pure=False).result(timeout=30))
    finally:
        meeting.close()
    assert (again.status, again.reason, len(again.samples)) == ("failed", GIVEN_UP, 0)


def test_clients_whose_clocks_are_apart_do_not_begin_and_it_is_said_what_helps(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VenueOfClients, "_elsewhere", True)
    monkeypatch.setattr(crew, "clocks", lambda _, workers: dict.fromkeys(workers, Clock(-840.0, 2.0)))
    outcome = setting.venue.run(a_spec())
    assert outcome.status == "failed"
    assert "-840 ms from the one here" in outcome.reason
    assert "keep both in step (NTP)" in outcome.reason
    assert outcome.reason.startswith("each of 2 clients: ")
    assert list(outcome.samples.warmup) == [1, 1], "the warm-ups of both are kept"
    assert outcome.proof is not None
    assert outcome.proof["clocks_apart_ms"] == "842.00"


def test_clients_are_stopped_where_what_they_need_breaks(
    setting: Setting, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_LOOK_EVERY_S", 0.5)
    answers = iter(["", ""])
    monkeypatch.setattr(Place, "what_is_broken", lambda _: next(answers, "the lab is broken"))
    outcome = setting.venue.run(a_spec(iterations=1_500_000))
    assert outcome.status == "failed"
    assert outcome.reason == "each of 2 clients: the lab is broken; the client was stopped"
    assert sum(client.run(running_clients).values()) == 0
    before = setting.venue.run(a_spec())
    assert (before.status, before.reason) == ("failed", "the lab is broken")


def test_a_client_that_is_not_ready_in_time_is_named_and_the_others_keep_their_warm_ups(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_READY_WITHIN_S", 3.0)
    monkeypatch.setattr(crew, "_READY_WITHIN_S_EACH", 0.0)
    parts = split(a_spec())
    slow = parts[1].model_copy(update={"iterations": 2_000_000, "warmup": 1_999_999})
    monkeypatch.setattr(crew, "split", lambda _: (parts[0], slow))
    outcome = setting.venue.run(a_spec())
    assert (outcome.status, outcome.reason) == ("failed", "client 1 of 2: it was not ready within 3 s")
    assert 0 in outcome.samples.integers["worker"]


def test_more_clients_than_the_cluster_has_threads_for_are_refused(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_WORKERS_WITHIN_S", 0.1)
    many = CONFIGURATION.model_copy(update={"clients": 3})
    cell = a_spec().cell.model_copy(update={"configuration": many})
    outcome = setting.venue.run(a_spec().model_copy(update={"cell": cell}))
    assert (outcome.status, outcome.reason) == (
        "failed",
        "the Dask cluster has 2 threads for 3 clients: start more workers, or give fewer clients",
    )
    assert setting.deaths == []
