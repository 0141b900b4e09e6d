from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reports import wording
from tasks.stats.summary_types import Quantile, Ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.000083, "0.0000830"),
        (0.0512, "0.0512"),
        (0.9996, "1.00"),
        (1, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.96, "100"),
        (1776.2, "1,776"),
        (13_700_123, "13,700,123"),
    ],
)
def test_figures_have_three_significant_digits_and_no_powers_of_ten(value: float, text: str) -> None:
    assert wording.three_digits(value) == text


@given(st.floats(1e-6, 1e9))
def test_a_figure_as_written_is_within_half_a_percent_of_the_figure(value: float) -> None:
    written = Decimal(wording.three_digits(value).replace(",", ""))
    assert abs(float(written) - value) <= 0.00501 * value


@pytest.mark.parametrize(
    ("quantile", "shown", "interval"),
    [
        (Quantile(12_300_000, 11_900_000, 12_800_000), "12.3", "11.9 to 12.8"),
        (Quantile(12_300_000, 11_900_000, None), "≥ 11.9", "≥ 11.9"),
        (Quantile(12_300_000, None, None), "(12.3)", "–"),
    ],
)
def test_a_quantile_is_shown_as_far_as_the_sample_supports_it(
    quantile: Quantile, shown: str, interval: str
) -> None:
    assert wording.quantile(quantile) == shown
    assert wording.quantile_interval(quantile) == interval


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.1, 0.09, 0.11, "0.100 (0.0900 to 0.110), faster"),
        (2.5, 2.4, 2.6, "2.50 (2.40 to 2.60), slower"),
        (1.1, 0.9, 1.3, "1.10 (0.900 to 1.30), no difference seen"),
        (1.1, None, None, "1.10 (an interval needs 2 blocks), undecided"),
    ],
)
def test_a_comparison_gives_ratio_interval_and_verdict(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert wording.comparison(Ratio("b", "a", "w", "total_ns", value, low, high, 5)) == text


def test_a_robust_estimate_is_told_where_it_is_far_from_the_ratio_alone() -> None:
    ratio = Ratio("b", "a", "w", "total_ns", 1.3, 1.1, 1.5, 30, robust=1.29)
    assert wording.comparison(ratio) == "1.30 (1.10 to 1.50), slower"
    assert wording.comparison(replace(ratio, robust=1.02)) == "1.30 (1.10 to 1.50; robust 1.02), slower"


def test_a_verdict_that_does_not_survive_the_correction_is_no_difference_and_has_no_winner() -> None:
    ratio = Ratio("b", "a", "w", "total_ns", 1.3, 1.1, 1.5, 30, p_value=0.01, corrected_p=0.05)
    assert (wording.comparison(ratio), wording.winner(ratio)) == ("1.30 (1.10 to 1.50), slower", "a faster")
    by_chance = replace(ratio, corrected_p=0.051)
    assert wording.comparison(by_chance) == "1.30 (1.10 to 1.50), no difference seen"
    assert wording.winner(by_chance) == "no difference seen"


def test_an_interval_of_nights_needs_two_of_them() -> None:
    night = Ratio("b", "a", "w", "total_ns", 1.3, None, None, 1, unit="night")
    assert wording.comparison(night) == "1.30 (an interval needs 2 nights), undecided"
    assert wording.winner(night) == "undecided"


def test_a_single_comparison_is_not_corrected() -> None:
    assert wording.corrected_for(1) == ()
    assert wording.corrected_for(1200)[0].startswith("Verdicts are corrected for the 1,200 comparisons")


@pytest.mark.parametrize(
    ("time_ms", "text"), [(83, "83.0 ms"), (4200, "4.2 s"), (119_960, "120.0 s"), (365_000, "6 min 05 s")]
)
def test_durations_are_for_people(time_ms: float, text: str) -> None:
    assert wording.duration(time_ms) == text


def test_one_of_a_thing_is_singular_and_what_is_unknown_is_left_out() -> None:
    assert wording.counts(1, 0, None) == "1 file, 0 records"


def test_what_a_terminal_would_obey_and_a_file_cannot_hold_is_replaced() -> None:
    assert wording.printable("a\x1b[2Jb\udcffc\nd é") == "a�[2Jb�c\nd é"


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (Quantile(500_000_000, 490_000_000, 520_000_000), "20.0"),
        (Quantile(500_000_000, 400_000_000, None), "≤ 25.0"),
        (Quantile(500_000_000, None, None), "(20.0)"),
        (Quantile(0, 0, 0), "–"),
    ],
)
def test_throughput_is_bounded_where_its_time_is(time: Quantile, shown: str) -> None:
    assert wording.throughput(10_000_000, time) == shown


def test_a_share_of_quantiles_that_a_sample_does_not_support_is_in_brackets() -> None:
    whole = Quantile(400, 390, 410)
    assert wording.share_of_quantiles(Quantile(100, 90, 110), whole) == "25.0 %"
    assert wording.share_of_quantiles(Quantile(100, None, 110), whole) == "(25.0 %)"
    assert wording.share_of_quantiles(Quantile(100, 90, 110), Quantile(400, 390, None)) == "(25.0 %)"
