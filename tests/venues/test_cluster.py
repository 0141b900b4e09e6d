"""Which workers of a Dask cluster run clients, and how far their hosts' clocks are from ours."""

import pytest

from tasks.venues.cluster import Clock, clock_of, places, why_apart


def workers(**hosts: int) -> dict[str, dict[str, object]]:
    """Two workers on each host, with so many threads each."""
    return {
        f"tcp://{host}:{port}": {"host": host, "nthreads": threads}
        for host, threads in hosts.items()
        for port in (1, 2)
    }


def test_clients_are_spread_over_hosts_first_then_over_workers_then_over_threads() -> None:
    cluster = workers(a=2, b=1)
    assert places(cluster, 2) == ["tcp://a:1", "tcp://b:1"]
    assert places(cluster, 4) == ["tcp://a:1", "tcp://b:1", "tcp://a:2", "tcp://b:2"]
    assert places(cluster, 6) == [*places(cluster, 4), "tcp://a:1", "tcp://a:2"]


def test_there_are_no_more_places_than_threads() -> None:
    assert len(places(workers(a=2, b=1), 256)) == 6
    assert places({}, 2) == []


def test_a_clock_is_only_surely_apart_by_what_asking_cannot_explain() -> None:
    """Asked at 1000 ms, answered at 1004 ms: the other clock was read in between, at 1002 ± 2 ms."""
    ahead = clock_of(1_000_000_000, 1_842_000_000, 1_004_000_000)
    assert (ahead.ahead_ms, ahead.within_ms) == pytest.approx((840.0, 2.0))
    assert ahead.surely_apart_ms == pytest.approx(838.0)
    behind = clock_of(1_000_000_000, 902_000_000, 1_004_000_000)
    assert (behind.ahead_ms, behind.surely_apart_ms) == pytest.approx((-100.0, 98.0))
    assert Clock(ahead_ms=1.5, within_ms=2.0).surely_apart_ms == 0.0
    assert Clock(ahead_ms=1.5, within_ms=2.0).ahead_us == 0, "it may show the same as ours"
    assert (ahead.ahead_us, behind.ahead_us) == (840_000, -100_000)


def test_clients_cannot_begin_together_by_clocks_that_are_far_apart_or_that_nobody_can_read() -> None:
    near = {"tcp://a:1": Clock(-95.0, 2.0)}
    assert why_apart(near, 100.0) == ""
    far = why_apart(near | {"tcp://b:1": Clock(180.0, 2.0)}, 100.0)
    assert far.startswith("the clock of the host of the Dask worker tcp://b:1 is +180 ms from the one here")
    unclear = why_apart(near | {"tcp://b:1": Clock(20.0, 240.0)}, 100.0)
    assert "tcp://b:1 can only be read to within 240 ms" in unclear
