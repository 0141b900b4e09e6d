"""What Prefect costs a measurement that it runs: with a served flow around it, against none of it at all."""

import contextlib
import math
import os
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import httpx
import psutil
import pyarrow.compute as pc
from figures import Figure, figure

from configs.loading import load_suite
from configs.run_record import RunIdentity
from tasks.access.s3_client import control_client, default_client
from tasks.datasets.prepare import prepare_dataset
from tasks.kernel.samples import SampleColumns
from tasks.lab.local_lab import running_lab
from tasks.results.reader import read_run
from tasks.results.store import open_store
from tasks.venues.local import LocalVenue
from tasks.venues.places import place_of
from tasks.venues.session import SessionPlan, measure_cells
from tests.served import Served, served

PAIRS = 8
_CATCHES_UP_S = 5.0
SUITE = """\
name: parity
lab: true
blocks: 10
targets: {bucket: {kind: bucket, bucket: s3bench-lab, prefix: s3bench}}
configurations: {boto3-lab: {access_path: {kind: boto3_api}, target: bucket}}
datasets: {blobs: {kind: blobs, size: 64 KiB, unique_count: 1}}
workloads: {read: {kind: blob_read, dataset: blobs, read_mode: single, iterations: 4200, warmup: 200}}
"""


@figure
def flow_parity(folder: Path) -> Iterator[Figure]:
    """p50 of a 64 KiB GET in the lab with the served flow around it, against Prefect standing still.

    Both take turns on the same S3 server, and each measures in processes of its own. Where there is no flow,
    the server and the process that serves the deployments are stopped by a signal, so that they do nothing.
    """
    with served(folder) as host, running_lab(host.lab):
        (host.suites / "parity.yaml").write_text(SUITE, encoding="utf-8")
        host.start()
        _with_flow(host)  # prepares the data, and is not counted
        logs = []
        for number in range(PAIRS):
            if number % 2:
                bare_ns, flow_ns = _without_prefect(host), _with_flow(host)
            else:
                flow_ns, bare_ns = _with_flow(host), _without_prefect(host)
            logs.append(math.log(flow_ns / bare_ns))
    ratio = math.exp(statistics.mean(logs))
    yield Figure("flow_parity", ratio, "p50 with by without", "0.98 to 1.02", 0.98 <= ratio <= 1.02)
    spread = math.exp(statistics.stdev(logs)) - 1
    yield Figure("flow_parity_spread", spread, "of a pair of runs, relative", "none", holds=True)


def _with_flow(host: Served) -> float:
    """The median of p50 of the blocks of a served run, in nanoseconds."""
    host.wait(lambda: _answers(host), 60, "the server, after it stood still")
    run = host.run("benchmark", suite="parity", in_lab=False)
    if run["state_name"] != "Completed":
        raise RuntimeError(run["state"]["message"])
    table = read_run(open_store(host.results), None).samples(["block", "warmup", "total_ns"])
    counted = table.filter(pc.invert(table["warmup"]))
    blocks = set(counted["block"].to_pylist())
    return statistics.median(
        statistics.median(counted.filter(pc.equal(counted["block"], block))["total_ns"].to_pylist())
        for block in blocks
    )


def _answers(host: Served) -> bool:
    """Whether the server has caught up: what waited for its database meanwhile comes first."""
    try:
        host.ask("deployments")
        host.ask("flow_runs", limit=1)
    except httpx.HTTPError:
        return False
    return True


def _without_prefect(host: Served) -> float:
    """The same of a session of the same suite, while nothing of Prefect can run."""
    with patch.dict(os.environ, host.environment, clear=True), _standing_still(host):
        suite = load_suite("parity")
        with place_of(suite, host.lab) as place:
            bucket = place.suite.bucket("bucket")
            client = control_client(bucket, place.environment)
            config = place.suite.datasets["blobs"]
            manifest = prepare_dataset(
                client, bucket.bucket, bucket.prefix, "blobs", config, source_client=default_client
            )
            plan = SessionPlan(
                run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
                suite=place.suite,
                suite_sha256="",
                seed=1,
                manifests={("bucket", "blobs"): manifest},
                obstacles={},
                scratch=place.scratch,
            )
            blocks: list[tuple[int, SampleColumns]] = []
            venue = LocalVenue(place.environment, plan.suite.block_timeout_s, place.what_is_broken)
            measure_cells(plan, venue, lambda *_: None, lambda cell: blocks.extend(cell.blocks))
    return statistics.median(_p50_ns(samples) for _, samples in blocks)


def _p50_ns(samples: SampleColumns) -> float:
    times = zip(samples.integers["total_ns"], samples.warmup, strict=True)
    return statistics.median(time_ns for time_ns, warmup in times if not warmup)


@contextlib.contextmanager
def _standing_still(host: Served) -> Iterator[None]:
    """Stop the server and what serves, with all their children, for the time of the block."""
    tops = [psutil.Process(pid) for pid in (host.server_pid, host.serve_pid)]
    processes = [*tops, *(child for top in tops for child in top.children(recursive=True))]
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)
        time.sleep(_CATCHES_UP_S)
