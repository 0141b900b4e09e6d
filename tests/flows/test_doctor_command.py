"""`s3bench doctor` in the real lab: one line for each check, and a status that a script can ask for."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.lab import rclone

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = [
    pytest.mark.usefixtures("suite_file"),
    pytest.mark.skipif(rclone.mount_obstacle() != "", reason=rclone.mount_obstacle()),
]


def test_a_suite_that_can_be_measured_ends_with_status_0_and_changes_nothing(
    s3bench: Command, tmp_path: Path
) -> None:
    answer = s3bench("doctor", "small.yaml")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "✗" not in answer.stdout
    assert answer.stdout.splitlines()[-1] == "0 wrong, 0 warnings, 0 could not be asked"
    assert "  ✓ mounted: fuse.rclone, " in answer.stdout
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / ".lab" / "mnt" / "s3bench").exists(), "the lab is down again"


def test_what_would_not_be_measured_as_it_says_ends_with_status_1_and_the_fix(
    s3bench: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    wrong = ("--set", "targets.mount.fstype=nfs4", "--results", "file/results")
    answer = s3bench("doctor", "small.yaml", *wrong)
    assert answer.returncode == 1
    lines = [line.strip() for line in answer.stdout.splitlines() if line.startswith("  ✗")]
    assert [line.split(":")[0] for line in lines][:1] == ["✗ mounted"]
    assert any("file/results" in line for line in lines)
    assert answer.stdout.splitlines()[-1].startswith("2 wrong, ")
    assert answer.stderr == ""


def test_a_suite_that_is_none_is_bad_input(s3bench: Command, suite_file: Path) -> None:
    suite_file.write_text("name: [\n")
    answer = s3bench("doctor", "small.yaml")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "small.yaml:2: this is no valid YAML" in answer.stderr
