"""What really ran under every label, and what the suite asked for: for the HTML page."""

from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.document import Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from configs.run_record import CellRecord, RunRecord

_ALL: Final = "all"
_OF_WORKLOADS: Final = "workload."


def proof_section(record: "RunRecord") -> Section:
    """Every observation once for each configuration, with the workloads in which it was made."""
    rows = _gathered(record.cells, {cell.cell_id: cell.proof for cell in record.cells})
    silent = [cell.cell_id for cell in record.cells if cell.status == "measured" and not cell.proof]
    without = [f"{', '.join(silent)}: measured without a proof."] if silent and rows else []
    return Section(
        "Proof of labels",
        sentences=tuple(map(wording.printable, without)) if rows else ("No cell recorded a proof.",),
        tables=_tables("What really ran", "observed", rows),
    )


def settings_section(record: "RunRecord") -> Section:
    """What the suite asked for, defaults included: of every configuration, and of every workload."""
    clients = {cell.cell_id: _settings(cell, of_workload=False) for cell in record.cells}
    workloads = {
        (cell.workload_id, name.removeprefix(_OF_WORKLOADS), value): None
        for cell in record.cells
        for name, value in _settings(cell, of_workload=True).items()
    }
    asked = Table(
        "Settings of the workloads",
        ("Workload", "setting", "value"),
        wording.printable_rows(workloads),
        frozenset({1, 2}),
        detail=True,
    )
    return Section(
        "Settings",
        tables=(
            *_tables("Settings of the configurations", "value", _gathered(record.cells, clients)),
            *([asked] if asked.rows else []),
        ),
    )


def _settings(cell: "CellRecord", *, of_workload: bool) -> dict[str, str]:
    return {
        name: value
        for name, value in cell.parameters.items()
        if name.startswith(_OF_WORKLOADS) == of_workload
    }


def _gathered(
    cells: "Iterable[CellRecord]", facts: "Mapping[str, Mapping[str, str]]"
) -> list[tuple[str, str, str, str]]:
    """Configuration, what, value, and the workloads whose cells say so; `all` where none says otherwise.

    Args:
        cells: all cells of the run.
        facts: what is to be shown, by cell id.
    """
    seen: dict[tuple[str, str, str], list[str]] = {}
    telling: dict[str, int] = {}
    for cell in cells:
        mine = facts[cell.cell_id]
        telling[cell.config_id] = telling.get(cell.config_id, 0) + bool(mine)
        for what, value in mine.items():
            seen.setdefault((cell.config_id, what, value), []).append(cell.workload_id)
    return [
        (config_id, what, value, _ALL if len(workloads) == telling[config_id] else ", ".join(workloads))
        for (config_id, what, value), workloads in seen.items()
    ]


def _tables(title: str, value: str, rows: list[tuple[str, str, str, str]]) -> tuple[Table, ...]:
    header = ("Configuration", "what", value, "in workloads")
    table = Table(title, header, wording.printable_rows(rows), frozenset({1, 2, 3}), detail=True)
    return (table,) if rows else ()
