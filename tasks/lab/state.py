"""What is known of a lab: how to reach it, which processes make it up, and in what condition they are."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import SecretStr, ValidationError

from configs import lab_buckets
from configs.base import Model
from configs.errors import UserError
from configs.lab_delays import Delays
from configs.lab_marker import LAB_MARKER
from tasks.lab.files import write_whole
from tasks.lab.processes import ProcessRef

LAB_REGION = lab_buckets.REGION
LAB_ZONES = lab_buckets.ZONES
LAB_BUCKET = lab_buckets.MAIN
BUCKETS = lab_buckets.ALL
ACCELERATED = (LAB_BUCKET,)

NETWORK_VARIABLES = (
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSL_CERT_DIR",
)
"""Variables that lead a client past the lab's proxy or its authority; no lab needs any of them."""

VARIABLES_TO_UNSET = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_ENDPOINT_URL_S3",
)
"""Each of them outranks or spoils what `LabState.environment` sets.

A profile that the emptied configuration lacks is an error, a session token goes into the signature, and an
endpoint for S3 alone goes before the common one.
"""

AWS_SHAPED_VARIABLES_TO_UNSET = (
    *VARIABLES_TO_UNSET,
    "AWS_ENDPOINT_URL",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH",
    *NETWORK_VARIABLES,
)
"""Each of them keeps a client from what `LabState.aws_environment` sets."""


@dataclass(frozen=True)
class LabFolder:
    """Where the parts of a lab lie."""

    root: Path

    @property
    def data(self) -> Path:
        """What the S3 server serves: a folder per bucket. The only part that is worth keeping."""
        return self.root / "s3"

    @property
    def mount_point(self) -> Path:
        """Where the bucket is mounted."""
        return self.root / "mnt"

    @property
    def cache(self) -> Path:
        """Where the mount keeps what was written until it is uploaded."""
        return self.root / "cache"

    @property
    def state_file(self) -> Path:
        """How to reach the lab; its presence means that the lab was brought up and not down again."""
        return self.root / "lab.json"

    @property
    def lock_file(self) -> Path:
        """Held by a command that changes the lab."""
        return self.root / "lab.lock"

    @property
    def users_file(self) -> Path:
        """Locked, shared, by every run that uses the lab."""
        return self.root / "lab.users"

    @property
    def server_log(self) -> Path:
        """What the S3 server says."""
        return self.root / "server.log"

    @property
    def proxy(self) -> "ProxyFolder":
        """What makes the lab AWS-shaped."""
        return ProxyFolder(self.root / "aws")

    @property
    def mount_log(self) -> Path:
        """What the mount says."""
        return self.root / "mount.log"


@dataclass(frozen=True)
class ProxyFolder:
    """Where the files of the proxy lie that makes a lab AWS-shaped."""

    root: Path

    @property
    def settings(self) -> Path:
        """What the proxy is told."""
        return self.root / "proxy.json"

    @property
    def ca_file(self) -> Path:
        """The certificate that clients must trust."""
        return self.root / "ca.pem"

    @property
    def log(self) -> Path:
        """What the proxy says."""
        return self.root / "proxy.log"


class AwsShaped(Model):
    """What makes a lab AWS-shaped: a proxy that takes Amazon's host names for the lab's."""

    proxy_url: str
    ca_file: Path
    """The authority that clients must trust."""
    delays: Delays
    proxy: ProcessRef


class LabState(Model):
    """A lab that was brought up."""

    endpoint_url: str
    region: str = LAB_REGION
    bucket: str = LAB_BUCKET
    access_key_id: str
    secret_access_key: SecretStr
    mount_path: Path | None
    """Where the bucket is mounted; none if it is not."""
    mount_problem: str = ""
    """Why there is no mount, with what would help."""
    temporary: bool = False
    """It came up for a run, and goes down with the last run that uses it."""
    server: ProcessRef
    mount: ProcessRef | None
    aws_shaped: AwsShaped | None = None
    """None where it answers to no host name of Amazon's."""

    def environment(self) -> dict[str, str]:
        """The variables that point any AWS client at the lab, and away from the user's own AWS set-up.

        They hold the lab's secret key: hand them to a process, never to a log. Take `VARIABLES_TO_UNSET` away
        too.
        """
        return {**self._identity(), "AWS_ENDPOINT_URL": self.endpoint_url}

    def aws_environment(self) -> dict[str, str]:
        """The same for an AWS-shaped lab: clients keep Amazon's host names and come through the proxy.

        Take `AWS_SHAPED_VARIABLES_TO_UNSET` away too. `SSL_CERT_FILE` is for clients that are written in Rust
        and Go, and for the CRT. Uploads carry no checksum unless a client is told so: nothing here checks it.

        Raises:
            UserError: The lab is not AWS-shaped.
        """
        if self.aws_shaped is None:
            raise UserError("the lab is up but not AWS-shaped: s3bench lab up --aws-shaped")
        return {
            **self._identity(),
            "HTTPS_PROXY": self.aws_shaped.proxy_url,
            "https_proxy": self.aws_shaped.proxy_url,
            "AWS_CA_BUNDLE": str(self.aws_shaped.ca_file),
            "SSL_CERT_FILE": str(self.aws_shaped.ca_file),
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        }

    def _identity(self) -> dict[str, str]:
        return {
            LAB_MARKER: "1",
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key.get_secret_value(),
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


class LabStatus(Model):
    """The condition of a lab."""

    condition: Literal["up", "down", "broken"]
    problems: tuple[str, ...] = ()
    """What is broken."""
    state: LabState | None = None
    """None when it is down."""

    def describe(self) -> str:
        """The condition in words, one fact a line."""
        if self.state is None:
            return "The lab is down."
        lines = [
            f"The lab is {self.condition}.",
            f"endpoint: {self.state.endpoint_url}",
            f"bucket:   {self.state.bucket}",
        ]
        lines.append(f"mount:    {self.state.mount_path or f'none, because {self.state.mount_problem}'}")
        if self.state.aws_shaped is not None:
            lines.append(
                f"as AWS:   {self.state.aws_shaped.proxy_url} (proxy), {self.state.aws_shaped.ca_file}"
            )
        lines += [f"broken:   {problem}" for problem in self.problems]
        return "\n".join(lines)


def shell_exports(state: LabState, *, aws_shaped: bool = False) -> str:
    """Lines for `eval`: they turn a POSIX shell's AWS settings to the lab.

    They do not say that it is the lab: a suite of the user's own that is run from that shell is none.

    Raises:
        UserError: They are to be those of an AWS-shaped lab, and it is none.
    """
    environment = state.aws_environment() if aws_shaped else state.environment()
    unset = AWS_SHAPED_VARIABLES_TO_UNSET if aws_shaped else VARIABLES_TO_UNSET
    exports = (
        f"export {name}={shlex.quote(value)}" for name, value in environment.items() if name != LAB_MARKER
    )
    return "\n".join([f"unset {' '.join(unset)}", *exports])


def read_state(state_file: Path) -> LabState | None:
    """The lab that was last brought up here; none if there is no file.

    Raises:
        UserError: The file holds something else, or belongs to another user.
    """
    try:
        return LabState.model_validate_json(state_file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise UserError(f"{state_file} belongs to another user: use a folder of your own") from error
    except ValidationError as error:
        raise UserError(
            f"{state_file} does not describe a lab of this version ({error.error_count()} errors): "
            "end the rclone processes that serve this folder, if there are any, and delete the file"
        ) from error


def write_state(state_file: Path, state: LabState) -> None:
    """Writes the file whole or not at all, readable by its owner only."""
    content = state.model_dump(mode="json")
    content["secret_access_key"] = state.secret_access_key.get_secret_value()  # dumped as asterisks otherwise
    write_whole(state_file, json.dumps(content, indent=2))
