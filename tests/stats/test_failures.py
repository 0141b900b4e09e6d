from collections.abc import Callable

import pyarrow as pa

from tasks.stats.failures import CellFailure, cell_failures, failure_kinds

Table = Callable[[list[dict[str, object]]], pa.Table]


def test_failures_are_counted_by_kind_and_status_with_an_example(table: Table) -> None:
    slow: dict[str, object] = {
        "outcome": "error",
        "error": "SlowDown",
        "http_status": 503,
        "message": "slower",
    }
    rows = [
        slow,
        slow | {"warmup": True},
        slow | {"error": "ReadTimeout", "http_status": None},
        {"total_ns": 1},
    ]
    first, second = failure_kinds(table(rows))
    assert (first.error, first.http_status, first.count, first.warmups) == ("SlowDown", 503, 2, 1)
    assert (first.example, second.error, second.http_status, second.count) == (
        "slower",
        "ReadTimeout",
        None,
        1,
    )


def test_skipped_and_failed_cells_keep_their_reasons_and_are_no_operations(table: Table) -> None:
    whole: dict[str, object] = {"operation": None, "block": None}
    rows = [
        whole | {"config_id": "a", "outcome": "skipped", "message": "no fuse"},
        whole | {"config_id": "b", "outcome": "error", "error": "LabelError", "message": "wrong host"},
    ]
    assert failure_kinds(table(rows)) == []
    assert cell_failures(table(rows)) == [
        CellFailure("a", "w", "skipped", "no fuse"),
        CellFailure("b", "w", "failed", "wrong host"),
    ]


def test_dictionaries_give_the_same_and_the_first_message_by_name_is_the_example(table: Table) -> None:
    failed: dict[str, object] = {"outcome": "error", "error": "SlowDown", "http_status": 503}
    rows = [failed | {"message": message, "warmup": message == "b"} for message in ("c", "b", "a", "a")]
    samples = table(rows)
    encoded = pa.table(
        {
            name: column.dictionary_encode() if column.type == pa.string() else column
            for name, column in zip(samples.column_names, samples.columns, strict=True)
        }
    )
    (kind,) = failure_kinds(encoded)
    assert (kind.count, kind.warmups, kind.example) == (4, 1, "a")
    assert failure_kinds(samples) == [kind]
