from pathlib import Path

import pytest

from configs.errors import UserError
from configs.lab_delays import DEFAULT_DELAYS, load_delays
from tasks.lab.aws_hosts import aws_host

DOMAIN = "ap-northeast-1.amazonaws.com"


@pytest.mark.parametrize(
    ("host", "milliseconds"),
    [
        (f"s3bench-lab.s3.{DOMAIN}", 40),
        (f"s3.{DOMAIN}", 40),
        (f"s3express-control.{DOMAIN}", 40),
        ("s3bench-lab.s3-accelerate.amazonaws.com", 8),
        ("s3bench-lab.s3-accelerate.dualstack.amazonaws.com", 8),
        ("s3-accelerate.amazonaws.com", 8),
        (f"s3bench-lab--apne1-az4--x-s3.s3express-apne1-az4.{DOMAIN}", 2),
        (f"s3bench-lab--apne1-az1--x-s3.s3express-apne1-az1.{DOMAIN}", 4),
        (f"S3BENCH-lab--apne1-az1--x-s3.s3express-apne1-az1.dualstack.{DOMAIN}", 4),
    ],
)
def test_each_of_amazons_hosts_has_the_delay_that_ships_for_it(host: str, milliseconds: float) -> None:
    assert aws_host(host) is not None
    assert load_delays(DEFAULT_DELAYS).of(host) == milliseconds


def test_the_first_pattern_that_fits_counts_and_without_one_there_is_no_delay(tmp_path: Path) -> None:
    path = tmp_path / "delays.yaml"
    one = "{{hosts: '{}', milliseconds: {}}}".format
    path.write_text(f"delays: [{one('a*', 1.5)}, {one('*b', 2)}, {one('?', 3)}]")
    delays = load_delays(path)
    assert [delays.of(host) for host in ("ab", "bb", "c", "cc")] == [1.5, 2, 3, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "delays:\n- {hosts: '*', millisecond: 1}",
            r":2: delays\.0\.millisecond: unknown key; did you mean 'mil",
        ),
        ("delays: []\nzones: x", r":2: zones: unknown key; known here: delays, version"),
        ("delays:\n- hosts: '*'\n  milliseconds: -1", r":3: delays\.0\.milliseconds: .*greater.*given: -1"),
        ("delays:\n- hosts: '*'\n  milliseconds: .inf", r":3: delays\.0\.milliseconds: .*finite.*given: inf"),
        ("delays:\n- {hosts: '', milliseconds: 1}", r":2: delays\.0\.hosts: "),
        ("version: 2\ndelays: []", r":1: version: "),
        ("version: 1", r"delays: this key is missing"),
        ("delays: [", r":1: this is no valid YAML"),
        ("- 1", r"a file of delays is a mapping with the keys version, delays"),
    ],
)
def test_a_mistake_is_named_with_its_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "delays.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=rf"delays\.yaml.*{message}"):
        load_delays(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: the file of delays cannot be read: .*No such file"):
        load_delays(tmp_path / "nowhere.yaml")
