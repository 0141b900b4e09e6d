"""The AWS CLI: `aws s3 cp` for a file, `aws s3 sync` or `cp --recursive` for a tree; a process each time."""

import os
import re
import tempfile
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, Final

import boto3
import botocore.session

from configs.access_paths import AwsCli
from configs.targets import AnyBucket, DirectoryBucketTarget
from tasks.access.aws_cli_debug import Seen, seen_in
from tasks.access.bucket_side import failure_of_code
from tasks.access.directory_label import refuse_another_session, zones_of
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
_UNUSED_NAME: Final = "nothing-lies-here"


class AwsCliPath(ProgramPath):
    """A process of the CLI for each operation, with nothing but errors printed.

    Version 1 has one transfer client, and runs in this process's environment. Version 2 has two, and only
    its configuration file chooses between them: it gets one of ours, and credentials in its environment,
    taken once a block. So the user's own file is neither changed nor copied; what stands in it (such as
    `s3.max_concurrent_requests`) does not apply, looking credentials up is not in the samples, and
    credentials that expire within a block are not renewed.

    Before each `sync` the destination is empty, so that it compares with nothing and moves every file.
    """

    _unattended: ClassVar[Mapping[str, str]] = {"AWS_PAGER": "", "AWS_CLI_AUTO_PROMPT": "off"}

    def __init__(self, config: AwsCli, target: AnyBucket) -> None:
        super().__init__(target, config.executable, "install the AWS CLI (version 1: pip install awscli)")
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
        self._restart(_environment(self._config, self._target, with_engines=with_engines))
        return self._see_its_requests(region) | _settings(with_engines=with_engines) | self._see_its_trees()

    def _see_its_requests(self, region: str) -> dict[str, str]:
        """Let it download an object that is not there, and read what it says of that."""
        with tempfile.TemporaryDirectory() as folder:
            command = self._cp(self._url(f"{self._target.prefix}/{_UNUSED_NAME}"), f"{folder}/{_UNUSED_NAME}")
            try:
                self._runner.run([*command, "--debug"])
                printed = self._runner.printed_errors()
            except ProgramError as error:
                printed = error.printed
        seen = seen_in(printed)
        refuse_other_hosts(seen.hosts, self._target, region)
        answer = self._failure_in(printed)
        if not seen.hosts or answer is None or answer.http_status != HTTPStatus.NOT_FOUND:
            told = [line for line in printed.splitlines() if _TOLD.match(line)]
            raise LabelError(self._no_answer("the AWS CLI", "\n".join(told)))
        engine = seen.engine or "classic"
        if engine != self._config.engine:
            raise LabelError(f"engine: {self._config.engine} is wanted, but the AWS CLI took {engine}")
        return {
            "host": ", ".join(seen.hosts),
            "signing_name": seen.signing_name,
            "engine": engine if seen.engine else f"{engine}, the only one of version 1",
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
    """This process's own, and for version 2 with its engine pinned."""
    environment = dict(os.environ)
    if isinstance(target, DirectoryBucketTarget) and not target.sessions:
        environment[_WITHOUT_SESSIONS] = "true"
    if not with_engines:
        return environment
    credentials = boto3.Session().get_credentials()
    if credentials is None:
        raise LabelError(
            "there are no AWS credentials for the CLI: set some up, for example with AWS_PROFILE"
        )
    frozen = credentials.get_frozen_credentials()
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"):
        environment.pop(name, None)
    environment["AWS_CONFIG_FILE"] = str(_SETTINGS / f"{config.engine}.ini")
    environment["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    environment["AWS_ACCESS_KEY_ID"] = str(frozen.access_key)
    environment["AWS_SECRET_ACCESS_KEY"] = str(frozen.secret_key)
    if frozen.token:
        environment["AWS_SESSION_TOKEN"] = frozen.token
    return environment


def _settings(*, with_engines: bool) -> dict[str, str]:
    """What the user's own file says of transfers, which nothing else would show to be in the samples."""
    if with_engines:
        return {"s3_settings": "none but the engine"}
    own = botocore.session.Session().get_scoped_config().get("s3")
    settings = own if isinstance(own, Mapping) else {}
    return {"s3_settings": ", ".join(f"{name} = {value}" for name, value in settings.items()) or "none"}


def _directory_proof(target: AnyBucket, seen: Seen) -> dict[str, str]:
    if not isinstance(target, DirectoryBucketTarget):
        return {}
    refuse_another_session(target, "the AWS CLI", used_session=seen.used_session)
    used = "used, a new one in each process" if seen.used_session else "not used"
    return {"session": used, **zones_of(target)}
