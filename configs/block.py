"""What a measuring process is told: one block of one cell."""

from pydantic import NonNegativeInt

from configs.base import Model
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell


class BlockSpec(Model):
    """One short run of a cell, in a process of its own."""

    run: RunIdentity
    cell: Cell
    block: NonNegativeInt
    iterations: NonNegativeInt
    """Operations of this block, warm-ups included."""
    warmup: NonNegativeInt
    seed: int
    objects: tuple[DatasetObject, ...] = ()
    """What this block reads, in this order; none for writes."""
    read_prefix: str = ""
    """What a scan lists, with its trailing slash."""
    write_prefix: str = ""
    """Below this prefix, with its trailing slash, every write goes."""
