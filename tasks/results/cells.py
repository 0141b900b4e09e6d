"""The file of one cell: its samples, and where it did not end well one row that says so.

Whoever measured a cell makes it, or whoever finds what a killed run had measured: the same in both cases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from configs.run_record import RunIdentity
from tasks.kernel.samples import SampleColumns
from tasks.results.samples import samples_table, skipped_table
from tasks.results.store import Store
from tasks.results.writer import write_cell


@dataclass(frozen=True, slots=True)
class EndedCell:
    """A cell of which nothing more is to be expected."""

    config_id: str
    workload_id: str
    blocks: Sequence[tuple[int, SampleColumns]]
    """The number of each block in which something was measured, and what."""
    status: Literal["measured", "skipped", "failed"]
    reason: str = ""
    """Why it was skipped or failed."""
    error: str = "CellFailed"
    """The kind of the failure, where it failed."""


def cell_table(run: RunIdentity, cell: EndedCell) -> pa.Table:
    """All that is known of a cell, as rows of `SAMPLES`."""
    ids = (run, cell.config_id, cell.workload_id)
    tables = []
    if cell.blocks:
        tables.append(samples_table(*ids, cell.blocks))
    if cell.status == "skipped":
        tables.append(skipped_table(*ids, cell.reason))
    elif cell.status == "failed":
        tables.append(skipped_table(*ids, cell.reason, outcome="error", error=cell.error))
    return pa.concat_tables(tables)


def store_cell(store: Store, run: RunIdentity, cell: EndedCell) -> str:
    """Store a cell and return the name of its file; the same again changes nothing.

    Raises:
        UserError: if the store cannot take it, or holds another file of that name.
    """
    return write_cell(store, run, cell.config_id, cell.workload_id, cell_table(run, cell))
