"""Brings the local lab up and down: a real S3 server over a folder, and a real mount of it.

Commands on the same folder wait for one another (`flock`), so that two never start two labs.

A lab that is broken is taken down and brought up again rather than mended: the mount holds the server's port
and keys, so that a new server needs a new mount anyway. The proxy that makes a lab AWS-shaped is added to one
that is up, because nothing else depends on it.
"""

import contextlib
import fcntl
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session
from pydantic import SecretStr

from configs.errors import UserError
from configs.lab_delays import DEFAULT_DELAYS, Delays, load_delays
from tasks.lab import rclone
from tasks.lab.aws_shaped import start_aws_shaped
from tasks.lab.files import make_private
from tasks.lab.locks import is_last, locked
from tasks.lab.mounting import end_mount, is_mounted, mount_bucket, wait_for_uploads
from tasks.lab.processes import (
    POLL_S,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    ProcessRef,
    listening_ports,
    log_tail,
    start_daemon,
)
from tasks.lab.state import (
    BUCKETS,
    LAB_BUCKET,
    LAB_REGION,
    LabFolder,
    LabState,
    LabStatus,
    read_state,
    write_state,
)
from tasks.lab.strays import end_unrecorded, same_lab


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a lab."""

    temporary: bool = False
    """It may go down with the last run that uses it."""
    aws_shaped: bool = False
    """It answers to Amazon's host names too."""
    delays: Delays | None = None
    """Of an AWS-shaped lab; none keeps those that it is up with, or takes the file that ships."""


def lab_up(folder: Path, *, aws_shaped: bool = False, delays: Delays | None = None) -> LabState:
    """Brings the lab of this folder up, or returns the one that is up; a broken one is started anew.

    Where no mount can be made the lab is up all the same, without one and with the reason in `mount_problem`.
    A lab that is AWS-shaped stays so until it goes down.

    Raises:
        UserError: The folder cannot be written, rclone is missing, or a server did not answer within
            `START_TIMEOUT_S` (with the end of its log); then that server does not run any more.
    """
    return _ensure_up(folder, Wanted(aws_shaped=aws_shaped, delays=delays))


def lab_down(folder: Path) -> tuple[str, ...]:
    """Uploads what was written to the mount, unmounts it and ends the server; the data stay.

    Returns:
        What was ended, in words; empty if there was nothing.

    Raises:
        UserError: A run uses the lab, or a process or the mount could not be ended.
    """
    if not folder.is_dir():
        return ()
    lab = LabFolder(folder.resolve())
    with _folder_errors(folder), lab.users_file.open("w") as users, locked(lab):
        _refuse_used(lab, users)
        return _take_down(lab)


def lab_status(folder: Path) -> LabStatus:
    """The condition of the lab of this folder; looks only, and waits for nothing."""
    lab = LabFolder(folder.resolve())
    state = read_state(lab.state_file)
    if state is None:
        return LabStatus(condition="down")
    problems = []
    if state.server.find() is None:
        problems.append(f"the S3 server has ended (its log: {lab.server_log})")
    if state.mount is not None and state.mount.find() is None:
        problems.append(f"the mount's process has ended (its log: {lab.mount_log})")
    if state.mount_path is not None and not is_mounted(state.mount_path):
        problems.append(f"nothing is mounted at {state.mount_path}")
    if state.aws_shaped is not None and state.aws_shaped.proxy.find() is None:
        problems.append(f"the proxy for Amazon's host names has ended (its log: {lab.proxy.log})")
    return LabStatus(condition="broken" if problems else "up", problems=tuple(problems), state=state)


@contextmanager
def running_lab(folder: Path, *, aws_shaped: bool = False) -> Iterator[LabState]:
    """The lab of this folder for the time of a block; one that `lab_up` brought up stays up.

    A lab that came up for such a block is temporary: the last block that uses it takes it down, also where
    the process that brought it up was killed and another one found it up.
    """
    lab = LabFolder(folder.resolve())
    with _folder_errors(folder):
        _make(lab)
        users = lab.users_file.open("w")
    with users:
        fcntl.flock(users, fcntl.LOCK_SH)
        state = None
        try:
            state = _ensure_up(folder, Wanted(temporary=True, aws_shaped=aws_shaped))
            yield state
        finally:
            _leave(lab, users, state)


def _leave(lab: LabFolder, users: IO[str], ours: LabState | None) -> None:
    """Take a temporary lab down, where nobody else uses it; ours also where its folder was deleted."""
    with contextlib.ExitStack() as held:
        if lab.lock_file.exists():  # else no command brings anything up there
            held.enter_context(locked(lab))
        recorded = read_state(lab.state_file)
        if recorded is not None and recorded.temporary and is_last(users):
            _take_down(lab)
        # All who use a lab still hold the same file of users, also where that has lost its name.
        if ours is not None and ours.temporary and not same_lab(ours, recorded) and is_last(users):
            end_unrecorded(lab, ours)


def _refuse_used(lab: LabFolder, users: IO[str]) -> None:
    if not is_last(users):
        raise UserError(f"a run uses the lab in {lab.root}: wait for its end, or end it first")


def _ensure_up(folder: Path, wanted: Wanted) -> LabState:
    """The lab that is up, or a new one; a temporary one that is asked for by `lab_up` becomes permanent."""
    lab = LabFolder(folder.resolve())
    with _folder_errors(folder):
        _make(lab)
        with locked(lab):
            status = lab_status(lab.root)
            state = status.state
            shaped_before = None if state is None else state.aws_shaped
            if status.condition != "up" or state is None:
                _take_down(lab)
                state = _start(lab, temporary=wanted.temporary)
            elif state.temporary and not wanted.temporary:
                state = _changed(lab, state, temporary=False)
            if shaped_before is not None:
                return _shape(lab, state, wanted.delays or shaped_before.delays)
            if wanted.aws_shaped:
                return _shape(lab, state, wanted.delays or load_delays(DEFAULT_DELAYS))
            return state


def _shape(lab: LabFolder, state: LabState, delays: Delays) -> LabState:
    """Make a lab that is up AWS-shaped, with these delays; others are changed while no run uses the lab."""
    if state.aws_shaped is not None:
        if state.aws_shaped.delays == delays:
            return state
        with lab.users_file.open("w") as users:
            _refuse_used(lab, users)
        state.aws_shaped.proxy.end(STOP_TIMEOUT_S)
        state = _changed(lab, state, aws_shaped=None)
    shaped = start_aws_shaped(lab, state, delays)
    try:
        return _changed(lab, state, aws_shaped=shaped)
    except BaseException:
        shaped.proxy.end(STOP_TIMEOUT_S)
        raise


def _changed(lab: LabFolder, state: LabState, **fields: object) -> LabState:
    changed = state.model_copy(update=fields)
    write_state(lab.state_file, changed)
    return changed


def _make(lab: LabFolder) -> None:
    """Make the folders, for nobody else's eyes: copied logs lie in them, and what a run's server keeps."""
    make_private(lab.root)
    for bucket in BUCKETS:
        lab.data.joinpath(bucket).mkdir(parents=True, exist_ok=True)


@contextmanager
def _folder_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"the lab's folder {folder} cannot be used: {error.strerror} ({error.filename}): "
            "choose a folder that you can write, on a disk with free space"
        ) from error


def _start(lab: LabFolder, *, temporary: bool) -> LabState:
    access_key_id, secret_access_key = secrets.token_hex(10), secrets.token_hex(20)
    server = start_daemon(
        rclone.server_command(lab.data),
        rclone.server_environment(access_key_id, secret_access_key),
        lab.server_log,
    )
    mount = None
    try:
        endpoint_url = _wait_for_server(server, Credentials(access_key_id, secret_access_key), lab.server_log)
        mount, mount_problem = mount_bucket(
            lab, rclone.mount_environment(endpoint_url, LAB_REGION, access_key_id, secret_access_key)
        )
        state = LabState(
            endpoint_url=endpoint_url,
            access_key_id=access_key_id,
            secret_access_key=SecretStr(secret_access_key),
            mount_path=None if mount is None else lab.mount_point,
            mount_problem=mount_problem,
            temporary=temporary,
            server=server,
            mount=mount,
        )
        write_state(lab.state_file, state)
    except BaseException:  # an interrupt too: nothing may stay that no state file tells of
        end_mount(lab, mount)
        server.end(STOP_TIMEOUT_S)
        raise
    return state


def _wait_for_server(server: ProcessRef, credentials: Credentials, log: Path) -> str:
    """The URL at which the server answers a signed request for the lab's bucket."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while (process := server.find()) is not None and time.monotonic() < deadline:
        for port in listening_ports(process):
            endpoint_url = f"http://127.0.0.1:{port}"
            if _shows_bucket(endpoint_url, credentials):
                return endpoint_url
        time.sleep(POLL_S)
    raise UserError(
        f"the lab's S3 server did not start within {START_TIMEOUT_S} s; the end of {log}:\n{log_tail(log)}"
    )


def _shows_bucket(endpoint_url: str, credentials: Credentials) -> bool:
    """Whether a signed HEAD of the bucket succeeds; boto3 would read the user's AWS set-up to ask."""
    request = AWSRequest("HEAD", f"{endpoint_url}/{LAB_BUCKET}")
    S3SigV4Auth(credentials, "s3", LAB_REGION).add_auth(request)
    try:
        return URLLib3Session(timeout=2).send(request.prepare()).status_code == HTTPStatus.OK
    except HTTPClientError:
        return False


def _take_down(lab: LabFolder) -> tuple[str, ...]:
    state = read_state(lab.state_file)
    ended = []
    if state is not None and state.aws_shaped is not None and state.aws_shaped.proxy.end(STOP_TIMEOUT_S):
        ended.append("the proxy for Amazon's host names")
    if state is not None and state.server.find() is not None and state.mount is not None:
        wait_for_uploads(lab, state.mount)
    if end_mount(lab, None if state is None else state.mount):
        ended.append("the mount")
    if state is not None and state.server.end(STOP_TIMEOUT_S):
        ended.append("the S3 server")
    lab.state_file.unlink(missing_ok=True)
    return tuple(ended)
