"""Samples with known times."""

from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest

from tasks.results.schema import SAMPLES

_DEFAULTS: dict[str, object] = {
    "run_id": "20260101T020000Z-1a2b3c4d",
    "config_id": "a",
    "workload_id": "w",
    "operation": "read",
    "outcome": "ok",
    "warmup": False,
    "block": 0,
    "worker": 0,
}


@pytest.fixture
def table() -> Callable[[Iterable[dict[str, object]]], pa.Table]:
    """Makes a table of samples from rows that name only what matters to the test."""
    return lambda rows: pa.Table.from_pylist([_DEFAULTS | row for row in rows], schema=SAMPLES)
