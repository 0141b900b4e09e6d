"""What a run's record says of its cells."""

import pytest

from configs.lab_delays import Delays
from configs.loading import load_suite, parse_suite
from tasks.venues.accounting import cell_records
from tasks.venues.session import CellMeasurement

DELAYS = Delays.model_validate(
    {"delays": [{"hosts": "fast.*", "milliseconds": 2}, {"hosts": "*", "milliseconds": 40}]}
)


@pytest.mark.parametrize(
    ("hosts", "added_ms"),
    [
        (["fast.example", "fast.example"], 2),
        (["one.example, two.example", "one.example"], 40),
        (["fast.example", "one.example"], None),
        (["fast.example, one.example"], None),
        ([], None),
    ],
)
def test_the_delay_of_a_cell_is_that_of_the_hosts_that_its_blocks_were_seen_to_ask(
    hosts: list[str], added_ms: float | None
) -> None:
    cell = load_suite("known-answers").cells()[0]
    proofs = {block: {"client": "boto3", "host": host} for block, host in enumerate(hosts)}
    measurement = CellMeasurement(cell, proofs=proofs)
    (record,) = cell_records([measurement], DELAYS)
    assert record.added_delay_ms == added_ms
    (elsewhere,) = cell_records([measurement])
    assert elsewhere.added_delay_ms is None


def test_a_cell_says_what_kind_of_target_it_had_and_not_where_that_is_mounted() -> None:
    suite = parse_suite(
        "name: own\n"
        "targets:\n"
        "  b: {kind: bucket, bucket: some-bucket}\n"
        "  m: {kind: mount, shows: b, path: /some/where}\n"
        "configurations: {c: {access_path: {kind: mount_io}, target: m}}\n"
        "workloads: {w: {kind: blob_write, size: 1}}\n",
        "own.yaml",
    )
    (record,) = cell_records([CellMeasurement(suite.cells()[0])])
    assert record.parameters["target.kind"] == "mount"
    assert "/some/where" not in record.model_dump_json()
