"""The changes that a comparison of nights found, as a table that SQL and reports read.

The file of a schedule is written anew by each comparison: what it found in the nights that it looked at takes
the place of what stood there of them. Changes of older nights stay.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from configs.errors import UserError
from tasks.results.names import CHANGES_FOLDER, changes_name
from tasks.results.reader import table_of
from tasks.results.schema import CHANGES
from tasks.results.store import Store
from tasks.results.writer import encoded
from tasks.stats.fast_rule import FAST_METHOD, FastRule
from tasks.stats.panels import SeriesKey
from tasks.stats.regressions import Change
from tasks.stats.slow_rule import SLOW_METHOD, SlowRule

_SERIES: Final = ("config_id", "workload_id", "operation", "meaning")
_AS_THEY_ARE: Final = (
    "stage",
    "statistic",
    "since_at",
    "known_at",
    "ratio",
    "before_ns",
    "after_ns",
    "nights_before",
    "method",
    "version",
    "noise",
    "nights_after",
    "status",
)
_SETTINGS: Final = {FAST_METHOD: FastRule, SLOW_METHOD: SlowRule}


def read_changes(store: Store, schedule: str) -> tuple[Change, ...]:
    """All changes of a schedule, by the night since when; none where nothing was compared yet.

    Raises:
        UserError: if the file cannot be fetched, is damaged, or was written by another version.
    """
    name = changes_name(schedule)
    if name not in store.names(CHANGES_FOLDER):
        return ()
    where = f"{store.location}/{name}"
    rows = table_of(store.get(name), where, CHANGES, CHANGES.names).to_pylist()
    try:
        return tuple(_change(row) for row in rows)
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{where} holds changes of another version: move it away, and compare again ({error})"
        ) from error


def write_changes(store: Store, schedule: str, found: Iterable[Change], since_at: datetime | None) -> None:
    """Write what a comparison found.

    Args:
        store: where to.
        schedule: whose nights were compared.
        found: all changes since then.
        since_at: the first night that was looked at; changes that began before it stay as they stand. None:
            all nights were.

    Raises:
        UserError: if the store cannot take it, or what stands there cannot be read.
    """
    kept = () if since_at is None else read_changes(store, schedule)
    older = [change for change in kept if since_at is not None and change.since_at < since_at]
    rows = [_row(schedule, change) for change in (*older, *found)]
    content = encoded(pa.Table.from_pylist(rows, schema=CHANGES))
    store.put(changes_name(schedule), content, replace=True)


def _row(schedule: str, change: Change) -> dict[str, object]:
    series = {name: change.series and getattr(change.series, name) for name in _SERIES}
    return {
        "schedule": schedule,
        **series,
        **{name: getattr(change, name) for name in _AS_THEY_ARE},
        "direction": change.direction,
        "since_dt": change.since_dt,
        "settings_json": json.dumps(asdict(change.settings)),
    }


def _change(row: Mapping[str, Any]) -> Change:
    series = [row[name] for name in _SERIES]
    settings = _SETTINGS[row["method"]](**json.loads(row["settings_json"]))
    return Change(
        series=None if series[0] is None else SeriesKey(*series),
        settings=settings,
        **{name: row[name] for name in _AS_THEY_ARE},
    )
