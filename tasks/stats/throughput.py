"""How many bytes threads or clients moved together: bytes by the time of all, never by one operation's.

With 64 threads 64 operations run at once, and the time of one of them says nothing of what all move.

Threads of one client: bytes of a block by its wall time. Warm-ups are part of it, with their bytes and their
time: one thread measures while another still warms up.

Several clients: bytes within the window in which all of them were active, by its length. It opens with the
first operation of the client that began last and closes with the last end of the client that ended first.
Warm-ups lie before the common start and are no part of it. An operation that only partly lies within counts
with that share of its bytes. Rejected: whole operations only, which loses one of each thread at each edge, a
tenth of a window of twenty; and the whole block, in which those that are still there have less and less
company.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasks.kernel.samples import NULL
from tasks.stats.quantiles import nearest_rank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Crew:
    """Who measured a cell."""

    clients: int
    threads: int
    """Of each client; worker number `w` of the samples is thread `w % threads` of client `w // threads`."""


@dataclass(frozen=True, slots=True)
class Together:
    """What the threads of one series moved together."""

    threads: int
    """Of all clients."""
    bytes_per_s: tuple[float, ...]
    """One for each block, in their order; empty where sizes or starts are not known."""
    clients: int = 1
    active_shares: tuple[float, ...] = ()
    """Of each of those blocks, the share of its time in which all clients were active; empty for threads."""

    @property
    def median_bytes_per_s(self) -> float | None:
        """The nearest-rank median over the blocks; None without any."""
        return _median(self.bytes_per_s)

    @property
    def median_active_share(self) -> float | None:
        """The nearest-rank median over the blocks; None where several clients were not asked for."""
        return _median(self.active_shares)


def _median(values: tuple[float, ...]) -> float | None:
    ascending = sorted(values)
    return ascending[nearest_rank(len(ascending), 50) - 1] if ascending else None


class Moved(NamedTuple):
    """The operations of a series, failed ones too. Each column is shaped (n,)."""

    worker: "NDArray[np.int64]"
    block: "NDArray[np.int64]"
    started_us: "NDArray[np.int64]"
    """When it started, on one clock for all."""
    total_ns: "NDArray[np.int64]"
    """How long it took."""
    size_bytes: "NDArray[np.int64]"
    """What it moved; 0 where it failed."""

    def of(self, rows: "NDArray[np.bool_] | NDArray[np.intp]") -> "Moved":
        """Some of them."""
        return Moved(*(column[rows] for column in self))

    def blocks(self) -> "Iterator[Moved]":
        """One block after the other."""
        for number in np.unique(self.block):
            yield self.of(self.block == number)

    @property
    def is_known(self) -> bool:
        """Whether it is known of all of them when they were and what they moved."""
        columns = (self.started_us, self.total_ns, self.size_bytes)
        return not any((column == NULL).any() for column in columns)


def moved_by_threads(moved: Moved) -> tuple[float, ...]:
    """Bytes per second of each block, from the start of its first operation to the end of its last one.

    Args:
        moved: all operations, warm-ups too.
    """
    rates = []
    for block in moved.blocks() if moved.is_known else ():
        begun_us = block.started_us - block.started_us.min()  # small, so that nanoseconds of it fit
        span_ns = int((begun_us * 1000 + block.total_ns).max())
        moved_bytes = int(block.size_bytes.sum())
        if moved_bytes > 0 and span_ns > 0:  # a block of nothing but errors has no throughput
            rates.append(moved_bytes / (span_ns / 1e9))
    return tuple(rates)


def moved_by_clients(moved: Moved, crew: Crew) -> Together:
    """What several clients moved in the windows in which all of them were active.

    A block has no throughput in which a client is missing, or had ended before another one began.

    Args:
        moved: all operations but warm-ups.
        crew: who did them.
    """
    rates, shares = [], []
    for block in moved.blocks() if moved.is_known else ():
        found = _in_window(block, crew)
        if found is not None:
            rates.append(found[0])
            shares.append(found[1])
    return Together(crew.clients * crew.threads, tuple(rates), crew.clients, tuple(shares))


def _in_window(block: Moved, crew: Crew) -> tuple[float, float] | None:
    """Bytes per second within the window of a block, and the window's share of the block's time."""
    client = block.worker // crew.threads
    begun_ns = (block.started_us - block.started_us.min()) * 1000
    ended_ns = begun_ns + block.total_ns
    mine = [client == number for number in range(crew.clients)]
    if not all(rows.any() for rows in mine):
        return None
    opens_ns = max(int(begun_ns[rows].min()) for rows in mine)
    closes_ns = min(int(ended_ns[rows].max()) for rows in mine)
    within_ns = np.clip(np.minimum(ended_ns, closes_ns) - np.maximum(begun_ns, opens_ns), 0, None)
    moved_bytes = float((block.size_bytes * (within_ns / np.maximum(block.total_ns, 1))).sum())
    if closes_ns <= opens_ns or moved_bytes <= 0:
        return None
    window_ns = closes_ns - opens_ns
    return moved_bytes / (window_ns / 1e9), window_ns / int(ended_ns.max())
