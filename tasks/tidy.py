"""Tasks: compact a finished month, and keep, list or remove a dataset that nothing may use any more.

They are made to be tried again, by `patient`, where the cause may pass. What stays wrong is an answer and no
exception: the other months and datasets go on, and a person reads one sentence instead of a traceback.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Final, TypeVar

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext

from configs.errors import UserError
from configs.redaction import errors_without_secrets
from tasks.access.s3_client import control_client
from tasks.datasets.expiry import DatasetOutcome, FoundDataset, find_datasets, tend_dataset, used_datasets
from tasks.patience import may_pass
from tasks.reports.housekeeping import Tidied, housekeeping_markdown
from tasks.results.compaction import FinishedMonths, MonthOutcome, compact_month, finished_months
from tasks.results.dataset_reads import DatasetReads, dataset_reads
from tasks.results.store import Store
from tasks.venues.places import Place

ARTIFACT_KEY: Final = "s3bench-housekeeping"

Fault = str
"""Why something could not be done, and what helps."""

_Answer = TypeVar("_Answer")
_Otherwise = TypeVar("_Otherwise")


@task(cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def find_months(store: Store, today: date, after_days: int) -> FinishedMonths | Fault:
    """Find the months that are over, with the files that runs wrote in them."""
    return _answer(lambda: finished_months(store, today, after_days), str)


@task(task_run_name="compact-{month}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def compact(store: Store, month: str, landing: Mapping[str, int]) -> MonthOutcome:
    """Put a finished month into one file."""
    return _answer(
        lambda: compact_month(store, month, landing),
        lambda fault: MonthOutcome(month, "left", len(landing), reason=fault),
    )


@task(cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def find_reads(store: Store, since: datetime) -> DatasetReads | Fault:
    """Find out which datasets runs have read."""
    return _answer(lambda: dataset_reads(store, since), str)


@task(task_run_name="find-datasets-in-{bucket_id}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def find(place: Place, bucket_id: str) -> tuple[FoundDataset, ...] | Fault:
    """Find what lies where datasets do."""
    target = place.suite.bucket(bucket_id)
    return _answer(
        lambda: find_datasets(
            control_client(target, place.environment),
            target.bucket,
            target.prefix,
            used_datasets(place.suite, bucket_id),
        ),
        str,
    )


@task(task_run_name="tend-{dataset.name}-in-{bucket_id}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def tend(
    place: Place, bucket_id: str, dataset: FoundDataset, reads: DatasetReads, remove: bool
) -> DatasetOutcome:
    """Keep a dataset that is used, and list or remove one that is not."""
    return _answer(
        lambda: tend_dataset(
            control_client(place.suite.bucket(bucket_id), place.environment),
            dataset,
            last_read=reads.last,
            unused_since=reads.since,
            remove=remove,
        ),
        lambda fault: DatasetOutcome(dataset.address, "failed", fault, 0, 0),
    )


@task(cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def show(tidied: Tidied) -> None:
    """Tell in the Prefect UI what was done."""
    create_markdown_artifact(
        key=ARTIFACT_KEY, markdown=housekeeping_markdown(tidied), description=tidied.summary
    )


def _answer(work: Callable[[], _Answer], otherwise: Callable[[Fault], _Otherwise]) -> _Answer | _Otherwise:
    """What the work gives, or else what it did not give for; raised where Prefect is to try again."""
    try:
        return work()
    except UserError as error:
        if may_pass(error) and _is_tried_again():
            raise
        return otherwise(str(error))


def _is_tried_again() -> bool:
    context = TaskRunContext.get()
    return context is not None and context.task_run.run_count <= context.task.retries
