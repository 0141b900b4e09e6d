import gzip
import json
import string
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets import cloudtrail_log
from tasks.datasets.cloudtrail_log import layout_of, records_in
from tasks.datasets.plan import LeftOutError

DAY = "us-east-1/2026/05/01"
NAME = "123456789012_CloudTrail_us-east-1_20260501T0005Z_AbCdEfGh01234567.json.gz"
KEY = f"AWSLogs/123456789012/CloudTrail/{DAY}/{NAME}"


def zipped(content: bytes) -> bytes:
    """The same bytes whenever it is done: they are parameters, which all workers must find alike."""
    return gzip.compress(content, mtime=0)


GOOD = zipped(b'{"Records": [{}, {}]}')

prefixes = st.lists(st.text(min_size=1).filter(lambda part: "/" not in part)).map(
    lambda parts: "".join(f"{part}/" for part in parts)
)


@pytest.mark.parametrize(
    "layout",
    [
        KEY,
        KEY.replace("AWSLogs/", "AWSLogs/o-exampleorgid/"),
        f"AWSLogs/123456789012/CloudTrail/{DAY}/123456789012_CloudTrail_us-east-1_20140620T1255ZHdkvFTXOA3Vnhbc.json.gz",
    ],
)
def test_a_log_keeps_its_layout_from_awslogs_on(layout: str) -> None:
    assert layout_of(layout) == layout
    assert layout_of(f"/mnt/trail/{layout}") == layout


@given(prefixes)
def test_any_prefix_before_awslogs_is_dropped(prefix: str) -> None:
    assert layout_of(prefix + KEY) == KEY


@given(st.text())
def test_any_other_text_is_left_out(text: str) -> None:
    with pytest.raises(LeftOutError):
        layout_of(text)


@given(
    region=st.text(string.ascii_lowercase + string.digits + "-", min_size=1),
    suffix=st.text(string.ascii_letters + string.digits, min_size=8),
)
def test_any_region_and_any_random_part_make_a_log_name(region: str, suffix: str) -> None:
    key = (
        f"AWSLogs/123456789012/CloudTrail/{region}/2026/05/01/"
        f"123456789012_CloudTrail_{region}_20260501T0005Z_{suffix}.json.gz"
    )
    assert layout_of(key) == key


@pytest.mark.parametrize("kind", ["Digest", "Insight", "NetworkActivity", "Aggregated"])
def test_files_of_another_kind_are_left_out_by_their_folder(kind: str) -> None:
    with pytest.raises(LeftOutError, match=f"CloudTrail-{kind} file"):
        layout_of(KEY.replace("/CloudTrail/", f"/CloudTrail-{kind}/"))


@pytest.mark.parametrize(
    "key",
    [
        NAME,
        KEY + "\n",
        KEY.removesuffix(".gz"),
        KEY.replace("123456789012/", "٣٢٣٤٥٦٧٨٩٠١٢/"),
        KEY.replace("AWSLogs/", "MyAWSLogs/"),
        KEY.replace("_CloudTrail_", "_CloudTrail-Digest_"),
        KEY.replace("AWSLogs/", "AWSLogs/o-short/"),
    ],
)
def test_a_key_that_only_looks_like_a_log_is_left_out(key: str) -> None:
    with pytest.raises(LeftOutError, match="not named and placed"):
        layout_of(key)


def test_records_are_counted() -> None:
    assert records_in(GOOD) == 2
    assert records_in(zipped(b'{"Records": []}')) == 0


def test_padding_of_zeros_after_the_log_is_no_damage() -> None:
    assert records_in(GOOD + bytes(512)) == 2


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not gzip"),
        (gzip.decompress(GOOD), "not gzip"),
        (GOOD[:-9], "cut-off gzip"),
        (GOOD[:12], "cut-off gzip"),
        (GOOD[:-8] + b"\x00\x00\x00\x00" + GOOD[-4:], "damaged"),
        (GOOD[:10] + b"\xff" * 20, "damaged"),
        (GOOD + b"trailing", "damaged"),
        (zipped(GOOD), "gzipped twice"),
        (GOOD + GOOD, "bad JSON"),
        (zipped(b'{"Records": ['), "bad JSON"),
        (zipped(b'{"Records": ["\xff"]}'), "bad JSON"),
        (zipped(b""), "bad JSON"),
        (zipped(b"[" * 200_000), "bad JSON"),
        (zipped(b'{"digestPublicKeyFingerprint": "0"}'), "without a list of Records"),
        (zipped(b'{"Records": 5}'), "without a list of Records"),
        (zipped(b"[]"), "without a list of Records"),
    ],
)
def test_damaged_content_is_left_out_with_its_reason(payload: bytes, reason: str) -> None:
    with pytest.raises(LeftOutError, match=reason):
        records_in(payload)


def test_what_unzips_without_end_is_left_out_before_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloudtrail_log, "MOST_UNZIPPED_BYTES", 2**22)
    bomb = zipped(bytes(2**20)) * 1_000
    tracemalloc.start()
    with pytest.raises(LeftOutError, match="unzips to more than any CloudTrail log"):
        records_in(bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2**25


@given(st.data())
def test_no_damage_to_a_log_raises_anything_but_a_reason(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(GOOD) - 1))
    damaged = bytearray(GOOD)
    damaged[position] ^= data.draw(st.integers(1, 255))
    try:
        count = records_in(bytes(damaged))
    except LeftOutError:
        return
    # Only header bytes without a checksum (time, platform) may change unnoticed.
    assert count == len(json.loads(gzip.decompress(GOOD))["Records"])
