"""Columns of samples: rare ones are made when they are first needed, and stay as long as the others."""

from tasks.kernel.samples import NULL, SampleColumns


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
