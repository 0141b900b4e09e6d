"""Two configurations set against each other over the latest nights of a schedule, paired by night."""

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from configs.errors import UserError
from configs.run_record import dt_of
from tasks.reports.paths_view import PathsView, wanted_workloads
from tasks.results.history import History, read_history
from tasks.results.reader import list_runs
from tasks.stats.likeness import Likeness, called
from tasks.stats.night_pairs import compare_by_night, last_nights
from tasks.stats.nights import NightRun, counting
from tasks.stats.paths import corrected_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from configs.run_record import RunRecord
    from tasks.results.reader import StoredRun
    from tasks.results.store import Store
    from tasks.stats.paths import PathComparison

_READ_FIRST: Final = 2
"""Times as many dates as nights are wanted: some have runs by hand alone, or none that ended."""


def paths_of_nights(
    store: "Store", config_ids: tuple[str, str], workload_ids: "Sequence[str]", nights: int, schedule: str
) -> PathsView:
    """Two configurations over the latest nights of a schedule.

    Args:
        store: where the runs lie.
        config_ids: whose figures are divided, and by whose.
        workload_ids: of which workloads; of all that both do where none is named.
        nights: how many of the latest that have a run that came to its end.
        schedule: the slug of the schedule.

    Raises:
        UserError: if there is no such night, configuration or workload, or the two do none in common.
    """
    stored = {run.run_id: run for run in list_runs(store)}
    history, counted = _latest(store, tuple(stored.values()), nights, schedule)
    of_nights = pa.array([run.run_id for run in counted], pa.string())
    nightly = history.nightly.filter(pc.is_in(history.nightly["run_id"], value_set=of_nights))
    cells = [(one.workload_id, one.config_id) for one in _record(stored[counted[-1].run_id]).cells]
    cells += zip(nightly["workload_id"].to_pylist(), nightly["config_id"].to_pylist(), strict=True)
    told = _told(counted)
    where = f"schedule {schedule} in {store.location} ({told})"
    wanted = wanted_workloads(cells, config_ids, workload_ids, where)
    return PathsView(
        config_ids=config_ids,
        unit="night",
        facts=(("Results", store.location), ("Schedule", schedule), ("Nights", told), ("Unit", "night")),
        comparisons=corrected_together(
            [_over_nights(nightly, workload_id, config_ids, stored) for workload_id in wanted]
        ),
        is_lab=True in nightly["lab"].to_pylist(),
        is_synthetic=history.synthetic,
        is_incomplete=False,
        unread=history.unread,
    )


def _latest(
    store: "Store", stored: "Sequence[StoredRun]", nights: int, schedule: str
) -> tuple[History, list[NightRun]]:
    """The history with the latest nights, and their runs that count, by time; not much more is read."""
    dates = sorted({run.dt for run in stored if run.record_name})
    for since in dict.fromkeys((max(0, len(dates) - _READ_FIRST * nights), 0)):
        history = read_history(store, schedule, dates[since] if dates else "")
        ids = counting(history.runs)
        counted = sorted((run for run in history.runs if run.run_id in ids), key=_scheduled_at)
        if len(counted) >= nights:
            break
    if not counted:
        raise UserError(
            f"no night of schedule {schedule} in {store.location}: a run by hand is no night; leave out "
            "--nights to compare the blocks of one run, or name another schedule with --schedule"
        )
    return history, counted[-nights:]


def _scheduled_at(run: NightRun) -> float:
    return run.scheduled_at.timestamp() if run.scheduled_at else 0.0


def _told(counted: "Sequence[NightRun]") -> str:
    """How many nights, and from when to when."""
    dates = [dt_of(run.scheduled_at) for run in counted if run.scheduled_at]
    return f"{len(dates)} nights, {dates[0]} to {dates[-1]}" if len(dates) > 1 else f"1 night, {dates[0]}"


def _record(run: "StoredRun") -> "RunRecord":
    if run.record is None:
        raise UserError(f"{run.run_id} has lost its record since it was listed: look again")
    return run.record


def _over_nights(
    nightly: pa.Table, workload_id: str, config_ids: tuple[str, str], stored: "dict[str, StoredRun]"
) -> "PathComparison":
    """One workload; each cell is asked in its latest night what the suite wanted of it."""
    asked = {
        (workload_id, config_id): cell.parameters
        for config_id, run_id in last_nights(nightly, workload_id, config_ids).items()
        for cell in _record(stored[run_id]).cells
        if (cell.workload_id, cell.config_id) == (workload_id, config_id)
    }
    names = (called(config_ids[0]), called(config_ids[1]))
    return compare_by_night(nightly, workload_id, config_ids, Likeness((), asked, names))
