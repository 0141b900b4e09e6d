from decimal import Decimal

from tasks.stats.cost import RequestCounts, estimate, load_prices


def test_every_row_of_the_price_table_says_where_it_is_from() -> None:
    assert [row.region for row in load_prices()] == ["us-east-1", "ap-northeast-1"]
    assert all(row.source and row.as_of and row.confidence for row in load_prices())


def test_a_known_region_gives_the_exact_list_price() -> None:
    requests = RequestCounts(put=1000, get=5000, list=1000, head=5000, stored_bytes=2**30)
    assert estimate(requests, "us-east-1").usd == Decimal("0.010") + Decimal("0.004") + Decimal("0.023")
    assert estimate(requests, "us-east-1").unknown == ()


def test_deletes_are_free() -> None:
    assert estimate(RequestCounts(delete=10**9), "ap-northeast-1").usd == 0


def test_an_unknown_region_is_said_to_be_unknown_and_never_guessed() -> None:
    found = estimate(RequestCounts(put=1, get=1), "eu-west-1")
    assert found.usd == 0
    assert found.unknown == (
        "price unknown for region eu-west-1: PUT and LIST",
        "price unknown for region eu-west-1: GET and HEAD",
    )
