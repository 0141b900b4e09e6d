import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from configs.run_record import RunIdentity
from tasks.kernel.samples import NULL, Failure, SampleColumns
from tasks.results.samples import samples_table, skipped_table
from tasks.results.schema import SAMPLES

Block = Callable[[int], SampleColumns]


def test_a_row_holds_what_the_kernel_recorded(run: RunIdentity, block: Block) -> None:
    table = samples_table(run, "boto3", "read_1k", [(3, block(2))])
    assert table.schema == SAMPLES
    assert table.to_pylist()[1] == {
        "run_id": run.run_id,
        "config_id": "boto3",
        "workload_id": "read_1k",
        "operation": "read",
        "outcome": "ok",
        "warmup": False,
        "block": 3,
        "worker": 0,
        "seq": 1,
        "started_at": datetime(2026, 1, 1, 2, 0, 0, 1000, tzinfo=UTC),
        "started_us": 1_767_232_800_001_000,
        "intended_us": None,
        "object_key": "blobs/000.bin",
        "size_bytes": 1024,
        "files": None,
        "records": None,
        "http_status": 200,
        "retries": 0,
        "cold": None,
        "error": None,
        "message": None,
        "list_ns": None,
        "read_ns": None,
        "gunzip_ns": None,
        "parse_ns": None,
        "total_ns": 1_000_001,
        "connect_ns": None,
        "tls_ns": None,
        "session_ns": None,
        "ttfb_ns": None,
        "user_ns": None,
        "system_ns": None,
        "response_ns": None,
    }


def test_blocks_follow_one_another_and_empty_ones_add_nothing(run: RunIdentity, block: Block) -> None:
    table = samples_table(run, "boto3", "read_1k", [(1, block(3)), (2, SampleColumns()), (0, block(2))])
    assert table["block"].to_pylist() == [1, 1, 1, 0, 0]
    assert table["warmup"].to_pylist() == [True, False, False, True, False]
    assert samples_table(run, "boto3", "read_1k", []).equals(SAMPLES.empty_table())


def test_the_table_shares_the_memory_of_the_kernels_arrays(run: RunIdentity, block: Block) -> None:
    columns = block(5)
    table = samples_table(run, "boto3", "read_1k", [(0, columns)])
    address, _ = columns.integers["total_ns"].buffer_info()
    assert table["total_ns"].chunk(0).buffers()[1].address == address
    with pytest.raises(BufferError):
        columns.integers["total_ns"].append(1)


def test_a_failure_is_a_row_with_its_kind_status_and_retries(run: RunIdentity, block: Block) -> None:
    columns = block(4)
    columns.integers["total_ns"][1] = NULL
    columns.fail(1, Failure("SlowDown", "Please reduce your request rate.", http_status=503, retries=2))
    columns.fail(3, Failure("ReadTimeoutError", "Read timeout"))
    table = samples_table(run, "boto3", "read_1k", [(0, columns)])
    assert table["outcome"].to_pylist() == ["ok", "error", "ok", "error"]
    assert table["error"].to_pylist() == [None, "SlowDown", None, "ReadTimeoutError"]
    assert table["message"][1].as_py() == "Please reduce your request rate."
    assert table["http_status"].to_pylist() == [200, 503, 200, 200]
    assert table["retries"].to_pylist() == [0, 2, 0, 0]
    assert table["total_ns"].to_pylist() == [1_000_000, None, 1_000_002, 1_000_003]


def test_labels_become_names_and_no_key_becomes_null(run: RunIdentity, block: Block) -> None:
    columns = block(4)
    columns.keys = ["a", "b"]
    columns.object_key[:] = type(columns.object_key)("i", [1, -1, 0, 1])
    columns.operation[:] = type(columns.operation)("b", [2, 3, 3, 2])
    table = samples_table(run, "boto3", "scan", [(0, columns)])
    assert table["object_key"].to_pylist() == ["b", None, "a", "b"]
    assert table["operation"].to_pylist() == ["scan", "scan_file", "scan_file", "scan"]


def test_a_long_block_keeps_every_row_in_its_place(run: RunIdentity, block: Block) -> None:
    rows = 40_000  # more than two pieces of a constant column
    table = samples_table(run, "boto3", "read_1k", [(0, block(rows))])
    table.validate(full=True)
    assert table["seq"].to_pylist() == list(range(rows))
    assert table["config_id"].unique().to_pylist() == ["boto3"]


def test_columns_of_unlike_lengths_are_refused(run: RunIdentity, block: Block) -> None:
    columns = block(3)
    columns.integers["total_ns"].pop()
    with pytest.raises(ValueError, match="'total_ns': 2"):
        samples_table(run, "boto3", "read_1k", [(0, columns)])


def test_a_skipped_cell_is_one_row_with_its_reason(run: RunIdentity) -> None:
    table = skipped_table(run, "mount", "read_1k", "no /dev/fuse")
    assert table.schema == SAMPLES
    row = table.to_pylist()[0]
    told = {name: value for name, value in row.items() if value is not None}
    assert told == {
        "run_id": run.run_id,
        "config_id": "mount",
        "workload_id": "read_1k",
        "outcome": "skipped",
        "warmup": False,
        "message": "no /dev/fuse",
    }
    failed = skipped_table(run, "mount", "read_1k", "nfs4", outcome="error", error="LabelError").to_pylist()[
        0
    ]
    assert (failed["outcome"], failed["error"]) == ("error", "LabelError")


MILLION = """
import json, sys
from array import array
import numpy as np
from configs.run_record import RunIdentity
from tasks.kernel.samples import SampleColumns
from tasks.results.samples import samples_table
from tasks.results.store import open_store
from tasks.results.writer import write_cell

ROWS, PART = 1_000_000, 100_000
random = np.random.default_rng(1)
columns = SampleColumns()
columns.grow(ROWS, "read")
columns.object_key = array("i", [columns.key_index("s3bench/blobs/1k/000.bin")]) * ROWS
into = {name: np.frombuffer(values, dtype=np.int64) for name, values in columns.integers.items()}
now_us = 1_767_232_800_000_000
for start in range(0, ROWS, PART):  # in parts, so that making them takes next to no memory
    rows = slice(start, start + PART)
    total_ns = random.lognormal(np.log(1e6), 0.3, PART).astype(np.int64)
    started_us = now_us + np.cumsum(total_ns // 1000 + 20)
    into["seq"][rows] = np.arange(start, start + PART)
    into["total_ns"][rows] = total_ns
    into["started_us"][rows] = started_us
    into["size_bytes"][rows], into["http_status"][rows], into["retries"][rows] = 1024, 200, 0
    now_us = started_us[-1]
run = RunIdentity(run_id="20260101T020000Z-1a2b3c4d", dt="2026-01-01")
table = samples_table(run, "boto3", "read_1k", [(0, columns)])
write_cell(open_store(sys.argv[1]), run, "boto3", "read_1k", table)
# Not ru_maxrss: it keeps what the process that started this one held, across fork and exec.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"peak_kib": int(peak.split()[1])}))
"""


def test_a_million_samples_take_under_300_mib_and_16_bytes_each(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Imports, the kernel's arrays and the file in memory included."""
    done = subprocess.run(
        [sys.executable, "-c", MILLION, tmp_path],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        check=True,
    )
    (file,) = tmp_path.rglob("*.parquet")
    assert file.stat().st_size / 1_000_000 <= 16
    assert json.loads(done.stdout)["peak_kib"] / 1024 < 290
