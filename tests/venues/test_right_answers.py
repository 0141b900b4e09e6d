"""The whole way has the right answer: known delays of a real HTTP server come out as its percentiles."""

import hashlib
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from configs.access_paths import Boto3Api
from configs.block import BlockSpec
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import BlobRead
from tasks.results.samples import samples_table
from tasks.stats.summaries import summarise
from tasks.venues.local import LocalVenue

BODY = b"b" * 1024
RUN = RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01")
WARMUP = 2


def delays_ms() -> list[float]:
    """A long-tailed distribution with a known p50, p90 and p99, in an order of no meaning."""
    # Long enough for 2 % to hold what boto3 itself adds, about 1 ms on an idle machine.
    counted = [130.0 + rank for rank in range(36)] + [250.0 + 50 * rank for rank in range(4)]
    random.Random(4).shuffle(counted)
    return [130.0] * WARMUP + counted


class SlowServer(ThreadingHTTPServer):
    """Answers GET requests of objects after the next delay; a listing at once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.delays = iter(delays_ms())
        self.took_ms: list[float] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write for header and body
    server: SlowServer

    def do_GET(self) -> None:
        if "list-type" in self.path:
            self._answer(b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>')
            return
        started = time.perf_counter()
        until = started + next(self.server.delays) / 1000
        time.sleep(max(0.0, until - time.perf_counter() - 0.002))
        while time.perf_counter() < until:  # sleep() wakes up late, and by unlike amounts
            pass
        self.server.took_ms.append(1000 * (time.perf_counter() - started))
        self._answer(BODY)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def slow_server() -> Iterator[SlowServer]:
    server = SlowServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def measured_ms(server: SlowServer) -> list[float]:
    """p50, p90 and p99 as a block of the whole way has them."""
    item = DatasetObject(key="k", size_bytes=len(BODY), sha256=hashlib.sha256(BODY).hexdigest())
    spec = BlockSpec(
        run=RUN,
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=Boto3Api(), target="t"),
            workload=BlobRead(dataset="d"),
            target=BucketTarget(
                bucket="bucket", endpoint_url=f"http://127.0.0.1:{server.server_port}", region="us-east-1"
            ),
        ),
        block=0,
        iterations=len(delays_ms()),
        warmup=WARMUP,
        seed=1,
        objects=(item,),
    )
    environment = {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    outcome = LocalVenue(environment, timeout_s=60).run(spec)
    assert (outcome.status, outcome.reason) == ("measured", "")
    summaries = summarise(samples_table(RUN, "c", "w", [(0, outcome.samples)]))
    (summary,) = (one for one in summaries if one.stage == "total_ns")
    times = summary.distribution
    assert times is not None
    assert (times.n, summary.warmups, summary.errors) == (40, WARMUP, 0)
    return [quantile.value_ns / 1e6 for quantile in (times.p50, times.p90, times.p99)]


@pytest.mark.slow
def test_known_delays_of_a_real_server_come_out_as_its_percentiles() -> None:
    # A busy machine adds to a time and never takes away: one of three tries on an idle moment is enough.
    for last in (False, False, True):
        with slow_server() as server:
            found_ms = measured_ms(server)
            # What the server says that it took until it answered: its delays, and what the machine added.
            known = sorted(server.took_ms[WARMUP:])
        assert known == pytest.approx(sorted(delays_ms()[WARMUP:]), rel=0.2)
        wanted_ms = [known[rank - 1] for rank in (20, 36, 40)]
        right = [pytest.approx(wanted, abs=max(0.02 * wanted, 0.3)) for wanted in wanted_ms]
        if found_ms == right:
            return
        assert not last, (found_ms, wanted_ms)
