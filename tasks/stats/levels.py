"""The levels of a series: an exact optimal segmentation of its nights, for looking back.

The cost of a segment is that of a Gaussian kernel over the logarithms, what all configurations share taken
out, with the median distance as its width; each further segment costs ln n, and has five nights at least. On
simulated series of 90 nights this reported no false step in 100 quiet ones, also with 3 % of wild nights,
found 99 % of steps of 10 %, and was best or even in every scenario that was tried, beside e-divisive (apache
otava, MongoDB) and Student's t. A step below 3 %, or below what the series scatters by from night to night,
is dropped.

A step between two levels that both slope its way is told as a drift: of the steps that a drift of 20 % over
90 or 180 nights is broken into, 41 to 44 % are, and 1 to 2 % of those of a step of 10 %.

`ruptures` has the same method, and no wheel for Python 3.14; the whole of it is the thirty lines here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from tasks.stats.common_mode import SD_OF_MAD, logs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasks.stats.panels import Panel, SeriesKey, Statistic
    from tasks.stats.regressions import Change

FEWEST_NIGHTS: Final = 5
_PENALTY: Final = 1.0
"""Of a change point, times ln n."""
LEAST_STEP: Final = 0.03
_LEAST_DEVIATIONS: Final = 1.0
"""The least step, in what a series scatters by."""
_BOTH_SIDES: Final = 0.8
_SIMILARITY: Final = (1e-2, 1e2)
"""Between which a distance is held before its exponential is taken, as `ruptures` does."""


@dataclass(frozen=True, slots=True)
class Level:
    """Nights of a series between two steps. Columns count the nights of the panel."""

    first: int
    last: int
    nights: int
    """As many have a value."""
    value_ns: int | None
    """The median of the nights, as they were measured; None of what is common, which is no time."""
    ratio: float | None
    """By the level before, what all configurations share taken out; None of the first."""
    is_drift: bool
    """The level and the one before it both slope the way that the step goes: no step, but a slow change."""


@dataclass(frozen=True, slots=True)
class SeriesLevels:
    """How a series went over all nights."""

    key: "SeriesKey | None"
    """None: what all configurations have in common."""
    statistic: "Statistic"
    levels: tuple[Level, ...]
    """Ascending; none without a value."""
    noise: float
    """The robust standard deviation of the nights' logarithms around their level: 0.035 is 3.5 %."""


def series_levels(panel: "Panel", changes: "Iterable[Change]" = ()) -> tuple[SeriesLevels, ...]:
    """The levels of every series that has a value, and last of what all configurations share.

    Args:
        panel: one statistic.
        changes: those that were found by nights. One that is confirmed begins a level, also where it is too
            young for the segmentation to see it.
    """
    own = logs(panel).whole()
    known: dict[SeriesKey | None, list[int]] = {}
    for change in changes:
        if change.statistic == panel.statistic and change.status == "confirmed":
            known.setdefault(change.series, []).append(panel.nights.index(change.since_at))
    values_ns = np.vstack([panel.values_ns, np.full((1, panel.values_ns.shape[1]), np.nan)])
    return tuple(
        _levels_of(row, own[number], values_ns[number], panel, known.get(row, []))
        for number, row in enumerate([*panel.keys, None])
        if np.isfinite(own[number]).any()
    )


def _levels_of(
    key: "SeriesKey | None",
    own: "NDArray[np.float64]",
    values_ns: "NDArray[np.float64]",
    panel: "Panel",
    known: "Iterable[int]",
) -> SeriesLevels:
    nights = np.flatnonzero(np.isfinite(own))
    values = own[nights]
    points = change_points(values)
    for column in known:
        points = _with_point(points, int(np.searchsorted(nights, column)), len(values))
    noise = _noise(values, points)
    points = _worth_telling(values, points, max(float(np.log1p(LEAST_STEP)), _LEAST_DEVIATIONS * noise))
    return SeriesLevels(key, panel.statistic, tuple(_levels(values, points, nights, values_ns)), noise)


def change_points(values: "NDArray[np.float64]", penalty: float = _PENALTY) -> list[int]:
    """Where a new segment begins, ascending: the segmentation whose cost is least of all.

    Args:
        values: without gaps.
        penalty: of a change point, times the logarithm of their number.
    """
    n = len(values)
    if n < 2 * FEWEST_NIGHTS:
        return []
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = _similarity(values).cumsum(axis=0).cumsum(axis=1)
    diagonal = np.diag(sums)
    price = penalty * np.log(n)
    least = np.full(n + 1, np.inf)
    least[0] = -price  # the first segment is no change
    begun = np.zeros(n + 1, np.intp)
    for end in range(FEWEST_NIGHTS, n + 1):
        first = np.arange(end - FEWEST_NIGHTS + 1)
        within = sums[end, end] - 2 * sums[end, first] + diagonal[first]
        cost = least[first] + (end - first) - within / (end - first) + price
        begun[end] = int(cost.argmin())
        least[end] = cost[begun[end]]
    points: list[int] = []
    end = n
    while begun[end] > 0:
        end = int(begun[end])
        points.insert(0, end)
    return points


def _with_point(points: list[int], point: int, n: int) -> list[int]:
    """One point more, where no segment becomes shorter than the fewest nights by it."""
    is_far = all(abs(point - other) >= FEWEST_NIGHTS for other in (0, *points, n))
    return sorted([*points, point]) if is_far else points


def _similarity(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Of every two values, by a Gaussian kernel; of a value to itself 1."""
    square = (values[:, np.newaxis] - values) ** 2
    middle = float(np.median(square[np.triu_indices(len(values), 1)]))
    scaled = np.clip(square / middle if middle > 0 else square, *_SIMILARITY)
    np.fill_diagonal(scaled, 0)
    similarity: NDArray[np.float64] = np.exp(-scaled)
    return similarity


def _noise(values: "NDArray[np.float64]", points: list[int]) -> float:
    away = np.concatenate([part - np.median(part) for part in np.split(values, points)])
    return SD_OF_MAD * float(np.median(np.abs(away)))


def _worth_telling(values: "NDArray[np.float64]", points: list[int], least: float) -> list[int]:
    """The points whose step is large enough; the smallest goes first, since levels then grow together."""
    points = list(points)
    while points:
        middles = np.array([np.median(part) for part in np.split(values, points)])
        steps = np.abs(np.diff(middles))
        if steps.min() >= least:
            break
        del points[int(steps.argmin())]
    return points


def _levels(
    values: "NDArray[np.float64]",
    points: list[int],
    nights: "NDArray[np.intp]",
    values_ns: "NDArray[np.float64]",
) -> "list[Level]":
    parts = np.split(np.arange(len(values)), points)
    found: list[Level] = []
    for number, part in enumerate(parts):
        step = float(np.median(values[part]) - np.median(values[parts[number - 1]])) if number else None
        measured = values_ns[nights[part]]
        found.append(
            Level(
                first=int(nights[part[0]]),
                last=int(nights[part[-1]]),
                nights=len(part),
                value_ns=None if np.isnan(measured).any() else round(float(np.median(measured))),
                ratio=None if step is None else float(np.exp(step)),
                is_drift=step is not None
                and all(_slopes(values, nights, one, step) for one in (parts[number - 1], part)),
            )
        )
    return found


def _slopes(
    values: "NDArray[np.float64]", nights: "NDArray[np.intp]", part: "NDArray[np.intp]", step: float
) -> bool:
    """Whether nights slope the way of a step, with a confidence of 90 %: both of its levels must."""
    slope = stats.theilslopes(values[part], nights[part], alpha=_BOTH_SIDES)
    return bool(slope.low_slope > 0) if step > 0 else bool(slope.high_slope < 0)
