"""What the rule promises is measured on simulated nights, whose right answers are known."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.stats.common_mode import common_factors
from tasks.stats.fast_rule import FAST_RULE
from tasks.stats.panels import Panel, SeriesKey, Statistic
from tasks.stats.regressions import Change, changes
from tasks.stats.slow_rule import SLOW_RULE

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
SAMPLES = 300
STEADY = np.array([1.00, 1.01, 0.99, 1.02, 0.98])
"""Nights that differ by a little, again and again: a robust standard deviation of 1.5 %."""


def nights(n: int) -> tuple[datetime, ...]:
    return tuple(FIRST + timedelta(days=day) for day in range(n))


def panel_of(values: NDArray[np.float64], statistic: Statistic = "p50") -> Panel:
    """Rows are configurations, columns nights; milliseconds."""
    keys = tuple(SeriesKey(f"config-{row:02}", "read", "read", "") for row in range(len(values)))
    return Panel(
        statistic, nights(values.shape[1]), keys, values * 1e6, np.full(values.shape, SAMPLES), Counter()
    )


def steady(n: int) -> NDArray[np.float64]:
    return np.resize(STEADY, n) * 10.0


@dataclass(frozen=True)
class Bed:
    """Nightly quantiles of 300 raw samples: a lognormal body and 2 % of slow requests.

    Nights are autocorrelated: 5 % of all configurations together and 3 % of each on its own. 3 % of all
    values are wild, by 1.3 to 3, and 15 % of the nights were not measured.
    """

    configurations: int = 20
    nights: int = 400
    wild: float = 0.03
    missing: float = 0.15

    def panels(self, seed: int, step_at: int | None = None, step: float = 0.0) -> tuple[Panel, ...]:
        """Of p50 and p90; the first configuration has the step."""
        rng = np.random.default_rng(seed)
        shape = (self.configurations, self.nights)
        logs = _autocorrelated(rng, shape, 0.03) + _autocorrelated(rng, (self.nights,), 0.05)
        if step_at is not None:
            logs[0, step_at:] += np.log1p(step)
        logs += np.where(rng.random(shape) < self.wild, np.log(rng.uniform(1.3, 3, shape)), 0.0)
        kept = np.flatnonzero(rng.random(self.nights) >= self.missing)
        keys = tuple(SeriesKey(f"config-{row:02}", "read", "read", "") for row in range(self.configurations))
        days = tuple(FIRST + timedelta(days=day) for day in kept.tolist())
        samples = _samples(rng, (*shape, SAMPLES))
        shares: dict[Statistic, float] = {"p50": 0.5, "p90": 0.9}
        return tuple(
            Panel(
                statistic,
                days,
                keys,
                (1e7 * np.exp(logs) * samples[..., round(SAMPLES * share) - 1])[:, kept],
                np.full((self.configurations, len(kept)), SAMPLES),
                Counter(),
            )
            for statistic, share in shares.items()
        )


def _autocorrelated(
    rng: np.random.Generator, shape: tuple[int, ...], sd: float, phi: float = 0.3
) -> NDArray[np.float64]:
    noise = rng.normal(0, sd, shape)
    noise[..., 1:] *= np.sqrt(1 - phi**2)
    for night in range(1, shape[-1]):
        noise[..., night] += phi * noise[..., night - 1]
    return noise


def _samples(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Sorted raw samples, as single precision floats to be quick."""
    body = np.exp(0.25 * rng.standard_normal(shape, dtype=np.float32))
    slow = rng.random(shape, dtype=np.float32) < 0.02
    body[slow] = 2 * body[slow] + rng.standard_exponential(int(slow.sum()), dtype=np.float32)
    body.sort(axis=-1)
    return body


@pytest.mark.slow
def test_false_alarms_are_fewer_than_one_in_ten_years_of_a_series() -> None:
    bed, found, series_years = Bed(), 0, 0.0
    for seed in range(2):  # centuries of them are in tests/bench
        panels = bed.panels(seed)
        found += len(changes(panels))
        series_years += sum(one.values_ns.size for one in panels) / ((1 - bed.missing) * 365)
    assert series_years > 80
    assert found <= 0.1 * series_years


@pytest.mark.parametrize(("step", "by_night"), [(0.3, 3), (-0.25, 8)])
def test_a_step_of_30_percent_is_found_within_3_nights_and_one_down_as_soon_as_no_wild_night_hides_it(
    step: float, by_night: int
) -> None:
    tried = found = 0
    for seed in range(40):
        (p50, _) = Bed(configurations=12, nights=62).panels(1000 + seed, step_at=45, step=step)
        after = [night for night in p50.nights if night >= nights(46)[45]]
        if len(p50.nights) - len(after) < FAST_RULE.before:
            continue  # too many of the nights before it are missing
        tried += 1
        mine = [change for change in changes([p50]) if change.series == p50.keys[0]]
        # A wild night just before the step may be taken for its first one.
        found += any(after[0] <= change.known_at <= after[by_night - 1] for change in mine)
    assert tried >= 32
    assert found >= 0.95 * tried


def test_a_change_says_since_when_by_how_much_and_how_it_was_found() -> None:
    values = np.stack([steady(40), steady(40) * 2])
    values[0, 35:] *= 1.3
    (change,) = changes([panel_of(values)])
    assert change == Change(
        series=SeriesKey("config-00", "read", "read", ""),
        stage="total_ns",
        statistic="p50",
        since_at=nights(40)[35],
        known_at=nights(40)[37],
        ratio=pytest.approx(1.3, rel=0.02),
        before_ns=10_000_000,
        after_ns=13_000_000,
        nights_before=28,
        method="fast rule",
        settings=FAST_RULE,
        version="2",
        noise=pytest.approx(0.015, rel=0.05),
        nights_after=5,
        status="confirmed",
    )
    assert (change.since_dt, change.direction, change.name) == ("2026-02-05", "slower", "config-00/read read")


def test_a_change_is_found_both_ways() -> None:
    values = np.stack([steady(40), steady(40)])
    values[1, 35:] /= 1.3
    (change,) = changes([panel_of(values)])
    assert (change.direction, change.ratio) == ("faster", pytest.approx(1 / 1.3, rel=0.02))


@pytest.mark.parametrize("factor", [1.14, 1.6])
def test_two_nights_or_a_tiny_step_are_no_change(factor: float) -> None:
    values = np.stack([steady(60), steady(60)])
    values[0, 40:] *= 1.04
    values[1, 40:42] *= factor
    assert changes([panel_of(values)]) == ()


def test_a_change_that_goes_on_is_one_change_and_its_end_is_another() -> None:
    values = np.stack([steady(120), steady(120)])
    values[0, 40:80] *= 1.5
    found = changes([panel_of(values)])
    assert [(change.since_dt, change.direction) for change in found] == [
        ("2026-02-10", "slower"),
        ("2026-03-22", "faster"),
    ]


def test_looking_again_tomorrow_finds_the_same_again() -> None:
    whole = Bed(nights=120).panels(7, step_at=60, step=0.4)
    found = {night: changes(_until(whole, night)) for night in range(70, 100, 4)}
    assert found[70]
    for night, earlier in found.items():
        known = {_identity(change) for change in earlier}
        later = [_identity(change) for change in found[98] if change.known_at <= whole[0].nights[night - 1]]
        assert known == set(later)


def _identity(change: Change) -> tuple[object, ...]:
    return (change.series, change.statistic, change.since_at, change.known_at, change.ratio, change.method)


def _until(panels: tuple[Panel, ...], n: int) -> list[Panel]:
    return [
        replace(one, nights=one.nights[:n], values_ns=one.values_ns[:, :n], n=one.n[:, :n]) for one in panels
    ]


def test_what_all_configurations_share_is_one_change_and_not_one_of_each() -> None:
    values = np.stack([steady(40) * size for size in (1, 2, 3, 50)])
    values[:, 36:] *= 1.4
    found = changes([panel_of(values)])
    assert [(change.name, change.since_dt, change.before_ns) for change in found] == [
        ("all configurations", "2026-02-06", None)
    ]
    assert found[0].ratio == pytest.approx(1.4, rel=0.03)
    assert common_factors(panel_of(values))[36:] == pytest.approx([1.4] * 4, rel=0.05)


def test_a_change_of_one_is_found_although_the_night_slowed_all_of_them() -> None:
    weather = np.exp(np.random.default_rng(3).normal(0, 0.1, 60))
    values = np.stack([steady(60) * weather for _ in range(5)])
    values[2, 50:] *= 1.25
    found = changes([panel_of(values)])
    assert [change.name for change in found] == ["config-02/read read"]
    assert found[0].known_at == panel_of(values).nights[52]
    of_two = replace(
        panel_of(values),
        keys=tuple(SeriesKey(f"config-{row % 2}", f"w{row}", "read", "") for row in range(5)),
    )
    (late,) = changes([of_two])  # as it was measured
    assert late.known_at > found[0].known_at


def test_two_configurations_have_nothing_in_common_that_could_be_told_from_a_change() -> None:
    assert np.isnan(common_factors(panel_of(np.stack([steady(40), steady(40)])))).all()


@pytest.mark.parametrize("partial_nights", [1, 5])
def test_a_night_of_two_configurations_tells_nothing_again_that_changed_for_all_of_them(
    partial_nights: int,
) -> None:
    values = np.stack([steady(100) * size for size in (1, 2, 3, 4, 5)])
    values[:, 50:] *= 1.2
    values[2:, 62 : 62 + partial_nights] = np.nan
    found = changes([panel_of(values)])
    assert [(change.name, change.since_at) for change in found] == [("all configurations", nights(100)[50])]


def test_a_schedule_that_keeps_two_of_its_configurations_judges_them_by_the_nights_since() -> None:
    values = np.stack([steady(140) for _ in range(5)])
    values[2:, 60:] = np.nan
    values[0, 110:] *= 1.3
    found = changes([panel_of(values)])
    assert [(change.name, change.since_at, change.known_at) for change in found] == [
        ("config-00/read read", nights(140)[110], nights(140)[112])
    ]


@pytest.mark.parametrize("configurations", [1, 4])
def test_nights_without_any_noise_have_no_change_until_there_is_one(configurations: int) -> None:
    values = np.full((configurations, 80), 10.0)
    assert changes([panel_of(values)]) == ()
    values[0, 50:] *= 1.07
    (change,) = changes([panel_of(values)])
    assert (change.since_at, change.ratio) == (nights(80)[50], pytest.approx(1.07))


def test_a_night_that_nothing_has_a_value_of_is_passed_over() -> None:
    values = np.stack([steady(60) for _ in range(4)])
    values[0, 40:] *= 1.3
    values[:, [20, 41]] = np.nan
    (change,) = changes([panel_of(values)])
    assert (change.since_at, change.known_at) == (nights(60)[40], nights(60)[43])


def test_a_configuration_with_many_workloads_counts_once_in_what_is_common() -> None:
    keys = [("slow", f"w{number}") for number in range(9)] + [("a", "w"), ("b", "w")]
    values = np.stack([steady(40)] * len(keys))
    values[:9, 36:] *= 1.4
    many = replace(panel_of(values), keys=tuple(SeriesKey(*key, "read", "") for key in keys))
    found = changes([many])
    assert {change.series.config_id for change in found if change.series} == {"slow"}
    assert len(found) == 9


def test_missing_nights_are_passed_over_and_not_filled_in() -> None:
    values = np.stack([steady(60), steady(60)])
    values[0, 40:] *= 1.3
    values[0, [5, 11, 30, 41, 43]] = np.nan
    (change,) = changes([panel_of(values)])
    assert change.since_at == nights(60)[40]
    assert change.known_at == nights(60)[44]  # the third that was measured: 40, 42, 44
    values[0, 12] = np.nan
    values[0, :10] = np.nan
    (later,) = changes([panel_of(values)])
    assert later.known_at > change.known_at  # until then there are fewer than 28 nights before


def test_a_series_without_a_value_tonight_is_not_judged_by_its_older_ones() -> None:
    values = np.stack([steady(40), steady(40)])
    values[0, 36:] *= 1.3
    values[0, 38] = np.nan
    assert changes(_until((panel_of(values),), 39)) == ()
    assert len(changes([panel_of(values)])) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_too_few_nights_have_no_change(n: int) -> None:
    assert changes([panel_of(np.stack([steady(n) for _ in range(4)]))]) == ()


def test_a_step_of_10_percent_is_found_within_15_nights_by_the_slow_rule() -> None:
    found = []
    for seed in range(6):
        (p50, _) = Bed(nights=150).panels(2000 + seed, step_at=120, step=0.1)
        mine = [change for change in changes([p50]) if change.series == p50.keys[0]]
        by_night = [night for night in p50.nights if night >= nights(121)[120]][14]
        found += [
            change for change in mine if nights(121)[115] <= change.since_at and change.known_at <= by_night
        ]
    assert len(found) >= 5
    assert {(change.method, change.status, change.settings) for change in found} == {
        ("slow rule", "confirmed", SLOW_RULE)
    }
    assert np.median([change.ratio for change in found]) == pytest.approx(1.1, rel=0.03)


def test_a_change_that_both_rules_find_is_told_once_by_the_first() -> None:
    values = np.stack([steady(80), steady(80)])
    values[0, 50:] *= 1.4
    (change,) = changes([panel_of(values)])
    assert (change.method, change.known_at, change.nights_after) == ("fast rule", nights(80)[52], 30)


def test_a_change_is_watched_until_its_fifth_night_and_has_passed_where_it_did_not_last() -> None:
    stays = np.stack([steady(60), steady(60)])
    stays[0, 40:] *= 1.4
    passes = stays.copy()
    passes[0, 43:] /= 1.4
    seen = {
        name: [changes(_until((panel_of(values),), n))[0].status for n in (43, 44, 45, 60)]
        for name, values in (("stays", stays), ("passes", passes))
    }
    assert seen == {
        "stays": ["watching", "watching", "confirmed", "confirmed"],
        "passes": ["watching", "watching", "passed", "passed"],
    }


def test_a_second_step_in_the_same_direction_is_another_change() -> None:
    values = np.stack([steady(120), steady(120)])
    values[0, 60:] *= 1.1
    values[0, 80:] *= 1.3
    found = changes([panel_of(values)])
    assert [(change.since_at, change.ratio) for change in found] == [
        (nights(120)[60], pytest.approx(1.1, rel=0.02)),
        (nights(120)[80], pytest.approx(1.3, rel=0.15)),
    ]


def test_a_late_look_of_the_fast_rule_at_a_known_change_is_no_second_one() -> None:
    values = np.stack([steady(120), steady(120)])
    values[0, 60:] *= 1.13
    values[0, 72:76] *= 1.05
    found = changes([panel_of(values)])
    assert [(change.since_at, change.method) for change in found] == [(nights(120)[60], "slow rule")]


def test_no_change_is_told_from_a_p99_of_few_samples() -> None:
    values = np.stack([steady(60), steady(60)])
    values[0, 40:] *= 1.5
    few = panel_of(values, "p99")
    assert changes([few]) == ()
    many = replace(few, n=np.full(values.shape, 3000))
    assert [change.statistic for change in changes([many])] == ["p99"]
