"""The slow rule alone, on series whose right answers are known; tests/bench measures how often it errs."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.stats.common_mode import Logs
from tasks.stats.slow_rule import SLOW_RULE, slow_firings

NOISE = 0.03


def noisy(n: int, seed: int, rows: int = 1) -> NDArray[np.float64]:
    """Nightly logarithms; two configurations at most, so that nothing is common."""
    return np.random.default_rng(seed).normal(0, NOISE, (rows, n))


def of(values: NDArray[np.float64]) -> Logs:
    return Logs(values, [np.arange(len(values))])


def test_a_small_step_that_stays_is_found_with_its_first_night_its_size_and_the_noise() -> None:
    values = noisy(140, 1)
    values[0, 100:] += np.log(1.1)
    (firing,) = slow_firings(of(values), SLOW_RULE)
    assert 98 <= firing.since <= 102
    assert 102 < firing.night <= 112
    assert firing.effect == pytest.approx(np.log(1.1), abs=0.03)
    assert firing.noise == pytest.approx(NOISE, rel=0.3)
    assert firing.before.tolist() == list(range(firing.since))
    assert firing.recent.tolist() == list(range(firing.since, firing.night + 1))


def test_a_step_that_is_found_with_its_fourth_night_begins_with_its_first() -> None:
    values = noisy(140, 9, rows=40) / 3
    values[:, 100:] += np.log(1.2)
    found = list(slow_firings(of(values), SLOW_RULE))
    assert sum(firing.night == 103 for firing in found) >= 10
    assert {firing.since for firing in found} == {100}
    assert [firing.effect for firing in found] == pytest.approx([np.log(1.2)] * 40, abs=0.025)


@pytest.mark.parametrize("size", [0.3, 1.0, -1.0])
def test_three_wild_nights_are_no_lasting_change_however_wild(size: float) -> None:
    values = noisy(160, 2, rows=40)
    quiet = [firing.row for firing in slow_firings(of(values), SLOW_RULE)]
    values[:, 120:123] += size
    fired = {firing.row for firing in slow_firings(of(values), SLOW_RULE)} - set(quiet)
    assert len(fired) <= 4, "those whose other nights lean that way as well"


def test_a_step_is_found_back_again_ten_nights_later() -> None:
    values = noisy(160, 3)
    values[0, 100:118] += np.log(1.2)
    found = list(slow_firings(of(values), SLOW_RULE))
    assert [
        (firing.direction, abs(firing.since - at) <= 2) for firing, at in zip(found, (100, 118), strict=True)
    ] == [
        (1, True),
        (-1, True),
    ]


def test_missing_nights_are_passed_over() -> None:
    values = noisy(200, 4)
    values[0, 150:] += np.log(1.12)
    values[0, np.random.default_rng(5).random(200) < 0.3] = np.nan
    (firing,) = slow_firings(of(values), SLOW_RULE)
    assert 145 <= firing.since <= 155
    assert np.isfinite(values[0, [*firing.before, *firing.recent]]).all()


def test_nights_that_resemble_one_another_need_more_of_them() -> None:
    white = noisy(130, 6, rows=60)
    like = white.copy()
    for night in range(1, 130):
        like[:, night] = 0.7 * like[:, night - 1] + np.sqrt(1 - 0.7**2) * white[:, night]
    for values in (white, like):
        values[:, 100:] += np.log(1.12)
    delay = {
        name: float(
            np.mean([firing.night for firing in slow_firings(of(values), SLOW_RULE) if firing.night >= 100])
        )
        for name, values in (("white", white), ("like", like))
    }
    assert delay["like"] > delay["white"] + 1


def test_a_step_below_the_noise_or_below_5_percent_is_none() -> None:
    values = noisy(140, 7) / 6
    values[0, 100:] += np.log(1.04)
    assert list(slow_firings(of(values), SLOW_RULE)) == []
    assert len(list(slow_firings(of(values), replace(SLOW_RULE, change=0.03)))) == 1
    noisier = 4 * noisy(140, 7)
    noisier[0, 100:] += np.log(1.1)
    assert list(slow_firings(of(noisier), SLOW_RULE)) == []


@pytest.mark.parametrize("n", [0, 1, 14, 25])
def test_too_few_nights_have_no_change(n: int) -> None:
    values = noisy(n, 8, rows=3)
    values[0, n // 2 :] += 1
    assert list(slow_firings(of(values), SLOW_RULE)) == []
