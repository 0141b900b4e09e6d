"""The slow rule: what changed by little, and stays.

Every night it asks whether the latest k nights, for any k from 5 to 40, lie elsewhere than those before them
since the last change: a likelihood ratio over the change point. Three things keep it from seeing what is not
there. Each night is clipped at 2.5 robust standard deviations, so that a wild one counts no more than a bad
one. The variance of a mean takes into account that a night resembles the one before it, by the series' own
autocorrelation, drawn towards 0.3. Both, and the noise, come from nights before the latest 20, so that a
step cannot hide itself in them; and where these are few, the threshold is that of Student's distribution.
Then 70 % of the k nights must be beyond half of the change, which three wild nights in five are not, and the
change at least 5 % and as large as the noise.

Since when is told by another sum than that which finds it (see `_first_away`): on the test bed, counted in
measured nights, 87 % of steps of 10 % and 94 % of 15 % are dated to within one. A bad night just before the
step is taken for its first where it lies nearer to the new level.

After a change the series is judged by the nights since: so the next one is found too, ten nights later.

Measured with the fast rule on the test bed of `make bench` (`change_false_alarms`, `change_delay`: 300
samples a night, noise of 3.5 %, 3 % of wild values, 15 % of missing nights): 15 false alarms in 548 years of
single series, 18 in 942 years of 200 series that share a night effect of 5 %, which is one in 80 nights of
them all. A step of 10 % is found after 6 nights, the median, and 99 % by night 15; of 5 %, 62 % within 40
nights. It is slower where less than 60 nights were measured before: after 30, 54 % of steps of 10 % are found
by night 15. Nights that resemble one another much more (0.7) give 0.23 false alarms a year.

Rejected: the kernel segmentation of `levels` as an alarm, which takes 7 to 11 nights for a step of 10 %; two
medians, of 3 nights and of 28, which raise 3 false alarms a year.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from tasks.stats.common_mode import SD_OF_MAD, Logs, latest, median
from tasks.stats.firing import Firing

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOW_METHOD: Final = "slow rule"

_FREEDOM_PER_NIGHT: Final = 0.8
"""Degrees of freedom that a night gives to a noise that is told from clipped values."""
_LEAST_FREEDOM: Final = 3


@dataclass(frozen=True, slots=True)
class SlowRule:
    """The settings of the rule."""

    fewest_nights: int = 5
    """At least as many of the latest nights must be away."""
    most_nights: int = 40
    """A change that began earlier is found no more."""
    before: int = 20
    """The fewest nights before them."""
    before_anew: int = 10
    """The same after a change that was found."""
    window: int = 120
    """As many nights are looked at, and what they have in common is told from them."""
    unheeded: int = 20
    """As many of the latest nights tell nothing of the noise."""
    clip: float = 2.5
    """A night counts as no farther away than as many robust standard deviations."""
    score: float = 4.0
    """The least distance of the two means, in standard deviations of it."""
    change: float = 0.05
    """The least change in either direction: 0.05 is by 1.05, or by 1/1.05."""
    deviations: float = 1.0
    """The least change, in robust standard deviations of a night."""
    share: float = 0.7
    """As many of the latest nights must be beyond half of the change."""
    autocorrelation: float = 0.3
    """Of one night with the next, where little is known of it."""
    worth_nights: int = 30
    """As many nights that belief is worth."""
    most_autocorrelation: float = 0.8
    least_noise: float = 0.01
    """A series is never taken for steadier than this."""


SLOW_RULE: Final = SlowRule()


@dataclass(frozen=True, slots=True)
class _Steadiness:
    """How the nights of each series scatter, told from its older ones. Shaped (series,)."""

    middle: "NDArray[np.float64]"
    noise: "NDArray[np.float64]"
    autocorrelation: "NDArray[np.float64]"
    nights: "NDArray[np.intp]"
    """As many it was told from."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The change point of each series that explains its nights best. Shaped (series,)."""

    nights: "NDArray[np.intp]"
    """As many since it."""
    score: "NDArray[np.float64]"


def slow_firings(logs: Logs, rule: SlowRule) -> Iterator[Firing]:
    """Where the rule holds, by the night with which it was found; once for each change."""
    since = np.zeros(len(logs.values) + 1, np.intp)
    """The first night that each series is judged by: the first one of its last change."""
    for night in range(rule.before_anew + rule.fewest_nights - 1, logs.values.shape[1]):
        for firing in _firings(logs, night, since, rule):
            since[firing.row] = firing.since
            yield firing


def _firings(logs: Logs, night: int, since: "NDArray[np.intp]", rule: SlowRule) -> Iterator[Firing]:
    own = logs.until(night, rule.window)
    first = night + 1 - own.shape[1]
    own[np.arange(first, night + 1) < since[:, np.newaxis]] = np.nan
    nights, values = latest(own, own.shape[1])
    least = np.where(since > 0, rule.before_anew, rule.before)
    known = np.count_nonzero(~np.isnan(values), axis=1)
    judged = np.flatnonzero(~np.isnan(own[:, -1]) & (known >= least + rule.fewest_nights))
    if not len(judged):
        return
    steady = _steadiness(values[judged], least[judged], rule)
    best = _best(values[judged], least[judged], steady, rule)
    for place in np.flatnonzero(np.abs(best.score) > _threshold(steady.nights, rule)).tolist():
        row = int(judged[place])
        begun = len(values[0]) - int(known[row])
        own_values, own_nights = values[row, begun:], first + nights[row, begun:]
        noise = float(steady.noise[place])
        split = len(own_values) - int(best.nights[place])
        effect = _effect(own_values[:split], own_values[split:], noise, rule)
        if effect is None:
            continue
        dated = _first_away(own_values, split, effect, int(least[row]), rule)
        effect_since = _effect(own_values[:dated], own_values[dated:], noise, rule)
        if effect_since is not None:
            split, effect = dated, effect_since
        before, recent = own_nights[:split], own_nights[split:]
        yield Firing(row, night, int(recent[0]), effect, noise, before, recent)


def _effect(
    before: "NDArray[np.float64]", recent: "NDArray[np.float64]", noise: float, rule: SlowRule
) -> float | None:
    """The change; None where it is too small, or too few nights have it."""
    away = recent - np.median(before)
    effect = float(np.median(away))
    if abs(effect) < max(float(np.log1p(rule.change)), rule.deviations * noise):
        return None
    beyond = np.count_nonzero(np.sign(effect) * away > abs(effect) / 2)
    return effect if beyond >= rule.share * len(recent) else None


def _first_away(values: "NDArray[np.float64]", split: int, effect: float, least: int, rule: SlowRule) -> int:
    """The place of the first night of a change that was found with the split between two others.

    Each night counts from -1/2, where it lies at the old middle or beyond, to 1/2, where it lies at the new
    one or beyond, and the sum of those since is the greatest. The split itself cannot tell: it leaves five
    nights at least, and what is found with the fourth night of a change would begin one night too early.
    """
    towards = np.clip((values - np.median(values[:split])) / effect, 0, 1) - 0.5
    fewest = ceil(rule.share * rule.fewest_nights)
    recent = np.arange(fewest, min(rule.most_nights, len(values) - least) + 1)
    since = towards[::-1].cumsum()[recent - 1]
    return len(values) - int(recent[since.argmax()])


def _steadiness(values: "NDArray[np.float64]", least: "NDArray[np.intp]", rule: SlowRule) -> _Steadiness:
    known = ~np.isnan(values)
    n = np.maximum(np.count_nonzero(known, axis=1) - rule.unheeded, least)
    older = np.where(np.cumsum(known, axis=1) <= n[:, np.newaxis], values, np.nan)
    middle = median(older, axis=1)
    away = older - middle[:, np.newaxis]
    spread = np.maximum(SD_OF_MAD * median(np.abs(away), axis=1), rule.least_noise)
    clipped = np.clip(away / spread[:, np.newaxis], -rule.clip, rule.clip)
    square = np.nanmean(clipped**2, axis=1) / _mean_square(rule.clip)
    noise = np.maximum(spread * np.sqrt(square), rule.least_noise)
    scores = np.clip(away / noise[:, np.newaxis], -rule.clip, rule.clip)
    scores -= np.nanmean(scores, axis=1, keepdims=True)
    alike = np.nansum(scores[:, 1:] * scores[:, :-1], axis=1)
    alike /= np.maximum(np.nansum(scores**2, axis=1), np.finfo(float).tiny)
    believed = rule.autocorrelation * rule.worth_nights
    found = np.clip((alike * n + believed) / (n + rule.worth_nights), 0, rule.most_autocorrelation)
    return _Steadiness(middle, noise, found, n)


def _best(
    values: "NDArray[np.float64]", least: "NDArray[np.intp]", steady: _Steadiness, rule: SlowRule
) -> _Best:
    scores = (values - steady.middle[:, np.newaxis]) / steady.noise[:, np.newaxis]
    known = np.count_nonzero(~np.isnan(values), axis=1)[:, np.newaxis]
    from_the_end = np.nan_to_num(np.clip(scores, -rule.clip, rule.clip))[:, ::-1].cumsum(axis=1)
    recent = np.arange(rule.fewest_nights, min(rule.most_nights, values.shape[1] - 1) + 1)
    before = known - recent
    enough = before >= least[:, np.newaxis]
    before = np.maximum(before, 1)
    of_recent = from_the_end[:, recent - 1]
    apart = of_recent / recent - (from_the_end[:, -1:] - of_recent) / before
    likeness = steady.autocorrelation[:, np.newaxis]
    variance = _variance_of_mean(recent, likeness) + _variance_of_mean(before, likeness)
    found = np.where(enough, apart / np.sqrt(variance), 0)
    best = np.abs(found).argmax(axis=1)
    return _Best(recent[best], found[np.arange(len(best)), best])


def _variance_of_mean(n: "NDArray[np.intp]", likeness: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Of n nights of variance 1, each of which resembles the one before it."""
    whole = (1 + likeness) / (1 - likeness)
    ends = 2 * likeness * (1 - likeness**n) / (n * (1 - likeness) ** 2)
    variance: NDArray[np.float64] = (whole - ends) / n
    return variance


def _threshold(nights: "NDArray[np.intp]", rule: SlowRule) -> "NDArray[np.float64]":
    """The score that is as seldom as that of the rule, where the noise was told from so many nights."""
    return _thresholds(rule.score, rule.window)[nights]


@lru_cache(maxsize=8)
def _thresholds(score: float, most_nights: int) -> "NDArray[np.float64]":
    freedom = np.maximum(_LEAST_FREEDOM, _FREEDOM_PER_NIGHT * np.arange(most_nights + 1))
    found: NDArray[np.float64] = stats.t.isf(stats.norm.sf(score), freedom)
    return found


@lru_cache(maxsize=8)
def _mean_square(clip: float) -> float:
    """Of normal values that are clipped there."""
    tail = float(stats.norm.sf(clip))
    return 1 - 2 * tail - 2 * clip * float(stats.norm.pdf(clip)) + 2 * clip**2 * tail
