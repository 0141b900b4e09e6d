"""Mounts of one test's own, whose file system may be stopped, killed or filled."""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.access.mount_io import mounted_at
from tasks.lab import rclone
from tasks.lab.state import LabState


@dataclass(frozen=True)
class OwnMount:
    """A mount of the lab's bucket, or of another server's."""

    path: Path
    process: "subprocess.Popen[bytes]"

    def stop_answering(self) -> None:
        """Whoever asks now waits until it goes on, or dies."""
        self.process.send_signal(signal.SIGSTOP)

    def die(self) -> None:
        """The kernel then answers for it with ENOTCONN."""
        self.process.kill()
        self.process.wait(10)


@contextlib.contextmanager
def own_mount(
    lab: LabState, folder: Path, *flags: str, endpoint_url: str = "", cache: Path | None = None
) -> Iterator[OwnMount]:
    """Mount the lab's bucket below a folder; gone afterwards, whatever happened to it."""
    if problem := rclone.mount_obstacle():
        pytest.skip(problem)
    path = folder / "mount"
    path.mkdir()
    command = rclone.mount_command(lab.bucket, path, cache or folder / "cache")
    # As the lab's own, but that what was looked at or written is not kept for long.
    process = subprocess.Popen(
        [*command, "--attr-timeout=0s", *flags],
        env=_environment(lab, endpoint_url),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_mounted(path, process)
        yield OwnMount(path, process)
    finally:
        process.kill()
        process.wait(10)
        fusermount = shutil.which("fusermount3") or "fusermount3"
        subprocess.run([fusermount, "-u", "-z", path], check=False, capture_output=True)


def _environment(lab: LabState, endpoint_url: str) -> Mapping[str, str]:
    keys = lab.environment()
    return rclone.mount_environment(
        endpoint_url or lab.endpoint_url, lab.region, keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"]
    )


def _wait_until_mounted(path: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline_s = time.monotonic() + 20
    while mounted_at(path) is None:
        if process.poll() is not None or time.monotonic() > deadline_s:
            pytest.fail("the mount did not come up")
        time.sleep(0.05)
