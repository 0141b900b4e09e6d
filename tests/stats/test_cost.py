"""Estimates are exact where list prices are known, and say what is not."""

from decimal import Decimal

from tasks.stats.cost import RequestCounts, Tariff, estimate, load_prices, total

GB = 2**30
EXPRESS = Tariff("us-east-1", "express_one_zone")


def test_every_row_of_the_price_table_says_where_it_is_from() -> None:
    prices = load_prices()
    places = [(row.region, row.storage_class) for row in prices.storage]
    assert len(set(places)) == len(places)
    assert {("us-east-1", "standard"), ("us-east-1", "express_one_zone")} < set(places)
    assert all(row.source and row.as_of and row.confidence for row in (*prices.storage, prices.acceleration))


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
