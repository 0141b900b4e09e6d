"""Coordinated omission: a service that stalls, asked by a closed loop and by an open one."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from configs.access_paths import Boto3Api
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.workloads import BlobRead
from tasks.kernel.samples import SampleColumns
from tasks.venues.block import run_block
from tests.access.conftest import EMPTY_LISTING

if TYPE_CHECKING:
    from tests.access.conftest import SlowServer

STALL_S, RATE_PER_S, LASTS_S = 0.4, 100, 1.2


@pytest.fixture
def reads_through_a_stall(server: "SlowServer") -> Callable[[float | None], SampleColumns]:
    """Reads for some seconds, within which the server gives no answer for a while."""
    sha256 = hashlib.sha256(EMPTY_LISTING).hexdigest()
    item = DatasetObject(key="k", size_bytes=len(EMPTY_LISTING), sha256=sha256)

    def measured(rate_per_s: float | None) -> SampleColumns:
        # In a closed loop each answer takes as long as there is between two requests of the open one.
        server.before_headers_s = 0.001 if rate_per_s else 1 / RATE_PER_S
        workload = BlobRead(
            dataset="d", iterations=int(LASTS_S * RATE_PER_S), warmup=0, rate_per_s=rate_per_s, concurrency=1
        )
        spec = BlockSpec(
            run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
            cell=Cell(
                config_id="c",
                workload_id="w",
                configuration=Configuration(access_path=Boto3Api(), target="t"),
                workload=workload,
                target=server.target,
            ),
            block=0,
            iterations=workload.iterations,
            warmup=0,
            seed=1,
            objects=(item,),
        )
        server.stalls_at, server.stall_s = server.requests + 30, STALL_S
        outcome = run_block(spec)
        assert (outcome.status, outcome.reason) == ("measured", "")
        assert outcome.samples.failures == {}
        return outcome.samples

    return measured


def percentile_ms(values_ns: object, percent: float) -> float:
    return float(np.percentile(np.array(values_ns), percent)) / 1e6


def test_a_stall_is_one_slow_sample_of_a_closed_loop_and_many_of_an_open_one(
    reads_through_a_stall: Callable[[float | None], SampleColumns],
) -> None:
    closed = reads_through_a_stall(None).integers
    assert "response_ns" not in closed
    # A busy machine makes one or two more slow.
    assert 1 <= sum(ns > 0.1e9 for ns in closed["total_ns"]) <= 4
    assert max(closed["total_ns"]) > 0.8 * STALL_S * 1e9
    assert percentile_ms(closed["total_ns"], 90) < 100, "the closed loop asked for nothing meanwhile"

    paced = reads_through_a_stall(RATE_PER_S).integers
    assert 1 <= sum(ns > 0.1e9 for ns in paced["total_ns"]) <= 4, "the service itself was slow once"
    kept_waiting = sum(ns > 0.1e9 for ns in paced["response_ns"])
    assert kept_waiting > 0.8 * (STALL_S - 0.1) * RATE_PER_S, "all that was due in the stall"
    assert percentile_ms(paced["response_ns"], 90) > 150
    # Whoever came at a moment of the stall waited for the rest of it: half of it on average.
    mean_ms = sum(paced["response_ns"]) / len(paced["response_ns"]) / 1e6
    assert mean_ms > 0.8 * (STALL_S * RATE_PER_S * STALL_S / 2) / (LASTS_S * RATE_PER_S) * 1000
