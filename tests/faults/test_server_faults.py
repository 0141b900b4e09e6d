"""What FAULTS.md says of a broken S3 server is what every access path reports, operation by operation."""

import functools
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from configs.targets import BucketTarget
from tasks.access.s3_client import control_client
from tasks.lab.state import LabState
from tasks.venues.places import lab_environment
from tasks.venues.wire import BlockOutcome
from tests.faults.blocks import (
    BODY,
    PART_BYTES,
    PATHS,
    PREFIX,
    Bench,
    Sample,
    bench,
    measured,
    reads,
    samples_of,
    stopped,
    writes,
)
from tests.faults.broken_answers import silence
from tests.faults.document import Told, rows, told_by
from tests.faults.server_faults import PARTS, READS, SERVER_GONE, WRITES, Faulty

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from configs.block import BlockSpec

TABLES = {"Reads": READS, "Writes": WRITES, "Uploads in parts": PARTS}
QUICK = {("Reads", "boto3_api"), ("Writes", "boto3_api"), ("Reads", "obstore"), ("Reads", "boto3_transfer")}
HANGS = Told("TimedOut", None, None)
STOPPED_AFTER_S = {"aws_cli": 35.0}
"""How long a block takes of which one operation never ends, where that is not a few seconds."""

StartBench = Callable[[str], Bench]
SpecOf = Callable[[str, Bench, str, dict[str, Faulty]], "BlockSpec"]
BlockOf = Callable[[str, str], dict[str, Sample]]
HungBlocksOf = Callable[[str], dict[tuple[str, str], BlockOutcome]]
NOTHING = Faulty(silence, ())
"""Hits no request."""


def cases(*, hang: bool) -> Iterator[Any]:
    """Every cell of the tables that says how an operation ends, or that it does not."""
    for heading in TABLES:
        for path in PATHS:
            for fault, told in told_by(heading, path).items():
                if (told == HANGS) == hang and (hang or fault != SERVER_GONE):
                    is_slow = hang or (heading, path) not in QUICK
                    marks = [pytest.mark.slow, pytest.mark.timeout(400)] if is_slow else []
                    yield pytest.param(heading, path, fault, marks=marks, id=f"{heading}-{path}-{fault}")


@pytest.fixture(scope="module")
def client(lab: LabState) -> Iterator["S3Client"]:
    """A client of the real server, which no fault reaches."""
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
    made = control_client(target, lab_environment(lab))
    yield made
    made.close()


@pytest.fixture(scope="module")
def start_bench(
    lab: LabState, client: "S3Client", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartBench]:
    """Starts a faulty proxy that serves until the last test."""
    with ExitStack() as stack:

        def start(path: str) -> Bench:
            folder = tmp_path_factory.mktemp("bench")
            return stack.enter_context(bench(lab, client, folder, aws_shaped=path == "crt"))

        yield start


@pytest.fixture(scope="module")
def spec_of(client: "S3Client") -> SpecOf:
    """What a block does that meets some faults of a table."""

    def spec_of(heading: str, one: Bench, path: str, faults: dict[str, Faulty]) -> "BlockSpec":
        if heading == "Reads":
            return reads(one, path, faults, client)
        size_bytes = len(BODY) if heading == "Writes" else PART_BYTES + len(BODY)
        return writes(one, path, faults, size_bytes)

    return spec_of


@pytest.fixture(scope="module")
def block_of(start_bench: StartBench, spec_of: SpecOf) -> BlockOf:
    """By fault: how its operation ended, in one block that meets all faults of a table which let it go on."""
    known: dict[tuple[str, str], dict[str, Sample]] = {}

    def block_of(heading: str, path: str) -> dict[str, Sample]:
        if (heading, path) not in known:
            ends = {name for name, told in told_by(heading, path).items() if told != HANGS} - {SERVER_GONE}
            faults = {name: fault for name, fault in TABLES[heading].items() if name in ends}
            one = start_bench(path)
            spec = spec_of(heading, one, path, faults)
            outcome = stopped(one, spec, 300) if path == "crt" else measured(one, spec)
            assert (outcome.status, outcome.reason) == ("measured", "")
            samples = samples_of(outcome)
            assert len(samples) == 2 * len(faults), "every operation is a sample"
            assert [sample.message for sample in samples[1::2] if sample.told.error] == []
            assert {asked.fault for asked in one.proxy.suffered()} == set(faults)
            known[heading, path] = dict(zip(faults, samples[::2], strict=True))
        return known[heading, path]

    return block_of


@pytest.fixture(scope="module")
def hung_blocks_of(start_bench: StartBench, spec_of: SpecOf) -> HungBlocksOf:
    """By table and fault: blocks in which one operation never ends; they wait, several at a time."""

    @functools.cache
    def hung_blocks_of(path: str) -> dict[tuple[str, str], BlockOutcome]:
        cells = [
            (heading, fault)
            for heading in TABLES
            for fault, told in told_by(heading, path).items()
            if told == HANGS
        ]
        benches = [start_bench(path) for _ in cells]
        specs = [
            spec_of(heading, one, path, {"nothing": NOTHING, fault: TABLES[heading][fault]})
            for one, (heading, fault) in zip(benches, cells, strict=True)
        ]
        # A host has one CRT client; and the AWS CLI takes the processor, for eight starts before it hangs.
        at_once = 1 if path in {"crt", "aws_cli"} else 4
        with ThreadPoolExecutor(at_once) as pool:
            stopped_after_s = itertools.repeat(STOPPED_AFTER_S.get(path, 10.0))
            return dict(zip(cells, pool.map(stopped, benches, specs, stopped_after_s), strict=True))

    return hung_blocks_of


@pytest.mark.parametrize("heading", TABLES)
def test_the_document_names_every_fault_that_is_tried_and_no_other(heading: str) -> None:
    named = [row["fault"] for row in rows(heading)]
    assert set(named) == set(TABLES[heading])
    assert len(named) == len(set(named))


@pytest.mark.parametrize(("heading", "path", "fault"), [*cases(hang=False)])
def test_an_access_path_reports_a_fault_as_the_document_says(
    heading: str, path: str, fault: str, block_of: BlockOf
) -> None:
    sample, told = block_of(heading, path)[fault], told_by(heading, path)[fault]
    assert sample.told.error == told.error, sample.message
    assert (sample.told.retries or 0) == (told.retries or 0)
    assert sample.key.startswith(PREFIX), "it says which object failed"
    if told.error:
        assert sample.told == told, sample.message
        assert sample.message.strip()
    else:
        assert sample.size_bytes in {len(BODY), PART_BYTES + len(BODY)}


@pytest.mark.parametrize(("heading", "path", "fault"), [*cases(hang=True)])
def test_an_operation_that_never_ends_is_a_sample_of_a_block_that_does(
    heading: str, path: str, fault: str, hung_blocks_of: HungBlocksOf
) -> None:
    outcome = hung_blocks_of(path)[heading, fault]
    assert outcome.status == "failed"
    assert "block_timeout_s" in outcome.reason
    errors = [sample.told.error for sample in samples_of(outcome)]
    assert errors[2:] == ["TimedOut"]
    # What was written before has not been looked up when the block is stopped.
    assert set(errors[:2]) == ({""} if heading == "Reads" else {"NotVerified"})


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path in {"boto3_api", "obstore"} else pytest.mark.slow)
        for path in PATHS
        if told_by("Reads", path).get(SERVER_GONE, HANGS) != HANGS
    ],
)
def test_a_server_that_ends_makes_errors_of_what_follows_and_loses_nothing(
    path: str, start_bench: StartBench, spec_of: SpecOf
) -> None:
    one = start_bench(path)
    faults = {"nothing": NOTHING, SERVER_GONE: READS[SERVER_GONE], "nothing more": NOTHING}
    outcome = measured(one, spec_of("Reads", one, path, faults))
    samples = samples_of(outcome)
    assert [bool(sample.told.error) for sample in samples] == [False] * 2 + [True] * 4
    assert {sample.told for sample in samples[3:]} == {told_by("Reads", path)[SERVER_GONE]}
    assert outcome.status == "measured", "whoever reads the samples sees what was lost"
