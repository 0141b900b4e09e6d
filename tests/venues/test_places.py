"""Where a suite's targets really are."""

import os
import signal
import sys
from pathlib import Path

import pytest

from configs.errors import UserError
from configs.lab_delays import DEFAULT_DELAYS, load_delays
from configs.loading import load_suite, parse_suite
from configs.run_record import RunIdentity
from configs.targets import BucketTarget
from tasks.access.programs import find_program
from tasks.lab.local_lab import running_lab
from tasks.lab.state import LabState
from tasks.reports.progress import LineReporter
from tasks.venues.obstacles import obstacles_of
from tasks.venues.places import lab_environment, place_of
from tasks.venues.session import SessionPlan


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
        assert place.delays == load_delays(DEFAULT_DELAYS)
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
        assert place.delays is None
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


def test_in_the_lab_the_programs_beside_python_come_first(
    lab: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s5cmd").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PATH", lab_environment(lab)["PATH"])
    found = find_program("s5cmd")
    assert found is not None
    assert found.path == Path(sys.executable).with_name("s5cmd")


@pytest.fixture
def _endpoint_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own settings, with an endpoint at which nobody answers."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")


FAST = """
name: own
targets:
  fast: {kind: accelerated_bucket, bucket: some-bucket, region: eu-west-1}
  near: {kind: bucket, bucket: some-bucket, endpoint_url: "http://127.0.0.1:8", region: eu-west-1}
configurations:
  fast: {access_path: {kind: boto3_api}, target: fast}
datasets:
  blobs: {kind: blobs, size: 1 KiB, unique_count: 1}
workloads:
  read: {kind: blob_read, dataset: blobs}
"""


@pytest.mark.usefixtures("_endpoint_is_set")
def test_an_endpoint_that_misleads_every_cell_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    suite = parse_suite(FAST, "own.yaml")
    told = r"no cell of suite own can be measured: an endpoint is set, http://127\.0\.0\.1:9, and .*unset AWS"
    with pytest.raises(UserError, match=told), place_of(suite, tmp_path):
        pass


@pytest.mark.usefixtures("_endpoint_is_set")
def test_an_endpoint_that_misleads_some_cells_fails_those_and_leaves_their_bucket_alone(
    tmp_path: Path,
) -> None:
    text = FAST.replace("datasets:", "  near: {access_path: {kind: boto3_api}, target: near}\ndatasets:")
    with place_of(parse_suite(text, "own.yaml"), tmp_path) as place:
        assert place.bucket_ids() == ["near"]
        plan = SessionPlan(
            run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
            suite=place.suite,
            suite_sha256="",
            seed=1,
            manifests={},
            obstacles={},
            scratch=tmp_path,
        )
        found = obstacles_of(plan, place, LineReporter([].append))
    assert list(found) == ["fast/read"]
    assert found["fast/read"].status == "failed"
    assert "an endpoint is set, http://127.0.0.1:9" in found["fast/read"].reason


@pytest.mark.usefixtures("_endpoint_is_set")
def test_moving_nothing_is_not_misled(tmp_path: Path) -> None:
    text = FAST.replace("boto3_api", "noop").replace("blob_read, dataset: blobs", "blob_write, size: 1")
    with place_of(parse_suite(text, "own.yaml"), tmp_path) as place:
        assert place.bucket_ids() == []  # its bucket may not even exist


def test_a_place_tells_which_part_of_its_lab_has_ended(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab") as state, place_of(load_suite("lab"), tmp_path / "lab") as place:
        assert place.what_is_broken() == ""
        os.kill(state.server.pid, signal.SIGKILL)
        while state.server.find() is not None:
            pass
        assert place.what_is_broken().startswith("the lab is broken: the S3 server has ended (its log: ")
