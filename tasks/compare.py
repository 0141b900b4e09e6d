"""Tasks: look back over the nights of a schedule, show and keep what was found, remember what was told.

They are tried again with back-off where the cause may pass, see `patience.py`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from configs.parameters import CompareParameters
from tasks.reports.history_page import history_markdown
from tasks.reports.history_view import Finding, HistoryView, look_back
from tasks.results.changes import write_changes
from tasks.results.store import Store
from tasks.results.told import Told, read_told, untold, write_told

ARTIFACT_KEY = "s3bench-history"


@dataclass(frozen=True, slots=True)
class LookedBack:
    """What was found, and what of it is to be told."""

    view: HistoryView
    news: tuple[Finding, ...]
    known: tuple[Told, ...]
    """What was told before, and what need not be."""
    is_to_be_remembered: bool
    """Whether that is more than the store remembers."""


@task(task_run_name="look-back", cache_policy=NO_CACHE, persist_result=False)
def look(store: Store, parameters: CompareParameters) -> LookedBack:
    """Read the nights, and find the gaps, the changes, and what of them nobody was told of."""
    now = datetime.now(UTC)
    view = look_back(store, parameters, now)
    told = read_told(store)
    news, old = untold(view.findings(), told, now)
    return LookedBack(view, news, (*(told or ()), *old), is_to_be_remembered=told is None or bool(old))


@task(task_run_name="show", cache_policy=NO_CACHE, persist_result=False)
def show(view: HistoryView) -> None:
    """Tell in the Prefect UI what was found."""
    create_markdown_artifact(key=ARTIFACT_KEY, markdown=history_markdown(view), description=view.summary)


@task(task_run_name="keep-changes", cache_policy=NO_CACHE, persist_result=False)
def keep_changes(store: Store, view: HistoryView) -> None:
    """Write what has changed into the table that SQL and reports read."""
    write_changes(store, view.schedule, view.changes, view.nights[0].due_at if view.nights else None)


@task(task_run_name="remember", cache_policy=NO_CACHE, persist_result=False)
def remember(store: Store, told: tuple[Told, ...]) -> None:
    """Let nobody be told of the same again."""
    write_told(store, told)
