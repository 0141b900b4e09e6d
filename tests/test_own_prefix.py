"""Whatever happens, only what lies below a target's own prefix is changed, and there only of this run."""

import contextlib
import secrets
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit

import boto3
import pytest
from botocore.loaders import JSONFileLoader
from botocore.retries.standard import ExponentialBackoff
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from configs.base import is_prefix
from configs.block import BlockSpec
from configs.datasets import Blobs, CloudTrailGenerated, DatasetConfig, FileTree
from configs.errors import UserError
from configs.loading import parse_suite
from configs.run_record import RunIdentity
from configs.suite import Suite
from tasks import measure
from tasks.access.cleanup import left_over_runs, remove_run
from tasks.access.s3_client import control_client
from tasks.datasets.expiry import find_datasets, tend_dataset
from tasks.datasets.prepare import prepare_dataset
from tasks.lab.lambda_functions import running_emulator
from tasks.results.store import open_store
from tasks.venues.block import run_block
from tasks.venues.launch import Launch
from tasks.venues.places import Place
from tasks.venues.recovery import recover
from tasks.venues.scratch import scratch_folder
from tasks.venues.session import SessionPlan
from tasks.venues.wire import BlockOutcome
from tests.faults.broken_answers import lost_answer
from tests.faults.fault_proxy import FaultHandler, FaultProxy, Reply, Rule, running_proxy

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FIRST, SECOND, OTHER = (f"20260101T020000Z-0000000{number}" for number in range(3))
SUITE: Final = """
name: s
blocks: 1
targets:
  b: {{kind: bucket, bucket: {bucket}, prefix: "{prefix}", endpoint_url: "{url}", region: us-east-1}}
configurations:
{configurations}
workloads:
  "{blob}": {{kind: blob_write, size: 64, iterations: 2, warmup: 0}}
  "{file}": {{kind: file_upload, size: {file_size}, iterations: 2, warmup: 0}}
"""
ACCESS_PATHS: Final = {
    "boto3_api": "{kind: boto3_api, max_attempts: 1}",
    "boto3_transfer": "{kind: boto3_transfer, threads: 2, multipart_threshold: 5 MiB, part_size: 5 MiB}",
    "obstore": "{kind: obstore, max_attempts: 1}",
}
DATASETS: Final[tuple[DatasetConfig, ...]] = (
    Blobs(size=64, unique_count=2),
    FileTree(scale=0.0003, mean_size=100),
    CloudTrailGenerated(files=2, records=4),
)
PARTS: Final = st.text("abr.=@", min_size=1, max_size=3) | st.sampled_from(["runs", "datasets", "team"])


class Recorder(FaultHandler):
    """Keeps the keys of all that the server is told to change."""

    def pass_on(self) -> Reply:
        WRITTEN.extend(changed_keys(self.command, self.path, self.sent))
        return super().pass_on()


WRITTEN: Final[list[str]] = []


def changed_keys(method: str, path: str, sent: bytes) -> list[str]:
    """The keys that a request creates, begins, changes or deletes."""
    if method not in {"PUT", "POST", "DELETE"}:
        return []
    asked = urlsplit(path)
    if method == "POST" and "delete" in parse_qs(asked.query, keep_blank_values=True):
        return [key.text or "" for key in ET.fromstring(sent).iter() if key.tag.endswith("}Key")]  # noqa: S314 - ours
    return [unquote(asked.path).removeprefix("/").partition("/")[2]]


@dataclass(frozen=True)
class Crash:
    """After so many requests nobody is answered any more; the last one may still have been done."""

    after: int
    last_is_done: bool

    def rule(self) -> Rule:
        number = count()

        def fault(handler: FaultHandler) -> None:
            lost_answer(handler) if self.last_is_done and next(number) == 0 else handler.reset()

        asked = count()
        return Rule("crash", fault, lambda *_: next(asked) >= self.after)


@dataclass(frozen=True)
class Example:
    """What is run, and when it ends early."""

    prefix: str
    dataset: str
    config: DatasetConfig
    access_paths: list[str]
    ids: list[str]
    versioned: bool
    crashes: list[Crash]
    """Of preparing and of measuring."""


NO_SHRINKING: Final = (Phase.generate,)
"""One example takes about a second: a smaller one would take minutes to find."""
IDS = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
EXAMPLES = st.builds(
    Example,
    prefix=st.lists(PARTS, min_size=1, max_size=3).map("/".join).filter(is_prefix),
    dataset=IDS,
    config=st.sampled_from(DATASETS),
    access_paths=st.lists(st.sampled_from(sorted(ACCESS_PATHS)), max_size=2),
    ids=st.lists(IDS, min_size=3, max_size=3, unique=True),
    versioned=st.booleans(),
    crashes=st.tuples(
        st.builds(Crash, st.integers(0, 8), st.booleans()),
        st.builds(Crash, st.integers(0, 30), st.booleans()),
    ).map(list),
)


@dataclass(frozen=True)
class Bench:
    """A server with versions, what stands before it, and a folder."""

    client: "S3Client"
    """Of the server itself."""
    proxy: FaultProxy
    folder: Path


@dataclass
class Round:
    """One example under way in a bucket of its own."""

    bench: Bench
    example: Example
    file_size: str
    """What is 5 MiB or more goes in parts."""
    bucket: str = field(default_factory=lambda: f"b-{secrets.token_hex(8)}")

    @cached_property
    def suite(self) -> Suite:
        ids = self.example.ids
        # Both workloads have somebody who can do them.
        paths = list(dict.fromkeys(["boto3_transfer", *self.example.access_paths, "boto3_api"]))
        lines = [
            f'  "{config_id}": {{access_path: {ACCESS_PATHS[path]}, target: b}}'
            for config_id, path in zip(ids, paths, strict=False)
        ]
        text = SUITE.format(
            bucket=self.bucket,
            prefix=self.example.prefix,
            url=self.bench.proxy.endpoint_url,
            configurations="\n".join(lines),
            blob=ids[0],
            file=ids[1],
            file_size=self.file_size,
        )
        return parse_suite(text, "s.yaml")

    @cached_property
    def control(self) -> "S3Client":
        return control_client(self.suite.bucket("b"), {})

    def run_prefix(self, run_id: str) -> str:
        return f"{self.example.prefix}/runs/{run_id}/"

    @property
    def strangers(self) -> list[str]:
        """Keys of others, as near to ours as can be."""
        prefix, dataset = self.example.prefix, f"{self.example.prefix}/datasets/{self.example.dataset}"
        run = self.run_prefix(FIRST)
        ours = (f"{prefix}/runs/", f"{prefix}/datasets/")
        near = [f"{prefix}2/k", f"{prefix}x", prefix, f"x/{run}k", f"/{run}k", f"{prefix}//runs/{FIRST}/k"]
        near += [f"{ours[0]}README", f"{ours[0]}{OTHER}/k", run[:-1], f"{run[:-1]}x/k", f"{ours[0]}../k"]
        near += [f"{dataset}x/k", f"{dataset}.manifest.json.bak", f"{ours[1]}README", f"{dataset}", "é +%&<k"]
        return [key for key in near if not key.startswith((run, self.run_prefix(SECOND), f"{dataset}/"))]

    def plant(self) -> None:
        client = self.bench.client
        client.create_bucket(Bucket=self.bucket)
        if self.example.versioned:
            client.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        for number, key in enumerate(self.strangers):
            client.put_object(Bucket=self.bucket, Key=key, Body=key.encode())
            if number % 4 == 0:
                client.put_object(Bucket=self.bucket, Key=key, Body=b"newer")
                client.create_multipart_upload(Bucket=self.bucket, Key=key)
            if number % 8 == 0:
                client.delete_object(Bucket=self.bucket, Key=key)

    def seen(self, ours: Callable[[str], bool]) -> list[tuple[str, ...]]:
        """Every version, marker and unfinished upload of some keys, as the server has it."""
        found = []
        for page in self.bench.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket):
            for entry in page.get("Versions", []):
                changed = str(entry["LastModified"])
                found.append(
                    (entry["Key"], entry["VersionId"], entry["ETag"], changed, str(entry["IsLatest"]))
                )
            found += [(entry["Key"], entry["VersionId"], "marker") for entry in page.get("DeleteMarkers", [])]
        uploads = self.bench.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])
        found += [(entry["Key"], entry["UploadId"], "upload") for entry in uploads]
        return sorted(one for one in found if ours(one[0]))

    def is_strangers(self, key: str) -> bool:
        return key in self.strangers

    def do(self, work: Callable[[], object], own: tuple[str, ...], crash: Crash | None = None) -> None:
        """Do something, which may crash, and look at what it was that it changed."""
        self.bench.proxy.rules[:] = [crash.rule()] if crash else []
        WRITTEN.clear()
        if crash:
            with contextlib.suppress(UserError):
                work()
        else:
            work()
        assert [key for key in WRITTEN if not key.startswith(own)] == []
        self.bench.proxy.rules.clear()

    def prepare(self) -> object:
        example = self.example
        return prepare_dataset(
            self.control,
            self.bucket,
            example.prefix,
            example.dataset,
            example.config,
            source_client=self.control,
        )

    def measure(self, run_id: str) -> None:
        suite, scratch = self.suite, scratch_folder(self.bench.folder / "scratch")
        plan = SessionPlan(RunIdentity(run_id=run_id, dt="2026-01-01"), suite, "", 1, {}, {}, scratch)
        store = open_store(self.bench.folder / self.bucket)
        measure._measure(InThisProcess(), plan, Place(suite, {}, {}, scratch), store, Launch())

    def expire(self) -> None:
        example = self.example
        found = find_datasets(self.control, self.bucket, example.prefix, set())
        (ours,) = (one for one in found if one.name == example.dataset)
        outcome = tend_dataset(
            self.control,
            ours,
            last_read=lambda *_: None,
            unused_since=datetime.now(UTC) + timedelta(days=1),
            remove=True,
        )
        assert outcome.action == "removed"


class InThisProcess:
    """A venue that costs no process: what a bucket sees of a crash is that nothing more comes."""

    def run(self, spec: BlockSpec) -> BlockOutcome:
        return run_block(spec)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("own-prefix")
    with running_emulator(folder / "server") as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "k",
            "AWS_SECRET_ACCESS_KEY": "s",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "2",
            "S3BENCH_STATE": str(folder / "state"),
        }.items():
            patch.setenv(name, value)
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
            patch.delenv(name, raising=False)
        patch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.001)
        # Most of an example's time would go into reading the same descriptions for each client.
        loaded = cache(JSONFileLoader().load_file)
        patch.setattr(JSONFileLoader, "load_file", lambda _, path: loaded(path))
        client: S3Client = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
        with running_proxy(client) as proxy:
            proxy.RequestHandlerClass = Recorder
            yield Bench(client, proxy, folder)


def check(bench: Bench, example: Example, file_size: str) -> None:
    """A preparation and a run that crash, what comes after them, and the end of all that was ours."""
    one = Round(bench, example, file_size)
    one.plant()
    before = one.seen(one.is_strangers)
    first, second = one.run_prefix(FIRST), one.run_prefix(SECOND)
    dataset = f"{example.prefix}/datasets/{example.dataset}"
    own_dataset = (f"{dataset}/", f"{dataset}.manifest.json")
    one.do(one.prepare, own_dataset, example.crashes[0])
    one.do(one.prepare, own_dataset)
    one.do(lambda: one.measure(FIRST), (first,), example.crashes[1])
    left = one.seen(lambda key: key.startswith(first))
    recover()
    one.do(lambda: one.measure(SECOND), (second,))
    assert any(key.startswith(second) for key in WRITTEN), "the second run has written"
    assert one.seen(lambda key: key.startswith(second)) == []
    assert one.seen(lambda key: key.startswith(first)) == left, "another run's rests are told, not removed"
    told = left_over_runs(one.control, one.bucket, example.prefix)
    assert set(told) <= {first, one.run_prefix(OTHER)}
    problems: list[str] = []
    one.do(lambda: remove_run(one.control, one.bucket, first, problems.append), (first,))
    one.do(one.expire, own_dataset)
    assert problems == []
    assert one.seen(lambda key: not one.is_strangers(key)) == [], "nothing of ours is left"
    assert one.seen(one.is_strangers) == before


@settings(derandomize=True, max_examples=2, deadline=None, database=None, phases=NO_SHRINKING)
@given(example=EXAMPLES)
def test_no_key_of_others_is_touched_whenever_a_run_dies(bench: Bench, example: Example) -> None:
    check(bench, example, "64")


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(derandomize=True, max_examples=25, deadline=None, database=None, phases=NO_SHRINKING)
@given(example=EXAMPLES)
def test_no_key_of_others_is_touched_in_many_more_ways_to_die(bench: Bench, example: Example) -> None:
    check(bench, example, "5 MiB")
