"""What the cells of a run cost, stored beside it: one small file, written before the run's own row."""

import dataclasses
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from configs.run_record import RunIdentity
from tasks.results.names import COSTS_FOLDER, costs_name
from tasks.results.reader import table_of
from tasks.results.schema import COSTS
from tasks.results.store import Store
from tasks.results.writer import encoded
from tasks.stats.cell_cost import CellCost

_BETWEEN: Final = "; "
"""Between the sentences of one cell, none of which holds it."""


def write_costs(store: Store, run: RunIdentity, costs: Sequence[CellCost]) -> None:
    """Write what the cells of a run cost; the same again changes nothing.

    Raises:
        UserError: if the store cannot take it.
    """
    rows = [
        {**dataclasses.asdict(cost), "run_id": run.run_id, "unknown": _BETWEEN.join(cost.unknown) or None}
        for cost in costs
    ]
    store.put(costs_name(run), encoded(pa.Table.from_pylist(rows, schema=COSTS)))


def read_costs(store: Store, run_id: str, dt: str) -> tuple[CellCost, ...]:
    """What the cells of a run cost; none of a run from before costs were stored, or that was killed.

    Raises:
        UserError: if the file is damaged, or cannot be fetched.
    """
    name = costs_name(RunIdentity(run_id=run_id, dt=dt))
    if name not in store.names(f"{COSTS_FOLDER}/dt={dt}"):
        return ()
    where = f"{store.location}/{name}"
    columns = [column for column in COSTS.names if column != "run_id"]
    rows = table_of(store.get(name), where, COSTS, columns).to_pylist()
    return tuple(CellCost(**{**row, "unknown": _sentences(row["unknown"])}) for row in rows)


def _sentences(joined: str | None) -> tuple[str, ...]:
    return tuple(joined.split(_BETWEEN)) if joined else ()
