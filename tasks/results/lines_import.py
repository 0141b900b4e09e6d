"""Samples that a program of others measured, as runs of a store: each once, however often it is imported.

What was logged on one UTC date becomes one run, so that its configurations can be compared; a block is one
invocation. The id of a run comes from the time and the content of its samples alone, and samples that the
store has already are left out: importing a file again, or one that overlaps it, adds nothing twice.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

import pyarrow as pa

from configs.run_record import CellRecord, Environment, RunIdentity, RunRecord, Timing, dt_of
from tasks.results.log_lines import Found
from tasks.results.reader import list_runs
from tasks.results.sample_lines import LINE_SCHEMA, Logged, SampleLine
from tasks.results.schema import SAMPLES
from tasks.results.store import Store
from tasks.results.writer import write_cell, write_nightly, write_run
from tasks.stats.summaries import summarise

MEASURED_BY: Final = f"another program: lines of {LINE_SCHEMA}"
"""What the record of an imported run says of who measured it."""

_SUITE: Final = "imported-lines"
_NOT_TOLD: Final = "not told"
_MOST_NAMED: Final = 10
"""Values of one field in a record, which a line of a stranger may fill with anything."""


class _Id(NamedTuple):
    """What makes a line this sample and no other."""

    config_id: str
    workload_id: str
    request_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run that an import has written."""

    run_id: str
    dt: str
    samples: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import."""

    runs: tuple[ImportedRun, ...]
    known: int
    """Samples that the store, or the file itself, had already."""
    bad: tuple[tuple[int, str], ...]
    """The number of each line that was refused, and why, in the order of the file."""


def import_lines(store: Store, found: Found, day: str) -> Imported:
    """Write what a log holds into a store.

    Args:
        store: where to.
        found: what `read_log` gave.
        day: the UTC date, YYYY-MM-DD, of lines whose time is not told.

    Raises:
        UserError: if the store cannot be read, or cannot take it.
    """
    new, known, conflicts = _new_samples(store, found)
    nights: dict[str, dict[_Id, Logged]] = defaultdict(dict)
    for identity, one in new.items():
        nights[dt_of(one.at) if one.at else day][identity] = one
    runs = tuple(_write_run(store, dt, nights[dt]) for dt in sorted(nights))
    return Imported(runs, known, tuple(sorted([*found.bad, *conflicts])))


def _new_samples(store: Store, found: Found) -> tuple[dict[_Id, Logged], int, list[tuple[int, str]]]:
    """Each sample that the store lacks, how many it has already, and the lines that say otherwise of one."""
    stored = _stored_times_ns(store) if found.logged else {}
    new: dict[_Id, Logged] = {}
    known = 0
    conflicts = []
    for number, one in zip(found.numbers, found.logged, strict=True):
        line = one.line
        identity = _Id(line.config_id, line.workload_id, line.request_id, line.sample_index)
        if identity in stored:
            is_same, who = stored[identity] == line.total_ns, "the store"
        elif identity in new:
            is_same, who = new[identity].line == line, "an earlier line"
        else:
            new[identity] = one
            continue
        if is_same:
            known += 1
        else:
            conflicts.append((number, f"{who} says otherwise of the same sample"))
    return new, known, conflicts


def _stored_times_ns(store: Store) -> dict[_Id, int]:
    """The samples of all imported runs and their times, by the columns that `_cell_table` fills.

    Of every night: another export may tell another time of the same line, or none.
    """
    found: dict[_Id, int] = {}
    for run in list_runs(store):
        if run.record is None or run.record.measured_by != MEASURED_BY:
            continue
        for table in run.cells(("config_id", "workload_id", "message", "seq", "total_ns")):
            *ids, times_ns = (column.to_pylist() for column in table.columns)
            found.update(zip(map(_Id._make, zip(*ids, strict=True)), times_ns, strict=True))
    return found


def _write_run(store: Store, dt: str, lines: dict[_Id, Logged]) -> ImportedRun:
    """Every cell, the summaries, and last the record, as a measured run does it."""
    times = [one.at for one in lines.values() if one.at]
    started_at = min(times, default=datetime.fromisoformat(dt).replace(tzinfo=UTC))
    run = RunIdentity(run_id=f"{started_at:%Y%m%dT%H%M%SZ}-{_digest(lines)}", dt=dt)
    cells: dict[tuple[str, str], list[Logged]] = defaultdict(list)
    for identity in sorted(lines):
        cells[identity.config_id, identity.workload_id].append(lines[identity])
    summaries = []
    for (config_id, workload_id), logged in cells.items():
        table = _cell_table(run, config_id, workload_id, logged)
        write_cell(store, run, config_id, workload_id, table)
        summaries += summarise(table)
    write_nightly(store, run, summaries)
    write_run(store, _record(run, cells, started_at, max(times, default=started_at)))
    return ImportedRun(run.run_id, dt, len(lines), tuple("/".join(cell) for cell in cells))


def _digest(lines: dict[_Id, Logged]) -> str:
    digest = hashlib.sha256()
    for identity in sorted(lines):
        digest.update(repr((*identity, lines[identity].line.elapsed_ms)).encode())
    return digest.hexdigest()[:8]


def _invocations(logged: Sequence[Logged]) -> dict[str, int]:
    """The number of each invocation of a cell, in the order of their first lines' times."""
    first: dict[str, float] = {}
    for one in logged:
        at_s = one.at.timestamp() if one.at else 0.0
        first[one.line.request_id] = min(at_s, first.get(one.line.request_id, at_s))
    ordered = sorted(first, key=lambda request_id: (first[request_id], request_id))
    return {request_id: number for number, request_id in enumerate(ordered)}


def _cell_table(run: RunIdentity, config_id: str, workload_id: str, logged: Sequence[Logged]) -> pa.Table:
    """Rows of `SAMPLES`: what the lines do not tell is null, and the request's id stands in `message`."""
    blocks = _invocations(logged)
    lines = [one.line for one in logged]
    count = len(lines)
    columns = {
        "run_id": [run.run_id] * count,
        "config_id": [config_id] * count,
        "workload_id": [workload_id] * count,
        "operation": [line.op for line in lines],
        "outcome": ["ok"] * count,
        "warmup": [False] * count,
        "block": [blocks[line.request_id] for line in lines],
        "worker": [0] * count,
        "seq": [line.sample_index for line in lines],
        "started_at": [one.at for one in logged],
        "size_bytes": [line.bytes for line in lines],
        "message": [line.request_id for line in lines],
        "total_ns": [line.total_ns for line in lines],
    }
    return pa.table(
        [
            pa.array(columns[name], kind) if name in columns else pa.nulls(count, kind)
            for name, kind in zip(SAMPLES.names, SAMPLES.types, strict=True)
        ],
        schema=SAMPLES,
    )


def _record(
    run: RunIdentity,
    cells: dict[tuple[str, str], list[Logged]],
    started_at: datetime,
    ended_at: datetime,
) -> RunRecord:
    lines = [one.line for logged in cells.values() for one in logged]
    return RunRecord(
        **run.model_dump(),
        suite=_SUITE,
        suite_sha256=hashlib.sha256(LINE_SCHEMA.encode()).hexdigest(),
        lab=False,
        seed=0,
        blocks=max(len(_invocations(logged)) for logged in cells.values()),
        baseline=min(config_id for config_id, _ in cells),
        started_at=started_at,
        ended_at=ended_at,
        cells=tuple(_cell_record(*cell, logged) for cell, logged in cells.items()),
        datasets=(),
        environment=Environment(
            python=_all(line.runtime for line in lines),
            kernel=_NOT_TOLD,
            machine=_NOT_TOLD,
            cpu_model=_NOT_TOLD,
            cpu_count=0,
            memory_bytes=0,
            packages={},
            git_commit=_NOT_TOLD,
        ),
        harness=None,
        timing=Timing(server_start_ms=0, prepare_ms=0, measure_ms=0, wall_ms=0),
        measured_by=MEASURED_BY,
    )


def _cell_record(config_id: str, workload_id: str, logged: Sequence[Logged]) -> CellRecord:
    lines = [one.line for one in logged]
    cold = {line.request_id for line in lines if line.cold_invocation}
    return CellRecord(
        config_id=config_id,
        workload_id=workload_id,
        status="measured",
        cache_state=_NOT_TOLD,
        proof={
            "measured_by": MEASURED_BY,
            "label": f"{_all(line.config for line in lines)}, which nobody has proved",
            "runtime": _all(line.runtime for line in lines),
            "invocations": f"{len({line.request_id for line in lines})}, of which {len(cold)} cold",
        },
        parameters=dict(_asked(lines)),
    )


def _asked(lines: Sequence[SampleLine]) -> Iterator[tuple[str, str]]:
    yield "workload.kind", f"blob_{lines[0].op}"
    yield "workload.size", _all(line.bytes for line in lines)
    if lines[0].op == "read":
        yield "workload.read_mode", lines[0].read_mode or "single"
        yield "workload.dataset", lines[0].read_dataset or _NOT_TOLD
    yield "workload.warmup", _all(int(line.warmup) for line in lines)
    yield "workload.iterations", _all(line.sample_count + int(line.warmup) for line in lines)


def _all(values: Iterable[str | int]) -> str:
    """The values that there are, the most frequent first; of very many only some."""
    counts = Counter(values)
    named = ", ".join(str(value) for value, _ in counts.most_common(_MOST_NAMED))
    more = f" and {len(counts) - _MOST_NAMED:,} more" if len(counts) > _MOST_NAMED else ""
    return f"{named}{more}" or _NOT_TOLD
