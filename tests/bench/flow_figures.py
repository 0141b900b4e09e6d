"""What Prefect costs a measurement that it runs: each other block has all of it stand still meanwhile."""

import contextlib
import math
import os
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow.compute as pc
from figures import Figure, figure

from tasks.results.reader import read_run
from tasks.results.store import open_store
from tests.served import ENDED, Served, served

BLOCKS = 100
SUITE = f"""\
name: parity
lab: true
blocks: {BLOCKS}
targets: {{bucket: {{kind: bucket, bucket: s3bench-lab, prefix: s3bench}}}}
configurations: {{boto3-lab: {{access_path: {{kind: boto3_api}}, target: bucket}}}}
datasets: {{blobs: {{kind: blobs, size: 64 KiB, unique_count: 1}}}}
workloads: {{read: {{kind: blob_read, dataset: blobs, iterations: {420 * BLOCKS}, warmup: {20 * BLOCKS}}}}}
"""
"""A block's samples fit into the pipe to the flow's process, so that it ends while that one stands still."""
_LOOK_EVERY_S = 0.02
_TOLD_WITHIN_S = 0.2
"""The flow's process has told the block's what to do by then, which takes longer to be ready."""
_BLOCK_WITHIN_S = 60.0


@figure
def flow_parity(folder: Path) -> Iterator[Figure]:
    """p50 of a 64 KiB GET in the lab: the blocks of a served flow as they are, against each other block.

    In those, the flow's process, the server and what serves the deployments are stopped by a signal from the
    moment that the block's own process has begun until it has ended: nothing of Prefect can do anything.
    """
    with served(folder) as host:
        (host.suites / "parity.yaml").write_text(SUITE, encoding="utf-8")
        host.start()
        flow_run_id = host.create("benchmark", suite="parity", in_lab=False)["id"]
        stood_still = set(_stop_each_other_block(host, flow_run_id))
        run = host.ended(flow_run_id)
        if run["state_name"] != "Completed":
            raise RuntimeError(run["state"]["message"])
        p50_ns = _p50_by_block(host)
    pairs = [(block, block + 1) for block in range(0, BLOCKS, 2)]
    if stood_still != {second for _, second in pairs}:
        message = f"of {BLOCKS} blocks these were measured while Prefect stood still: {sorted(stood_still)}"
        raise RuntimeError(message)
    logs = [math.log(p50_ns[first] / p50_ns[second]) for first, second in pairs]
    # The median of the pairs: whatever else the machine did in one of them counts as one.
    ratio = math.exp(statistics.median(logs))
    yield Figure("flow_parity", ratio, "p50 with Prefect by without", "0.98 to 1.02", 0.98 <= ratio <= 1.02)
    half = statistics.median(abs(one - math.log(ratio)) for one in logs)
    yield Figure(
        "flow_parity_spread", half, "of half of the pairs, relative, at the most", "none", holds=True
    )


def _stop_each_other_block(host: Served, flow_run_id: str) -> Iterator[int]:
    """Let Prefect stand still within the blocks with odd numbers, to the run's end; gives those numbers."""
    flow = _flow_process(host, flow_run_id)
    seen: list[int] = []
    while flow.is_running() and host.flow_run(flow_run_id)["state_type"] not in ENDED:
        block = next((pid for pid in _children(flow.pid) if pid not in seen and _measures(pid)), None)
        if block is None:
            time.sleep(_LOOK_EVERY_S)
            continue
        seen.append(block)
        if len(seen) % 2 == 0:
            time.sleep(_TOLD_WITHIN_S)
            with _standing_still(host, flow):
                _wait_for_end(block)
            yield len(seen) - 1
        else:
            _wait_for_end(block)


def _flow_process(host: Served, flow_run_id: str) -> psutil.Process:
    """The process of a flow run, once it measures."""
    found: list[psutil.Process] = []

    def measures() -> bool:
        children = psutil.Process(host.serve_pid).children()
        found[:] = [one for one in children if any(_measures(pid) for pid in _children(one.pid))]
        return bool(found)

    host.wait(measures, 120, f"the first block of flow run {flow_run_id}")
    return found[0]


def _children(pid: int) -> list[int]:
    """By the kernel's own list: asking for all processes would be work beside what is measured."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _measures(pid: int) -> bool:
    try:
        return b"tasks.venues.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _wait_for_end(pid: int) -> None:
    """Until a process has ended, whether or not its parent can know of it."""
    deadline = time.monotonic() + _BLOCK_WITHIN_S
    with contextlib.suppress(OSError):  # its parent knows already
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            if time.monotonic() > deadline:
                message = f"process {pid} of a block does not end"
                raise RuntimeError(message)
            time.sleep(_LOOK_EVERY_S)


@contextlib.contextmanager
def _standing_still(host: Served, flow: psutil.Process) -> Iterator[None]:
    """Stop all of Prefect for the time of the block, but not what the flow has started."""
    server = psutil.Process(host.server_pid)
    pids = [server.pid, *(child.pid for child in server.children(recursive=True)), host.serve_pid, flow.pid]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _p50_by_block(host: Served) -> dict[int, float]:
    table = read_run(open_store(host.results), None).samples(["block", "warmup", "total_ns"])
    counted = table.filter(pc.invert(table["warmup"]))
    return {
        block: statistics.median(counted.filter(pc.equal(counted["block"], block))["total_ns"].to_pylist())
        for block in range(BLOCKS)
    }
