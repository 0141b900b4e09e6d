"""Which suites may have cells that several clients measure at once, and where a Dask scheduler may be."""

import pytest
from pydantic import ValidationError

from configs.errors import UserError
from configs.loading import parse_suite
from configs.parameters import BenchmarkParameters
from configs.suite import Suite

SUITE = """\
name: s
blocks: 2
targets:
  b: {kind: bucket, bucket: some-bucket}
  m: {kind: mount, shows: b, path: /mnt/b}
configurations:
  one: {access_path: {kind: boto3_api}, target: b}
  four: {access_path: {kind: boto3_api}, target: b, clients: 4}
datasets:
  d: {kind: blobs, size: 64 KiB, unique_count: 80}
  t: {kind: file_tree, files: 20, mean_size: 1 KiB}
workloads:
  read: {kind: blob_read, dataset: d, read_mode: unique, iterations: 20, warmup: 4}
  write: {kind: blob_write, size: 64, iterations: 20, warmup: 4}
"""


def suite_with(*changes: tuple[str, str]) -> Suite:
    text = SUITE
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong, 1)
    return parse_suite(text, "s.yaml")


def mistake_of(*changes: tuple[str, str]) -> str:
    with pytest.raises(UserError) as raised:
        suite_with(*changes)
    return str(raised.value)


def test_a_cell_has_the_clients_of_its_configuration_and_one_by_default() -> None:
    clients = {cell.cell_id: cell.configuration.clients for cell in suite_with().cells()}
    assert clients == {"one/read": 1, "four/read": 4, "one/write": 1, "four/write": 4}


@pytest.mark.parametrize(
    ("given", "complaint"), [("0", "greater than or equal to 1"), ("257", "equal to 256")]
)
def test_a_number_of_clients_that_cannot_be_is_named_with_its_line(given: str, complaint: str) -> None:
    told = mistake_of(("clients: 4", f"clients: {given}"))
    assert told.startswith("s.yaml:8: configurations.four.clients: ")
    assert complaint in told


def test_unique_reads_of_several_clients_need_objects_for_all_of_them() -> None:
    told = mistake_of(("unique_count: 80", "unique_count: 79"))
    assert told.startswith(
        "s.yaml:8: configurations.four.clients: 20 unique reads of 'read' by each of 4 clients need 80 "
        "objects, but datasets.d.unique_count is 79"
    )
    suite_with(("unique_count: 80", "unique_count: 1"), ("read_mode: unique, ", ""))


@pytest.mark.parametrize(
    ("workload", "access_path", "target", "told"),
    [
        (
            "{kind: sync_lag, size: 1, seen_by: ls, timeout_s: 9}",
            "mount_io",
            "m",
            "(sync_lag) together: a lag is for one",
        ),
        (
            "{kind: tree_upload, dataset: t}",
            "aws_cli",
            "b",
            "(tree_upload) together: a whole tree is for one",
        ),
        ("{kind: tree_download, dataset: t}", "aws_cli", "b", "(tree_download) together: a whole tree is"),
    ],
)
def test_what_several_clients_cannot_do_together_is_named_with_what_would_be_right(
    workload: str, access_path: str, target: str, told: str
) -> None:
    changes = (
        (
            "four: {access_path: {kind: boto3_api}, target: b",
            f"four: {{access_path: {{kind: {access_path}}}, target: {target}",
        ),
        ("write: {kind: blob_write, size: 64, iterations: 20, warmup: 4}", f"other: {workload}"),
    )
    mistake = mistake_of(*changes)
    assert mistake.startswith("s.yaml:8: configurations.four.clients: 4 clients cannot measure 'other'")
    assert told in mistake
    assert "write clients: 1, or name its other workloads in workloads" in mistake
    one = suite_with(*changes, ("clients: 4", "clients: 1"))
    assert "four/other" in {cell.cell_id for cell in one.cells()}
    if access_path == "mount_io":  # it can do the reads, which others may do together
        suite_with(*changes, ("clients: 4", "clients: 4, workloads: [read]"))


@pytest.mark.parametrize("address", ["tcp://host:8786", "tls://10.0.0.1:443", "tcp://[::1]:8786"])
def test_a_dask_scheduler_is_named_by_protocol_host_and_port(address: str) -> None:
    assert BenchmarkParameters(dask_scheduler=address).dask_scheduler == address


@pytest.mark.parametrize(
    "address", ["host:8786", "http://host:8786", "tcp://host", "tcp://:8786", "tcp://a b:1", ""]
)
def test_an_address_that_is_no_dask_scheduler_is_refused_by_name(address: str) -> None:
    with pytest.raises(ValidationError, match="dask_scheduler"):
        BenchmarkParameters(dask_scheduler=address)


@pytest.mark.parametrize(("iterations", "right"), [(9, False), (11, False), (12, True)])
def test_each_thread_of_clients_needs_an_operation_that_counts(iterations: int, right: bool) -> None:
    """Two blocks of three threads: with fewer, one of them never comes to the common start."""
    counts = f"iterations: {iterations}, warmup: 6, concurrency: 3"
    change = ("size: 64, iterations: 20, warmup: 4", f"size: 64, {counts}")
    if right:
        suite_with(change)
        return
    assert mistake_of(change).startswith(
        f"s.yaml:14: workloads.write.iterations: {iterations} operations with 6 warm-ups among them leave "
        "some of the 6 parts of a run without one that counts"
    )
    assert mistake_of(change).endswith("give at least 12 iterations")
    suite_with(change, ("clients: 4", "clients: 4, workloads: [read]"))
