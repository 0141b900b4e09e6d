"""Which block comes when: rounds of all cells, each in an order of its own drawn from a stored seed.

Drift of the machine, the network or the service then hits every cell alike.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def interleaved(items: Sequence[Item], blocks: int, seed: int) -> list[tuple[int, Item]]:
    """Pairs of block number and item: `blocks` rounds, each with every item once in shuffled order."""
    order = random.Random(seed)  # noqa: S311 - a repeatable order is wanted, not a secret one
    rounds = []
    for block in range(blocks):
        shuffled = list(items)
        order.shuffle(shuffled)
        rounds += [(block, item) for item in shuffled]
    return rounds


def share(total: int, blocks: int, block: int) -> int:
    """How many of `total` fall to number `block` of `blocks`: as even as whole numbers allow."""
    return total // blocks + (block < total % blocks)
