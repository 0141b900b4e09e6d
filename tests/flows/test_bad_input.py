"""Bad input ends with status 2 and one message that says what, where and what would be right."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.command_line import main
from tasks.venues.host_lock import host_lock

pytestmark = pytest.mark.usefixtures("suite_file")

Command = Callable[..., "subprocess.CompletedProcess[str]"]

AWS_SUITE = """\
name: aws
targets: {bucket: {kind: bucket, bucket: some-bucket, region: us-east-1, endpoint_url: "http://127.0.0.1:9"}}
configurations: {boto3: {access_path: {kind: boto3_api}, target: bucket}}
datasets: {blobs: {kind: blobs, size: 64 KiB}}
workloads: {read: {kind: blob_read, dataset: blobs}}
"""


def complaint(answer: "subprocess.CompletedProcess[str]") -> str:
    """The one message of a command that refused its input."""
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
    lines = [line for line in answer.stderr.splitlines() if line.startswith("s3bench: ")]
    assert len(lines) == 1, answer.stderr
    return answer.stderr[answer.stderr.index("s3bench: ") :]


MISTAKES = {
    ("blocks: 1", "blocs: 1"): "small.yaml:3: blocs: unknown key; did you mean 'blocks'?",
    ("size: 64 KiB, unique", "size: 64 Kib bytes, unique"): (
        "small.yaml:12: datasets.blobs.size: this is no size"
    ),
    ("iterations: 4", "iterations: -4"): "small.yaml:14: workloads.scan-staged.iterations",
}
MISTAKE_OF_NAMES = {
    ("target: mount", "target: mont"): "small.yaml:9: configurations.mount-lab.target: 'mont' is not among",
}


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize("mistakes", [MISTAKES, MISTAKE_OF_NAMES], ids=["of-values", "of-names"])
def test_all_mistakes_in_a_suite_are_named_with_file_line_and_key(
    s3bench: Command, suite_file: Path, mistakes: dict[tuple[str, str], str], command: str
) -> None:
    text = suite_file.read_text()
    for right, wrong in mistakes:
        text = text.replace(right, wrong, 1)
    suite_file.write_text(text)
    said = complaint(s3bench(command, "small.yaml"))
    assert len(said.splitlines()) == len(mistakes)
    assert all(says in said for says in mistakes.values()), said


def test_a_suite_that_is_not_there_is_answered_with_those_that_ship(s3bench: Command) -> None:
    assert "weekly: no such suite" in complaint(s3bench("run", "weekly"))


def test_a_configuration_that_is_not_there_is_answered_with_those_that_are(s3bench: Command) -> None:
    said = complaint(s3bench("run", "small.yaml", "--only", "s3-files"))
    assert "no configuration s3-files in suite small: it has boto3-lab, mount-lab" in said


def test_a_negative_seed_names_the_option(s3bench: Command) -> None:
    assert "seed: Input should be greater than or equal to 0" in complaint(
        s3bench("run", "small.yaml", "--seed", "-1")
    )


def test_results_that_cannot_be_written_are_refused_before_anything_starts(
    s3bench: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    assert "file" in complaint(s3bench("run", "small.yaml", "--results", "file/results"))
    assert not (tmp_path / ".lab").exists()


def test_a_lab_folder_that_cannot_be_made_is_named(s3bench: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "file/lab" in complaint(s3bench("run", "small.yaml", "--lab", "file/lab"))


def test_a_run_that_is_not_there_is_answered_with_the_folder(s3bench: Command, tmp_path: Path) -> None:
    assert "nowhere" in complaint(s3bench("report", "--results", "nowhere"))
    assert "no-such-run" in complaint(s3bench("report", "--results", str(tmp_path), "--run", "no-such-run"))


def test_a_dead_endpoint_is_named(s3bench: Command, tmp_path: Path, prefect_api_url: str) -> None:
    (tmp_path / "aws.yaml").write_text(AWS_SUITE)
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
    said = complaint(s3bench("run", "aws.yaml", PREFECT_API_URL=prefect_api_url, **keys))
    assert "127.0.0.1:9" in said


def test_a_dead_prefect_server_is_named(s3bench: Command) -> None:
    said = complaint(s3bench("run", "small.yaml", PREFECT_API_URL="http://127.0.0.1:9/api"))
    assert "http://127.0.0.1:9/api" in said
    assert "PREFECT_API_URL" in said


def test_logs_from_a_folder_without_logs_say_what_was_found(
    s3bench: Command, tmp_path: Path, prefect_api_url: str
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "notes.txt").write_text("no log")
    said = complaint(s3bench("run", "small.yaml", "--logs-from", "logs", PREFECT_API_URL=prefect_api_url))
    assert f"no CloudTrail log in {tmp_path / 'logs'}: found 1 × not named" in said


def test_a_suite_above_its_cap_does_not_start(s3bench: Command, tmp_path: Path) -> None:
    dear = AWS_SUITE.replace(
        "workloads: {read: {kind: blob_read, dataset: blobs}}",
        "max_cost_usd: 0.5\nworkloads: {write: {kind: blob_write, size: 64 KiB, iterations: 1000000}}",
    )
    (tmp_path / "dear.yaml").write_text(dear)
    said = complaint(s3bench("run", "dear.yaml"))
    assert "would cost about 5." in said
    assert "max_cost_usd: 0.5" in said
    uncapped = ("dear.yaml", "--set", "max_cost_usd=6", "--max-usd", "1")
    assert "above what this run may cost, --max-usd 1 " in complaint(s3bench("run", *uncapped))
    plan = s3bench("plan", *uncapped)
    assert plan.returncode == 0
    assert "it would not start: suite " in plan.stdout
    assert not (tmp_path / "results").exists()


def test_planning_touches_nothing(s3bench: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    answer = s3bench("plan", "small.yaml")
    assert answer.returncode == 0
    assert sorted(tmp_path.iterdir()) == before
    assert "6 cells" in answer.stdout


def test_the_environment_of_a_lab_that_is_down_is_refused(s3bench: Command) -> None:
    assert "s3bench lab up" in complaint(s3bench("lab", "env"))


@pytest.mark.parametrize(
    ("words", "configurations"),
    [
        (["--only", "mount-lab"], 1),
        (["--only", "boto3-lab", "mount-lab"], 2),
        (["--only", "boto3-lab", "--only", "mount-lab"], 2),
        (["--logs-from", ".", "--only", "mount-lab", "boto3-lab"], 2),
        (["--only", "mount-lab", "--logs-from", "."], 1),
    ],
)
def test_only_takes_one_or_several_configurations(
    suite_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    configurations: int,
) -> None:
    monkeypatch.chdir(suite_file.parent)
    monkeypatch.setattr(sys, "argv", ["s3bench", "plan", "small.yaml", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert f"small: {3 * configurations} cells" in said.out


def test_a_run_that_is_interrupted_while_it_waits_says_that_nothing_was_measured(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_LOCK", environment["S3BENCH_LOCK"])
    with host_lock("a test", 0.0, str):
        process = subprocess.Popen(
            [Path(sys.executable).with_name("s3bench"), "run", "small.yaml"],
            cwd=tmp_path,
            env=environment | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert "a test" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=90)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "s3bench: interrupted: nothing was measured"


def test_a_busy_host_is_refused_where_that_is_asked_for(
    s3bench: Command, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3BENCH_LOCK", environment["S3BENCH_LOCK"])
    with host_lock("a test that measures", 0.0, str):
        said = complaint(s3bench("run", "small.yaml", "--when-busy", "refuse"))
    assert "a test that measures is measuring on this host" in said
    assert "wait_at_most_minutes: Input should be greater" in complaint(
        s3bench("run", "small.yaml", "--wait-minutes", "0")
    )
