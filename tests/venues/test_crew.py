"""Blocks of several clients on a real Dask cluster, and all that may go wrong with them."""

import os
from collections.abc import Iterator
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
from tasks.venues.places import Place
from tasks.venues.together import split

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


@pytest.fixture
def setting(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    settled: list[str] = []
    deaths: list[str] = []
    broken: list[str] = []

    def submit(order: Order, worker: str) -> Submitted:
        with on_worker(worker):
            return Submitted(client.submit(measure_client.fn, order), deaths)

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
        Launch(settle=lambda: settled.append("settled")),
    )
    return Setting(venue, settled, deaths, broken)


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
