"""A run against a server that breaks answers at random: every operation and every fault is accounted for."""

import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.faults.broken_answers import lost_write, refusal, short_body
from tests.faults.fault_proxy import FaultProxy, Rule, running_proxy

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SUITE = """
name: faulty
blocks: 3
targets:
  bucket: {{kind: bucket, bucket: {bucket}, prefix: faulty, endpoint_url: "{url}", region: us-east-1}}
configurations:
  boto3: {{access_path: {{kind: boto3_api, max_attempts: 3}}, target: bucket}}
datasets:
  blobs: {{kind: blobs, size: 10 KiB, unique_count: 24}}
workloads:
  read: {{kind: blob_read, dataset: blobs, read_mode: unique, iterations: 24, warmup: 3}}
  write: {{kind: blob_write, size: 10 KiB, iterations: 24, warmup: 3}}
"""
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret"}
ANSWERED_ONCE = {"AccessDenied": 403, "ResponseStreamingError": 200, "NotFoundAfterWrite": 200}
"""Faults that no client tries again: each is an error, with its status."""


def at_random(seed: int) -> list[Rule]:
    """Faults of operations alone: reads of the dataset's blobs, and writes below a run's prefix."""
    chance = random.Random(seed)

    def some(part: float, method: str, place: str) -> Callable[[str, str], bool]:
        return lambda asked, path: asked == method and place in path and chance.random() < part

    reads, writes = ("GET", "/blobs/"), ("PUT", "/runs/")
    return [
        Rule("SlowDown", refusal(503, "SlowDown"), some(0.12, *reads)),
        Rule("InternalError", refusal(500, "InternalError"), some(0.12, *reads)),
        Rule("AccessDenied", refusal(403, "AccessDenied"), some(0.12, *reads)),
        Rule("ResponseStreamingError", short_body, some(0.12, *reads)),
        Rule("SlowDown", refusal(503, "SlowDown"), some(0.12, *writes)),
        Rule("InternalError", refusal(500, "InternalError"), some(0.12, *writes)),
        Rule("AccessDenied", refusal(403, "AccessDenied"), some(0.12, *writes)),
        Rule("NotFoundAfterWrite", lost_write, some(0.12, *writes)),
    ]


@pytest.fixture
def proxy(s3_client: "S3Client") -> Iterator[FaultProxy]:
    with running_proxy(s3_client) as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_with_faults_at_random_loses_no_operation_and_counts_every_fault(
    s3bench: Command, tmp_path: Path, prefect_api_url: str, proxy: FaultProxy, bucket: str
) -> None:
    proxy.rules = at_random(seed=7)
    suite = SUITE.format(bucket=bucket, url=proxy.endpoint_url)
    (tmp_path / "faulty.yaml").write_text(suite, encoding="utf-8")
    variables = {**KEYS, "PREFECT_API_URL": prefect_api_url, "COLUMNS": "300"}  # so that no row wraps
    answer = s3bench("run", "faulty.yaml", "--seed", "7", **variables)
    assert answer.returncode == 0, answer.stdout + answer.stderr

    injected = Counter(asked.fault for asked in proxy.suffered())
    samples = f"read_parquet('{tmp_path}/results/v1/samples/*/*/*.parquet', hive_partitioning=true)"
    query = duckdb.connect().execute
    totals = f"SELECT count(*), count(*) FILTER (warmup), sum(retries), count(error) FROM {samples}"  # noqa: S608
    found = query(f"{totals} GROUP BY workload_id ORDER BY 1").fetchall()
    assert [row[:2] for row in found] == [(24, 3)] * 2
    # A fault is either tried again by the SDK or the end of its operation: none is left over or made up.
    assert sum(retries + errors for _, _, retries, errors in found) == injected.total()
    assert min(injected.values()) > 0
    kinds = query(
        f"SELECT operation, error, http_status, count(*) FROM {samples} "  # noqa: S608
        "WHERE outcome = 'error' GROUP BY ALL"
    ).fetchall()
    once = Counter(dict.fromkeys(ANSWERED_ONCE, 0))
    for _, error, status, count in kinds:
        if error in ANSWERED_ONCE:
            assert status == ANSWERED_ONCE[error]
            once[error] += count
    assert once == Counter({error: injected[error] for error in ANSWERED_ONCE})

    (page,) = (tmp_path / "results" / "reports").glob("*.html")
    shown = page.read_text(encoding="utf-8")
    for operation, error, status, count in kinds:
        told = rf"{operation}: {error}, HTTP {status}(?:, \d+ of them warm-ups)?"
        assert re.search(rf"{told} +{count} ", re.sub(r"\s+", " ", answer.stdout)), told
        assert re.search(rf"{told}</td>\s*<td[^>]*>{count}</td>", shown), told
