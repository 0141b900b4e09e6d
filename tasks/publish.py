"""Task: show what a run found: the HTML report beside the Parquet, and the summary in the Prefect UI."""

import io

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE
from rich.console import Console

from tasks.reports.html import render_html
from tasks.reports.terminal import render
from tasks.reports.view import REPORT_COLUMNS, build_report
from tasks.results.reader import read_run
from tasks.results.store import Store

_WIDTH = 120


@task(cache_policy=NO_CACHE, persist_result=False)
def publish(store: Store, run_id: str) -> str:
    """Write the report of a stored run and return the name under which it lies in the store."""
    run = read_run(store, run_id)
    report = build_report(run.record, run.run_id, run.samples(REPORT_COLUMNS))
    name = f"reports/{run_id}.html"
    store.put(name, render_html(report).encode(), replace=True)
    text = io.StringIO()
    render(report, Console(file=text, width=_WIDTH, no_color=True))
    create_markdown_artifact(
        key="benchmark-report",
        markdown=f"```\n{text.getvalue()}\n```",
        description=f"Run {run_id}; HTML report: {store.location}/{name}",
    )
    return name
