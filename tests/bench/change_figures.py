"""Figures of the change detection: what it finds, how soon, and how often it finds what is not there.

The test bed has the nightly quantiles of 300 samples: a lognormal body (sigma 0.25) and 2 % of slow requests,
twice as slow and with an exponential tail. Nights are autocorrelated (phi 0.3, sd 3 %); 3 % of all values are
wild, by 1.3 to 3, and 15 % of the nights were not measured. The quantile of a night is drawn from its exact
distribution (an order statistic of uniform values is a beta variate), since sorting raw samples of centuries
of nights would take hours. Nights are replayed one by one by the code that a morning's comparison runs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np
from figures import Figure, figure
from numpy.typing import NDArray
from scipy import stats

from tasks.stats.fast_rule import FAST_METHOD
from tasks.stats.levels import series_levels
from tasks.stats.panels import Panel, SeriesKey
from tasks.stats.regressions import Change, changes
from tasks.stats.slow_rule import SLOW_METHOD

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
SAMPLES = 300
STEP_AT = 150
_DAYS_PER_YEAR = 365


@dataclass(frozen=True)
class Bed:
    """Made-up nights of many series."""

    series: int
    nights: int
    configurations: int = 2
    """Below three nothing is common: each series is judged as it was measured, alone."""
    shared: float = 0.0
    """Standard deviation of a night effect of all series."""
    phi: float = 0.3
    wild: float = 0.03
    missing: float = 0.15
    share: float = 0.5

    def panel(self, seed: int, change: NDArray[np.float64] | None = None) -> Panel:
        """One panel; `change` is added to the logarithms of all series, or where it is shaped like them."""
        rng = np.random.default_rng(seed)
        shape = (self.series, self.nights)
        logs = _autocorrelated(rng, shape, 0.03, self.phi)
        if self.shared:
            logs += _autocorrelated(rng, (self.nights,), self.shared, self.phi)
        rank = ceil(self.share * SAMPLES)
        logs += np.interp(rng.beta(rank, SAMPLES - rank + 1, shape), *_quantiles())
        if change is not None:
            logs += change
        logs += np.where(rng.random(shape) < self.wild, np.log(rng.uniform(1.3, 3, shape)), 0.0)
        # What is shared is not measured in a missing night; series of their own miss nights of their own.
        logs[..., rng.random(self.nights if self.shared else shape) < self.missing] = np.nan
        kept = ~np.isnan(logs).all(axis=0)
        days = tuple(FIRST + timedelta(days=int(day)) for day in np.flatnonzero(kept))
        keys = tuple(
            SeriesKey(f"config-{row % self.configurations:03}", f"read-{row:03}", "read", "")
            for row in range(self.series)
        )
        values_ns = 1e7 * np.exp(logs[:, kept])
        return Panel("p50", days, keys, values_ns, np.full(values_ns.shape, SAMPLES), Counter())

    @property
    def series_years(self) -> float:
        """As many are judged in a panel."""
        return self.series * self.nights / _DAYS_PER_YEAR


def _autocorrelated(
    rng: np.random.Generator, shape: tuple[int, ...], sd: float, phi: float
) -> NDArray[np.float64]:
    noise = rng.normal(0, sd, shape)
    noise[..., 1:] *= np.sqrt(1 - phi**2)
    for night in range(1, shape[-1]):
        noise[..., night] += phi * noise[..., night - 1]
    return noise


@cache
def _quantiles() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares, and the logarithm of the sample that is larger than as many."""
    rng = np.random.default_rng(0)
    samples = np.exp(0.25 * rng.standard_normal(2_000_000))
    slow = rng.random(len(samples)) < 0.02
    samples[slow] = 2 * samples[slow] + rng.standard_exponential(int(slow.sum()))
    samples.sort()
    places = np.linspace(0, len(samples) - 1, 100_001).astype(int)
    return (places + 0.5) / len(samples), np.log(samples[places])


def _at_most(found: int, years: float) -> float:
    """The upper end of the 95 % interval of a rate of rare events."""
    return float(stats.gamma.ppf(0.975, found + 1)) / years


def _rate(name: str, found: Sequence[Change], years: float) -> Figure:
    most = _at_most(len(found), years)
    per_rule = Counter(change.method for change in found)
    told = f"{per_rule[FAST_METHOD]} fast and {per_rule[SLOW_METHOD]} slow in {years:,.0f} series-years"
    return Figure(name, most, f"a series-year at most ({told})", "<= 0.1", most <= 0.1)


@figure
def change_false_alarms(_folder: Path) -> Iterator[Figure]:
    """Series without any change: each alone, and 200 of 40 configurations that share an effect of 5 %."""
    beds = {
        "alone": Bed(500, 400),
        "alone_steady": Bed(500, 400, wild=0, missing=0),
        "alone_p90": Bed(500, 400, share=0.9),
    }
    for name, bed in beds.items():
        yield _rate(f"change_false_alarms_{name}", changes([bed.panel(1)]), bed.series_years)
    bed, found, nights = Bed(200, 430, configurations=40, shared=0.05), [], 0
    for seed in range(4):
        panel = bed.panel(seed)
        nights += len(panel.nights)
        found += changes([panel])
    yield _rate("change_false_alarms_shared", found, 4 * bed.series_years)
    per_night = len(found) / nights
    yield Figure("change_false_alarms_per_night", per_night, "over 200 series", "<= 0.05", per_night <= 0.05)
    bed = Bed(500, 400, phi=0.7)
    rate = len(changes([bed.panel(1)])) / bed.series_years
    yield Figure("change_false_alarms_phi_07", rate, "a series-year", "none", holds=True)


@figure
def change_delay(_folder: Path) -> Iterator[Figure]:
    """Steps at a night of their own in each series: as many measured nights until they are found."""
    for percent, by_night, median_at_most in ((30, 3, 3), (10, 15, 8)):
        alone = _delays(Bed(600, 200), percent)
        yield from _delay_figures(f"change_delay_{percent}", alone, by_night, median_at_most)
    shared = np.concatenate([_shared_delays(seed) for seed in range(20)])
    yield from _delay_figures("change_delay_10_shared", shared, 15, 8)
    faster = _delays(Bed(300, 200), -10)
    yield from _delay_figures("change_delay_10_faster", faster, 15, 8)
    small = _delays(Bed(600, 200), 5)
    found = float(np.mean(small <= 40))
    yield Figure("change_found_5", found, "of steps of 5 % within 40 nights", "none", holds=True)


def _delay_figures(
    name: str, nights: NDArray[np.float64], by_night: int, median_at_most: int
) -> Iterator[Figure]:
    middle, found = float(np.median(nights)), float(np.mean(nights <= by_night))
    bound = f"<= {median_at_most}"
    yield Figure(name, middle, "nights, the median", bound, middle <= median_at_most)
    yield Figure(f"{name}_found", found, f"by night {by_night}", ">= 0.95", found >= 0.95)


def _delays(bed: Bed, percent: int) -> NDArray[np.float64]:
    """Of a step in every series, at a night between 150 and 160."""
    at = STEP_AT + np.arange(bed.series) % 10
    step = np.where(np.arange(bed.nights) >= at[:, np.newaxis], np.log1p(percent / 100), 0.0)
    panel = bed.panel(2, step)
    return _nights_until(panel, at, np.arange(bed.series))


def _shared_delays(seed: int) -> NDArray[np.float64]:
    """Of a step of 10 % in each of three configurations of forty, which share a night effect."""
    bed = Bed(40, 200, configurations=40, shared=0.05)
    at = np.full(bed.series, STEP_AT)
    stepped = np.arange(3)
    step = np.zeros((bed.series, bed.nights))
    step[stepped, STEP_AT:] = np.log1p(0.1)
    return _nights_until(bed.panel(100 + seed, step), at, stepped)


def _nights_until(panel: Panel, at: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """How many nights were measured from each step until it was found; infinite where it was not."""
    place = {panel.keys[row]: row for row in rows.tolist()}
    nights = np.full(len(panel.keys), np.inf)
    for change in changes([panel]):
        row = place.get(change.series) if change.series else None
        if row is None:
            continue
        stepped_at = FIRST + timedelta(days=int(at[row]))
        if change.known_at >= stepped_at and np.isinf(nights[row]):
            seen = [stepped_at <= night <= change.known_at for night in panel.nights]
            nights[row] = np.count_nonzero(np.isfinite(panel.values_ns[row]) & seen)
    return nights[rows]


@figure
def change_dates(_folder: Path) -> Iterator[Figure]:
    """How near the night since when a step is told is to its own: in nights of the calendar."""
    for percent, least in ((10, 0.75), (15, 0.85), (30, 0.9)):
        bed = Bed(600, 200)
        at = STEP_AT + np.arange(bed.series) % 10
        step = np.where(np.arange(bed.nights) >= at[:, np.newaxis], np.log1p(percent / 100), 0.0)
        apart = _nights_apart(bed.panel(2, step), at)
        near = float(np.mean(np.abs(apart) <= 1))
        name = f"change_dates_{percent}"
        yield Figure(name, near, "within a night of the step", f">= {least}", near >= least)
        yield Figure(f"{name}_mean", float(np.mean(apart)), "nights late on the average", "none", holds=True)


def _nights_apart(panel: Panel, at: NDArray[np.intp]) -> NDArray[np.int64]:
    """By how many nights each step that was found is told too late; too early is below 0."""
    place = {key: row for row, key in enumerate(panel.keys)}
    first: dict[int, int] = {}
    for change in sorted(changes([panel]), key=lambda one: one.known_at):
        row = place[change.series] if change.series else None
        if row is not None and change.direction == "slower":
            stepped_at = FIRST + timedelta(days=int(at[row]))
            if change.known_at >= stepped_at:
                first.setdefault(row, (change.since_at - stepped_at).days)
    return np.array(list(first.values()), np.int64)


@figure
def change_blips(_folder: Path) -> Iterator[Figure]:
    """Three nights of 30 % more are an incident for the fast rule, and no lasting change for the slow one."""
    bed = Bed(600, 200)
    blip = np.zeros((bed.series, bed.nights))
    blip[:, STEP_AT : STEP_AT + 3] = np.log(1.3)
    begun = FIRST + timedelta(days=STEP_AT)
    found = [one for one in changes([bed.panel(3, blip)]) if one.known_at >= begun]
    slow = sum(one.method == SLOW_METHOD for one in found) / bed.series
    yield Figure("change_blips_slow", slow, "of blips taken for a change", "<= 0.05", slow <= 0.05)
    fast = [one for one in found if one.method == FAST_METHOD]
    passed = sum(one.status == "passed" for one in fast) / max(1, len(fast))
    yield Figure("change_blips_passed", passed, "of incidents told as passed", ">= 0.9", passed >= 0.9)


@figure
def change_levels(_folder: Path) -> Iterator[Figure]:
    """Levels of 90 nights: false steps of quiet series, and steps of 10 % found to within five nights."""
    bed = Bed(200, 90)
    false = sum(len(one.levels) - 1 for one in series_levels(bed.panel(4))) / bed.series
    yield Figure("change_levels_false", false, "steps in a quiet series", "<= 0.05", false <= 0.05)
    step = np.where(np.arange(bed.nights) >= 45, np.log1p(0.1), 0.0)
    panel = bed.panel(5, step)
    near = sum(
        any(abs((panel.nights[level.first] - FIRST).days - 45) <= 5 for level in one.levels[1:])
        for one in series_levels(panel)
    )
    found = near / bed.series
    yield Figure("change_levels_found", found, "of steps of 10 %", ">= 0.95", found >= 0.95)
    drift = np.linspace(0, np.log(1.2), bed.nights)
    drifting = [level for one in series_levels(bed.panel(6, drift)) for level in one.levels[1:]]
    of_drift = sum(level.is_drift for level in drifting) / max(1, len(drifting))
    yield Figure("change_levels_drift", of_drift, "of the steps of a drift told so", "none", holds=True)
    of_step = [level for one in series_levels(panel) for level in one.levels[1:]]
    mistaken = sum(level.is_drift for level in of_step) / max(1, len(of_step))
    yield Figure("change_levels_mistaken", mistaken, "of steps told as drift", "<= 0.05", mistaken <= 0.05)
