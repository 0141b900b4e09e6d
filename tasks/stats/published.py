"""The numbers that the five experiments published, as reference data: 311 of them, with their conditions.

`published.csv` holds every number as it was published. `published.yaml` holds what it was measured under,
and which cells of ours do the same. Numbers of one series are taken together where that loses nothing: runs
published one by one become their mean, and the total of a loop becomes the mean of one operation where the
loop's count is known. A mean is never set beside a median.
"""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from pydantic import NonNegativeInt, PositiveInt, TypeAdapter
from ruamel.yaml import YAML

from configs.base import Model

NUMBERS_FILE: Final = Path(__file__).with_name("published.csv")
CONDITIONS_FILE: Final = Path(__file__).with_name("published.yaml")

Statistic = Literal["mean", "min", "p50", "p90", "p99", "max", "loop total"]

_RUN: Final = re.compile(r"run\d+\.(?P<what>\w+)")
_LOOP: Final = "boto3_transfer_loop"
_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000}
_STATISTICS: Final[dict[str, Statistic]] = {
    "min": "min",
    "avg": "mean",
    "p50": "p50",
    "p90": "p90",
    "p99": "p99",
    "max": "max",
}
_STAGES: Final = {
    "total": "total_ns",
    "real": "total_ns",
    "user": "user_ns",
    "sys": "system_ns",
    "list": "list_ns",
    "read": "read_ns",
    "gunzip": "gunzip_ns",
    "parse": "parse_ns",
}


class Number(Model):
    """One published number, as it stands in its row."""

    source: str
    venue: str
    config: str
    workload: str
    op: str
    size: str
    stat: str
    value: float
    unit: str
    n: PositiveInt | None
    note: str


class Client(Model):
    """What ran under the name of a published configuration."""

    ran: str
    version: str | None = None
    """Of the client, where it was stated."""
    file_system: str | None = None
    command: str | None = None
    """That moved trees."""
    counterpart: dict[str, str]
    """The recorded parameters of a cell that reaches data in the same way."""


class Claims(Model):
    """Which ratios between configurations an experiment was about."""

    statistics: tuple[Statistic, ...]
    stages: tuple[str, ...]


class Source(Model):
    """One experiment and what all of its numbers share."""

    experiment: str
    published: str
    """Year and month."""
    venue: str
    region: str
    warmups: str
    """`5 of 105`: how many of how many operations were not counted."""
    caches: str
    reference: str
    """The configuration that the others were compared with."""
    claims: Claims
    clients: dict[str, Client]
    remarks: tuple[str, ...]


class OwnOperation(Model):
    """What of ours does the same as a published operation."""

    operation: str
    parameters: dict[str, str]
    """The recorded parameters of a cell of such a workload."""


class Data(Model):
    """What one published operation moved or scanned; an object or a file alone has no number of files."""

    size_bytes: PositiveInt
    files: NonNegativeInt | None = None


class Reference(Model):
    """All conditions."""

    sources: dict[str, Source]
    operations: dict[str, dict[str, OwnOperation]]
    data: dict[str, Data]


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic of one published series, in nanoseconds."""

    source: str
    venue: str
    config: str
    workload: str
    op: str
    size: str
    stage: str
    statistic: Statistic
    value_ns: float
    n: int | None
    """How many operations it is of; None where that was not stated."""
    numbers: int
    """How many of the published numbers it stands for."""

    @property
    def series(self) -> tuple[str, str, str, str, str, Statistic]:
        """What the figures of several configurations share that belong side by side."""
        return self.venue, self.workload, self.op, self.size, self.stage, self.statistic


@lru_cache(maxsize=1)
def reference() -> Reference:
    """The conditions of all sources."""
    return Reference.model_validate(YAML(typ="safe").load(CONDITIONS_FILE))


@lru_cache(maxsize=1)
def numbers() -> tuple[Number, ...]:
    """Every published number, in the file's order."""
    with NUMBERS_FILE.open(encoding="utf-8", newline="") as file:
        rows = [row | {"n": row["n"] or None} for row in csv.DictReader(file)]
    return TypeAdapter(tuple[Number, ...]).validate_python(rows)


def figures() -> tuple[Figure, ...]:
    """What can be set beside a run: times. Prices are published numbers too, and no figure of a run."""
    series: dict[tuple[str, ...], list[Number]] = {}
    for number in numbers():
        if number.unit in _NS:
            series.setdefault(_series(number), []).append(number)
    return tuple(_figure(group) for group in series.values())


def _series(number: Number) -> tuple[str, ...]:
    """What the numbers share that become one figure."""
    if number.workload == _LOOP:
        # Equal to the last digit, and so one measurement, printed under two headings or twice.
        return number.source, number.config, number.size, repr(number.value)
    run = _RUN.fullmatch(number.stat)
    what = run["what"] if run else number.stat
    return number.source, number.venue, number.config, number.workload, number.op, number.size, what


def _figure(group: list[Number]) -> Figure:
    one = group[-1]
    run = _RUN.fullmatch(one.stat)
    what = run["what"] if run else one.stat
    statistic: Statistic = _STATISTICS.get(what, "mean")
    value, n = one.value, one.n
    if one.workload == _LOOP:
        statistic, value = ("mean", value / n) if n else ("loop total", value)
    elif run:
        value, n = sum(number.value for number in group) / len(group), len(group)
    return Figure(
        source=one.source,
        venue=one.venue,
        config=one.config,
        workload=one.workload,
        op=one.op,
        size=one.size,
        stage=_STAGES.get(what, "total_ns"),
        statistic=statistic,
        value_ns=value * _NS[one.unit],
        n=n,
        numbers=len(group),
    )
