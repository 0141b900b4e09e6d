"""Blocks of all cells are interleaved, in an order that the seed alone decides."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tasks.kernel.schedule import interleaved, share

CELLS = [f"cell-{number}" for number in range(8)]


def test_every_round_holds_every_cell_once() -> None:
    order = interleaved(CELLS, blocks=5, seed=1)
    for number in range(5):
        assert Counter(cell for block, cell in order if block == number) == Counter(CELLS)
    assert [block for block, _ in order] == sorted(block for block, _ in order)


def test_rounds_have_unlike_orders() -> None:
    order = interleaved(CELLS, blocks=5, seed=1)
    rounds = {tuple(cell for block, cell in order if block == number) for number in range(5)}
    assert len(rounds) == 5


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert interleaved(CELLS, 5, seed=3) == interleaved(CELLS, 5, seed=3)
    assert interleaved(CELLS, 5, seed=3) != interleaved(CELLS, 5, seed=4)


def test_105_operations_with_5_warmups_are_21_and_1_in_each_of_5_blocks() -> None:
    assert [share(105, 5, block) for block in range(5)] == [21] * 5
    assert [share(5, 5, block) for block in range(5)] == [1] * 5


@given(st.integers(0, 10_000), st.integers(1, 100))
def test_shares_add_up_and_differ_by_at_most_one(total: int, blocks: int) -> None:
    shares = [share(total, blocks, block) for block in range(blocks)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
