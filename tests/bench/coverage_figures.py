"""Figures of the statistics: how often a 95 % interval holds the true ratio, and how often chance wins.

Operations are simulated as they come: correlated within a block or a night, which both configurations share
in part. Intervals and verdicts are those of our own functions, over samples and over the table of nights.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from figures import Figure, figure

from tasks.results.history import HISTORY
from tasks.stats.likeness import Likeness
from tasks.stats.night_pairs import compare_by_night
from tasks.stats.paths import (
    STATISTICS,
    Pairing,
    PathComparison,
    Side,
    compare_by_block,
    compared,
    corrected_together,
)
from tasks.stats.quantiles import nearest_rank
from tasks.stats.series import Series
from tasks.stats.summary_types import NO_DIFFERENCE, PERCENT_OF

SIMULATIONS = 2000
"""Of a coverage of 95 %: a standard error of 0.49 points."""
TRUE_RATIO = 1.10
SHARED_EFFECT, OWN_EFFECT, TAIL_EFFECT = 0.05, 0.03, 0.06
BODY, SLOW_SHARE = 0.25, 0.02
TYPICAL_NS = 20e6
IDS = ("a", "b")
AT_ONCE = 250
DOCUMENTS, PAIRS_OF_DOCUMENT = 2000, 40

Floats = npt.NDArray[np.float64]


def operations_ns(
    rng: np.random.Generator, units: tuple[int, int], each: int, ratio: float, phi: float = 0.0
) -> Floats:
    """Times of both sides, shaped (simulations, 2, blocks or nights, operations).

    Every block or night has an effect that both share and one of its own, which correlates by `phi` with the
    one before it. One operation in fifty is slow:
    twice as slow, and an exponential tail more, whose size has an effect of its own.
    """
    simulations, count = units
    shape = (simulations, 2, count, each)
    shared = rng.normal(0, SHARED_EFFECT, (simulations, 1, count, 1))
    own = rng.normal(0, OWN_EFFECT, (simulations, 2, count, 1))
    own[:, :, 1:] *= np.sqrt(1 - phi**2)
    for unit in range(1, count):
        own[:, :, unit] += phi * own[:, :, unit - 1]
    times = TYPICAL_NS * np.exp(shared + own + BODY * rng.standard_normal(shape))
    slow = rng.random(shape) < SLOW_SHARE
    tail = np.exp(rng.normal(0, TAIL_EFFECT, (simulations, 2, count, 1)))
    times *= np.where(slow, tail * (2 + rng.standard_exponential(shape)), 1.0)
    times[:, 0] *= ratio
    return np.rint(times)


def statistics_ns(times: Floats) -> dict[str, Floats]:
    """Nearest-rank quantiles and means, shaped as the times without their last axis."""
    ranks = {name: nearest_rank(times.shape[-1], percent) - 1 for name, percent in PERCENT_OF.items()}
    parted = np.partition(times, sorted(ranks.values()), axis=-1)
    return {name: parted[..., rank] for name, rank in ranks.items()} | {"mean": np.rint(times.mean(-1))}


def by_night(values: dict[str, Floats], simulation: int, each: int) -> PathComparison:
    """One simulation, as the history of a schedule has it."""
    nights = values["p50"].shape[-1]
    at = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(nights)]
    known = {
        name: values["mean" if name == "avg" else name][simulation].astype(np.int64).ravel()
        for name in ("p50", "p90", "p99", "avg")
    }
    columns: dict[str, object] = {f"{name}_ns": column for name, column in known.items()}
    columns |= {"n": np.full(2 * nights, each), "errors": np.zeros(2 * nights, np.int64)}
    columns |= {"scheduled_at": at * 2, "config_id": [name for name in IDS for _ in at]}
    columns |= {
        name: [text] * 2 * nights
        for name, text in (
            ("workload_id", "w"),
            ("operation", "read"),
            ("stage", "total_ns"),
            ("meaning", "m"),
            ("run_id", "r"),
        )
    }
    table = pa.table(
        [
            pa.array(columns[one.name], one.type) if one.name in columns else pa.nulls(2 * nights, one.type)
            for one in HISTORY
        ],
        schema=HISTORY,
    )
    return compare_by_night(table, "w", IDS, Likeness())


def by_block(times: Floats) -> PathComparison:
    """One simulation, as the samples of a run have it."""
    count, each = times.shape[1:]
    block = np.repeat(np.arange(count, dtype=np.int32), each)
    one, other = (
        Series(
            config_id=name,
            workload_id="w",
            operation="read",
            warmups=0,
            errors=0,
            block=block,
            stage_ns={"total_ns": mine.ravel().astype(np.int64)},
            counts={"files": (), "records": (), "size_bytes": (1,)},
            cold=frozenset({None}),
            together=None,
        )
        for name, mine in zip(IDS, times, strict=True)
    )
    return compare_by_block(one, other, Likeness())


def covering(found: PathComparison) -> set[str]:
    """The statistics whose interval holds the true ratio; all must have one."""
    held = set()
    for row in found.rows:
        ratio = row.ratio
        if ratio is None or ratio.low is None or ratio.high is None:
            raise RuntimeError(f"{row.statistic} has no interval: {row.reason}")
        if ratio.low <= TRUE_RATIO <= ratio.high:
            held.add(row.statistic)
    return held


@figure
def coverage(_folder: Path) -> Iterator[Figure]:
    """Of the nominal 95 % interval: 5, 10 and 30 nights of 300 operations, and blocks of 80 of one run."""
    for unit, count, each in (
        ("nights", 5, 300),
        ("nights", 10, 300),
        ("nights", 30, 300),
        ("blocks", 5, 80),
        ("blocks", 10, 80),
    ):
        rng = np.random.default_rng([count, each])
        held: Counter[str] = Counter()
        for _ in range(SIMULATIONS // AT_ONCE):
            times = operations_ns(rng, (AT_ONCE, count), each, TRUE_RATIO)
            values = statistics_ns(times) if unit == "nights" else {}
            for simulation in range(AT_ONCE):
                found = by_night(values, simulation, each) if values else by_block(times[simulation])
                held.update(covering(found))
        for statistic in STATISTICS:
            share = 100 * held[statistic] / SIMULATIONS
            name = f"coverage_{statistic}_{count}_{unit}"
            yield Figure(name, share, "% of intervals hold the true ratio", "93 to 97", 93 <= share <= 97)


@figure
def coverage_alike(_folder: Path) -> Iterator[Figure]:
    """Of the same interval where nights resemble those before them, of which it knows nothing."""
    for phi in (0.3, 0.5):
        for nights in (5, 30):
            rng = np.random.default_rng([nights, 7])
            held: Counter[str] = Counter()
            for _ in range(SIMULATIONS // AT_ONCE):
                values = statistics_ns(operations_ns(rng, (AT_ONCE, nights), 300, TRUE_RATIO, phi))
                for simulation in range(AT_ONCE):
                    held.update(covering(by_night(values, simulation, 300)))
            for statistic in STATISTICS:
                share = 100 * held[statistic] / SIMULATIONS
                name = f"coverage_{statistic}_{nights}_nights_phi_0{10 * phi:.0f}"
                yield Figure(name, share, "% of intervals hold the true ratio", "none", holds=True)


@figure
def false_winners(_folder: Path) -> Iterator[Figure]:
    """Documents of 40 pairs that are equal, in all statistics over five nights: in how many does any win."""
    rng = np.random.default_rng(40)
    uncorrected = corrected = 0
    for _ in range(DOCUMENTS):
        values = statistics_ns(operations_ns(rng, (PAIRS_OF_DOCUMENT, 5), 100, 1.0))
        found = [equal_pair(values, pair) for pair in range(PAIRS_OF_DOCUMENT)]
        uncorrected += any_wins(found)
        corrected += any_wins(corrected_together(found))
    share = 100 * corrected / DOCUMENTS
    yield Figure("false_winners", share, "% of documents name a winner among equals", "<= 5", share <= 5)
    yield Figure(
        "false_winners_uncorrected",
        100 * uncorrected / DOCUMENTS,
        "% of the same documents",
        "none",
        holds=True,
    )


def equal_pair(values: dict[str, Floats], pair: int) -> PathComparison:
    sides = [
        Side(
            operations=dict.fromkeys(range(5), 100),
            n=500,
            errors=0,
            values_ns={name: dict(enumerate(values[name][pair, side].tolist())) for name in STATISTICS},
            own=dict.fromkeys(STATISTICS, (TYPICAL_NS, None)),
        )
        for side in (0, 1)
    ]
    return compared(Pairing(*IDS, f"w{pair}", "read", "night", 5), *sides)


def any_wins(found: "list[PathComparison] | tuple[PathComparison, ...]") -> bool:
    """Whether any verdict names a winner."""
    return any(row.ratio.verdict != NO_DIFFERENCE for one in found for row in one.rows if row.ratio)
