"""Rows are made as a scan makes them: what it saw, and an error where that is not what was prepared."""

from collections.abc import Iterable

import pyarrow as pa
import pytest

from configs.run_record import RunIdentity
from tasks.kernel.samples import Failure, SampleColumns
from tasks.results.samples import samples_table, skipped_table
from tasks.stats.agreement import Agreement, CellStatus, Counts, Sighting, agreements

RUN = RunIdentity(run_id="20260101T020000Z-1a2b3c4d", dt="2026-01-01")
PREPARED = Counts(300, 11_000, 4_000_000)
MORE = Counts(301, 11_040, 4_010_000)


def _scans(
    config_id: str, seen: Iterable[Counts | None], workload_id: str = "w", warmups: int = 1
) -> pa.Table:
    """The scans of one cell; None broke off on the way."""
    columns = SampleColumns()
    for place, whole in enumerate(seen):
        row = columns.grow(1, "scan")
        columns.integers["total_ns"][row] = 1_000_000
        columns.warmup[row] = place < warmups
        counts = whole or Counts(150, 5_000, 2_000_000)
        columns.integers["files"][row] = counts.files
        columns.integers["records"][row] = counts.records
        columns.integers["size_bytes"][row] = counts.size_bytes
        if whole is None:
            columns.fail(row, Failure("ReadTimeoutError", "Read timeout"))
        elif whole != PREPARED:
            columns.fail(row, Failure("WrongCounts", "files, records, bytes"))
        file_row = columns.grow(1, "scan_file")  # a file's own row has records too, and is no scan
        columns.integers["total_ns"][file_row], columns.integers["records"][file_row] = 1000, 40
    return samples_table(RUN, config_id, workload_id, [(0, columns)])


def _agreement(tables: Iterable[pa.Table], **statuses: CellStatus) -> Agreement:
    (found,) = agreements(
        pa.concat_tables(tables), {("w", config_id): status for config_id, status in statuses.items()}
    )
    return found


def test_scans_that_saw_the_same_agree_on_it_warmups_included() -> None:
    tables = [_scans("a", [PREPARED] * 3), _scans("b", [PREPARED] * 2)]
    found = _agreement(tables, a="measured", b="measured")
    assert found.agreed == PREPARED
    assert found.sightings == (Sighting("a", PREPARED, 3), Sighting("b", PREPARED, 2))
    assert (found.config_ids, found.absent) == (("a", "b"), {})


def test_a_configuration_whose_scans_all_failed_on_other_counts_disagrees() -> None:
    tables = [_scans(config_id, [PREPARED] * 20) for config_id in "abc"]
    found = _agreement(
        [*tables, _scans("d", [MORE] * 20)], a="measured", b="measured", c="measured", d="measured"
    )
    assert found.agreed is None
    assert found.sightings[-1] == Sighting("d", MORE, 20)


def test_one_scan_that_differs_from_the_others_of_its_configuration_disagrees() -> None:
    found = _agreement([_scans("a", [PREPARED, PREPARED, MORE])], a="measured")
    assert found.agreed is None
    assert found.sightings == (Sighting("a", PREPARED, 2), Sighting("a", MORE, 1))


def test_a_warmup_that_saw_something_else_disagrees() -> None:
    assert _agreement([_scans("a", [MORE, PREPARED, PREPARED])], a="measured").agreed is None


@pytest.mark.parametrize("field", ["files", "records", "size_bytes"])
def test_each_of_the_three_counts_is_compared(field: str) -> None:
    values = {name: getattr(PREPARED, name) for name in ("files", "records", "size_bytes")}
    other = Counts(**values | {field: 1})
    found = _agreement([_scans("a", [PREPARED]), _scans("b", [other])], a="measured", b="measured")
    assert found.agreed is None


def test_who_did_not_take_part_is_told_with_how_the_cell_ended() -> None:
    tables = [_scans("a", [PREPARED]), _scans("b", [None, None]), skipped_table(RUN, "c", "w", "no fuse")]
    found = _agreement(tables, a="measured", b="failed", c="skipped", d="failed")
    assert found.agreed == PREPARED
    assert found.absent == {"b": "failed", "c": "skipped", "d": "failed"}


def test_a_scan_that_broke_off_on_the_way_is_no_disagreement() -> None:
    found = _agreement([_scans("a", [PREPARED, None, PREPARED])], a="measured")
    assert found.sightings == (Sighting("a", PREPARED, 2),)


def test_workloads_and_configurations_stand_in_the_order_given_and_apart() -> None:
    tables = [_scans("a", [PREPARED]), _scans("b", [PREPARED]), _scans("a", [MORE], workload_id="v")]
    cells = {("w", "b"): "measured", ("w", "a"): "measured", ("v", "a"): "measured"}
    first, second = agreements(pa.concat_tables(tables), cells)
    assert (first.workload_id, first.config_ids, first.agreed) == ("w", ("b", "a"), PREPARED)
    assert (second.workload_id, second.config_ids, second.agreed) == ("v", ("a",), MORE)


def test_reads_and_scans_that_counted_nothing_agree_on_nothing() -> None:
    reads = SampleColumns()
    reads.grow(2, "read")
    tables = [samples_table(RUN, "a", "r", [(0, reads)]), _scans("a", [None])]
    assert agreements(pa.concat_tables(tables), {("r", "a"): "measured", ("w", "a"): "measured"}) == ()
