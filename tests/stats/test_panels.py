from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from tasks.stats.panels import PANEL_COLUMNS, Panel, Statistic, panel

FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)


def row(day: int, **values: object) -> dict[str, object]:
    scheduled_at = FIRST + timedelta(days=day)
    return {
        "scheduled_at": scheduled_at,
        "config_id": "a",
        "workload_id": "w",
        "operation": "read",
        "stage": "total_ns",
        "meaning": "m",
        "n": 100,
        "errors": 0,
        "p50_ns": 1000 + day,
        "p90_ns": 2000 + day,
        "p90_high_ns": 2500,
        "p99_ns": 3000 + day,
        "p99_high_ns": None,
    } | values


NIGHTLY = pa.schema(
    [
        ("scheduled_at", pa.timestamp("ms", tz="UTC")),
        *((name, pa.string()) for name in ("config_id", "workload_id", "operation", "stage", "meaning")),
        *(
            (name, pa.int64())
            for name in ("n", "errors", *(name for name in PANEL_COLUMNS if name.endswith("_ns")))
        ),
    ]
)


def made(*rows: dict[str, object], statistic: Statistic = "p50") -> Panel:
    return panel(pa.Table.from_pylist(list(rows), schema=NIGHTLY), statistic)


def test_a_panel_has_a_row_for_each_series_and_a_column_for_each_measured_night() -> None:
    found = made(row(0), row(3), row(3, config_id="b", p50_ns=7), row(3, stage="read_ns"))
    assert found.nights == (FIRST, FIRST + timedelta(days=3))
    assert [str(key) for key in found.keys] == ["a/w read", "b/w read"]
    assert found.values_ns.tolist()[0] == [1000, 1003]
    assert np.isnan(found.values_ns[1, 0])
    assert found.values_ns[1, 1] == 7


def test_nights_that_mean_something_else_are_another_series() -> None:
    found = made(row(0), row(1, meaning="other"))
    assert [key.meaning for key in found.keys] == ["m", "other"]
    assert np.isnan(found.values_ns).tolist() == [[False, True], [True, False]]


def test_what_tells_more_of_another_operation_is_no_series() -> None:
    assert [key.operation for key in made(row(0), row(0, operation="start_up")).keys] == ["read"]


def test_a_night_in_which_too_many_operations_failed_has_no_value_and_is_counted() -> None:
    found = made(row(0, n=95, errors=5), row(1, n=94, errors=6), row(2, n=0, errors=3, p50_ns=None))
    assert np.isnan(found.values_ns).tolist() == [[False, True, True]]
    assert found.left_out == {found.keys[0]: 2}


def test_a_p90_that_the_sample_does_not_support_is_no_value_and_a_p50_is() -> None:
    rows = (row(0), row(1, p90_high_ns=None))
    assert np.isnan(made(*rows, statistic="p90").values_ns).tolist() == [[False, True]]
    assert not np.isnan(made(*rows).values_ns).any()


def test_a_p99_is_shown_where_the_sample_supports_it_and_judged_from_3000_samples_a_night() -> None:
    rows = (
        row(0),
        row(1, n=400, p99_high_ns=5000),
        row(2, n=3000, p99_high_ns=5000),
    )
    found = made(*rows, statistic="p99")
    assert np.isnan(found.values_ns).tolist() == [[True, False, False]]
    assert found.n.tolist() == [[0, 400, 3000]]
    assert np.isnan(found.judged_ns).tolist() == [[True, True, False]]
    assert not np.isnan(made(*rows).judged_ns).any()
