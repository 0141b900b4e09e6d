"""The published numbers are whole, have their conditions, and become figures without mixing statistics."""

import hashlib

import pytest

from tasks.stats.published import NUMBERS_FILE, Figure, figures, numbers, reference

PRICES = 6


def a_figure(source: str, config: str, workload: str, **wanted: object) -> Figure:
    found = [
        one
        for one in figures()
        if (one.source, one.config, one.workload) == (source, config, workload)
        and all(getattr(one, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1, found
    return found[0]


def test_all_311_published_numbers_are_there_and_untouched() -> None:
    assert len(numbers()) == 311
    sha256 = hashlib.sha256(NUMBERS_FILE.read_bytes()).hexdigest()
    assert sha256 == "a123b60e8297c29793c051db7052d6d089e20315b912a4e3120fc1b17010f579"


def test_every_time_is_part_of_one_figure_and_prices_are_none() -> None:
    assert sum(one.numbers for one in figures()) == 311 - PRICES
    assert {number.workload for number in numbers() if number.unit.startswith("USD")} == {"price"}


def test_every_figure_has_its_conditions_its_client_and_the_size_of_its_data() -> None:
    for one in figures():
        source = reference().sources[one.source]
        assert source.clients[one.config].counterpart["access_path.kind"]
        assert reference().data[one.size].size_bytes > 0
        assert one.op in reference().operations[one.workload] or one.op == "not stated"
        assert source.reference in source.clients


@pytest.mark.parametrize(
    ("config", "workload", "stage", "mean_ms"),
    [
        ("s3_api", "cloudtrail_scan_simple", "total_ns", 9545.0),
        ("s3_files", "cloudtrail_scan_simple", "total_ns", 715.74),
        ("s3_api", "cloudtrail_scan_staged", "read_ns", 8346.36),
        ("s3_files", "cloudtrail_scan_staged", "read_ns", 352.96),
        ("s3_files", "cloudtrail_scan_staged", "gunzip_ns", 93.09),
    ],
)
def test_runs_that_were_published_one_by_one_become_their_mean(
    config: str, workload: str, stage: str, mean_ms: float
) -> None:
    one = a_figure("cloudtrail-s3-files", config, workload, stage=stage)
    assert one.value_ns / 1e6 == pytest.approx(mean_ms, rel=1e-4)
    assert (one.statistic, one.n, one.numbers) == ("mean", 10, 10)


def test_published_quantiles_stay_what_they_are() -> None:
    found = {
        one.statistic: (one.value_ns / 1e6, one.n)
        for one in figures()
        if (one.config, one.workload, one.size) == ("B_s3_files", "blob_read_unique", "16MiB")
    }
    assert found == {
        "min": (1751.5, 100),
        "mean": (2331.2, 100),
        "p50": (1776.2, 100),
        "p90": (5269.6, 100),
        "p99": (5290.7, 100),
        "max": (5299.1, 100),
    }


def test_real_user_and_system_time_of_the_command_line_are_three_figures() -> None:
    found = {
        one.stage: one.value_ns / 1e9
        for one in figures()
        if (one.source, one.config, one.op) == ("express-cli-sync", "standard", "upload")
    }
    assert found == {"total_ns": 111.281, "user_ns": 45.076, "system_ns": 11.347}


def test_a_loop_becomes_the_mean_of_one_file_where_its_count_was_stated_and_stays_a_total_elsewhere() -> None:
    loop = "boto3_transfer_loop"
    counted = a_figure("express-boto3", "express", loop, op="upload", size="2.3 MB")
    assert (counted.statistic, counted.n) == ("mean", 3000)
    assert counted.value_ns / 1e6 == pytest.approx(31.0925, rel=1e-4)
    whole = a_figure("express-boto3", "standard", loop, op="upload", size="1.4 KB")
    assert (whole.statistic, whole.n) == ("loop total", None)
    assert whole.value_ns / 1e9 == pytest.approx(433.4106, rel=1e-6)


def test_a_total_that_is_printed_under_two_headings_is_taken_once() -> None:
    """With them taken so, Express is 3.6 to 5.5 times as fast up, and 3.4 to 4.5 down, as published."""
    loop = "boto3_transfer_loop"
    ratios = {}
    for op in ("upload", "download"):
        for size in ("1.4 KB", "30.2 KB", "2.3 MB"):
            standard, express = (
                a_figure("express-boto3", config, loop, op=op, size=size).value_ns
                for config in ("standard", "express")
            )
            ratios.setdefault(op, []).append(round(standard / express, 1))
    assert ratios == {"upload": [3.8, 5.5, 3.6], "download": [4.0, 4.5, 3.4]}
    slow = a_figure("express-boto3", "standard", loop, op="not stated")
    assert (slow.venue, slow.n, slow.numbers) == ("Lambda 128 MB, ap-northeast-1", 1000, 2)
