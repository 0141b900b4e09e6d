"""Levels of made-up series, whose steps are known."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.stats import levels as module
from tasks.stats.levels import change_points, series_levels
from tasks.stats.panels import Panel, SeriesKey
from tasks.stats.regressions import changes

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)


def panel_of(logs: NDArray[np.float64]) -> Panel:
    """Rows are configurations, columns nights."""
    n = logs.shape[1]
    keys = tuple(SeriesKey(f"config-{row:02}", "read", "read", "") for row in range(len(logs)))
    nights = tuple(FIRST + timedelta(days=day) for day in range(n))
    return Panel("p50", nights, keys, 1e7 * np.exp(logs), np.full(logs.shape, 300), Counter())


def noisy(n: int, rows: int = 1, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(0, 0.03, (rows, n))


def test_the_segmentation_is_the_cheapest_of_all_there_are() -> None:
    for seed in range(4):
        values = noisy(22, seed=seed)[0]
        values[9:] += 0.2
        similarity = module._similarity(values)
        price = np.log(22)

        def cost(points: tuple[int, ...], similarity: NDArray[np.float64] = similarity) -> float:
            parts = np.split(np.arange(22), points)
            return sum(len(part) - similarity[np.ix_(part, part)].sum() / len(part) for part in parts)

        every = [
            points
            for count in range(4)
            for points in combinations(range(5, 18), count)
            if (np.diff([0, *points, 22]) >= 5).all()
        ]
        best = min(every, key=lambda points: cost(points) + price * len(points))
        assert change_points(values) == list(best)


def test_a_series_has_its_levels_with_dates_values_and_ratios() -> None:
    logs = noisy(90)
    logs[0, 40:] += np.log(1.2)
    logs[0, 70:] -= np.log(1.2)
    (one,) = series_levels(panel_of(logs))
    assert [level.nights for level in one.levels] == [level.last - level.first + 1 for level in one.levels]
    assert [abs(level.first - at) <= 2 for level, at in zip(one.levels, (0, 40, 70), strict=True)] == [
        True
    ] * 3
    assert one.levels[0].ratio is None
    assert [level.ratio for level in one.levels[1:]] == [
        pytest.approx(1.2, rel=0.03),
        pytest.approx(1 / 1.2, rel=0.03),
    ]
    assert one.levels[1].value_ns == pytest.approx(1.2e7, rel=0.02)
    assert one.noise == pytest.approx(0.03, rel=0.3)


def test_a_step_below_the_noise_of_its_series_is_dropped() -> None:
    logs = noisy(200)
    logs[0, 100:] += 0.025
    assert len(series_levels(panel_of(logs))[0].levels) == 1
    logs[0, 100:] += 0.05
    assert len(series_levels(panel_of(logs))[0].levels) == 2


def test_what_all_share_is_a_series_of_its_own_and_no_step_of_each() -> None:
    logs = noisy(80, rows=6)
    logs[:, 50:] += np.log(1.3)
    found = series_levels(panel_of(logs))
    assert [len(one.levels) for one in found] == [1, 1, 1, 1, 1, 1, 2]
    common = found[-1]
    assert (common.key, common.levels[1].value_ns) == (None, None)
    assert common.levels[1].ratio == pytest.approx(1.3, rel=0.03)


def test_gaps_are_passed_over_and_a_level_counts_the_nights_it_has() -> None:
    logs = noisy(80)
    logs[0, 40:] += np.log(1.3)
    logs[0, [3, 4, 39, 40, 60]] = np.nan
    (one,) = series_levels(panel_of(logs))
    assert [(level.first, level.last, level.nights) for level in one.levels] == [(0, 38, 37), (41, 79, 38)]


def test_a_slow_rise_is_told_as_drift_and_a_step_is_not() -> None:
    rising = noisy(160) / 2 + np.linspace(0, np.log(1.3), 160)
    (drift,) = series_levels(panel_of(rising))
    assert len(drift.levels) > 1
    assert all(level.is_drift for level in drift.levels[1:])
    stepped = noisy(160) / 2
    stepped[0, 80:] += np.log(1.3)
    (step,) = series_levels(panel_of(stepped))
    assert [level.is_drift for level in step.levels] == [False, False]


def test_a_young_change_that_was_found_begins_a_level_of_its_own() -> None:
    logs = noisy(45)
    logs[0, 40:] += np.log(1.6)
    panel = panel_of(logs)
    found = changes([panel])
    assert [change.status for change in found] == ["confirmed"]
    assert series_levels(panel, found)[0].levels[-1].first == 40


@pytest.mark.parametrize("n", [0, 1, 2, 4, 9])
def test_few_nights_are_one_level(n: int) -> None:
    found = series_levels(panel_of(noisy(n, rows=2)))
    assert [len(one.levels) for one in found] == ([1, 1] if n else [])


def test_equal_values_are_one_level_without_noise() -> None:
    (one,) = series_levels(panel_of(np.zeros((1, 30))))
    assert (len(one.levels), one.noise) == (1, 0.0)
