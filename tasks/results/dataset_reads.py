"""When the runs of a store last read each dataset, as their records tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from configs.run_record import dt_of
from tasks.results.reader import list_runs
from tasks.results.store import Store

_LONGEST_RUN: Final = timedelta(days=2)
"""A run is filed under the night in which it was to begin, and may end later."""


@dataclass(frozen=True, slots=True)
class DatasetReads:
    """What the records of some time tell of the datasets that runs read."""

    since: datetime
    """Of runs that ended before, nothing is known."""
    by_prefix: Mapping[str, datetime]
    """The end of the last run that read below a key prefix, in whatever bucket."""
    by_name: Mapping[str, datetime]
    """The same by the name of the dataset, for records that do not tell where it lay."""
    silent_runs: tuple[str, ...] = ()
    """Runs that tell nothing, since they have no record."""

    def last(self, name: str, prefix: str) -> datetime | None:
        """When a dataset was last read, as far as records tell."""
        return max(filter(None, (self.by_prefix.get(prefix), self.by_name.get(name))), default=None)


def dataset_reads(store: Store, since: datetime) -> DatasetReads:
    """Look at the records of the runs that ended at `since` or later.

    Raises:
        UserError: if the store cannot be listed, or a record cannot be fetched or is damaged: it may be the
            one that tells of a dataset.
    """
    by_prefix: dict[str, datetime] = {}
    by_name: dict[str, datetime] = {}
    silent = []
    first_dt = dt_of(since.astimezone(UTC) - _LONGEST_RUN)
    for run in list_runs(store):
        if run.dt < first_dt:
            continue
        record = run.record
        if record is None:
            silent.append(run.run_id)
            continue
        for dataset in record.datasets:
            last = by_prefix if dataset.prefixes else by_name
            for where in dataset.prefixes or (dataset.name,):
                last[where] = max(record.ended_at, last.get(where, record.ended_at))
    return DatasetReads(since, by_prefix, by_name, tuple(silent))
