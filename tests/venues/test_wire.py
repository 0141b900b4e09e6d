"""A block arrives as it was sent, whole, or is refused."""

import io
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.kernel.environment import machine
from tasks.kernel.loop import LoopCost
from tasks.kernel.samples import INTEGER_COLUMNS, NULL, Failure, SampleColumns
from tasks.venues.wire import BlockCost, BlockOutcome, WireError, receive, send


def sent(outcome: BlockOutcome) -> bytes:
    stream = io.BytesIO()
    send(outcome, stream)
    return stream.getvalue()


def some_samples() -> SampleColumns:
    samples = SampleColumns()
    first = samples.grow(3, "scan")
    samples.grow(2, "scan_file")
    samples.integers["total_ns"][first] = 2**62
    samples.integers["started_us"][4] = -1
    samples.object_key[4] = samples.key_index("a/ö%20 \n.json.gz")
    samples.warmup[0] = 1
    samples.fail(1, Failure("Err", 'quote " and\nline', http_status=503, retries=2))
    return samples


def same(one: SampleColumns, other: SampleColumns) -> bool:
    """Whether two blocks hold the same; a column that is null in every row may be missing."""
    nothing = array("q", [NULL]) * len(one)
    columns = ("operation", "warmup", "object_key", "keys", "failures")
    return all(getattr(one, name) == getattr(other, name) for name in columns) and all(
        one.integers.get(name, nothing) == other.integers.get(name, nothing) for name in INTEGER_COLUMNS
    )


def test_a_block_arrives_as_it_was_sent() -> None:
    cost = BlockCost(20, 100, LoopCost(wall_ns=5, cpu_ns=4, gap_ns=3))
    outcome = BlockOutcome("measured", some_samples(), "why", {"host": "h"}, "cold", machine(), cost)
    received = receive(sent(outcome))
    assert same(received.samples, outcome.samples)
    assert replace(received, samples=outcome.samples) == outcome


def test_columns_in_which_nothing_happened_are_not_sent() -> None:
    samples = SampleColumns()
    samples.grow(100_000, "read")
    samples.integers["total_ns"][0] = 1
    assert len(sent(BlockOutcome("measured", samples))) < 100_000 * (8 + 8 + 1 + 1 + 4) + 2_000
    received = receive(sent(BlockOutcome("measured", samples))).samples
    assert same(received, samples)
    assert "http_status" not in received.integers


def test_an_empty_block_arrives() -> None:
    outcome = receive(sent(BlockOutcome("skipped", SampleColumns(), "no mount")))
    assert (outcome.status, outcome.reason, len(outcome.samples)) == ("skipped", "no mount", 0)


@given(st.integers(0, 10_000))
def test_any_part_of_a_block_is_refused(length: int) -> None:
    payload = sent(BlockOutcome("measured", some_samples()))
    with pytest.raises(WireError):
        receive(payload[: min(length, len(payload) - 1)])


@given(
    st.lists(
        st.fixed_dictionaries({name: st.integers(NULL, 2**63 - 1) for name in INTEGER_COLUMNS}), max_size=5
    )
)
def test_every_integer_of_64_bits_survives(rows: list[dict[str, int]]) -> None:
    samples = SampleColumns()
    samples.grow(len(rows), "scan")
    for number, row in enumerate(rows):
        for name, value in row.items():
            samples.put(number, name, value)
    assert same(receive(sent(BlockOutcome("measured", samples))).samples, samples)
