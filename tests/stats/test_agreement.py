from collections.abc import Callable

import pyarrow as pa

from tasks.stats.agreement import Counts, agreements

Rows = list[dict[str, object]]
Table = Callable[[Rows], pa.Table]


def _scan(config_id: str, **values: object) -> dict[str, object]:
    seen = {"files": 55, "records": 2900, "size_bytes": 421_346}
    return {"config_id": config_id, "operation": "scan", "total_ns": 1} | seen | values


def test_scans_that_saw_the_same_agree_on_it(table: Table) -> None:
    (agreement,) = agreements(table([_scan("a"), _scan("a"), _scan("b")]))
    assert agreement.agreed == Counts(55, 2900, 421_346)
    assert agreement.config_ids == ("a", "b")


def test_a_scan_that_missed_a_file_is_told_with_both_counts(table: Table) -> None:
    (agreement,) = agreements(table([_scan("a"), _scan("b", files=54)]))
    assert agreement.agreed is None
    assert agreement.seen == (("a", Counts(55, 2900, 421_346)), ("b", Counts(54, 2900, 421_346)))


def test_scans_of_one_configuration_that_differ_disagree_too(table: Table) -> None:
    (agreement,) = agreements(table([_scan("a"), _scan("a", records=2899)]))
    assert agreement.agreed is None
    assert agreement.config_ids == ("a",)


def test_failed_scans_and_reads_agree_on_nothing(table: Table) -> None:
    assert agreements(table([_scan("a", outcome="error"), {"total_ns": 1}])) == []
