"""Task: show what a run found: the HTML report beside the Parquet, and the artifacts of the Prefect UI.

The keys of the artifacts are the same for every run, so that the UI shows their history.
"""

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from tasks.reports.artifacts import files_markdown, summary_markdown, unmeasured_rows
from tasks.reports.html import render_html
from tasks.reports.pictures import all_pictures
from tasks.reports.view import REPORT_COLUMNS, build_report
from tasks.results.reader import read_run
from tasks.results.store import Store
from tasks.venues.launch import Launch


@task(task_run_name="publish", cache_policy=NO_CACHE, persist_result=False)
def publish(store: Store, run_id: str, launch: Launch) -> str:
    """Write the report of a stored run and return the name under which it lies in the store."""
    run = read_run(store, run_id)
    report = build_report(run.record, run.run_id, run.samples(REPORT_COLUMNS))
    drawn = all_pictures(report)
    name = f"reports/{run_id}.html"
    store.put(name, render_html(report, drawn).encode(), replace=True)
    if launch.is_shown:
        create_markdown_artifact(
            key="s3bench-summary", markdown=summary_markdown(report, drawn), description=f"Run {run_id}"
        )
        create_markdown_artifact(
            key="s3bench-files",
            markdown=files_markdown(store.location, run_id, name),
            description=f"Where the files of run {run_id} lie",
        )
        unmeasured = unmeasured_rows(report)
        create_table_artifact(
            key="s3bench-skipped",
            table=unmeasured,
            description=f"Run {run_id}: {len(unmeasured)} cells were skipped or failed",
        )
    return name
