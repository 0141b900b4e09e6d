from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from tasks.results.history import HISTORY
from tasks.stats.likeness import Likeness, called
from tasks.stats.night_pairs import compare_by_night
from tasks.stats.pairs import About, corrected, paired_ratio
from tasks.stats.paths import PathComparison, PathRatio, compare_by_block, corrected_together
from tasks.stats.quantiles import least_n
from tasks.stats.series import Series, split
from tasks.stats.summary_types import Quantile, Ratio

Rows = list[dict[str, object]]
Table = Callable[[Rows], pa.Table]

ABOUT = About("a", "b", "w")
NAMES = (called("a"), called("b"))
FIRST = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)


def ratio_of(ratios: list[float]) -> Ratio:
    found = paired_ratio(ABOUT, dict(enumerate(ratios)), dict.fromkeys(range(len(ratios)), 1.0))
    assert found is not None
    return found


def series_of(table: Table, rows: Rows) -> dict[str, Series]:
    return {one.config_id: one for one in split(table(rows))}


def reads(config_id: str, scale: float, count: int = 400, **values: object) -> Rows:
    """So many reads, spread over five blocks, of 1.00 ms and longer, times a factor."""
    return [
        {
            "config_id": config_id,
            "block": place % 5,
            "size_bytes": 1,
            "total_ns": int((1_000_000 + 1000 * place) * scale),
            **values,
        }
        for place in range(count)
    ]


def by_block(table: Table, rows: Rows, **known: object) -> PathComparison:
    series = series_of(table, rows)
    return compare_by_block(series["a"], series["b"], Likeness(names=NAMES, **known))  # type: ignore[arg-type]


def row(found: PathComparison, statistic: str) -> PathRatio:
    (one,) = (one for one in found.rows if one.statistic == statistic)
    return one


def test_interval_and_p_value_are_those_of_scipys_paired_t_test() -> None:
    ratios = np.random.default_rng(5).lognormal(0.1, 0.2, 9)
    found, expected = ratio_of(ratios.tolist()), ttest_1samp(np.log(ratios), 0)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))
    assert found.p_value == pytest.approx(expected.pvalue)


def test_the_robust_estimate_is_the_median_of_the_means_of_all_pairs_of_logs() -> None:
    found = ratio_of([1.0, np.exp(2), np.exp(10)])  # means of pairs: 0, 1, 2, 5, 6, 10
    assert found.value == pytest.approx(np.exp(4))
    assert found.robust == pytest.approx(np.exp(3.5))


def test_the_robust_estimate_is_told_where_some_wild_pairs_move_the_ratio_beyond_its_interval() -> None:
    noise = np.random.default_rng(2).lognormal(0, 0.001, 60)
    assert ratio_of(noise.tolist()).robust_apart is None
    noise[:12] *= 2
    wild = ratio_of(noise.tolist())
    assert wild.value == pytest.approx(2 ** (12 / 60), rel=0.01)
    assert wild.robust_apart == pytest.approx(1.0, abs=0.01)


def test_a_comparison_turned_round_is_the_inverse_with_the_other_as_winner() -> None:
    found = ratio_of([2.0, 2.1, 2.2])
    turned = found.turned()
    assert (turned.config_id, turned.baseline_id) == ("b", "a")
    assert turned.value == pytest.approx(1 / found.value)
    assert found.high is not None
    assert turned.low == pytest.approx(1 / found.high)
    assert (found.verdict, turned.verdict) == ("slower", "faster")


def test_an_interval_that_leaves_out_1_is_no_difference_where_it_does_not_survive_the_correction() -> None:
    rng = np.random.default_rng(8)
    ratios = [ratio_of(rng.lognormal(0, 0.1, 5).tolist()) for _ in range(40)]
    alone = [one.verdict for one in ratios]
    assert alone.count("no difference seen") < 40, "by chance"
    together = corrected(ratios)
    assert {one.verdict for one in together} == {"no difference seen"}
    p_values = false_discovery_control([one.p_value for one in ratios])
    assert [one.corrected_p for one in together] == pytest.approx(p_values.tolist())
    assert [(one.value, one.low) for one in together] == [(one.value, one.low) for one in ratios]


def test_a_true_difference_survives_the_correction_and_one_pair_is_no_part_of_it() -> None:
    rng = np.random.default_rng(8)
    ratios = [ratio_of(rng.lognormal(0, 0.1, 5).tolist()) for _ in range(40)]
    found = corrected([ratio_of([3.0]), ratio_of([2.0, 2.01, 2.02, 1.99, 2.0]), *ratios])
    assert (found[0].verdict, found[0].corrected_p, found[1].verdict) == ("undecided", None, "slower")


def test_all_statistics_of_two_that_differ_by_a_factor_have_that_factor(table: Table) -> None:
    found = by_block(table, reads("a", 2) + reads("b", 1))
    assert [one.statistic for one in found.rows] == ["p50", "p90", "p99", "mean"]
    for one in found.rows:
        assert one.ratio is not None
        assert (one.ratio.value, one.ratio.pairs) == (pytest.approx(2), 5)
        assert one.ratio.verdict == "slower"
        mine, theirs = one.figures
        assert (mine.n, theirs.n) == (400, 400)
        assert mine.value_ns == 2 * theirs.value_ns
    assert row(found, "mean").figures[0].quantile is None
    assert (found.pairing.unit, found.pairing.pairs, found.pairing.operation) == ("block", 5, "read")


def test_every_statistic_is_its_own(table: Table) -> None:
    """All of a tenth of the operations of a take four times as long."""
    rows = [
        {
            "config_id": config_id,
            "block": place % 5,
            "total_ns": 4000 if slow and place // 5 % 10 == 9 else 1000,
        }
        for config_id, slow in (("a", True), ("b", False))
        for place in range(500)
    ]
    found = by_block(table, rows)
    values = {one.statistic: one.ratio.value for one in found.rows if one.ratio}
    assert values == pytest.approx({"p50": 1, "p90": 1, "p99": 4, "mean": 1.3})


@pytest.mark.parametrize(("percent", "least"), [(50, 6), (90, 36), (99, 368)])
def test_a_quantile_has_an_upper_bound_from_so_many_values_on(percent: int, least: int) -> None:
    assert least_n(percent) == least


@pytest.mark.parametrize(
    ("counts", "statistic", "reason"),
    [
        ((100, 400), "p99", "p99 needs 368 operations a side, there are 100"),
        ((400, 367), "p99", "p99 needs 368 operations a side, there are 367"),
        ((368, 368), "p99", ""),
        ((36, 36), "p90", ""),
        ((36, 35), "p90", "p90 needs 36 operations a side, there are 35"),
        ((10, 10), "p50", ""),
        ((10, 10), "mean", ""),
    ],
)
def test_a_ratio_of_tails_needs_the_operations_that_tell_them(
    table: Table, counts: tuple[int, int], statistic: str, reason: str
) -> None:
    one = row(by_block(table, reads("a", 2, counts[0]) + reads("b", 1, counts[1])), statistic)
    assert one.reason == reason
    assert (one.ratio is None) == bool(reason)


def test_p99_of_blocks_that_are_too_short_for_it_is_refused(table: Table) -> None:
    rows = [one | {"block": place // 20} for name in "ab" for place, one in enumerate(reads(name, 1))]
    found = by_block(table, rows)
    assert row(found, "p99").reason == "p99 needs 69 operations a block, there are 20"
    assert row(found, "p90").ratio is not None


def test_p99_is_refused_where_more_than_one_in_a_hundred_failed(table: Table) -> None:
    failed: Rows = [{"config_id": "b", "block": 0, "size_bytes": 1, "outcome": "error"}] * 5
    found = by_block(table, reads("a", 1) + reads("b", 1) + failed)
    assert row(found, "p99").reason == "p99 of b has no upper bound: 5 of 405 operations failed"
    assert row(found, "p90").ratio is not None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"size_bytes": 2}, "unlike bytes: a 1, b 2"),
        ({"operation": "write"}, "unlike operations: a read, b write"),
        ({"cold": True}, "unlike cache states: a not claimed, b cold"),
        ({"outcome": "error"}, "b has no successful operation: all 400 failed"),
        ({"block": 99}, "no block has successful operations of both"),
    ],
)
def test_unlike_cells_are_refused_by_their_names(
    table: Table, values: dict[str, object], reason: str
) -> None:
    found = by_block(table, reads("a", 1) + reads("b", 1, **values))
    assert (found.rows, found.refusal) == ((), reason)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"configuration.clients": "4"}, "unlike clients: a 1, b 4"),
        ({"workload.concurrency": "16"}, "unlike concurrency: a 1, b 16"),
        ({"access_path.kind": "obstore", "target.kind": "mount"}, ""),
    ],
)
def test_cells_that_were_asked_otherwise_are_refused_unless_it_is_the_path(
    table: Table, asked: dict[str, str], reason: str
) -> None:
    usual = {"workload.concurrency": "1", "access_path.kind": "boto3_api"}
    parameters = {("w", "a"): usual, ("w", "b"): usual | asked}
    assert by_block(table, reads("a", 1) + reads("b", 1), parameters=parameters).refusal == reason


def test_verdicts_are_corrected_for_all_workloads_and_statistics_together(table: Table) -> None:
    one = by_block(table, reads("a", 2) + reads("b", 1))
    refused = by_block(table, reads("a", 1) + reads("b", 1, size_bytes=9))
    found = corrected_together([one, refused, one])
    assert found[1] == refused
    assert [each.ratio is not None and each.ratio.corrected_p is not None for each in found[2].rows] == [
        True
    ] * 4


def night(day: int, config_id: str, p50_ns: int, **values: object) -> dict[str, object]:
    unset = dict.fromkeys(HISTORY.names)
    bounds = {
        f"{name}{bound}_ns": times * p50_ns + extra
        for name, times in (("p50", 1), ("p90", 2), ("p99", 3))
        for bound, extra in (("_low", -1), ("", 0), ("_high", 1))
    }
    known = {
        "scheduled_at": FIRST + timedelta(days=day),
        "run_id": f"run-{day}",
        "config_id": config_id,
        "workload_id": "w",
        "operation": "read",
        "stage": "total_ns",
        "meaning": f"meaning of {config_id}",
        "n": 500,
        "errors": 0,
        "avg_ns": 4 * p50_ns,
        "size_bytes": 1024,
    }
    return unset | bounds | known | values


def by_night(rows: Rows, parameters: dict[tuple[str, str], dict[str, str]] | None = None) -> PathComparison:
    nightly = pa.Table.from_pylist(rows, schema=HISTORY)
    return compare_by_night(nightly, "w", ("a", "b"), Likeness((), parameters, NAMES))


def test_nights_are_paired_and_their_ratio_is_the_geometric_mean() -> None:
    rows = [night(day, "a", 1000 * 4**day) for day in range(3)] + [night(day, "b", 1000) for day in range(4)]
    found = by_night(rows)
    for one in found.rows:
        assert one.ratio is not None
        assert (one.ratio.value, one.ratio.pairs, one.ratio.unit) == (pytest.approx(4), 3, "night")
        assert [figure.n for figure in one.figures] == [1500, 1500]
    assert [(one.config_id, one.nights, one.why) for one in found.pairing.left_out] == [
        ("b", 1, "the other one has no such night")
    ]


def test_the_own_figure_over_nights_is_that_of_the_median_night_as_measured() -> None:
    rows = [night(day, "a", p50_ns) for day, p50_ns in enumerate((9000, 1000, 4000))]
    found = by_night(rows + [night(day, "b", 1000) for day in range(3)])
    assert row(found, "p50").figures[0].quantile == Quantile(4000, 3999, 4001)
    assert row(found, "mean").figures[0].value_ns == 16_000


def test_of_several_meanings_only_the_latest_counts_and_the_other_nights_are_told() -> None:
    rows = [night(day, "a", 9000, meaning="another") for day in range(4)]
    rows += [night(day, "a", 2000) for day in range(4, 10)]
    found = by_night(rows + [night(day, "b", 1000) for day in range(10)])
    assert (found.pairing.pairs, found.pairing.left_out) == (
        6,
        (
            ("a", 4, "its cell meant something else"),
            ("b", 4, "the other one has no such night"),
        ),
    )
    one = row(found, "p50").ratio
    assert one is not None
    assert one.value == pytest.approx(2)


def test_nights_of_which_more_than_one_in_twenty_failed_are_left_out() -> None:
    rows = [night(day, name, 1000) for name in "ab" for day in range(5)]
    rows[0] |= {"n": 94, "errors": 6, "p50_ns": 1}
    rows[1] |= {"n": 0, "errors": 0, "p50_ns": None}
    found = by_night(rows)
    assert found.pairing.pairs == 3
    assert found.pairing.left_out[0] == ("a", 2, "more than 5 % of its operations failed")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"size_bytes": 2048}, "unlike bytes: a 1,024, b 2,048"),
        ({"files": 3}, "unlike files: a none, b 3"),
        ({"operation": "write"}, "unlike operations: a read, b write"),
        ({"operation": "scan_file"}, "b has no successful operation"),
        ({"stage": "read_ns"}, "b has no successful operation"),
        ({"scheduled_at": FIRST - timedelta(days=1)}, "no night has successful operations of both"),
    ],
)
def test_unlike_nights_are_refused(values: dict[str, object], reason: str) -> None:
    rows = [night(day, "a", 1000) for day in range(3)] + [night(day, "b", 1000, **values) for day in range(3)]
    found = by_night(rows)
    assert (found.rows, found.refusal) == ((), reason)


def test_nights_of_unlike_clients_are_refused() -> None:
    rows = [night(day, name, 1000) for name in "ab" for day in range(3)]
    asked = {("w", "a"): {"configuration.clients": "2"}, ("w", "b"): {"workload.kind": "blob_read"}}
    assert by_night(rows, asked).refusal == "unlike clients: a 2, b 1"


def test_short_nights_tell_no_p99_even_where_all_of_them_would() -> None:
    rows = [night(day, name, 1000, n=50) for name in "ab" for day in range(30)]
    assert row(by_night(rows), "p99").reason == "p99 needs 69 operations a night, there are 50"


def test_a_single_night_is_undecided() -> None:
    found = by_night([night(0, "a", 2000), night(0, "b", 1000)])
    assert [one.ratio and one.ratio.verdict for one in found.rows] == ["undecided"] * 4
