"""`--in-lab`, `--targets` and `--set` lay values over a suite, for planning and for running alike."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.usefixtures("suite_file")


def test_an_experiment_is_planned_in_the_lab_as_its_overlay_says(s3bench: Command) -> None:
    answer = s3bench("plan", "e4-transfer-acceleration", "--in-lab", "--set", "workloads.up-1mb=null")
    assert answer.returncode == 0, answer.stderr
    assert "e4-transfer-acceleration: 10 cells in 3 blocks each" in answer.stdout
    assert "cost: none, since it runs in the local lab" in answer.stdout


def test_an_experiment_is_planned_for_aws_from_a_file_of_targets(s3bench: Command, tmp_path: Path) -> None:
    (tmp_path / "targets.yaml").write_text(
        "targets:\n"
        "  bucket: {bucket: my-bucket}\n"
        "  mount: {path: /mnt/s3files, file_system_id: fs-0123456789abcdef0}\n"
        "  efs: {path: /mnt/efs}\n"
        "venues:\n"
        "  with_efs: {function: s3bench-efs-512}\n"
        "  outside: {function: s3bench-boto3-512}\n"
        "  in_vpc: {function: s3bench-vpc-boto3-512}\n"
        "  with_mount: {function: s3bench-s3files-512}\n"
    )
    answer = s3bench("plan", "e2-lambda-s3-files", "--targets", "targets.yaml")
    assert answer.returncode == 0, answer.stderr
    assert "not counted: of the S3 Files mount of b_s3_files, s3_files_on_host: look-ups, " in answer.stdout
    assert "cost: about 0.2523 USD" in answer.stdout  # of which 0.181 for writes of 16 MiB to the mount


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_run_without_names_is_refused_before_anything_starts(
    s3bench: Command, tmp_path: Path, command: str
) -> None:
    answer = s3bench(command, "e5-express-boto3", "--set", "targets.standard.bucket=my-bucket")
    assert answer.returncode == 2
    assert "targets.express.bucket: this key is missing; give it with --set targets.express.bucket=" in (
        answer.stderr
    )
    assert "targets.standard.bucket" not in answer.stderr
    assert not (tmp_path / ".lab").exists()
