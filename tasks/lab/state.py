"""What is known of a lab: how to reach it, which processes make it up, and in what condition they are."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import SecretStr, ValidationError

from configs.base import Model
from configs.errors import UserError
from tasks.lab.files import write_whole
from tasks.lab.processes import ProcessRef

LAB_BUCKET = "s3bench-lab"
LAB_REGION = "us-east-1"

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
    def mount_log(self) -> Path:
        """What the mount says."""
        return self.root / "mount.log"


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

    def environment(self) -> dict[str, str]:
        """The variables that point any AWS client at the lab, and away from the user's own AWS set-up.

        They hold the lab's secret key: hand them to a process, never to a log. Take `VARIABLES_TO_UNSET` away
        too.
        """
        return {
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key.get_secret_value(),
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint_url,
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
        lines += [f"broken:   {problem}" for problem in self.problems]
        return "\n".join(lines)


def shell_exports(state: LabState) -> str:
    """Lines for `eval`: they turn a POSIX shell's AWS settings to the lab."""
    exports = (f"export {name}={shlex.quote(value)}" for name, value in state.environment().items())
    return "\n".join([f"unset {' '.join(VARIABLES_TO_UNSET)}", *exports])


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
