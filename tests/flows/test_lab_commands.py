"""`s3bench lab`: the AWS-shaped lab from the command line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_lab_becomes_aws_shaped_says_so_and_gives_an_environment(s3bench: Command) -> None:
    assert s3bench("lab", "up").returncode == 0
    plain = s3bench("lab", "env", "--aws-shaped")
    assert plain.returncode == 2
    assert "the lab is up but not AWS-shaped: s3bench lab up --aws-shaped" in plain.stderr

    up = s3bench("lab", "up", "--aws-shaped")
    assert "Amazon's host names: through http://127.0.0.1:" in up.stdout
    assert "as AWS:   http://127.0.0.1:" in s3bench("lab", "status").stdout
    shaped, ordinary = (s3bench("lab", "env", *option).stdout for option in (["--aws-shaped"], []))
    assert "export HTTPS_PROXY=http://127.0.0.1:" in shaped
    assert "AWS_ENDPOINT_URL=" not in shaped
    assert "export AWS_ENDPOINT_URL=http://127.0.0.1:" in ordinary
    assert s3bench("lab", "down").stdout == "lab down\n"


def test_a_lab_that_a_killed_run_left_says_so_and_how_it_ends(s3bench: Command, tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal\nfrom tasks.lab.local_lab import running_lab\n"
        f"with running_lab(pathlib.Path({str(tmp_path / '.lab')!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    left = "It was left by a run that was killed: s3bench lab down --lab .lab ends it, or the next run.\n"
    assert s3bench("lab", "status").stdout.endswith(left)
    s3bench("lab", "up")
    assert "It was left" not in s3bench("lab", "status").stdout


def test_bad_delays_are_named_before_anything_starts(s3bench: Command, tmp_path: Path) -> None:
    (tmp_path / "delays.yaml").write_text("delays:\n- {hosts: '*', seconds: 1}\n")
    wrong = s3bench("lab", "up", "--aws-shaped", "--delays", "delays.yaml")
    assert wrong.returncode == 2
    assert "delays.yaml:2: delays.0.seconds: unknown key" in wrong.stderr
    alone = s3bench("lab", "up", "--delays", "delays.yaml")
    assert (alone.returncode, "give --aws-shaped too" in alone.stderr) == (2, True)
    assert not (tmp_path / ".lab").exists()
