import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.stats.quantiles import interval_ranks, nearest_rank, quantile


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=400), st.sampled_from([50, 90, 99]))
@settings(max_examples=200, deadline=None)
def test_the_quantile_is_numpys_inverted_cdf(times: list[int], percent: int) -> None:
    ordered = np.sort(np.array(times, dtype=np.int64))
    expected = np.quantile(ordered, percent / 100, method="inverted_cdf")
    assert quantile(ordered, percent).value_ns == expected


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11, 99, 100, 101, 525])
def test_the_quantile_is_duckdbs_quantile_disc(n: int) -> None:
    ordered = np.arange(n, dtype=np.int64) * 7 + 3
    found = duckdb.sql(
        f"SELECT quantile_disc(range * 7 + 3, [0.5, 0.9, 0.99]) FROM range({n})"  # noqa: S608 - a number of ours
    ).fetchall()
    assert [quantile(ordered, percent).value_ns for percent in (50, 90, 99)] == found[0][0]


@pytest.mark.parametrize(
    ("n", "percent", "ranks"),
    [
        (5, 50, (None, None)),
        (6, 50, (1, 6)),
        (35, 90, (28, None)),
        (36, 90, (29, 36)),
        (100, 99, (97, None)),
        (367, 99, (359, None)),
        (368, 99, (360, 368)),
        (1000, 99, (983, 997)),
    ],
)
def test_a_bound_that_the_sample_is_too_small_for_is_missing(
    n: int, percent: int, ranks: tuple[int | None, int | None]
) -> None:
    assert interval_ranks(n, percent) == ranks


def test_the_interval_covers_the_true_quantile_as_often_as_it_claims() -> None:
    noise = np.random.default_rng(7)
    true_p90 = 1_000_000 * np.exp(0.25 * 1.2815515655446004)
    hits = 0
    for _ in range(1000):
        times = np.sort((1_000_000 * noise.lognormal(0, 0.25, 100)).astype(np.int64))
        found = quantile(times, 90)
        assert found.low_ns is not None
        assert found.high_ns is not None
        hits += found.low_ns <= true_p90 <= found.high_ns
    assert hits >= 935  # 95 % nominal; 1000 draws scatter by 0.7 %


@pytest.mark.parametrize(("errors", "bounded"), [(0, True), (5, True), (6, False)])
def test_more_errors_than_the_quantile_leaves_room_for_take_its_upper_bound_away(
    errors: int, bounded: bool
) -> None:
    found = quantile(np.arange(500, dtype=np.int64), 99, errors)
    assert (found.high_ns is not None) is bounded
    assert found.low_ns is not None


def test_ranks_are_exact_where_floating_point_is_not() -> None:
    assert [nearest_rank(n, 99) for n in (1, 100, 101, 10_000)] == [1, 99, 100, 9900]
