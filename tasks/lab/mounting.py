"""The lab's mount of its bucket.

Nothing here looks into the mount point but once, right after mounting: an access to a mount whose server has
died waits for it. What is mounted is read from the kernel's mount table instead.
"""

import shutil
import subprocess
import time
from pathlib import Path

import psutil

from configs.errors import UserError
from tasks.lab import rclone
from tasks.lab.processes import POLL_S, START_TIMEOUT_S, STOP_TIMEOUT_S, ProcessRef, log_tail, start_daemon
from tasks.lab.state import LAB_BUCKET, LabFolder

UPLOAD_TIMEOUT_S = 60
"""For what was written to the mount just before the lab goes down; the write-back delay included."""


def mount_bucket(lab: LabFolder, environment: dict[str, str]) -> tuple[ProcessRef | None, str]:
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
            if is_mounted(lab.mount_point):
                list(lab.mount_point.iterdir())  # raises OSError unless the mount shows the bucket
                return mount, ""
            time.sleep(POLL_S)
        problem = f"rclone did not mount the bucket within {START_TIMEOUT_S} s"
    except OSError as error:
        problem = f"the mount does not show the bucket: {error.strerror}"
    except BaseException:
        end_mount(lab, mount)
        raise
    end_mount(lab, mount)
    return None, f"{problem}; the end of {lab.mount_log}:\n{log_tail(lab.mount_log)}"


def wait_for_uploads(lab: LabFolder, mount: ProcessRef) -> None:
    """Waits for the write-backs, because rclone forgets what is pending when it is asked to end."""
    deadline = time.monotonic() + UPLOAD_TIMEOUT_S
    while mount.find() is not None and time.monotonic() < deadline and rclone.uploads_are_pending(lab.cache):
        time.sleep(POLL_S)


def end_mount(lab: LabFolder, mount: ProcessRef | None) -> bool:
    """Ends the mount's process, which unmounts, and takes away what it left mounted; false for nothing."""
    ended = mount is not None and mount.end(STOP_TIMEOUT_S)
    if not is_mounted(lab.mount_point):
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


def is_mounted(mount_point: Path) -> bool:
    """Whether anything is mounted there, as the kernel's mount table has it."""
    return any(partition.mountpoint == str(mount_point) for partition in psutil.disk_partitions(all=True))
