"""What Lambda charges for running functions: bounded, since nobody knows how long a block takes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from configs.suite import Suite
from configs.venues import LambdaVenueConfig
from tasks.stats.cost import load_prices
from tasks.workloads.requests import CellPlan

_LONGEST_S: Final = 900.0
"""The most that a function may take (AWS Lambda Developer Guide, quotas)."""
_MB_PER_GB: Final = 1024


def compute_left_out(suite: Suite, cells: Sequence[CellPlan]) -> Iterator[str]:
    """For each venue: what its functions cost at most, which no estimate holds, or why that is not known.

    Args:
        suite: what is to run.
        cells: its cells; those without operations invoke nothing.
    """
    for name, venue in {} if suite.lab else suite.venues.items():
        clients = [
            plan.cell.configuration.clients
            for plan in cells
            if plan.cell.configuration.venue == name and plan.operations
        ]
        if clients:
            bound = _bound(venue, suite.blocks * sum(clients), min(suite.block_timeout_s, _LONGEST_S))
            yield f"what Lambda charges for running {name}: {bound}"


def _bound(venue: LambdaVenueConfig, invocations: int, longest_s: float) -> str:
    if venue.memory_mb is None or venue.architecture is None:
        return "not known without its memory_mb and architecture"
    prices = load_prices().of_lambda(venue.region, venue.architecture)
    if prices is None:
        return f"price unknown for region {venue.region}, {venue.architecture}"
    gb_seconds = Decimal(venue.memory_mb) / _MB_PER_GB * Decimal(str(longest_s))
    usd = invocations * (gb_seconds * prices.per_gb_second + prices.per_million_requests / 10**6)
    return f"at most {usd:.4f} USD, for {invocations} invocations of {longest_s:g} s each"
