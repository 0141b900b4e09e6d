"""A workload may be asked for at a rate; one that is not stays the series that it was."""

import pytest

from configs.errors import UserError
from configs.loading import parse_suite

SUITE = """\
name: s
blocks: 2
block_timeout_s: 100
targets:
  b: {kind: bucket, bucket: some-bucket}
configurations:
  one: {access_path: {kind: boto3_api}, target: b}
datasets:
  d: {kind: blobs, size: 64 KiB}
workloads:
  read: {kind: blob_read, dataset: d, iterations: 1000, warmup: 4, concurrency: 2PACE}
"""


def test_a_rate_is_what_a_cell_was_asked_and_none_is_not_written() -> None:
    with_rate, without = (
        parse_suite(SUITE.replace("PACE", pace), "s.yaml") for pace in (", rate_per_s: 20", "")
    )
    assert with_rate.cells()[0].asked["workload.rate_per_s"] == "20.0"
    assert "workload.rate_per_s" not in without.cells()[0].asked
    assert "rate_per_s" not in without.model_dump_json()
    assert with_rate.sha256 != without.sha256


@pytest.mark.parametrize(
    ("pace", "complaint"),
    [
        (", rate_per_s: 0", "s.yaml:11: workloads.read.rate_per_s: "),
        (", rate_per_s: .inf", "s.yaml:11: workloads.read.rate_per_s: "),
        (
            ", rate_per_s: 5",
            (
                "s.yaml:11: workloads.read.rate_per_s: 500 operations of a block at 5 per second take 100 s, "
                "but block_timeout_s is 100, of which a tenth is kept for its end: raise one of the two, or "
                "give fewer iterations"
            ),
        ),
    ],
)
def test_a_rate_that_no_block_can_keep_is_refused(pace: str, complaint: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_suite(SUITE.replace("PACE", pace), "s.yaml")
    assert complaint in str(raised.value)


def test_what_is_done_one_by_one_has_no_rate() -> None:
    text = SUITE.replace("blob_read, dataset: d", "cloudtrail_scan, dataset: d").replace(
        ", concurrency: 2", ""
    )
    with pytest.raises(UserError, match="rate_per_s"):
        parse_suite(text.replace("PACE", ", rate_per_s: 20"), "s.yaml")
