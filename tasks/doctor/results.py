"""Where results would go: whether a run could be kept there."""

from collections.abc import Iterator

from configs.errors import UserError
from tasks.doctor.findings import Finding
from tasks.results.reader import list_runs
from tasks.results.store import open_store


def checks_of_results(location: str, *, writes: bool) -> Iterator[Finding]:
    """Whether the store can be read, and, by a file that is removed again, written.

    Args:
        location: a folder, or `s3://BUCKET/PREFIX`.
        writes: whether to try to write.
    """
    try:
        store = open_store(location)
        runs = list_runs(store)
    except UserError as error:
        yield Finding("wrong", "reads", str(error))
        return
    yield Finding("right", "reads", f"{len(runs)} runs")
    if not writes:
        yield Finding("unknown", "writes", "not tried, as asked")
        return
    try:
        warning = store.probe()
    except UserError as error:
        yield Finding("wrong", "writes", str(error))
        return
    if warning:
        yield Finding("warning", "writes", warning)
    else:
        honoured = "; If-None-Match is honoured" if "://" in store.location else ""
        yield Finding("right", "writes", f"a file was written and removed{honoured}")
