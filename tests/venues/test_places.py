"""Where a suite's targets really are."""

import os
from pathlib import Path

import pytest

from configs.loading import load_suite, parse_suite
from configs.targets import BucketTarget
from tasks.lab.state import LabState
from tasks.venues.places import place_of


def test_in_the_aws_shaped_lab_targets_of_every_kind_get_its_region_and_no_endpoint(
    lab_folder: Path, aws_shaped_lab: LabState
) -> None:
    suite = load_suite("known-answers")
    with place_of(suite, lab_folder) as place:
        assert {target.kind for target in suite.targets.values()} == {
            "bucket",
            "accelerated_bucket",
            "directory_bucket",
        }
        for name, target in suite.targets.items():
            assert place.suite.targets[name] == target.model_copy(update={"region": aws_shaped_lab.region})
        assert place.environment.items() >= aws_shaped_lab.aws_environment().items()
        assert "AWS_ENDPOINT_URL" not in place.environment


def test_the_plain_lab_has_an_endpoint_and_keeps_the_users_proxies_out(
    lab_folder: Path, lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    suite = load_suite("lab")
    with place_of(suite, lab_folder) as place:
        bucket = place.suite.targets["bucket"]
        assert isinstance(bucket, BucketTarget)
        assert (bucket.endpoint_url, bucket.region) == (lab.endpoint_url, lab.region)
        assert "HTTP_PROXY" not in place.environment


def test_outside_the_lab_everything_is_as_the_user_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    suite = parse_suite(
        "name: own\n"
        "targets: {b: {kind: bucket, bucket: some-bucket}}\n"
        "configurations: {c: {access_path: {kind: boto3_api}, target: b}}\n"
        "workloads: {w: {kind: blob_write, size: 1}}\n",
        "own.yaml",
    )
    with place_of(suite, tmp_path) as place:
        assert place.suite == suite
        assert place.environment == dict(os.environ)
