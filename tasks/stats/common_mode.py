"""What all configurations share in a night: the network, the host, the service.

It is taken out before a series is judged, so that a change of the environment is found once and not in every
cell; and it is looked at as a series of its own, "all configurations". With a shared night effect of 5 % and
an own one of 3 %, a step of 5 % in one of 40 configurations was found in 16 of 30 series as they were
measured, and in 28 of 30 without what is shared.

Rejected: one configuration as the control. It adds its own noise to all others: of 200 series without a step
a naive rule then flagged 6 to 54 on four dates, and 0 to 9 without the middle configuration's.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasks.stats.panels import Panel

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_CONFIGURATIONS: Final = 3
"""The fewest that have something in common: of two, a change of one would be halved between them."""

SD_OF_MAD: Final = 1.4826
"""The standard deviation of normal values by their median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Logs:
    """The nightly values of a panel as natural logarithms."""

    values: "NDArray[np.float64]"
    """Shaped (series, nights)."""
    rows: "list[NDArray[np.intp]]"
    """The rows of each configuration."""

    def until(self, night: int, window: int) -> "NDArray[np.float64]":
        """The nights that a rule sees with this one as the latest, shaped (series + 1, nights).

        What the nights share is taken out of each series, and is the row after all of them. Where too few
        configurations were measured in the latest night to tell, each stays as it was measured, and is seen
        beside the other nights of that kind alone: beside all of them, what changed for all configurations
        weeks ago would be told again of these few.
        """
        seen = self.values[:, max(0, night + 1 - window) : night + 1]
        shared = common(seen, self.rows)
        if np.isnan(shared[-1]):
            of_its_kind = np.where(np.isnan(shared), seen, np.nan)
            return np.vstack([of_its_kind, np.full(seen.shape[1], np.nan)])
        return np.vstack([seen - shared, shared])

    def whole(self) -> "NDArray[np.float64]":
        """All nights, looked at from their end, shaped (series + 1, nights), as `until` has them.

        In a night of too few configurations each stays as it was measured.
        """
        shared = common(self.values, self.rows)
        return np.vstack([self.values - np.nan_to_num(shared), shared])


def logs(panel: Panel, *, judged: bool = False) -> Logs:
    """The logarithms of a panel's values, or of those alone that a change may be told from."""
    names = np.array([key.config_id for key in panel.keys])
    rows = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
    return Logs(np.log(panel.judged_ns if judged else panel.values_ns), rows)


def common_factors(panel: Panel) -> "NDArray[np.float64]":
    """By how much each night is slower for all configurations than the middle one, shaped (nights,).

    Not a number where too few configurations were measured to tell.
    """
    of_panel = logs(panel)
    return np.exp(common(of_panel.values, of_panel.rows))


def common(values: "NDArray[np.float64]", rows: "list[NDArray[np.intp]]") -> "NDArray[np.float64]":
    """What the nights share, as logarithms, shaped (nights,): the middle configuration of each night.

    Of a configuration the middle series counts, so that one with many workloads is no more than another.
    """
    if len(rows) < FEWEST_CONFIGURATIONS:
        return np.full(values.shape[1], np.nan)
    relative = values - median(values, axis=1)[:, np.newaxis]
    by_configuration = np.stack([median(relative[mine], axis=0) for mine in rows])
    enough = np.count_nonzero(~np.isnan(by_configuration), axis=0) >= FEWEST_CONFIGURATIONS
    return np.where(enough, median(by_configuration, axis=0), np.nan)


def median(values: "NDArray[np.float64]", axis: int) -> "NDArray[np.float64]":
    """The median of what is a number; numpy's own takes ten times as long for rows as short as these."""
    ordered = np.sort(values, axis=axis)  # what is not a number comes last
    n = np.count_nonzero(~np.isnan(values), axis=axis)
    halves = [np.maximum(n - 1, 0) // 2, n // 2]
    low, high = (
        np.take_along_axis(ordered, np.expand_dims(np.minimum(half, values.shape[axis] - 1), axis), axis)
        for half in halves
    )
    middle: NDArray[np.float64] = ((low + high) / 2).squeeze(axis)
    return np.where(n > 0, middle, np.nan)


def latest(values: "NDArray[np.float64]", n: int) -> "tuple[NDArray[np.intp], NDArray[np.float64]]":
    """The columns and the values of the latest `n` that each row has; those that it lacks come first."""
    order = np.argsort(~np.isnan(values), axis=1, kind="stable")[:, -n:]
    found = np.take_along_axis(values, order, axis=1)
    if order.shape[1] < n:
        missing = n - order.shape[1]
        order = np.pad(order, ((0, 0), (missing, 0)))
        found = np.pad(found, ((0, 0), (missing, 0)), constant_values=np.nan)
    return order, found
