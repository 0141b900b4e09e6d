"""s5cmd, the fast command line that people compare with: `cp` for files and trees; a process each time."""

import os
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import ClassVar, Final

from configs.access_paths import S5cmd
from configs.targets import AnyBucket
from tasks.access.boto3_requests import S3_SIGNING_NAMES, SIGNING_SCOPE
from tasks.access.failures import failure_of_code
from tasks.access.hosts import refuse_other_hosts
from tasks.access.program_path import ProgramPath
from tasks.access.programs import Found, ProgramError
from tasks.access.protocol import FileTransfer, TreeTransfer
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import NULL, Failure

_VERSION: Final = re.compile(r"v\d+\.\d+")
_REQUEST: Final = re.compile(r"^Host: (?P<host>\S+)(?P<headers>(?:\r?\n\S.*)*)", re.MULTILINE)
_ERROR: Final = re.compile(r'": (?P<code>\w*): .*?(?:status code: (?P<status>\d{3})|$)', re.MULTILINE)
_NOTHING_THERE: Final = "no object found"


class S5cmdPath(ProgramPath):
    """A process of s5cmd for each operation, with nothing but errors printed.

    Certificates are verified, by AWS_CA_BUNDLE where it is set; a proxy is taken from the environment.
    Keys of single files are taken literally (`--raw`). A tree download names everything below the prefix by
    a wildcard, which is why no prefix of ours holds `*` or `?` (`configs/base.py`). Retries are s5cmd's own,
    ten at most, and are not told.
    """

    _usual_name: ClassVar[str] = S5cmd().executable
    _remedy: ClassVar[str] = "install s5cmd (pip install s5cmd)"

    def __init__(self, config: S5cmd, target: AnyBucket) -> None:
        super().__init__(target, config.executable)
        self._config = config
        self._options: list[str] = []

    def _found(self) -> Found:
        found = super()._found()
        # The wheel's own command is a Python script that starts the program and waits for it: 50 ms of
        # Python before every operation that would be called s5cmd's.
        if found.path.parent == Path(sys.executable).parent and found.path.read_bytes()[:2] == b"#!":
            return Found(
                _inside_the_wheel() or found.path, f"{found.where}, from the wheel, without its script"
            )
        return found

    def _see_what_it_is(self, version: str) -> dict[str, str]:
        if _VERSION.match(version) is None:
            raise LabelError(f"{self._config.executable} is no s5cmd: its version is {version!r}")
        region = self._region()
        endpoint_url = self._endpoint_url()
        self._options = ["--numworkers", str(self._config.workers)]
        self._options += ["--endpoint-url", endpoint_url] if endpoint_url else []
        self._measure_in(os.environ | {"AWS_REGION": region})
        return {"client": f"s5cmd {version}"} | self._see_its_requests(region)

    def _see_its_requests(self, region: str) -> dict[str, str]:
        """Let it list, and read what it says of that; a prefix with nothing below it is an error to s5cmd."""
        command = [
            self._program,
            *self._options,
            "--log",
            "trace",
            "ls",
            self._url(f"{self._target.prefix}/"),
        ]
        try:
            self._ask(command)
            problem = ""
        except ProgramError as error:
            problem = error.printed
        hosts, signing_name = requests_in(self._runner.printed())
        refuse_other_hosts(hosts, self._target, region)
        if not hosts or (problem and _NOTHING_THERE not in problem):
            raise LabelError(self._no_answer("s5cmd", problem))
        return {"host": ", ".join(hosts), "signing_name": signing_name}

    def _version_command(self) -> list[str]:
        return [self._program, "version"]

    def _failure_in(self, printed: str) -> Failure | None:
        found = _ERROR.search(printed)
        # An answer that explains nothing has a status and no code.
        code = (found["code"] or found["status"]) if found else None
        if found is None or not code:
            return None
        return failure_of_code(code, printed, int(found["status"]) if found["status"] else NULL)

    def upload(self, transfer: FileTransfer) -> object:
        """`s5cmd cp --raw FILE s3://…`."""
        return self._runner.run(self._cp("--raw", str(transfer.path), self._url(transfer.key)))

    def download(self, transfer: FileTransfer) -> object:
        """`s5cmd cp --raw s3://… FILE`."""
        return self._runner.run(self._cp("--raw", self._url(transfer.key), str(transfer.path)))

    def upload_tree(self, transfer: TreeTransfer) -> object:
        """`s5cmd cp --raw FOLDER/ s3://…/`."""
        return self._runner.run(self._cp("--raw", f"{transfer.folder}/", self._url(transfer.prefix)))

    def download_tree(self, transfer: TreeTransfer) -> object:
        """`s5cmd cp 's3://…/*' FOLDER/`."""
        return self._runner.run(self._cp(f"{self._url(transfer.prefix)}*", f"{transfer.folder}/"))

    def _cp(self, *arguments: str) -> list[str]:
        return [self._program, *self._options, "--log", "error", "cp", *arguments]


def requests_in(printed: str) -> tuple[list[str], str]:
    """The hosts of the requests to S3 in what `--log trace` printed, and how the last one was signed.

    One to another service, such as one that assumes a role, is none of them.
    """
    hosts, signing_name = [], ""
    for found in _REQUEST.finditer(printed):
        scope = SIGNING_SCOPE.search(found["headers"])
        if scope is not None and scope["signing_name"] in S3_SIGNING_NAMES:
            hosts.append(found["host"])
            signing_name = scope["signing_name"]
    return list(dict.fromkeys(hosts)), signing_name


def _inside_the_wheel() -> Path | None:
    """The program itself in the installed distribution."""
    try:
        files = metadata.files("s5cmd") or []
    except metadata.PackageNotFoundError:
        return None
    places = (Path(str(file.locate())) for file in files if file.as_posix() == "s5cmd/bin/s5cmd")
    return next(places, None)
