"""Lines of `s3_access_benchmark_v1`, of which a test names only what matters to it."""

import json
from typing import Final

FIELDS: Final[dict[str, object]] = {
    "schema": "s3_access_benchmark_v1",
    "config": "A_s3_sdk",
    "op": "read",
    "size": "small",
    "read_mode": "single",
    "read_dataset": "",
    "bytes": 65_536,
    "sample_index": 0,
    "sample_count": 100,
    "warmup": 5,
    "elapsed_ms": 1.5,
    "cold_invocation": False,
    "request_id": "request-1",
    "runtime": "python3.14",
}


def line_text(sample_index: int, /, **values: object) -> str:
    """One line, without its end."""
    return json.dumps(FIELDS | {"sample_index": sample_index} | values)
