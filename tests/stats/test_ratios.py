from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from tasks.stats.ratios import Comparison, compare
from tasks.stats.series import split

Rows = list[dict[str, object]]
Table = Callable[[Rows], pa.Table]


def _blocks(config_id: str, medians_ns: list[int], **values: object) -> Rows:
    return [
        {"config_id": config_id, "block": block, "total_ns": total_ns, "size_bytes": 1, **values}
        for block, median in enumerate(medians_ns)
        for total_ns in (median - 1, median, median + 1000)
    ]


def _compared(samples: pa.Table) -> Comparison:
    return compare(split(samples), "a")


def test_the_ratio_is_the_geometric_mean_over_paired_blocks(table: Table) -> None:
    samples = table(_blocks("a", [1000, 1000]) + _blocks("b", [2000, 8000]))
    (ratio,) = _compared(samples).ratios
    assert ratio.value == pytest.approx(4)
    assert (ratio.pairs, ratio.stage, ratio.baseline_id) == (2, "total_ns", "a")


def test_the_interval_is_the_t_interval_of_the_logs(table: Table) -> None:
    samples = table(_blocks("a", [1000, 1000, 1000]) + _blocks("b", [1000, 2000, 4000]))
    (ratio,) = _compared(samples).ratios
    half_width = 4.302652729911275 * np.log(2) / np.sqrt(3)  # t with two degrees of freedom
    assert ratio.low == pytest.approx(2 * np.exp(-half_width))
    assert ratio.high == pytest.approx(2 * np.exp(half_width))
    assert ratio.verdict == "no difference seen"


def test_a_block_that_only_one_of_them_has_is_left_out(table: Table) -> None:
    samples = table(_blocks("a", [1000, 1000, 1]) + _blocks("b", [2000, 2000]))
    (ratio,) = _compared(samples).ratios
    assert (ratio.pairs, ratio.value) == (2, pytest.approx(2))


def test_one_pair_has_a_ratio_and_no_interval(table: Table) -> None:
    (ratio,) = _compared(table(_blocks("a", [1000]) + _blocks("b", [2000]))).ratios
    assert (ratio.low, ratio.high, ratio.verdict) == (None, None, "undecided")


def test_every_stage_of_a_scan_has_its_ratio_and_its_files_have_none(table: Table) -> None:
    rows = [
        {
            "config_id": config_id,
            "operation": operation,
            "block": block,
            "read_ns": read_ns,
            "total_ns": read_ns + 50,
        }
        for config_id, read_ns in (("a", 100), ("b", 300))
        for operation in ("scan", "scan_file")
        for block in range(5)
    ]
    found = {ratio.stage: ratio for ratio in _compared(table(rows)).ratios}
    assert list(found) == ["read_ns", "total_ns"]
    assert found["read_ns"].value == pytest.approx(3)
    assert found["read_ns"].verdict == "slower"


@pytest.mark.parametrize(
    ("happened", "stages"),
    [((50, 100), ["connect_ns", "total_ns"]), ((49, 100), ["total_ns"]), ((100, 49), ["total_ns"])],
)
def test_a_stage_has_a_ratio_where_it_happened_in_half_of_the_operations_of_both(
    table: Table, happened: tuple[int, int], stages: list[str]
) -> None:
    rows = [
        {"config_id": config_id, "block": i % 5, "total_ns": 100, "connect_ns": 10 if i < count else None}
        for config_id, count in zip("ab", happened, strict=True)
        for i in range(100)
    ]
    assert [ratio.stage for ratio in _compared(table(rows)).ratios] == stages


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"size_bytes": 2}, "unlike bytes: 2, baseline 1"),
        ({"records": 5}, "unlike records: 5, baseline none"),
        ({"operation": "write"}, "unlike operations: write, baseline read"),
        ({"cold": True}, "unlike cache states: cold, baseline not claimed"),
        ({"outcome": "error"}, "no successful operation: all 15 failed"),
        ({"block": 99}, "no block has successful operations of both"),
    ],
)
def test_unlike_cells_are_refused_with_the_reason(
    table: Table, values: dict[str, object], reason: str
) -> None:
    comparison = _compared(table(_blocks("a", [1000] * 5) + _blocks("b", [1000] * 5, **values)))
    assert comparison.ratios == ()
    (refusal,) = comparison.refusals
    assert (refusal.config_id, refusal.reason) == ("b", reason)


def test_a_baseline_where_everything_failed_is_named_as_the_reason(table: Table) -> None:
    comparison = _compared(table(_blocks("a", [9] * 5, outcome="error") + _blocks("b", [9] * 5)))
    assert comparison.refusals[0].reason == "the baseline has no successful operation: all 15 failed"


def _with_failures(config_id: str, failed: int) -> Rows:
    """Five blocks of twenty operations, of which the first so many failed, as evenly as can be."""
    rows: Rows = [{"config_id": config_id, "block": i % 5, "total_ns": 1000 + i} for i in range(100)]
    return [
        row | ({"outcome": "error", "error": "SlowDown"} if i < failed else {}) for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ((75, 0), "too many operations failed: 75 of 100 (75.0 %), baseline 0 of 100 (0.0 %); "),
        ((0, 75), "too many operations failed: 0 of 100 (0.0 %), baseline 75 of 100 (75.0 %); "),
        ((6, 6), "too many operations failed: 6 of 100 (6.0 %), baseline 6 of 100 (6.0 %); "),
    ],
)
def test_survivors_of_many_failures_are_not_compared_on_either_side(
    table: Table, failed: tuple[int, int], reason: str
) -> None:
    mine, baselines = failed
    found = _compared(table(_with_failures("a", baselines) + _with_failures("b", mine)))
    assert found.ratios == ()
    assert found.refusals[0].reason == reason + "above 5 % only survivors would be compared"


def test_five_failures_in_a_hundred_do_not_hinder_a_comparison(table: Table) -> None:
    found = _compared(table(_with_failures("a", 5) + _with_failures("b", 5)))
    assert (found.refusals, found.ratios[0].pairs) == ((), 5)


def test_failed_warmups_do_not_hinder_a_comparison(table: Table) -> None:
    warmups: Rows = [{"config_id": "b", "warmup": True, "outcome": "error"}] * 50
    assert _compared(table(_with_failures("a", 0) + _with_failures("b", 0) + warmups)).refusals == ()


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ("b", "its cell failed"),
        ("a", "the baseline's cell failed"),
    ],
)
def test_a_cell_that_failed_as_a_whole_is_not_compared(table: Table, failed: str, reason: str) -> None:
    series = split(table(_with_failures("a", 0) + _with_failures("b", 0)))
    (refusal,) = compare(series, "a", {("w", failed)}).refusals
    assert (refusal.config_id, refusal.reason) == ("b", reason)
    assert compare(series, "a", {("another", failed)}).refusals == ()


def test_a_baseline_without_a_sample_of_its_cell_is_the_reason(table: Table) -> None:
    found = compare(split(table(_blocks("b", [9] * 5))), "a", cells={("w", "a"), ("w", "b")})
    assert found.refusals[0].reason == "the baseline has no successful operation"
    assert found.baselines == {"w": "a"}


def test_where_the_baseline_has_no_cell_the_first_that_succeeded_stands_in(table: Table) -> None:
    rows = _blocks("b", [9] * 5, outcome="error") + _blocks("c", [10] * 5) + _blocks("d", [20] * 5)
    found = compare(split(table(rows)), "a", cells={("w", "b"), ("w", "c"), ("w", "d")})
    assert found.baselines == {"w": "c"}
    (ratio,) = found.ratios
    assert (ratio.config_id, ratio.baseline_id, ratio.value) == ("d", "c", pytest.approx(2, rel=0.01))
    assert [refusal.config_id for refusal in found.refusals] == ["b"]


def _simulated(noise: np.random.Generator, true_ratio: float, own_effect: float) -> Rows:
    rows: Rows = []
    for block in range(5):
        shared = noise.lognormal(0, 0.3)  # the weather of the block, which both share
        for config_id, scale in (("a", 1.0), ("b", true_ratio)):
            own = noise.lognormal(0, own_effect)
            times = 1e6 * shared * own * scale * noise.lognormal(0, 0.25, 60)
            rows += [{"config_id": config_id, "block": block, "total_ns": int(value)} for value in times]
    return rows


def test_an_effect_that_both_share_does_not_widen_the_interval(table: Table) -> None:
    (ratio,) = _compared(table(_simulated(np.random.default_rng(3), 1.3, 0.01))).ratios
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 1.3 < ratio.high
    assert ratio.high / ratio.low < 1.25  # unpaired blocks that scatter by 30 % would give about 2
    assert ratio.verdict == "slower"


def test_identical_configurations_mostly_show_no_difference(table: Table) -> None:
    noise = np.random.default_rng(11)
    verdicts = [_compared(table(_simulated(noise, 1.0, 0.03))).ratios[0].verdict for _ in range(100)]
    assert verdicts.count("no difference seen") >= 88  # 95 expected; fewer than 88 once in 800 times
