import gzip
import json
import re
from collections import Counter
from statistics import median
from typing import Any

import pytest

from configs.datasets import CloudTrailGenerated
from tasks.datasets.cloudtrail_generated import plan_generated
from tasks.datasets.cloudtrail_log import layout_of, records_in
from tasks.datasets.plan import Payload

E1_SIZE_BYTES = 4_322_243


@pytest.fixture(scope="module")
def default_logs() -> dict[str, Payload]:
    return made(CloudTrailGenerated())


@pytest.fixture(scope="module")
def events(default_logs: dict[str, Payload]) -> list[dict[str, Any]]:
    return [
        event
        for payload in default_logs.values()
        for event in json.loads(gzip.decompress(payload.body))["Records"]
    ]


def made(config: CloudTrailGenerated) -> dict[str, Payload]:
    return {item.name: item.make() for item in plan_generated(config).items}


def test_the_defaults_have_the_size_of_experiment_e1(default_logs: dict[str, Payload]) -> None:
    assert len(default_logs) == 302
    assert sum(payload.records or 0 for payload in default_logs.values()) == 11_395
    size_bytes = sum(len(payload.body) for payload in default_logs.values())
    assert size_bytes == pytest.approx(E1_SIZE_BYTES, rel=0.02)


def test_another_seed_gives_about_the_same_size() -> None:
    size_bytes = sum(len(payload.body) for payload in made(CloudTrailGenerated(seed=7)).values())
    assert size_bytes == pytest.approx(E1_SIZE_BYTES, rel=0.03)


def test_every_log_says_truly_how_many_records_it_holds(default_logs: dict[str, Payload]) -> None:
    assert all(records_in(payload.body) == payload.records for payload in default_logs.values())


def test_records_per_file_have_a_long_tail_and_are_at_least_one(default_logs: dict[str, Payload]) -> None:
    counts = [payload.records or 0 for payload in default_logs.values()]
    assert min(counts) >= 1
    assert max(counts) > 200
    assert median(counts) < 11_395 / 302 / 2


def test_names_are_those_of_one_day_of_logs_every_five_minutes(default_logs: dict[str, Payload]) -> None:
    assert all(layout_of(name) == name for name in default_logs)
    times = {re.search(r"_20260501T(\d\d)(\d\d)Z_", name).groups() for name in default_logs}  # type: ignore[union-attr]
    assert times == {(f"{hour:02d}", f"{minute:02d}") for hour in range(24) for minute in range(0, 60, 5)}


def test_the_same_seed_gives_the_same_bytes_in_any_order() -> None:
    config = CloudTrailGenerated(files=5, records=40)
    forwards = made(config)
    backwards = {item.name: item.make() for item in reversed(plan_generated(config).items)}
    assert forwards == backwards


def test_the_events_of_a_seed_never_change() -> None:
    """Pins the generator: other events for the same configuration need a new FINGERPRINT_VERSION."""
    (name, payload), *_ = made(CloudTrailGenerated(files=2, records=30, seed=1)).items()
    first = json.loads(gzip.decompress(payload.body))["Records"][0]
    assert (name.rpartition("_")[2], payload.records, first["eventID"]) == (
        "zgSGp0Cm91l9jix6.json.gz",
        29,
        "15d614db-99b3-4aca-b390-ef7e0a11f4d3",
    )


def test_another_seed_gives_other_bytes_and_names() -> None:
    one, other = (made(CloudTrailGenerated(files=3, records=9, seed=seed)) for seed in (1, 2))
    assert not set(one) & set(other)
    assert not {payload.body for payload in one.values()} & {payload.body for payload in other.values()}


def test_the_gzip_header_carries_no_time_and_no_name(default_logs: dict[str, Payload]) -> None:
    headers = {payload.body[:10] for payload in default_logs.values()}
    assert headers == {b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"}


@pytest.mark.parametrize(("files", "records"), [(1, 1), (1, 500), (300, 300), (700, 701)])
def test_any_number_of_files_holds_exactly_the_records_asked_for(files: int, records: int) -> None:
    logs = made(CloudTrailGenerated(files=files, records=records))
    assert len(logs) == files
    assert sum(payload.records or 0 for payload in logs.values()) == records


def test_events_come_from_many_services_and_all_kinds_of_callers(events: list[dict[str, Any]]) -> None:
    services = {event["eventSource"].removesuffix(".amazonaws.com") for event in events}
    assert services >= {"s3", "ec2", "iam", "sts", "kms", "lambda", "dynamodb", "signin", "cloudtrail"}
    callers = Counter(event["userIdentity"]["type"] for event in events)
    assert callers.keys() == {"IAMUser", "AssumedRole", "AWSService", "Root"}
    failed = sum("errorCode" in event for event in events)
    assert 0.01 < failed / len(events) < 0.08


def test_events_have_the_fields_of_real_ones(events: list[dict[str, Any]]) -> None:
    always = {"eventTime", "userIdentity", "requestParameters", "responseElements", "requestID", "readOnly"}
    assert all(always <= event.keys() for event in events)
    assert {event["eventVersion"] for event in events} == {"1.11"}
    assert {event["recipientAccountId"] for event in events} == {"123456789012"}
    assert len({event["eventID"] for event in events}) == len(events)
    assert any(event["requestParameters"] is None for event in events)
    assert all(event["responseElements"] is None for event in events if "errorCode" in event)
    assert all("arn" not in event["userIdentity"] for event in events if "invokedBy" in event["userIdentity"])


def test_no_event_names_an_account_but_the_two_of_the_documentation(default_logs: dict[str, Payload]) -> None:
    text = b"".join(gzip.decompress(payload.body) for payload in default_logs.values()).decode()
    accounts = set(re.findall(r"arn:aws:[a-z0-9]+:[a-z0-9-]*:(\d{12}):", text))
    assert accounts == {"123456789012", "111122223333"}
