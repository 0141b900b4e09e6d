"""Which published figures a run has a counterpart of, and under which conditions either was measured.

A counterpart is found by what a cell is recorded to have been asked (kind of access path, of target, of
workload, its mode) and by the size of what it moved; names that a suite's author chose play no part.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from configs.targets import ZONE_ID_PATTERN
from tasks.reports import wording
from tasks.stats.published import Client, Data, Figure, Source, figures, reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from configs.run_record import CellRecord, RunRecord
    from tasks.reports.view import Report
    from tasks.stats.summary_types import Summary

ALIKE: Final = 0.05
"""Sizes and numbers of files that differ by more than this share are unlike."""

_REGION_OF_HOST: Final = re.compile(
    r"\.(?:s3|s3\.dualstack|s3express-[a-z0-9-]+)\.(?P<region>[a-z]{2,}(?:-[a-z]+)+-\d+)\.amazonaws\.com"
)
S3_FILES: Final = "S3 Files"

_VERSION: Final = re.compile(r"[ /](?P<version>\d[\w.+-]*)")
"""The client's own version is the first in its proof: `aws-cli/2.15.0 Python/3.11.6`."""
_ZONE_ID: Final = re.compile(ZONE_ID_PATTERN)

_MOST_FAILED: Final = 0.05

Verdict = Literal["same", "differs", "not known"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One circumstance of a published configuration and of a cell of ours."""

    name: str
    theirs: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Pair:
    """A published figure and ours of the same stage."""

    figure: Figure
    cell: "CellRecord"
    summary: "Summary"
    """Of the stage that the figure is of."""
    conditions: tuple[Condition, ...]

    @property
    def ours_ns(self) -> float | None:
        """The same statistic of our samples; None where they have none, or support no such quantile."""
        figures_of_ours = self.summary.distribution
        if figures_of_ours is None:
            return None
        match self.figure.statistic:
            case "p50" | "p90" | "p99":
                quantile = getattr(figures_of_ours, self.figure.statistic)
                return None if None in {quantile.low_ns, quantile.high_ns} else float(quantile.value_ns)
            case "min":
                return float(figures_of_ours.min_ns)
            case "max":
                return float(figures_of_ours.max_ns)
            case "mean" | "loop total":
                return float(figures_of_ours.avg_ns)

    @property
    def why_no_time(self) -> str:
        """Why our samples do not stand for what was published; empty where they may."""
        succeeded = self.summary.distribution.n if self.summary.distribution else 0
        if self.verdict("file system") == "differs":
            return "another file system"
        if self.summary.errors > _MOST_FAILED * (self.summary.errors + succeeded):
            return "too many operations failed"
        return "" if self.ours_ns is not None else "too few samples for this quantile"

    @property
    def command(self) -> str:
        """What moved our tree, without the reason for it; empty where it does not apply."""
        return next((one.ours for one in self.conditions if one.name == "command"), "").partition(",")[0]

    def verdict(self, name: str) -> Verdict:
        """What is said of one condition; `same` where it does not apply."""
        return next((one.verdict for one in self.conditions if one.name == name), "same")


def pairs(report: "Report", record: "RunRecord") -> tuple[Pair, ...]:
    """Every published figure with every counterpart of it in a run, in the order of publication.

    A configuration's cell over unlike data counts only where it has none over data alike.
    """
    found: list[Pair] = []
    for figure in figures():
        mine = list(_counterparts(report, record, figure))
        alike = {one.cell.config_id for one in mine if one.verdict("data") == "same"}
        found += [one for one in mine if one.verdict("data") == "same" or one.cell.config_id not in alike]
    return tuple(found)


def _counterparts(report: "Report", record: "RunRecord", figure: Figure) -> "Iterator[Pair]":
    for cell in record.cells:
        if cell.status == "measured" and _does_the_same(cell, figure):
            for summary in _summaries(report, cell, figure):
                yield Pair(figure, cell, summary, _conditions(figure, record, cell, summary))


def _does_the_same(cell: "CellRecord", figure: Figure) -> bool:
    own = reference().operations[figure.workload].get(figure.op)
    if own is None:
        return False  # where it was not stated whether up or down
    if "configuration.clients" in cell.parameters:
        return False  # nobody published what several clients do at once
    asked = reference().sources[figure.source].clients[figure.config].counterpart | own.parameters
    return all(cell.parameters.get(name) == value for name, value in asked.items())


def _summaries(report: "Report", cell: "CellRecord", figure: Figure) -> "Iterator[Summary]":
    """Ours of the same operation and stage; of single objects only where they have about the same size."""
    operation = reference().operations[figure.workload][figure.op].operation
    data = reference().data[figure.size]
    for summary in report.summaries:
        mine = (summary.config_id, summary.workload_id, summary.operation, summary.stage)
        if mine != (cell.config_id, cell.workload_id, operation, figure.stage):
            continue
        if data.files is not None or _alike(data.size_bytes, summary.size_bytes):
            yield summary


def _conditions(
    figure: Figure, record: "RunRecord", cell: "CellRecord", summary: "Summary"
) -> tuple[Condition, ...]:
    source = reference().sources[figure.source]
    client = source.clients[figure.config]
    asked = cell.parameters
    warmups = f"{asked.get('workload.warmup', '?')} of {asked.get('workload.iterations', '?')}"
    environment = record.environment
    machine = f"local, {environment.cpu_model}, {environment.cpu_count} processors, {environment.kernel}"
    year, ours = source.published[:4], record.dt[:4]
    return (
        Condition("venue", source.venue, machine, "differs" if _in_lambda(source) else "not known"),
        _region(source, record, cell),
        _client(client, cell),
        *_zone(client, cell),
        *_file_system(client, cell),
        *_command(client, cell),
        Condition("year", year, ours, "same" if year == ours else "differs"),
        Condition("warm-ups", source.warmups, warmups, _same_first_word(source.warmups, warmups)),
        Condition("caches", source.caches, cell.cache_state or "not told", "not known"),
        _data(reference().data[figure.size], figure, summary),
    )


def _same_first_word(theirs: str, ours: str) -> Verdict:
    """Of `5 of 105` the 5: how many operations were made altogether is a row's n."""
    return "same" if theirs.partition(" ")[0] == ours.partition(" ")[0] else "differs"


def _in_lambda(source: Source) -> bool:
    return source.venue.startswith("Lambda")


def _region(source: Source, record: "RunRecord", cell: "CellRecord") -> Condition:
    """From the host that was asked; where that names none, as for mounts, by the word of the suite."""
    found = _REGION_OF_HOST.search(f".{cell.proof.get('host', '')}")
    if record.lab:
        return Condition("region", source.region, "none, the local lab", "differs")
    told = found["region"] if found else cell.parameters.get("target.region")
    if told is None:
        return Condition("region", source.region, "not told by the host that was asked", "not known")
    verdict: Verdict = "same" if told == source.region else "differs"
    return Condition("region", source.region, told if found else f"{told}, as the suite says", verdict)


def _client(client: Client, cell: "CellRecord") -> Condition:
    ours = cell.proof.get("client", "not told")
    if client.version is None:
        return Condition("client", client.ran, ours, "not known")
    found = _VERSION.search(ours)
    if found is None:
        return Condition("client", client.ran, ours, "not known")
    same = found["version"] == client.version
    return Condition("client", client.ran, ours, "same" if same else "differs")


def _zone(client: Client, cell: "CellRecord") -> "Iterable[Condition]":
    """Whether a directory bucket lies in its client's zone: a suite's word for it is no proof."""
    theirs = client.counterpart.get("target.zone")
    if theirs is None:
        return ()
    bucket, own = (cell.proof.get(name, "not told") for name in ("bucket_zone", "client_zone"))
    ours = f"bucket {bucket}, client {own}"
    verdict: Verdict = "not known"
    if _ZONE_ID.fullmatch(bucket) and _ZONE_ID.fullmatch(own):
        verdict = "same" if (bucket == own) == (theirs == "same") else "differs"
    return (Condition("zone", f"{theirs} zone", ours, verdict),)


def _file_system(client: Client, cell: "CellRecord") -> "Iterable[Condition]":
    """S3 Files is proved by its own record; all other mounts by the kernel's type."""
    if client.file_system is None:
        return ()
    proved = "file_system_id" in cell.proof
    ours = S3_FILES if proved else cell.proof.get("mount_type", "not told")
    same = ours == client.file_system
    return (Condition("file system", client.file_system, ours, "same" if same else "differs"),)


def _command(client: Client, cell: "CellRecord") -> "Iterable[Condition]":
    if client.command is None:
        return ()
    ours = cell.proof.get("tree_command", "not told")
    return (Condition("command", client.command, ours, "same" if ours == client.command else "differs"),)


def _data(data: Data, figure: Figure, summary: "Summary") -> Condition:
    alike = _alike(data.size_bytes, summary.size_bytes) and (
        data.files is None or summary.files is None or _alike(data.files, summary.files)
    )
    ours = wording.counts(summary.files, None, summary.size_bytes)
    return Condition("data", figure.size, ours, "same" if alike else "differs")


def _alike(theirs: int, ours: int | None) -> bool:
    return ours is not None and abs(ours / theirs - 1) <= ALIKE
