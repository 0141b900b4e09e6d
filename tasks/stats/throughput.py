"""How many bytes several threads moved together: bytes of a block by its wall time, never by one operation's.

With 64 threads 64 operations run at once, and the time of one of them says nothing of what all move. Warm-ups
are part of it, with their bytes and their time: one thread measures while another still warms up.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasks.kernel.samples import NULL
from tasks.stats.quantiles import nearest_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Together:
    """What the threads of one series moved together."""

    threads: int
    bytes_per_s: tuple[float, ...]
    """One for each block, in their order; empty where sizes or starts are not known."""

    @property
    def median_bytes_per_s(self) -> float | None:
        """The nearest-rank median over the blocks; None without any."""
        ascending = sorted(self.bytes_per_s)
        return ascending[nearest_rank(len(ascending), 50) - 1] if ascending else None


def moved_together(
    block: "NDArray[np.int64]",
    started_us: "NDArray[np.int64]",
    total_ns: "NDArray[np.int64]",
    size_bytes: "NDArray[np.int64]",
) -> tuple[float, ...]:
    """Bytes per second of each block, from the start of its first operation to the end of its last one.

    Args:
        block: the block of each operation, warm-ups and failed ones too, shaped (n,), as all others.
        started_us: when it started, on one clock for all threads of a block.
        total_ns: how long it took.
        size_bytes: what it moved; 0 where it failed.
    """
    if any((column == NULL).any() for column in (started_us, total_ns, size_bytes)):
        return ()
    rates = []
    for number in np.unique(block):
        mine = block == number
        begun_us = started_us[mine] - started_us[mine].min()  # small, so that nanoseconds of it fit
        span_ns = int((begun_us * 1000 + total_ns[mine]).max())
        moved = int(size_bytes[mine].sum())
        if moved > 0 and span_ns > 0:  # a block of nothing but errors has no throughput
            rates.append(moved / (span_ns / 1e9))
    return tuple(rates)
