"""Tasks: look back over the nights of a schedule, show and keep what was found, remember what was told.

They are tried again with back-off where the cause may pass, see `patience.py`.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from configs.parameters import CompareParameters
from configs.redaction import errors_without_secrets
from tasks.reports.history_page import history_markdown
from tasks.reports.history_view import Finding, HistoryView, look_back
from tasks.results.changes import write_changes
from tasks.results.reader import DamagedError
from tasks.results.store import Store
from tasks.results.told import Told, read_told, untold, write_told

ARTIFACT_KEY = "s3bench-history"


class Remember(Enum):
    """Whether `LookedBack.known` is to be kept in the store."""

    AT_ONCE = "it is more than the store remembers"
    WHEN_TOLD = "once somebody was told of something new"
    NOTHING = "what the store remembers cannot be read, and is not overwritten"


@dataclass(frozen=True, slots=True)
class LookedBack:
    """What was found, and what of it is to be told."""

    view: HistoryView
    news: tuple[Finding, ...]
    known: tuple[Told, ...]
    """What was told before, and what need not be."""
    remember: Remember


@task(task_run_name="look-back", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def look(store: Store, parameters: CompareParameters) -> LookedBack:
    """Read the nights, and find the gaps, the changes, and what of them nobody was told of."""
    now = datetime.now(UTC)
    view, told = look_back(store, parameters, now), None
    try:
        told = read_told(store)
    except DamagedError as error:  # better told twice than not at all; what stands there is left as it is
        view = replace(view, unread=(*view.unread, str(error)))
        news, _ = untold(view.findings(), None, now)
        return LookedBack(view, news, (), Remember.NOTHING)
    news, old = untold(view.findings(), told, now)
    to_keep = Remember.AT_ONCE if told is None or old else Remember.WHEN_TOLD
    return LookedBack(view, news, (*(told or ()), *old), to_keep)


@task(task_run_name="show", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def show(view: HistoryView) -> None:
    """Tell in the Prefect UI what was found."""
    create_markdown_artifact(key=ARTIFACT_KEY, markdown=history_markdown(view), description=view.summary)


@task(task_run_name="keep-changes", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def keep_changes(store: Store, view: HistoryView) -> None:
    """Write what has changed into the table that SQL and reports read."""
    write_changes(store, view.schedule, view.changes, view.nights[0].due_at if view.nights else None)


@task(task_run_name="remember", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def remember(store: Store, told: tuple[Told, ...]) -> None:
    """Let nobody be told of the same again."""
    write_told(store, told)
