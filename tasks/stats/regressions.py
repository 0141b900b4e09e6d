"""What changed from one night to the next: the fast rule finds much within three nights, the slow one less.

What all configurations share in a night is taken out first, and is looked at as a series of its own (see
`common_mode`). A night without a value is passed over and never filled in.

What is found for a night depends on the nights until then alone, so that looking again tomorrow finds the
same again. A change that both rules find is one change, told by the one that found it first.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from configs.run_record import dt_of
from tasks.stats.common_mode import common_factors, logs
from tasks.stats.fast_rule import FAST_METHOD, FAST_RULE, FastRule, fast_firings
from tasks.stats.firing import Firing
from tasks.stats.panels import STAGE, Panel, SeriesKey, Statistic
from tasks.stats.slow_rule import SLOW_METHOD, SLOW_RULE, SlowRule, slow_firings

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FAST_RULE", "SLOW_RULE", "Change", "Rules", "Status", "changes", "common_factors"]

VERSION: Final = "2"
"""Of both rules: another one where the same nights and settings would give other changes."""

Status = Literal["watching", "confirmed", "passed"]
"""`watching` until its fifth night; then `passed` where fewer than four of the five were away."""

_CONFIRMED_AFTER: Final = 5
_CONFIRMED_BY: Final = 4


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that series are judged by."""

    fast: FastRule = FAST_RULE
    slow: SlowRule = SLOW_RULE


@dataclass(frozen=True, slots=True)
class Change:
    """One series is slower or faster than it was."""

    series: SeriesKey | None
    """None: what all configurations have in common."""
    stage: str
    statistic: Statistic
    since_at: datetime
    """The first night that is away."""
    known_at: datetime
    """The night with which it was found."""
    ratio: float
    """Of the times after by those before, where possible without what all configurations have in common."""
    before_ns: int | None
    """The median of the nights before, as it was measured; None of what is common, which is no time."""
    after_ns: int | None
    """The median of the first nights after, as it was measured."""
    nights_before: int
    method: str = FAST_METHOD
    settings: FastRule | SlowRule = field(default_factory=FastRule)
    version: str = VERSION
    noise: float = 0.0
    """The robust standard deviation of the logarithms of the nights before."""
    nights_after: int = 0
    """As many were measured since, until the latest."""
    status: Status = "watching"

    @property
    def since_dt(self) -> str:
        """The UTC date of the first night that is away."""
        return dt_of(self.since_at)

    @property
    def direction(self) -> Literal["slower", "faster"]:
        """Which way."""
        return "slower" if self.ratio > 1 else "faster"

    @property
    def name(self) -> str:
        """The series, for people."""
        return "all configurations" if self.series is None else str(self.series)


def changes(panels: Iterable[Panel], rules: Rules = Rules()) -> tuple[Change, ...]:
    """Everything that changed, by the night since when; a change that goes on is told once."""
    found = [change for panel in panels for change in _changes(panel, rules)]
    return tuple(sorted(found, key=lambda change: (change.since_at, change.name, change.statistic)))


def _changes(panel: Panel, rules: Rules) -> Iterator[Change]:
    judged = logs(panel, judged=True)
    found: list[tuple[str, Firing]] = [
        *((FAST_METHOD, firing) for firing in fast_firings(judged, rules.fast)),
        *((SLOW_METHOD, firing) for firing in slow_firings(judged, rules.slow)),
    ]
    known: list[Firing] = []
    own = judged.whole() if found else judged.values
    for method, firing in sorted(found, key=lambda one: (one[1].night, one[1].row, one[0])):
        if any(_is_same(firing, other, rules.fast) for other in known):
            continue
        known.append(firing)
        yield _change(panel, own[firing.row], method, firing, rules)


def _is_same(firing: Firing, known: Firing, rule: FastRule) -> bool:
    """Whether a firing tells of a change that is known.

    Its nights before may be older than a change that is known: then it must go beyond that by as much again
    as the fast rule asks for.
    """
    if (firing.row, firing.direction) != (known.row, known.direction):
        return False
    if abs(firing.since - known.since) <= rule.apart:
        return True
    is_between = firing.before[0] < known.since < firing.since
    return bool(is_between) and abs(firing.effect) < abs(known.effect) + np.log1p(rule.change)


def _change(panel: Panel, own: "NDArray[np.float64]", method: str, firing: Firing, rules: Rules) -> Change:
    common = firing.row == len(panel.keys)
    values_ns = None if common else panel.values_ns[firing.row]
    return Change(
        series=None if common else panel.keys[firing.row],
        stage=STAGE,
        statistic=panel.statistic,
        since_at=panel.nights[firing.since],
        known_at=panel.nights[firing.night],
        ratio=float(np.exp(firing.effect)),
        before_ns=None if values_ns is None else round(float(np.median(values_ns[firing.before]))),
        after_ns=None if values_ns is None else round(float(np.median(values_ns[firing.recent]))),
        nights_before=len(firing.before),
        method=method,
        settings=rules.fast if method == FAST_METHOD else rules.slow,
        noise=firing.noise,
        nights_after=int(np.count_nonzero(~np.isnan(own[firing.since :]))),
        status=_status(own, firing, method),
    )


def _status(own: "NDArray[np.float64]", firing: Firing, method: str) -> Status:
    """What the slow rule finds has been away for four nights of five, or as many of more, already."""
    if method == SLOW_METHOD:
        return "confirmed"
    before = own[firing.before]
    away = own[firing.since :] - np.median(before[~np.isnan(before)])
    first = away[~np.isnan(away)][:_CONFIRMED_AFTER]
    if len(first) < _CONFIRMED_AFTER:
        return "watching"
    beyond = np.count_nonzero(firing.direction * first > abs(firing.effect) / 2)
    return "confirmed" if beyond >= _CONFIRMED_BY else "passed"
