"""Columns of samples: rare ones are made when they are first needed, and stay as long as the others."""

from tasks.kernel.samples import NULL, Failure, SampleColumns


def test_a_rare_column_is_made_when_it_is_first_filled_and_null_elsewhere() -> None:
    samples = SampleColumns()
    samples.grow(3, "read")
    assert "session_ns" not in samples.integers
    samples.put(1, "session_ns", 7)
    samples.grow(2, "read")
    assert list(samples.integers["session_ns"]) == [NULL, 7, NULL, NULL, NULL]


def test_blocks_with_unlike_columns_are_joined_with_nulls() -> None:
    one, other = SampleColumns(), SampleColumns()
    one.grow(2, "read")
    other.grow(2, "upload")
    one.put(0, "ttfb_ns", 5)
    other.put(1, "user_ns", 9)
    one.extend(other)
    assert list(one.integers["ttfb_ns"]) == [5, NULL, NULL, NULL]
    assert list(one.integers["user_ns"]) == [NULL, NULL, NULL, 9]


def test_rows_that_were_never_reached_are_forgotten_in_rare_columns_too() -> None:
    samples = SampleColumns()
    samples.grow(3, "read")
    samples.put(2, "ttfb_ns", 5)
    samples.integers["total_ns"][2] = 6
    samples.drop_unmeasured()
    assert (list(samples.integers["ttfb_ns"]), list(samples.integers["total_ns"])) == ([5], [6])


def an_operation(samples: SampleColumns, total_ns: int = NULL) -> int:
    row = samples.grow(1, "read")
    samples.integers["total_ns"][row] = total_ns
    return row


def test_giving_up_keeps_what_ended_and_makes_an_error_of_what_hangs() -> None:
    samples = SampleColumns()
    an_operation(samples, 5)
    samples.under_way = an_operation(samples), 1_000_000_000
    samples.grow(3, "read")
    assert samples.give_up(70_000_000, 3_500_000_000) == 1
    assert list(samples.integers["total_ns"]) == [5, 2_500_000_000]
    assert samples.integers["started_us"][1] == 67_500_000
    message = "it had not ended after 2.5 s, when the block was stopped"
    assert samples.failures == {1: Failure("TimedOut", message)}


def test_giving_up_counts_no_result_that_is_still_verified() -> None:
    samples = SampleColumns()
    samples.under_way = an_operation(samples, 5), 0
    assert samples.give_up(3_000_000, 7) == 0
    assert samples.failures[0].error == "NotVerified"
    assert list(samples.integers["total_ns"]) == [5]


def test_giving_up_joins_what_threads_have_each_and_looks_at_all_of_it() -> None:
    samples = SampleColumns(parts=[SampleColumns(), SampleColumns()], to_look_up=True)
    an_operation(samples.parts[0], 7)
    samples.parts[1].under_way = an_operation(samples.parts[1]), 0
    assert samples.give_up(2_000_000, 9) == 1
    assert {row: one.error for row, one in samples.failures.items()} == {0: "NotVerified", 1: "TimedOut"}
    assert samples.parts == []


def test_giving_up_before_anything_began_leaves_nothing() -> None:
    samples = SampleColumns()
    samples.grow(4, "read")
    assert samples.give_up(1, 1) == 0
    assert len(samples) == 0
