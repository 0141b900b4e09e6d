"""What a run wrote is removed when it has ended, and what cannot be is told."""

from pathlib import Path

import pytest

from configs.loading import load_suite, parse_suite
from configs.run_record import RunIdentity
from configs.targets import MountTarget
from tasks import measure
from tasks.lab.state import LabState
from tasks.reports.progress import LineReporter
from tasks.venues.places import Place
from tasks.venues.session import SessionPlan

SUITE = """
name: s
targets:
  b: {{kind: bucket, bucket: {bucket}, endpoint_url: "{endpoint_url}", region: {region}}}
  m: {{kind: mount, shows: b, path: /mnt/none}}
configurations:
  one: {{access_path: {{kind: boto3_api}}, target: b}}
  two: {{access_path: {{kind: mount_io}}, target: m}}
workloads:
  write: {{kind: blob_write, size: 64}}
"""
RUN = "s3bench/runs/20260101T020000Z-00000077/"


def test_a_mount_that_cannot_be_cleaned_up_is_told_and_its_bucket_is_cleaned_up_once(
    lab: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: MountTarget, prefix: str) -> None:
        raise PermissionError(1, "Operation not permitted", prefix)

    cleaned: list[tuple[str, str]] = []
    monkeypatch.setattr(measure, "remove_run_from_mount", refuse)
    monkeypatch.setattr(
        measure, "remove_run", lambda _client, bucket, prefix, _note: cleaned.append((bucket, prefix))
    )
    suite = parse_suite(
        SUITE.format(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region), "s.yaml"
    )
    plan = SessionPlan(
        run=RunIdentity(run_id="20260101T020000Z-00000077", dt="2026-01-01"),
        suite=suite,
        suite_sha256="",
        seed=1,
        manifests={},
        obstacles={},
        scratch=Path("unused"),
    )
    told: list[str] = []
    place = Place(suite, lab.environment(), {}, Path("unused"))
    measure._remove_what_was_written(plan, place, LineReporter(told.append))
    assert cleaned == [(lab.bucket, RUN)]
    assert len(told) == 1
    assert f"{RUN} of m may still be there" in told[0]


def test_a_lab_that_has_ended_is_told_when_measuring_ends(tmp_path: Path) -> None:
    suite = load_suite("lab")
    told: list[str] = []
    place = Place(suite, {}, {}, tmp_path, lab_folder=tmp_path / "lab")
    measure._tell_of_a_broken_lab(place, LineReporter(told.append))
    assert len(told) == 1
    assert told[0].startswith("the lab is down: somebody took it down: errors since then are the lab's")
