"""Blobs: objects of random bytes that no compression or deduplication on the way can shorten.

The bytes come from numpy's SFC64 bit generator, seeded with the dataset's seed and the object's name, so
that each object is made alone, in any order. numpy promises that a bit generator's raw stream stays the
same for a seed ("Compatibility policy", numpy.random). Measured on the machine of development, per core:
SFC64 3.6 GB/s; rejected: numpy's Philox 0.5 GB/s, `hashlib.shake_256` 0.5 GB/s, `random.randbytes`
0.5 GB/s.
"""

import hashlib
from functools import partial
from typing import Final

import numpy as np

from configs.datasets import Blobs
from tasks.datasets.plan import Item, Payload, Plan, fingerprint_of

SINGLE_NAME: Final = "single.bin"
"""The object that `single` reads take."""

_WORD_BYTES: Final = 8


def unique_name(index: int) -> str:
    """The name of the object that `unique` reads take as number `index`, counted from 0."""
    return f"unique/{index:06d}.bin"


def blob_bytes(seed: int, name: str, size_bytes: int) -> bytes:
    """Make `size_bytes` random bytes: the same for the same seed and name."""
    entropy = int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest())
    words = np.random.SFC64(entropy).random_raw(-(-size_bytes // _WORD_BYTES))
    return words.astype("<u8", copy=False).tobytes()[:size_bytes]


def plan_blobs(config: Blobs) -> Plan:
    """Plan one object for `single` reads and `unique_count` for `unique` reads."""
    names = [SINGLE_NAME, *(unique_name(index) for index in range(config.unique_count))]
    return Plan(
        source="random bytes",
        fingerprint=fingerprint_of(config),
        seed=config.seed,
        items=tuple(Item(name, name, partial(_payload, config, name)) for name in names),
        largest_bytes=config.size,
    )


def _payload(config: Blobs, name: str) -> Payload:
    return Payload(blob_bytes(config.seed, name, config.size))
