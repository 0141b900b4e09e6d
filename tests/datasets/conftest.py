"""Fixtures of the dataset tests: small CloudTrail logs, a preparing function, and a record of requests."""

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from configs.manifest import Manifest
from tasks.datasets.prepare import prepare_dataset

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DAY = "AWSLogs/123456789012/CloudTrail/us-east-1/2026/05/01"


@pytest.fixture
def log_key() -> Callable[[int], str]:
    """Keys of logs, by number."""
    return lambda number: f"{DAY}/123456789012_CloudTrail_us-east-1_20260501T0005Z_{number:016d}.json.gz"


@pytest.fixture
def log_bytes() -> Callable[[int], bytes]:
    """A log with so many records."""
    return lambda records: gzip.compress(
        json.dumps({"Records": [{"eventVersion": "1.11"}] * records}).encode()
    )


@pytest.fixture
def folder(tmp_path: Path, log_key: Callable[[int], str], log_bytes: Callable[[int], bytes]) -> Path:
    """A source folder with three logs, of 1, 2 and 3 records."""
    for number in (1, 2, 3):
        path = tmp_path / "logs" / log_key(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(log_bytes(number))
    return tmp_path / "logs"


@pytest.fixture
def many_logs(tmp_path: Path, log_key: Callable[[int], str], log_bytes: Callable[[int], bytes]) -> Path:
    """A source folder with 1,100 logs of one record: more than one page of a listing."""
    (tmp_path / log_key(0)).parent.mkdir(parents=True)
    for number in range(1_100):
        (tmp_path / log_key(number)).write_bytes(log_bytes(1))
    return tmp_path


@pytest.fixture
def prepare(s3_client: "S3Client", bucket: str) -> Callable[..., Manifest]:
    """`prepare_dataset` of the dataset `logs` below `team/bench`; only the configuration is left to give."""
    return partial(prepare_dataset, s3_client, bucket, "team/bench", "logs", source_client=s3_client)


@pytest.fixture
def requests_made(s3_client: "S3Client") -> Iterator[list[str]]:
    """The names of the operations that the client is asked for, as they happen."""
    names: list[str] = []

    def note(model: object, **_: object) -> None:
        names.append(model.name)  # type: ignore[attr-defined]

    s3_client.meta.events.register("before-call.s3", note)
    yield names
    s3_client.meta.events.unregister("before-call.s3", note)


@pytest.fixture
def keys_below(s3_client: "S3Client", bucket: str) -> Callable[[str], set[str]]:
    """The keys in the bucket below a prefix."""

    def listed(prefix: str) -> set[str]:
        pages = s3_client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return {entry["Key"] for page in pages for entry in page.get("Contents", [])}

    return listed


@pytest.fixture
def sample() -> Path:
    """The real logs that lie beside the project, where they do."""
    path = Path(__file__).parents[2] / "../shared/data/cloudtrail-sample"
    if not path.is_dir():
        pytest.skip("the sample of real CloudTrail logs is not beside the project")
    return path.resolve()
