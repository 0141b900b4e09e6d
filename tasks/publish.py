"""Tasks: show what a run found: the HTML report beside the Parquet, and the artifacts of the Prefect UI.

The keys of the artifacts are the same for every run, so that the UI shows their history. Each is made by a
task of its own, since a server makes another one of what it is sent again.
"""

from dataclasses import dataclass

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from configs.redaction import errors_without_secrets
from tasks.reports.artifacts import files_markdown, summary_markdown, unmeasured_rows
from tasks.reports.html import render_html
from tasks.reports.pictures import all_pictures
from tasks.reports.stored_report import stored_report
from tasks.results.reader import read_run
from tasks.results.store import Store
from tasks.venues.launch import Launch


@dataclass(frozen=True, slots=True)
class Shown:
    """An artifact that is still to be made."""

    key: str
    description: str
    content: str | list[dict[str, str]]
    """Markdown, or the rows of a table."""


@task(task_run_name="publish", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def publish(store: Store, run_id: str, launch: Launch) -> tuple[Shown, ...]:
    """Write the report of a stored run, and return what else of it is to be shown."""
    run = read_run(store, run_id)
    report = stored_report(run)
    drawn = all_pictures(report)
    name = f"reports/{run_id}.html"
    store.put(name, render_html(report, drawn).encode(), replace=True)
    if not launch.is_shown:
        return ()
    unmeasured = unmeasured_rows(report)
    return (
        Shown("s3bench-summary", f"Run {run_id}", summary_markdown(report, drawn)),
        Shown(
            "s3bench-files",
            f"Where the files of run {run_id} lie",
            files_markdown(store.location, run_id, name),
        ),
        Shown(
            "s3bench-skipped",
            f"Cells that run {run_id} could not measure: {len(unmeasured) or 'none'}",
            unmeasured,
        ),
    )


@task(task_run_name="show {shown.key}", cache_policy=NO_CACHE, persist_result=False)
@errors_without_secrets()
def show_artifact(shown: Shown) -> None:
    """Make one artifact of the running flow."""
    if isinstance(shown.content, str):
        create_markdown_artifact(key=shown.key, markdown=shown.content, description=shown.description)
    else:
        create_table_artifact(key=shown.key, table=shown.content, description=shown.description)
