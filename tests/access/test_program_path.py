"""What a program is given before each operation, and what becomes of one that hangs or is not the first."""

import datetime as dt
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from configs.access_paths import AwsCli, Obstore, S5cmd, TransferManager
from configs.block import BlockSpec
from configs.lab_marker import LAB_MARKER
from configs.manifest import DatasetObject
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import BucketTarget
from configs.workloads import TreeUpload as TreeUploadConfig
from tasks.access import program_path
from tasks.access.aws_cli import AwsCliPath
from tasks.access.boto3_transfer import TransferManagerPath
from tasks.access.obstore_api import ObstorePath
from tasks.access.protocol import FileTransfer
from tasks.access.s5cmd_cli import S5cmdPath
from tasks.kernel.errors import LabelError
from tasks.kernel.loop import measure
from tasks.kernel.samples import SampleColumns
from tasks.lab.state import LabState
from tasks.workloads.file_transfer import FileDownload, FileUpload, StartUp
from tasks.workloads.tree_transfer import TreeDownload, TreeUpload

OWN_FOLDER = Path(sys.executable).parent
PREFIX = "s3bench/program-path/"
OF_THE_ROLE = "token-of-the-role"
ASSUMED = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<Credentials><AccessKeyId>{}</AccessKeyId><SecretAccessKey>{}</SecretAccessKey>
<SessionToken>{}</SessionToken><Expiration>{:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials>
<AssumedRoleUser><AssumedRoleId>i</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>
</AssumeRoleResult></AssumeRoleResponse>"""


class TokenService(ThreadingHTTPServer):
    """Gives a role's credentials, which are the lab's and end soon, and notes which client asked for them."""

    def __init__(self, lab: LabState) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lab = lab
        self.clients: list[str] = []
        self.is_down = False


class _Handler(BaseHTTPRequestHandler):
    server: TokenService

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.clients.append(self.headers["User-Agent"].split("/")[0])
        # So soon that boto3 asks anew whenever it is asked.
        ends = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)
        secret = self.server.lab.secret_access_key.get_secret_value()
        body = ASSUMED.format(self.server.lab.access_key_id, secret, OF_THE_ROLE, ends).encode()
        self.send_response(403 if self.server.is_down else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def plain(lab: LabState, monkeypatch: pytest.MonkeyPatch) -> BucketTarget:
    """The plain lab's bucket, and this process's environment as in a worker there."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    return BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)


@pytest.fixture
def tokens(
    lab: LabState, plain: BucketTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TokenService]:
    """This process has nothing but a profile that assumes a role."""
    server = TokenService(lab)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    (tmp_path / "config").write_text(
        "[profile base]\naws_access_key_id = k\naws_secret_access_key = s\n"
        "[profile role]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n"
        "s3 =\n  max_concurrent_requests = 3\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("HOME", str(tmp_path))  # the CLI keeps what it is given for a role there
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "role")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SHARED_CREDENTIALS_FILE", LAB_MARKER):
        monkeypatch.delenv(name)
    assert plain.endpoint_url is not None
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "upload.bin"
    path.write_bytes(b"x" * 1000)
    return path


def a_cli(target: BucketTarget) -> AwsCliPath:
    return AwsCliPath(AwsCli(executable=str(OWN_FOLDER / "aws")), target)


def an_s5cmd(target: BucketTarget, executable: str = "s5cmd") -> S5cmdPath:
    return S5cmdPath(S5cmd(executable=executable), target)


def a_script(path: Path, *lines: str) -> str:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("make", [a_cli, an_s5cmd])
def test_a_role_is_assumed_by_this_process_before_each_operation_and_never_by_a_program(
    make: Callable[[BucketTarget], AwsCliPath | S5cmdPath],
    plain: BucketTarget,
    tokens: TokenService,
    file: Path,
) -> None:
    path = make(plain)
    path.connect(1)
    try:
        before = len(tokens.clients)
        path.ready()
        assert len(tokens.clients) == before + 1
        path.upload(FileTransfer(f"{PREFIX}k", file))
        assert len(tokens.clients) == before + 1
        assert set(tokens.clients) == {"Boto3"}
        assert path._environment["AWS_SESSION_TOKEN"] == OF_THE_ROLE
        told = path.proof()
        path.delete([f"{PREFIX}k"])
    finally:
        path.close()
    assert told["credentials"] == "handed over in the environment, looked up before each operation"
    assert told.get("s3_settings", "max_concurrent_requests = 3") == "max_concurrent_requests = 3"
    assert OF_THE_ROLE not in str(told)


def test_where_credentials_cannot_be_renewed_the_operation_has_the_ones_before(
    plain: BucketTarget, tokens: TokenService, file: Path
) -> None:
    path = an_s5cmd(plain)
    path.connect(1)
    try:
        tokens.is_down = True
        path.ready()
        path.upload(FileTransfer(f"{PREFIX}k", file))
        tokens.is_down = False
        path.delete([f"{PREFIX}k"])
    finally:
        path.close()


def test_a_token_of_other_credentials_is_not_handed_over(plain: BucketTarget) -> None:
    path = an_s5cmd(plain)
    path.connect(1)
    try:
        path._environment |= {"AWS_SESSION_TOKEN": "of-another-key", "AWS_SECURITY_TOKEN": "too"}
        path.ready()
        assert not path._environment.keys() & {"AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"}
        assert path._environment["AWS_ACCESS_KEY_ID"] == os.environ["AWS_ACCESS_KEY_ID"]
    finally:
        path.close()


def a_tree_block(target: BucketTarget, folder: Path) -> BlockSpec:
    return BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=S5cmd(), target="t"),
            workload=TreeUploadConfig(dataset="d"),
            target=target,
        ),
        block=0,
        iterations=1,
        warmup=0,
        seed=1,
        write_prefix=PREFIX,
        scratch_folder=folder,
        tree_folder=folder,
    )


def test_every_operation_that_may_start_a_program_has_it_made_ready_first(
    plain: BucketTarget, tokens: TokenService, tmp_path: Path
) -> None:
    path = an_s5cmd(plain)
    path.connect(1)
    item = DatasetObject(key="k", size_bytes=1, sha256="0" * 64)
    block = a_tree_block(plain, tmp_path)
    operations = (
        StartUp(path),
        FileUpload(path, PREFIX, tmp_path / "f", 1),
        FileDownload(path, [item], tmp_path, SampleColumns()),
        TreeUpload(path, block),
        TreeDownload(path, block),
    )
    try:
        for operation in operations:
            before = len(tokens.clients)
            operation.prepare(0)
            assert len(tokens.clients) == before + 1, operation.name
    finally:
        path.close()


def test_a_failure_is_not_told_with_what_an_operation_before_it_printed(
    plain: BucketTarget, tmp_path: Path, file: Path
) -> None:
    program = shlex.quote(str(an_s5cmd(plain)._found().path))
    fake = a_script(
        tmp_path / "s5cmd",
        f'case "$*" in *upload.bin*) ;; *) exec {program} "$@";; esac',
        f"if mkdir {tmp_path}/second; then",
        """  echo 'ERROR "cp": OldWarning: it went well all the same status code: 400' >&2; exit 0""",
        "fi",
        """echo 'ERROR "cp": SlowDown: please status code: 503' >&2; exit 1""",
    )
    path = an_s5cmd(plain, fake)
    path.connect(1)
    samples = SampleColumns()
    try:
        measure(FileUpload(path, PREFIX, file, 1000), samples, 2, warmup=0)
    finally:
        path.close()
    assert {row: failure.error for row, failure in samples.failures.items()} == {1: "SlowDown"}
    assert "OldWarning" not in samples.failures[1].message


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        (["exec sleep 64"], "hangs at 'version'"),
        (["[ $1 = version ] && exec echo v2.3.0", "exec sleep 64"], " ls "),
    ],
    ids=["at its version", "at its first request"],
)
def test_a_program_that_hangs_before_it_is_measured_fails_the_cell_with_what_it_was_asked(
    plain: BucketTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], asked: str
) -> None:
    monkeypatch.setattr(program_path, "_CONNECT_LIMIT_S", 1.0)
    hanging = a_script(tmp_path / "s5cmd", *lines)
    with pytest.raises(LabelError, match=r"had not ended after 1 s.*write executable") as raised:
        an_s5cmd(plain, hanging).connect(1)
    assert str(raised.value).startswith(f"{hanging} hangs at")
    assert asked in str(raised.value)


def test_no_object_of_a_known_name_can_be_in_the_way_of_a_first_request(plain: BucketTarget) -> None:
    for path in (
        a_cli(plain),
        TransferManagerPath(TransferManager(), plain),
        ObstorePath(Obstore(), plain),
    ):
        keys = {path._unused_key() for _ in range(3)}
        assert len(keys) == 3
        assert all(key.startswith(f"{plain.prefix}/") for key in keys)
