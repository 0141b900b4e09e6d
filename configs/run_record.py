"""What a run says of itself: one record per run, stored last and shown by every report."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, NonNegativeInt

from configs.base import Identifier, Model
from configs.manifest import LeftOut

RUN_ID_PATTERN = r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"

DT_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

RunId = Annotated[str, Field(pattern=RUN_ID_PATTERN)]


class RunIdentity(Model):
    """What names a run, known before anything is measured."""

    run_id: RunId
    """UTC start and eight random hexadecimal digits: `20260101T020000Z-1a2b3c4d`."""
    dt: Annotated[str, Field(pattern=DT_PATTERN)]
    """UTC date of the scheduled night: the partition."""


class Night(Model):
    """Which night of which schedule a run measures; a run that somebody starts by hand is none."""

    schedule: Identifier
    """The slug of the schedule that started it."""
    scheduled_at: AwareDatetime
    """When it should have begun, which may be well before it did."""

    @property
    def dt(self) -> str:
        """The partition of the night: a run that begins after midnight, or late, stays in its own."""
        return dt_of(self.scheduled_at)


class CellRecord(Model):
    """How one cell ended, and what was found to run under its label."""

    config_id: Identifier
    workload_id: Identifier
    status: Literal["measured", "skipped", "failed"]
    reason: str = ""
    """Why it was skipped or failed, with what would help."""
    cache_state: str = ""
    """In words: what may hold the bytes when a read begins, or who has them when a write ends."""
    proof: dict[str, str] = {}
    """What was observed of the client, host or mount that really ran."""
    parameters: dict[str, str] = {}
    """What the suite asked for, flat: `workload.read_mode`, `access_path.engine`, `target.kind` …"""
    added_delay_ms: float | None = None
    """What the AWS-shaped lab adds each time for the host that was asked; None elsewhere, or if not known."""

    @property
    def cell_id(self) -> str:
        """The name of the series."""
        return f"{self.config_id}/{self.workload_id}"


class DatasetRecord(Model):
    """What a dataset held in this run."""

    name: Identifier
    kind: str
    objects: NonNegativeInt
    records: NonNegativeInt
    size_bytes: NonNegativeInt
    seed: int | None = None
    source: str = ""
    left_out: tuple[LeftOut, ...] = ()
    prefixes: tuple[str, ...] = ()
    """The key prefixes that it was read from, each with its trailing slash; none in older records."""


class Environment(Model):
    """The machine and the software that measured; no environment variable, host name or user name."""

    python: str
    kernel: str
    machine: str
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    packages: dict[str, str]
    git_commit: str
    """With `+dirty` where the checkout had changes; `unknown` outside a checkout."""


class HarnessCost(Model):
    """What measuring itself cost."""

    timer_resolution_ns: int
    """Smallest step between two unlike readings of the clock."""
    timed_nothing_ns: int
    """p50 of an empty operation timed by the same loop: part of every sample."""
    loop_gap_ns: int
    """Median over blocks of the mean time between two operations, checks of what was read included."""
    cpu_share: float
    """Processor seconds of the measuring processes by their wall seconds, while they measured."""


class Timing(Model):
    """Where the wall time of a run went, in milliseconds."""

    server_start_ms: NonNegativeInt
    prepare_ms: NonNegativeInt
    wait_ms: NonNegativeInt = 0
    """For another measurement on this host to end."""
    measure_ms: NonNegativeInt
    wall_ms: NonNegativeInt
    """From the command's first step until the run is recorded."""

    @property
    def orchestration_ms(self) -> int:
        """All that was neither preparing, waiting nor measuring."""
        return max(0, self.wall_ms - self.prepare_ms - self.wait_ms - self.measure_ms)


class RunRecord(RunIdentity):
    """One run, whole."""

    schema_version: int = 1
    suite: Identifier
    suite_sha256: str
    lab: bool
    """True: the numbers describe this machine and a local server, not Amazon S3."""
    seed: int
    blocks: int
    baseline: Identifier
    started_at: AwareDatetime
    ended_at: AwareDatetime
    cells: tuple[CellRecord, ...]
    datasets: tuple[DatasetRecord, ...]
    environment: Environment
    harness: HarnessCost | None
    """None where nothing was measured."""
    timing: Timing
    schedule: str | None = None
    """The slug of the schedule that started it; None for a run by hand."""
    scheduled_at: AwareDatetime | None = None
    """When that schedule wanted it to begin; None for a run by hand."""
    synthetic: bool = False
    """True: nothing was measured, all samples are made up."""
    measured_by: str = ""
    """Who measured, where it was not this harness: the run was imported. Empty for all others."""

    @property
    def failed_cells(self) -> tuple[CellRecord, ...]:
        """The cells that failed; none of them means that the run went well."""
        return tuple(cell for cell in self.cells if cell.status == "failed")


def dt_of(moment: datetime) -> str:
    """The partition of a moment: its UTC date."""
    return f"{moment.astimezone(UTC):%Y-%m-%d}"
