"""Takes each block to the venue of its cell: this host, or a Lambda function."""

from collections.abc import Mapping
from dataclasses import dataclass

from configs.block import BlockSpec
from configs.suite import Suite
from tasks.kernel.samples import SampleColumns
from tasks.venues.lambda_venue import LambdaVenue
from tasks.venues.places import Place
from tasks.venues.session import Venue
from tasks.venues.wire import BlockOutcome


@dataclass(frozen=True, slots=True)
class VenueOfEachCell:
    """All venues of a run."""

    here: Venue
    functions: Mapping[str, Venue]
    """By the name of the suite's venue."""

    def run(self, spec: BlockSpec) -> BlockOutcome:
        """Measure one block where its cell says."""
        cell = spec.cell
        if cell.venue is None:
            return self.here.run(spec)
        if cell.unsupported:
            return BlockOutcome("skipped", SampleColumns(), cell.unsupported)
        return self.functions[cell.configuration.venue].run(spec)


def venues_of(suite: Suite, here: Venue, place: Place) -> Venue:
    """The venues of a suite's cells; only this host where they all run there.

    Args:
        suite: with its targets filled in.
        here: measures what runs on this host.
        place: what clients need to reach the targets.
    """
    if not any(cell.venue for cell in suite.cells()):
        return here
    functions = {
        name: LambdaVenue(venue, place.environment, suite.block_timeout_s, place.what_is_broken)
        for name, venue in suite.venues.items()
    }
    return VenueOfEachCell(here, functions)
