"""What the Prefect UI shows of a run: the summary with its pictures, where the files lie, what is missing.

All of it is drawn from the document that the terminal and the HTML page draw: nothing is computed again.
"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasks.reports import wording
from tasks.reports.markdown import alert_md, section_md, text_md
from tasks.reports.run_sections import document
from tasks.results.duckdb_views import globbed
from tasks.results.names import SAMPLES_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasks.reports.document import Document
    from tasks.reports.drawing import Picture
    from tasks.reports.view import Report

MOST_BYTES: Final = 1_000_000
"""Of the summary. A page of the UI shows all of it at once, and the server keeps it with each run."""
_FIRST_TO_GO: Final = ("blocks", "percentiles", "stages", "distribution")
"""Kinds of pictures: what is given up where a summary would be too large, the first one first."""


def summary_markdown(report: "Report", drawn: "Mapping[str, Sequence[Picture]]") -> str:
    """The report as the terminal prints it, with its pictures as far as there is room.

    Args:
        report: of a run.
        drawn: the pictures of each workload.
    """
    shown = document(report)
    kept = {workload_id: list(pictures) for workload_id, pictures in drawn.items()}
    left_out = 0
    text = _summary(shown, kept, left_out)
    for workload_id, picture in _in_order_of_going(drawn):
        if len(text.encode()) <= MOST_BYTES:
            return text
        kept[workload_id].remove(picture)
        left_out += 1
        text = _summary(shown, kept, left_out)
    return text


def files_markdown(location: str, run_id: str, report_name: str) -> str:
    """Where a run's files lie, and how they are looked at again.

    Args:
        location: the store's; a folder is told with its whole path.
        run_id: the run's.
        report_name: the name of the HTML report in the store.
    """
    location = location if "://" in location else str(Path(location).absolute())
    quoted = f"{globbed(location)}/{SAMPLES_FOLDER}/*/*/{run_id}.*.parquet"
    sql = (
        "SELECT config_id, workload_id, count(*) AS n, quantile_disc(total_ns, 0.5) / 1e6 AS p50_ms\n"
        f"FROM read_parquet('{quoted}')\n"
        "WHERE outcome = 'ok' AND NOT warmup GROUP BY ALL ORDER BY ALL;"
    )
    again = f"s3bench report --results {shlex.quote(location)} --run {run_id}"
    return "\n\n".join(
        [
            f"The report with all pictures, one HTML file:\n\n```\n{location}/{report_name}\n```",
            f"The samples of all runs, Parquet:\n\n```\n{location}/{SAMPLES_FOLDER}\n```",
            f"On a terminal:\n\n```\n{again}\n```",
            f"p50 of each cell by SQL, in DuckDB:\n\n```sql\n{sql}\n```",
        ]
    )


def unmeasured_rows(report: "Report") -> list[dict[str, str]]:
    """The cells that were skipped or failed, with the reason."""
    return [
        {
            "cell": wording.printable(f"{cell.config_id}/{cell.workload_id}"),
            "status": cell.outcome,
            "reason": wording.printable(cell.reason),
        }
        for cell in report.cell_failures
    ]


def _summary(shown: "Document", kept: "Mapping[str, Sequence[Picture]]", left_out: int) -> str:
    facts = " · ".join(f"{text_md(name)}: {text_md(value)}" for name, value in shown.facts)
    sections = (
        section_md(section, kept.get(section.workload_id, ()) if section.workload_id else ())
        for section in shown.sections
    )
    closing = f"Pictures that are in the HTML report alone: {left_out}." if left_out else ""
    parts = (f"# {text_md(shown.title)}", *map(alert_md, shown.alerts), facts, *sections, closing)
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_order_of_going(drawn: "Mapping[str, Sequence[Picture]]") -> "Iterator[tuple[str, Picture]]":
    """Of each kind those of the last workloads first."""
    for kind in _FIRST_TO_GO:
        for workload_id in reversed(list(drawn)):
            for picture in drawn[workload_id]:
                if picture.kind == kind:
                    yield workload_id, picture
