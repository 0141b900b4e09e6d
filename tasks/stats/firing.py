"""What a rule says of a series in a night, before it becomes a change that people are told of."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule holds for a series. Columns count the nights of the panel."""

    row: int
    """The row after all series is what they share."""
    night: int
    """The latest one, with which it was found."""
    since: int
    """The first one that is away."""
    effect: float
    """The natural logarithm of the change."""
    noise: float
    """The robust standard deviation of the logarithms before."""
    before: "NDArray[np.intp]"
    recent: "NDArray[np.intp]"

    @property
    def direction(self) -> int:
        """1 for slower, -1 for faster."""
        return 1 if self.effect > 0 else -1
