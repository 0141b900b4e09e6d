"""What `make bench` measures: each figure is a number with a bound, got as a ratio within one run.

Absolute times say more about a shared machine than about the code, so that what is compared is always
interleaved with what it is compared to, in the same process.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, and whether it is within its bound."""

    name: str
    value: float
    unit: str
    bound: str
    holds: bool


Measurement = Callable[[Path], Iterator[Figure]]

FIGURES: dict[str, Measurement] = {}


def figure(measurement: Measurement) -> Measurement:
    """Register what measures figures under its own name; it is given an empty folder."""
    FIGURES[measurement.__name__] = measurement
    return measurement
