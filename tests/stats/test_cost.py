"""Estimates are exact where list prices are known, and say what is not."""

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path

from tasks.stats.cost import RequestCounts, Tariff, estimate, in_short, load_prices, total

GB = 2**30
PUBLISHED = Path(__file__).parents[2] / "tasks" / "stats" / "published.csv"
EXPRESS = Tariff("us-east-1", "express_one_zone")
FILES = Tariff("us-east-1", files=True)


def test_every_row_of_the_price_table_says_where_it_is_from() -> None:
    prices = load_prices()
    places = [(row.region, row.storage_class) for row in prices.storage]
    assert len(set(places)) == len(places)
    assert {("us-east-1", "standard"), ("us-east-1", "express_one_zone")} < set(places)
    regions = [row.region for row in prices.s3_files]
    assert len(set(regions)) == len(regions)
    rows = (*prices.storage, prices.acceleration, *prices.s3_files, prices.s3_files_metering)
    assert all(row.source and row.as_of and row.confidence for row in rows)


def test_a_known_region_gives_the_exact_list_price() -> None:
    requests = RequestCounts(put=1000, get=5000, list=1000, head=5000, sent_bytes=9 * GB, stored_bytes=GB)
    found = estimate(requests, Tariff("us-east-1"))
    assert found.usd == Decimal("0.010") + Decimal("0.004") + Decimal("0.023")
    assert found.unknown == ()


def test_express_one_zone_is_charged_for_bytes_as_well() -> None:
    # The first example of the Amazon S3 FAQ: 10 GB, a million writes and nine million reads of 10 KB.
    ten_kb = 10 * 1024
    found = estimate(
        RequestCounts(
            put=10**6,
            get=9 * 10**6,
            delete=10**6,
            sent_bytes=10**6 * ten_kb,
            received_bytes=9 * 10**6 * ten_kb,
            stored_bytes=10 * GB,
        ),
        EXPRESS,
    )
    assert found.unknown == ()
    assert round(found.usd, 2) == Decimal("2.58")


def test_acceleration_is_charged_for_each_gb_besides_the_requests() -> None:
    requests = RequestCounts(put=1000, sent_bytes=2 * GB, received_bytes=GB)
    plain = estimate(requests, Tariff("us-east-1"))
    assert estimate(requests, Tariff("us-east-1", accelerated=True)).usd - plain.usd == 3 * Decimal("0.04")


def test_deletes_are_free() -> None:
    assert estimate(RequestCounts(delete=10**9), Tariff("ap-northeast-1")).usd == 0


def test_an_unknown_region_is_said_to_be_unknown_and_never_guessed() -> None:
    found = estimate(RequestCounts(put=1, get=1, sent_bytes=GB), Tariff("eu-west-1"))
    assert found.usd == 0
    assert found.unknown == (
        "price unknown for region eu-west-1: PUT and LIST",
        "price unknown for region eu-west-1: GET and HEAD",
    )


def test_unknown_prices_of_a_storage_class_are_told_with_it() -> None:
    for region in ("ap-northeast-1", "eu-west-1"):
        found = estimate(RequestCounts(put=1, sent_bytes=1), Tariff(region, "express_one_zone"))
        assert found.unknown == (
            f"price unknown for region {region}, S3 Express One Zone: PUT and LIST",
            f"price unknown for region {region}, S3 Express One Zone: upload",
        )


def test_a_sum_tells_once_what_several_parts_do_not_know() -> None:
    part = estimate(RequestCounts(put=1), Tariff("eu-west-1"))
    known = estimate(RequestCounts(put=1000), Tariff("us-east-1"))
    assert total([part, known, part, known]).usd == Decimal("0.010")
    assert total([part, known, part]).unknown == part.unknown


def test_what_s3_files_meters_is_charged_besides_the_requests_to_its_bucket() -> None:
    metered = RequestCounts(get=1000, file_read_bytes=2 * GB, file_write_bytes=3 * GB, file_stored_bytes=GB)
    found = estimate(metered, FILES)
    assert found.unknown == ()
    assert found.usd == Decimal("0.0004") + 2 * Decimal("0.03") + 3 * Decimal("0.06") + Decimal("0.30")
    assert estimate(metered, Tariff("us-east-1")).usd == Decimal("0.0004")


def test_unknown_prices_of_s3_files_are_told_with_their_region() -> None:
    for region in ("ap-southeast-1", "eu-west-1"):
        found = estimate(RequestCounts(file_read_bytes=1), Tariff(region, files=True))
        assert found.usd == 0
        assert found.unknown == (f"price unknown for region {region}, S3 Files: reads",)


def test_unknown_prices_of_one_place_are_one_sentence_in_short() -> None:
    counts = RequestCounts(put=1, sent_bytes=1, file_read_bytes=1)
    assert in_short(estimate(counts, Tariff("eu-west-1", "express_one_zone", files=True)).unknown) == (
        "price unknown for region eu-west-1, S3 Express One Zone: PUT and LIST, upload",
        "price unknown for region eu-west-1, S3 Files: reads",
    )


def test_prices_are_as_old_as_the_oldest_of_them() -> None:
    prices = load_prices()
    assert prices.as_of(Tariff("us-east-1")) == date(2025, 10, 28)
    assert prices.as_of(EXPRESS) == date(2025, 4, 10)
    assert prices.as_of(Tariff("ap-northeast-1", accelerated=True, files=True)) == date(2026, 8, 1)
    assert prices.as_of(Tariff("eu-west-1")) is None


def test_counts_are_added_taken_away_and_multiplied_kind_by_kind() -> None:
    counts = RequestCounts(put=1, get=2, list=3, head=4, delete=5, sent_bytes=6, file_write_bytes=7)
    assert counts * 3 == counts + counts + counts
    assert counts * 3 - counts == counts + counts


def test_standard_costs_in_tokyo_what_experiment_e3_published_and_express_is_not_known_there() -> None:
    """Its author's prices of S3 Express One Zone are from before Amazon lowered them: they are not taken."""
    published = {
        row["stat"]: Decimal(row["value"])
        for row in csv.DictReader(PUBLISHED.read_text(encoding="utf-8").splitlines())
        if row["source"] == "express-cli-sync" and row["workload"] == "price" and row["config"] == "standard"
    }
    row = load_prices().of(Tariff("ap-northeast-1"))
    assert published == {
        "storage": row.storage_per_gb_month,
        "put_class": row.put_per_1000,
        "get_class": row.get_per_1000,
    }
    assert load_prices().of(Tariff("ap-northeast-1", "express_one_zone")).get_per_1000 is None
