"""What a run's operations cost by the price list, and from how many on other storage would be cheaper.

Nothing that the lab did is billed: in a report of it no figure stands without a word on that.
"""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table
from tasks.stats.cell_cost import BreakEven, break_evens
from tasks.workloads.cell_costs import NOT_BILLED

if TYPE_CHECKING:
    from tasks.reports.view import Report
    from tasks.stats.cell_cost import CellCost, Direction

_ALONE: Final = (
    "Per million operations and per GB (2³⁰ bytes) moved: the operations alone.",
    "Whole cell: all its operations, warm-ups too, with what is asked before and after them.",
    "Data transfer is in none of it: within a region it is free, out to the internet it is not.",
)
_LEFT_OUT: Final = (
    "Against S3 Standard: the bills for an object that lies there all month and is read or written whole, by "
    "one request. Left out: transfer, CreateSession, listings, the parts of large uploads; that S3 Express "
    "One Zone keeps data in one zone alone; that S3 Files first copies what it serves, and puts all writes "
    "to a file within 60 s into the bucket as one."
)
_READ_KINDS: Final = frozenset(
    {"blob_read", "first_request", "file_download", "tree_download", "cloudtrail_scan"}
)
_WRITE_KINDS: Final = frozenset({"blob_write", "file_upload", "tree_upload"})


def price_section(report: "Report") -> Section:
    """The costs of a run; nothing below the heading where none were stored with it."""
    costs = report.costs
    if not costs:
        return Section("Cost by the list price")
    if all(cost.unknown == (NOT_BILLED,) for cost in costs):
        return Section(
            "Cost by the list price",
            sentences=("Local lab: nothing is billed, and its server has no list price.",),
            anchor="prices",
        )
    compared = _break_evens(report)
    tables = (_cost_table(costs), _missing_table(costs), *_break_even_tables(compared))
    return Section(
        "Cost by the list price",
        sentences=(_whole(report), *_ALONE, *_comparison_sentences(compared)),
        alerts=_alerts(report),
        tables=tuple(table for table in tables if table.rows),
        anchor="prices",
    )


def _alerts(report: "Report") -> tuple[str, ...]:
    if not _is_of_lab(report):
        return ()
    return ("LOCAL LAB: nothing was billed. These are Amazon's list prices for the same requests.",)


def _is_of_lab(report: "Report") -> bool:
    return report.record is not None and report.record.lab


def _whole(report: "Report") -> str:
    costs = report.costs
    known = [cost.usd for cost in costs if cost.usd is not None]
    dates = sorted(cost.prices_as_of for cost in costs if cost.prices_as_of)
    if not known:
        return "What the cells of this run cost is not known."
    made_up = report.record is not None and report.record.synthetic
    cost = "would cost" if made_up or _is_of_lab(report) else "cost"
    whole = f"The cells of this run {cost} about {wording.usd(sum(known))} USD"
    if len(known) < len(costs):
        whole = f"{whole}; of {len(costs) - len(known)} of {len(costs)} it is not known"
    return f"{whole}. The oldest price is of {dates[0]}." if dates else f"{whole}."


def _cost_table(costs: "tuple[CellCost, ...]") -> Table:
    numbers = {what: number for number, what in enumerate(_missing(costs), 1)}
    rows = tuple(
        (
            cost.config_id,
            cost.workload_id,
            wording.usd(cost.usd_per_million_operations),
            _per_gb(cost),
            wording.usd(cost.usd),
            wording.usd(cost.usd_per_gb_month),
            ", ".join(map(str, sorted(numbers[what] for what in cost.unknown))) or wording.NONE,
        )
        for cost in costs
    )
    header = (
        "Configuration",
        "workload",
        "per million operations",
        "per GB moved",
        "whole cell",
        "per GB-month stored",
        "not in it",
    )
    return Table("USD by the list price", header, rows, prose=frozenset({1, 6}))


def _per_gb(cost: "CellCost") -> str:
    moves_nothing = not cost.sent_bytes and cost.received_bytes == 0
    return wording.NONE if moves_nothing else wording.usd(cost.usd_per_gb)


def _missing(costs: "tuple[CellCost, ...]") -> "dict[str, list[str]]":
    """What is not in the sums, each with the cells whose sums they are."""
    missing: dict[str, list[str]] = {}
    for cost in costs:
        for what in cost.unknown:
            missing.setdefault(what, []).append(f"{cost.config_id}/{cost.workload_id}")
    return missing


def _missing_table(costs: "tuple[CellCost, ...]") -> Table:
    rows = tuple(
        (f"{number}", wording.printable(what), f"{len(cells)}")
        for number, (what, cells) in enumerate(_missing(costs).items(), 1)
    )
    return Table("Not known, or not in these sums", ("No.", "what", "cells"), rows, prose=frozenset({1}))


def _break_evens(report: "Report") -> tuple[BreakEven, ...]:
    """For each region in which a cell of the run has a known price."""
    priced = [cost for cost in report.costs if cost.usd_per_gb_month is not None]
    asked = [report.parameters(cost.config_id, cost.workload_id) for cost in priced]
    regions = dict.fromkeys(one["target.region"] for one in asked if "target.region" in one)
    uses = sorted(_uses(report))
    return tuple(one for region in regions for one in break_evens(region, uses))


def _comparison_sentences(compared: tuple[BreakEven, ...]) -> tuple[str, ...]:
    """What is compared, and what cannot be."""
    unknown = dict.fromkeys((one.kind, one.region) for one in compared if not one.is_known)
    sentences = (
        f"{kind} in {region} is not compared with S3 Standard: a price is not known."
        for kind, region in unknown
    )
    known = any(one.is_known for one in compared)
    return (*([_LEFT_OUT] if known else []), *map(wording.printable, sentences))


def _uses(report: "Report") -> "set[tuple[Direction, int]]":
    """How objects of which size are used by the workloads of a run; of a dataset that is their mean size."""
    datasets = report.record.datasets if report.record else ()
    means = {one.name: one.size_bytes // one.objects for one in datasets if one.objects}
    uses: set[tuple[Direction, int]] = set()
    for cost in report.costs:
        asked = report.parameters(cost.config_id, cost.workload_id)
        kind = asked.get("workload.kind")
        size_bytes = int(asked.get("workload.size", means.get(asked.get("workload.dataset", ""), 0)))
        if kind in _READ_KINDS:
            uses.add(("read", size_bytes))
        elif kind in _WRITE_KINDS:
            uses.add(("write", size_bytes))
    return uses


def _break_even_tables(compared: tuple[BreakEven, ...]) -> list[Table]:
    """A table for each region."""
    known = [one for one in compared if one.is_known]
    regions = dict.fromkeys(one.region for one in known)
    return [_break_even_table(region, [one for one in known if one.region == region]) for region in regions]


def _break_even_table(region: str, found: list[BreakEven]) -> Table:
    header = (
        "Operation",
        "other storage",
        "a million: Standard",
        "a million: other",
        "a GB-month: Standard",
        "a GB-month: other",
        "cheaper from",
    )
    title = f"From how many operations a month on other storage is cheaper than S3 Standard in {region}, USD"
    rows = tuple(
        (
            f"{one.direction} of {wording.size(one.size_bytes)}",
            one.kind,
            wording.usd(float(one.standard.usd_per_million)),
            wording.usd(float(one.other.usd_per_million)),
            wording.usd(float(one.standard.usd_per_gb_month)),
            wording.usd(float(one.other.usd_per_gb_month)),
            cheaper_from(one),
        )
        for one in found
    )
    return Table(wording.printable(title), header, rows, prose=frozenset({1, 6}))


def cheaper_from(one: BreakEven) -> str:
    """From how many operations on the other storage is cheaper, or why it never is, in words."""
    each, of_gb = one.operations_per_month, one.operations_per_gb_month
    if not one.is_known:
        return f"not known: {'; '.join(one.unknown)}"
    if each is None or of_gb is None:
        less = "more" if one.other.operation_usd > one.standard.operation_usd else "as much"
        stored = one.other.month_usd > one.standard.month_usd
        return f"never: a {one.direction} costs {less}{', and storage too' if stored else ''}"
    if each == 0:
        return "always: storage costs less, and so does each operation"
    noun = one.direction if each == 1 else f"{one.direction}s"
    return f"{each:,} {noun} of each object a month ({of_gb:,} a GB)"
