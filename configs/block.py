"""What a measuring process is told: one block of one cell."""

from pathlib import Path

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
    """What this block reads, in this order, by all of its clients together; none for writes."""
    read_prefix: str = ""
    """What a scan lists, with its trailing slash."""
    write_prefix: str = ""
    """Below this prefix, with its trailing slash, every write goes."""
    scratch_folder: Path | None = None
    """A local folder of this block's own, for files that are moved; it exists, and others remove it."""
    tree_folder: Path | None = None
    """The local tree that is uploaded; `objects` are its files, their keys relative to it."""
    deadline_ns: int | None = None
    """The reading of `perf_counter_ns`, one for all processes of a host, from which on no operation begins.

    Set by the venue, which stops the process some time later; None: nobody stops it.
    """
    give_up_ns: int | None = None
    """The reading from which on what has not ended is given up, and what was measured is sent.

    Between `deadline_ns` and the moment at which the venue stops the process; None: nobody looks.
    """
