"""What Lambda charges for running functions: bounded, since nobody knows how long a block takes."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from configs.suite import Suite
from configs.venues import LambdaVenueConfig
from tasks.stats.cost import Estimate, LambdaPrices, load_prices, total
from tasks.workloads.requests import CellPlan

_LONGEST_S: Final = 900.0
"""The most that a function may take (AWS Lambda Developer Guide, quotas)."""
_MB_PER_GB: Final = 1024


def lambda_bound(suite: Suite, cells: Sequence[CellPlan]) -> Estimate:
    """What running the functions of a suite costs at most, and what of it nobody knows.

    Args:
        suite: what is to run; in the lab nothing is charged.
        cells: its cells; those without operations invoke nothing.

    Returns:
        As `usd` an upper bound: each invocation takes as long as its block may.
    """
    return total(
        _bound(venue, invocations, min(suite.block_timeout_s, _LONGEST_S))
        for name, venue in ({} if suite.lab else suite.venues).items()
        if (invocations := suite.blocks * _clients(name, cells))
    )


def lambda_prices(suite: Suite) -> dict[str, LambdaPrices | None]:
    """The price row of each kind of function that a suite uses, by what it is of; None: there is none."""
    venues = {} if suite.lab else suite.used_venues()
    return {
        _kind(venue): load_prices().of_lambda(venue.region, venue.architecture)
        for venue in venues.values()
        if venue.architecture is not None
    }


def _clients(venue: str, cells: Sequence[CellPlan]) -> int:
    return sum(
        plan.cell.configuration.clients
        for plan in cells
        if plan.cell.configuration.venue == venue and plan.operations
    )


def _bound(venue: LambdaVenueConfig, invocations: int, longest_s: float) -> Estimate:
    if venue.memory_mb is None or venue.architecture is None:
        told = f"what Lambda charges for {venue.function}, without its memory_mb and architecture"
        return Estimate(Decimal(0), (told,))
    prices = load_prices().of_lambda(venue.region, venue.architecture)
    if prices is None:
        return Estimate(Decimal(0), (f"price unknown for region {_kind(venue)}",))
    gb_seconds = Decimal(venue.memory_mb) / _MB_PER_GB * Decimal(str(longest_s))
    usd = invocations * (gb_seconds * prices.per_gb_second + prices.per_million_requests / 10**6)
    return Estimate(usd, ())


def _kind(venue: LambdaVenueConfig) -> str:
    return f"{venue.region}, Lambda on {venue.architecture}"
