"""What more operations at once bring: workloads that differ in how many run at once, side by side.

The time of one operation grows with the others that run beside it, and the throughput of all together grows
too, until something is full. Both stand here, for each configuration, by the number of threads of all its
clients.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasks.reports import wording
from tasks.reports.document import Section, Table
from tasks.reports.transfer_table import TRANSFERS
from tasks.stats.quantiles import nearest_rank, quantile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasks.reports.view import Report
    from tasks.stats.series import Series
    from tasks.stats.summary_types import Quantile

ANCHOR: Final = "concurrency"
_AT_ONCE: Final = "workload.concurrency"
_CLIENTS: Final = "configuration.clients"
_MAY_DIFFER: Final = frozenset({_AT_ONCE, "workload.iterations", "workload.warmup"})
"""What workloads of one curve need not have been asked alike."""
_SENTENCES: Final = (
    "Workloads that differ only in how many operations run at once.",
    "Throughput: bytes of a block by its wall time, median over blocks.",
    "Of one thread it is by the time of its operations alone.",
)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What one configuration did with so many operations at once."""

    workload_id: str
    at_once: int
    """Threads of all clients."""
    p50: "Quantile"
    bytes_per_s: float | None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Workloads that are alike but for how many operations run at once."""

    workload_ids: tuple[str, ...]
    points: "Mapping[str, tuple[CurvePoint, ...]]"
    """By configuration, by operations at once, ascending."""

    @property
    def name(self) -> str:
        """Its workloads."""
        return ", ".join(self.workload_ids)


def curves(report: "Report") -> tuple[Curve, ...]:
    """Every set of such workloads in which a configuration was measured with unlike numbers at once."""
    alike: dict[frozenset[tuple[str, str]], list[Series]] = {}
    for one in report.series:
        asked = report.parameters(one.config_id, one.workload_id)
        if one.operation in TRANSFERS and one.n and _AT_ONCE in asked:
            same = {
                (name, value)
                for name, value in asked.items()
                if name.startswith("workload.") and name not in _MAY_DIFFER
            }
            alike.setdefault(frozenset({*same, ("operation", one.operation)}), []).append(one)
    found = (_curve(report, series) for series in alike.values())
    return tuple(curve for curve in found if curve.points)


def _curve(report: "Report", series: "list[Series]") -> Curve:
    points: dict[str, list[CurvePoint]] = {}
    for one in series:
        asked = report.parameters(one.config_id, one.workload_id)
        at_once = int(asked[_AT_ONCE]) * int(asked.get(_CLIENTS, "1"))
        point = CurvePoint(
            one.workload_id, at_once, quantile(one.times_ns(), 50, one.errors), _bytes_per_s(one)
        )
        points.setdefault(one.config_id, []).append(point)
    several = {
        config_id: tuple(sorted(mine, key=lambda point: point.at_once))
        for config_id, mine in points.items()
        if len({point.at_once for point in mine}) > 1
    }
    shown = dict.fromkeys(point.workload_id for mine in several.values() for point in mine)
    return Curve(tuple(shown), several)


def _bytes_per_s(one: "Series") -> float | None:
    """Of all threads together; of a single one, its bytes by the time of its operations."""
    if one.together is not None:
        return one.together.median_bytes_per_s
    size_bytes, total_ns = one.common("size_bytes"), one.stage_ns.get("total_ns")
    if not size_bytes or total_ns is None:
        return None
    means_ns = (float(total_ns[one.block == block].mean()) for block in np.unique(one.block))
    rates = sorted(size_bytes * 1e9 / mean_ns for mean_ns in means_ns if mean_ns > 0)
    return rates[nearest_rank(len(rates), 50) - 1] if rates else None


def concurrency_section(report: "Report") -> Section:
    """A table for each set of such workloads; no table where the run has none."""
    return Section(
        "More operations at once",
        sentences=_SENTENCES,
        tables=tuple(curve_table(curve) for curve in curves(report)),
        anchor=ANCHOR,
    )


def curve_table(curve: Curve) -> Table:
    """The figures of a curve, a row for each point."""
    rows = tuple(
        (
            config_id,
            f"{point.at_once:,}",
            point.workload_id,
            wording.quantile(point.p50),
            wording.NONE if point.bytes_per_s is None else wording.three_digits(point.bytes_per_s / 1e6),
        )
        for config_id, points in curve.points.items()
        for point in points
    )
    return Table(
        f"Operations at once: {curve.name}",
        ("Configuration", "at once", "workload", "p50, ms", "MB/s (10⁶ bytes)"),
        wording.printable_rows(rows),
        prose=frozenset({2}),
    )
