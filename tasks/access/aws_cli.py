"""The AWS CLI: `aws s3 cp` for a file, `aws s3 sync` or `cp --recursive` for a tree; a process each time."""

import os
import re
import tempfile
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, Final

import botocore.session

from configs.access_paths import AwsCli
from configs.targets import AnyBucket, DirectoryBucketTarget
from tasks.access.aws_cli_debug import Seen, seen_in
from tasks.access.directory_label import refuse_another_session, zones_of
from tasks.access.failures import failure_of_code
from tasks.access.hosts import refuse_other_hosts
from tasks.access.program_path import ProgramPath
from tasks.access.programs import ProgramError
from tasks.access.protocol import FileTransfer, TreeTransfer
from tasks.kernel.errors import LabelError
from tasks.kernel.samples import Failure

_VERSION: Final = re.compile(r"aws-cli/(?P<major>\d+)\.")
_ERROR: Final = re.compile(r"An error occurred \((?P<code>[^)]+)\)")
_TOLD: Final = re.compile(r"(fatal error|\w+ failed|usage|Unable|Could not)\b")
"""How lines begin that it prints for its user, among those of its debug text."""
_SETTINGS: Final = Path(__file__).with_name("cli_settings")
_QUIET: Final = ("--only-show-errors", "--no-progress")
_WITHOUT_SESSIONS: Final = "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH"
_OF_THE_CONNECTION: Final = ("ca_bundle", "use_dualstack_endpoint", "use_fips_endpoint")
"""Settings of a profile that decide, for boto3 too, which hosts are asked and trusted."""


class AwsCliPath(ProgramPath):
    """A process of the CLI for each operation, with nothing but errors printed.

    Version 1 has one transfer client, and runs with the user's own configuration file; what that says of
    transfers is in the proof. Version 2 has two, and only its configuration file chooses between them: it
    gets one of ours. So the user's own file is neither changed nor copied, and what stands in it (such as
    `s3.max_concurrent_requests`) does not apply, but for what decides on hosts and certificates, which goes
    by the environment. Both get credentials in their environment, and assume no role of a profile.

    Before each `sync` the destination is empty, so that it compares with nothing and moves every file.
    """

    _usual_name: ClassVar[str] = AwsCli().executable
    _remedy: ClassVar[str] = "install the AWS CLI (version 1: pip install awscli)"
    _unattended: ClassVar[Mapping[str, str]] = {"AWS_PAGER": "", "AWS_CLI_AUTO_PROMPT": "off"}

    def __init__(self, config: AwsCli, target: AnyBucket) -> None:
        super().__init__(target, config.executable)
        self._config = config
        self._options: list[str] = []
        self._tree_command = ["sync"]

    def _see_what_it_is(self, version: str) -> dict[str, str]:
        found = _VERSION.match(version)
        if found is None:
            raise LabelError(f"{self._config.executable} is no AWS CLI: its version is {version!r}")
        with_engines = int(found["major"]) > 1
        if self._config.engine == "crt" and not with_engines:
            raise LabelError(
                f"engine: crt is in version 2 of the AWS CLI alone, and {self._config.executable} is "
                f"{version}: write engine: classic, or configure another executable"
            )
        region = self._region()
        endpoint_url = self._endpoint_url()
        self._options = ["--region", region, *(["--endpoint-url", endpoint_url] if endpoint_url else [])]
        self._measure_in(_environment(self._config, self._target, with_engines=with_engines))
        return (
            self._see_its_requests(region, with_engines=with_engines)
            | _settings(with_engines=with_engines)
            | self._see_its_trees()
        )

    def _see_its_requests(self, region: str, *, with_engines: bool) -> dict[str, str]:
        """Let it download an object that is not there, and read what it says of that."""
        with tempfile.TemporaryDirectory() as folder:
            command = self._cp(self._url(self._unused_key()), f"{folder}/nothing")
            try:
                self._ask([*command, "--debug"])
                printed = self._runner.printed_errors()
            except ProgramError as error:
                printed = error.printed
        seen = seen_in(printed)
        refuse_other_hosts(seen.hosts, self._target, region)
        answer = self._failure_in(printed)
        if not seen.hosts or answer is None or answer.http_status != HTTPStatus.NOT_FOUND:
            told = [line for line in printed.splitlines() if _TOLD.match(line)]
            raise LabelError(self._no_answer("the AWS CLI", "\n".join(told)))
        return {
            "host": ", ".join(seen.hosts),
            "signing_name": seen.signing_name,
            "engine": _engine(self._config, seen) if with_engines else "classic, the only one of version 1",
            **_directory_proof(self._target, seen),
        }

    def _see_its_trees(self) -> dict[str, str]:
        if self._config.tree_command == "sync" and not isinstance(self._target, DirectoryBucketTarget):
            return {"tree_command": "sync"}
        self._tree_command = ["cp", "--recursive"]
        refused = self._config.tree_command == "sync"
        reason = ", because the CLI refuses sync on directory buckets" if refused else ""
        return {"tree_command": f"cp --recursive{reason}"}

    def _version_command(self) -> list[str]:
        return [self._program, "--version"]

    def _failure_in(self, printed: str) -> Failure | None:
        found = _ERROR.search(printed)
        return failure_of_code(found["code"], printed) if found else None

    def upload(self, transfer: FileTransfer) -> object:
        """`aws s3 cp FILE s3://…`."""
        return self._runner.run(self._cp(str(transfer.path), self._url(transfer.key)))

    def download(self, transfer: FileTransfer) -> object:
        """`aws s3 cp s3://… FILE`."""
        return self._runner.run(self._cp(self._url(transfer.key), str(transfer.path)))

    def upload_tree(self, transfer: TreeTransfer) -> object:
        """`aws s3 sync FOLDER s3://…/`, or `cp --recursive`."""
        return self._runner.run(self._tree(str(transfer.folder), self._url(transfer.prefix)))

    def download_tree(self, transfer: TreeTransfer) -> object:
        """`aws s3 sync s3://…/ FOLDER`, or `cp --recursive`."""
        return self._runner.run(self._tree(self._url(transfer.prefix), str(transfer.folder)))

    def _cp(self, source: str, destination: str) -> list[str]:
        return [self._program, "s3", "cp", source, destination, *_QUIET, *self._options]

    def _tree(self, source: str, destination: str) -> list[str]:
        return [self._program, "s3", *self._tree_command, source, destination, *_QUIET, *self._options]


def _environment(config: AwsCli, target: AnyBucket, *, with_engines: bool) -> dict[str, str]:
    """This process's own, and for version 2 with its engine pinned; credentials come to it later."""
    environment = dict(os.environ)
    if isinstance(target, DirectoryBucketTarget) and not target.sessions:
        environment[_WITHOUT_SESSIONS] = "true"
    if not with_engines:
        return environment
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        environment.pop(name, None)
    environment |= _of_the_connection()
    environment["AWS_CONFIG_FILE"] = str(_SETTINGS / f"{config.engine}.ini")
    environment["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    return environment


def _of_the_connection() -> dict[str, str]:
    """What the environment, or else the user's own profile, says of hosts and certificates, as variables."""
    session = botocore.session.Session()
    found = {name: session.get_config_variable(name) for name in _OF_THE_CONNECTION}
    # An older place of the same setting, for S3 alone; boto3 takes dual stack where either says so.
    if _own_s3_settings().get("use_dualstack_endpoint", "").lower() == "true":
        found["use_dualstack_endpoint"] = True
    return {
        f"AWS_{name.upper()}": str(value).lower() if isinstance(value, bool) else value
        for name, value in found.items()
        if value is not None
    }


def _settings(*, with_engines: bool) -> dict[str, str]:
    """What the user's own file says of transfers, which nothing else would show to be in the samples."""
    if with_engines:
        return {"s3_settings": "none but the engine"}
    own = ", ".join(f"{name} = {value}" for name, value in _own_s3_settings().items())
    return {"s3_settings": own or "none"}


def _own_s3_settings() -> Mapping[str, str]:
    own = botocore.session.Session().get_scoped_config().get("s3")
    return own if isinstance(own, Mapping) else {}


def _engine(config: AwsCli, seen: Seen) -> str:
    if not seen.engine:
        raise LabelError(
            f"engine: {config.engine} is wanted, and this version of the AWS CLI does not tell which one it "
            "took: use another one, such as 2.23"
        )
    if seen.engine != config.engine:
        raise LabelError(f"engine: {config.engine} is wanted, but the AWS CLI took {seen.engine}")
    return seen.engine


def _directory_proof(target: AnyBucket, seen: Seen) -> dict[str, str]:
    if not isinstance(target, DirectoryBucketTarget):
        return {}
    refuse_another_session(target, "the AWS CLI", used_session=seen.used_session)
    used = "used, a new one in each process" if seen.used_session else "not used"
    return {"session": used, **zones_of(target)}
