"""Brings the local lab up and down: a real S3 server over a folder, and a real mount of it.

Commands on the same folder wait for one another (`flock`), so that two never start two labs.

A lab that is broken is taken down and brought up again rather than mended: the mount holds the server's port
and keys, so that a new server needs a new mount anyway.

Nothing here looks into the mount point but once, right after mounting: an access to a mount whose server has
died waits for it. What is mounted is read from the kernel's mount table instead.
"""

import fcntl
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import IO

import psutil
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session
from pydantic import SecretStr

from configs.errors import UserError
from tasks.lab import rclone
from tasks.lab.files import make_private
from tasks.lab.processes import ProcessRef, log_tail, start_daemon
from tasks.lab.state import LAB_BUCKET, LAB_REGION, LabFolder, LabState, LabStatus, read_state, write_state

START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 10
UPLOAD_TIMEOUT_S = 60
"""For what was written to the mount just before the lab goes down; the write-back delay included."""
POLL_S = 0.02


def lab_up(folder: Path) -> LabState:
    """Brings the lab of this folder up, or returns the one that is up; a broken one is started anew.

    Where no mount can be made the lab is up all the same, without one and with the reason in `mount_problem`.

    Raises:
        UserError: The folder cannot be written, rclone is missing, or the server did not answer within
            `START_TIMEOUT_S` (with the end of its log); then nothing of it runs any more.
    """
    return _ensure_up(folder, temporary=False)


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
    with _folder_errors(folder), lab.users_file.open("w") as users, _locked(lab):
        if not _is_last(users):
            raise UserError(f"a run uses the lab in {folder}: wait for its end, or end it first")
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
    if state.mount_path is not None and not _is_mounted(state.mount_path):
        problems.append(f"nothing is mounted at {state.mount_path}")
    return LabStatus(condition="broken" if problems else "up", problems=tuple(problems), state=state)


@contextmanager
def running_lab(folder: Path) -> Iterator[LabState]:
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
        try:
            yield _ensure_up(folder, temporary=True)
        finally:
            _leave(lab, users)


def _leave(lab: LabFolder, users: IO[str]) -> None:
    """Take a temporary lab down, where nobody else uses it."""
    with _locked(lab):
        state = read_state(lab.state_file)
        if state is None or not state.temporary:
            return
        if _is_last(users):
            _take_down(lab)


def _is_last(users: IO[str]) -> bool:
    """Whether nobody else uses the lab; from now on nobody can begin to, until the file is closed."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _ensure_up(folder: Path, *, temporary: bool) -> LabState:
    """The lab that is up, or a new one; a temporary one that is asked for by `lab_up` becomes permanent."""
    lab = LabFolder(folder.resolve())
    with _folder_errors(folder):
        _make(lab)
        with _locked(lab):
            status = lab_status(lab.root)
            state = status.state
            if status.condition != "up" or state is None:
                _take_down(lab)
                return _start(lab, temporary=temporary)
            if state.temporary and not temporary:
                state = state.model_copy(update={"temporary": False})
                write_state(lab.state_file, state)
            return state


def _make(lab: LabFolder) -> None:
    """Make the folders, for nobody else's eyes: copied logs lie in them, and what a run's server keeps."""
    make_private(lab.root)
    lab.data.joinpath(LAB_BUCKET).mkdir(parents=True, exist_ok=True)


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
        mount, mount_problem = _mount(
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
        _end_mount(lab, mount)
        server.end(STOP_TIMEOUT_S)
        raise
    return state


def _wait_for_server(server: ProcessRef, credentials: Credentials, log: Path) -> str:
    """The URL at which the server answers a signed request for the lab's bucket."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while (process := server.find()) is not None and time.monotonic() < deadline:
        for connection in process.net_connections("tcp4"):
            endpoint_url = f"http://127.0.0.1:{connection.laddr.port}"
            if connection.status == psutil.CONN_LISTEN and _shows_bucket(endpoint_url, credentials):
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


def _mount(lab: LabFolder, environment: dict[str, str]) -> tuple[ProcessRef | None, str]:
    """The process of the mount, or none and the reason."""
    if obstacle := rclone.mount_obstacle():
        return None, f"{obstacle}; then take the lab down and up again"
    lab.mount_point.mkdir(exist_ok=True)
    if lab.cache.exists():
        shutil.rmtree(lab.cache)
    command = rclone.mount_command(LAB_BUCKET, lab.mount_point, lab.cache)
    mount = start_daemon(command, environment, lab.mount_log)
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while mount.find() is not None and time.monotonic() < deadline:
            if _is_mounted(lab.mount_point):
                list(lab.mount_point.iterdir())  # raises OSError unless the mount shows the bucket
                return mount, ""
            time.sleep(POLL_S)
        problem = f"rclone did not mount the bucket within {START_TIMEOUT_S} s"
    except OSError as error:
        problem = f"the mount does not show the bucket: {error.strerror}"
    except BaseException:
        _end_mount(lab, mount)
        raise
    _end_mount(lab, mount)
    return None, f"{problem}; the end of {lab.mount_log}:\n{log_tail(lab.mount_log)}"


def _take_down(lab: LabFolder) -> tuple[str, ...]:
    state = read_state(lab.state_file)
    ended = []
    if state is not None and state.server.find() is not None and state.mount is not None:
        _wait_for_uploads(lab, state.mount)
    if _end_mount(lab, None if state is None else state.mount):
        ended.append("the mount")
    if state is not None and state.server.end(STOP_TIMEOUT_S):
        ended.append("the S3 server")
    lab.state_file.unlink(missing_ok=True)
    return tuple(ended)


def _wait_for_uploads(lab: LabFolder, mount: ProcessRef) -> None:
    """Waits for the write-backs, because rclone forgets what is pending when it is asked to end."""
    deadline = time.monotonic() + UPLOAD_TIMEOUT_S
    while mount.find() is not None and time.monotonic() < deadline and rclone.uploads_are_pending(lab.cache):
        time.sleep(POLL_S)


def _end_mount(lab: LabFolder, mount: ProcessRef | None) -> bool:
    """Ends the mount's process, which unmounts, and takes away what it left mounted; false for nothing."""
    ended = mount is not None and mount.end(STOP_TIMEOUT_S)
    if not _is_mounted(lab.mount_point):
        return ended
    fusermount = shutil.which("fusermount3")
    if fusermount is None:
        raise UserError(
            f"{lab.mount_point} is still mounted and fusermount3 is missing: sudo umount -l {lab.mount_point}"
        )
    result = subprocess.run(
        [fusermount, "-u", "-z", lab.mount_point], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise UserError(f"{lab.mount_point} could not be unmounted: {result.stderr.strip()}")
    return True


def _is_mounted(mount_point: Path) -> bool:
    return any(partition.mountpoint == str(mount_point) for partition in psutil.disk_partitions(all=True))


@contextmanager
def _locked(lab: LabFolder) -> Iterator[None]:
    """Keeps other commands on this lab waiting; the kernel frees the lock however its holder ends."""
    with lab.lock_file.open(
        "w"
    ) as file:  # not inherited by the processes of the lab: Python opens with O_CLOEXEC
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
